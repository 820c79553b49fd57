package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
)

// module is the path of the module in go.mod.
const module = "shiftwork"

// order is the house from top to bottom; a package belongs to the entry that its path starts with.
var order = []string{"filter", "dist", "pipeline", "placement", "lb", "comm", "checkpoint", "hooks", "trace", "loops", "spmd", "apps", "docs", "scripts"}

// mayUse restricts what the order would allow, by entry: the entries that its packages may import besides themselves.
var mayUse = map[string][]string{
	"filter":     {},
	"dist":       {},
	"pipeline":   {},
	"placement":  {},
	"lb":         {"filter", "dist", "pipeline"},
	"comm":       {},
	"checkpoint": {"dist"},
}

// pure are the entries whose code (not tests) must give the same output for the same input, always.
var pure = []string{"filter", "dist", "pipeline", "placement", "lb"}

// impure are packages of the standard library that would let something else than the input decide, with what is below
// them.
var impure = []string{"os", "net", "time", "sync", "math/rand", "crypto/rand", "runtime", "syscall", "unsafe", "log", "io/ioutil", "context"}

// generators is the package of random number generators. Who is in seeding may use it for generators that it seeds itself:
// the same seed gives the same numbers, so the input still decides. The functions of the package itself would not do.
const generators = "math/rand/v2"

var (
	seeding = []string{"lb"}
	seeded  = []string{"New", "NewPCG", "Rand", "PCG"}
)

// transports are what the entries above spmd must not choose.
var transports = []string{"comm/mpi", "comm/local", "comm/sim", "comm/commtest"}

// mpiHome is the only package that may know MPI and cgo.
const mpiHome = "comm/mpi"

// blasHome may use cgo as well, in files that are built with the tag blasTag alone: who does not ask for OpenBLAS has none of it.
const (
	blasHome = "apps/internal/openblas"
	blasTag  = "openblas"
)

// foundation is what any package that is not pure may import from internal: it knows the operating system and nothing of
// ours.
const foundation = "internal/machine"

// gompi is the MPI library.
const gompi = "github.com/sbromberger/gompi"

// sourceFile is what the rules look at.
type sourceFile struct {
	pkg     string   // folder relative to the module, "." for the root
	name    string   // file name
	test    bool     // a test file
	imports []string // import paths
	random  []string // what it uses of generators, where it imports that
	comment bool     // has a package comment
	build   string   // its build constraint, "" without one
	lines   int
}

const maxLines = 700

// breaches says what is wrong with a file, one line for each fault.
func breaches(f sourceFile) []string {
	var found []string
	report := func(format string, args ...any) {
		found = append(found, fmt.Sprintf("%s/%s: ", f.pkg, f.name)+fmt.Sprintf(format, args...))
	}
	if f.lines > maxLines {
		report("has %d lines, at most %d are allowed", f.lines, maxLines)
	}
	entry := entryOf(f.pkg)
	level := slices.Index(order, entry)
	if level < 0 && !within(f.pkg, "internal") && f.pkg != "." {
		report("package %s has no place in the house", f.pkg)
		return found
	}
	for _, imp := range f.imports {
		switch cgo := imp == "C"; {
		case !cgo && !within(imp, gompi), f.pkg == mpiHome:
		case cgo && f.pkg == blasHome && f.build != blasTag:
			report("imports C without the build tag %s", blasTag)
		case !cgo || f.pkg != blasHome:
			report("imports %s, which only %s may", imp, mpiHome)
		}
		if !f.test && slices.Contains(pure, entry) && slices.ContainsFunc(impure, func(p string) bool { return within(imp, p) }) {
			if imp != generators || !slices.Contains(seeding, entry) {
				report("imports %s, but %s is pure", imp, entry)
			}
			for _, name := range f.random {
				if imp == generators && !slices.Contains(seeded, name) {
					report("uses %s of %s, but %s is pure: only generators that it seeds itself", name, imp, entry)
				}
			}
		}
		target, ours := strings.CutPrefix(imp, module+"/")
		if !ours {
			continue
		}
		switch to := entryOf(target); {
		case within(target, "internal"):
			if !f.test && entry != "scripts" && !within(f.pkg, "internal") && (target != foundation || slices.Contains(pure, entry)) {
				report("imports %s, which serves tests and scripts only", target)
			}
		case level < 0: // internal and the root may look at everything
		case f.name == "example_test.go": // may show a package with those that its users have
		case slices.Index(order, to) > level:
			report("imports %s, which stands below %s", target, entry)
		case f.test || to == entry:
		case mayUse[entry] != nil && !slices.Contains(mayUse[entry], to):
			report("imports %s, but %s may use only %v", target, entry, mayUse[entry])
		case level < slices.Index(order, "spmd") && slices.Contains(transports, target):
			report("imports %s: spmd picks the transport", target)
		}
	}
	return found
}

// entryOf is the entry of the house that a package belongs to.
func entryOf(pkg string) string {
	first, _, _ := strings.Cut(path.Clean(pkg), "/")
	return first
}

// used lists what a file uses of an imported package: the names selected from it, each once, and "." if it is imported with
// a dot. A local variable that hides the package's name would be taken for it, which errs on the strict side.
func used(file *ast.File, imported string) []string {
	var names []string
	local := path.Base(imported)
	if local == "v2" {
		local = path.Base(path.Dir(imported))
	}
	for _, spec := range file.Imports {
		if spec.Path.Value == strconv.Quote(imported) && spec.Name != nil {
			local = spec.Name.Name
		}
	}
	if local == "." {
		return []string{"."}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == local && !slices.Contains(names, s.Sel.Name) {
				names = append(names, s.Sel.Name)
			}
		}
		return true
	})
	return names
}

// within says whether a path is root or lies below it.
func within(p, root string) bool { return p == root || strings.HasPrefix(p, root+"/") }
