package archtest

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// module is the path of the module in go.mod.
const module = "shiftwork"

// order is the house from top to bottom; a package belongs to the entry that its path starts with.
var order = []string{"filter", "dist", "pipeline", "lb", "comm", "hooks", "loops", "spmd", "apps", "scripts"}

// mayUse restricts what the order would allow, by entry: the entries that its packages may import besides themselves.
var mayUse = map[string][]string{
	"filter":   {},
	"dist":     {},
	"pipeline": {},
	"lb":       {"filter", "dist", "pipeline"},
	"comm":     {},
}

// pure are the entries whose code (not tests) must give the same output for the same input, always.
var pure = []string{"filter", "dist", "pipeline", "lb"}

// impure are packages of the standard library that would let something else than the input decide, with what is below
// them.
var impure = []string{"os", "net", "time", "sync", "math/rand", "crypto/rand", "runtime", "syscall", "unsafe", "log", "io/ioutil", "context"}

// transports are what the entries above spmd must not choose.
var transports = []string{"comm/mpi", "comm/local", "comm/sim", "comm/commtest"}

// mpiHome is the only package that may know MPI and cgo.
const mpiHome = "comm/mpi"

// gompi is the MPI library.
const gompi = "github.com/sbromberger/gompi"

// sourceFile is what the rules look at.
type sourceFile struct {
	pkg     string   // folder relative to the module, "." for the root
	name    string   // file name
	test    bool     // a test file
	imports []string // import paths
	comment bool     // has a package comment
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
		if (imp == "C" || within(imp, gompi)) && f.pkg != mpiHome {
			report("imports %s, which only %s may", imp, mpiHome)
		}
		if !f.test && slices.Contains(pure, entry) && slices.ContainsFunc(impure, func(p string) bool { return within(imp, p) }) {
			report("imports %s, but %s is pure", imp, entry)
		}
		target, ours := strings.CutPrefix(imp, module+"/")
		if !ours {
			continue
		}
		switch to := entryOf(target); {
		case within(target, "internal"):
			if !f.test && entry != "scripts" && !within(f.pkg, "internal") {
				report("imports %s, which serves tests and scripts only", target)
			}
		case level < 0: // internal and the root may look at everything
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

// within says whether a path is root or lies below it.
func within(p, root string) bool { return p == root || strings.HasPrefix(p, root+"/") }
