package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// root is the folder of go.mod, seen from this package.
const root = "../.."

// sources reads all Go files of the module, but not of modules nested in it.
func sources(t *testing.T) []sourceFile {
	t.Helper()
	var files []sourceFile
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path == root {
				return nil
			}
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "build" || err == nil {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, content, parser.ParseComments)
		if err != nil {
			return err
		}
		pkg, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		f := sourceFile{
			pkg: filepath.ToSlash(pkg), name: name, test: strings.HasSuffix(name, "_test.go"),
			comment: parsed.Doc != nil, lines: bytes.Count(content, []byte("\n")), build: constraint(parsed),
		}
		for _, spec := range parsed.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			f.imports = append(f.imports, imp)
		}
		if slices.Contains(f.imports, generators) {
			f.random = used(parsed, generators)
		}
		files = append(files, f)
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

// constraint is the build constraint of a file.
func constraint(f *ast.File) string {
	for _, group := range f.Comments {
		for _, c := range group.List {
			if text, ok := strings.CutPrefix(c.Text, "//go:build "); ok && c.Pos() < f.Package {
				return text
			}
		}
	}
	return ""
}

func TestTheHouseIsInOrder(t *testing.T) {
	for _, f := range sources(t) {
		for _, b := range breaches(f) {
			t.Error(b)
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	said := map[string]bool{}
	var packages []string
	for _, f := range sources(t) {
		if _, seen := said[f.pkg]; !seen {
			packages = append(packages, f.pkg)
		}
		said[f.pkg] = said[f.pkg] || (f.comment && !f.test)
	}
	assert.Contains(t, packages, "internal/archtest")
	for _, p := range packages {
		assert.True(t, said[p], "package %s has no doc.go", p)
	}
}

// listed is what go list says about a package.
type listed struct {
	ImportPath string
	Standard   bool
	CgoFiles   []string
	Deps       []string
}

// list lists all packages of the module and what they depend on.
func list(t *testing.T, tags, cgo string) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Standard,CgoFiles,Deps", "-tags="+tags, "./...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		require.NoError(t, err, string(exit.Stderr))
	}
	require.NoError(t, err)
	var packages []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		require.NoError(t, err)
		packages = append(packages, p)
	}
}

// Libraries could bring cgo with them: outside the standard library, which uses it for user names and name servers
// where it is there, only gompi and its home have any, and what must be free of MPI does not reach them.
func TestCgoIsBelowOnePackage(t *testing.T) {
	home, blas := module+"/"+mpiHome, module+"/"+blasHome
	for tags, allowed := range map[string][]string{"": {gompi, home}, blasTag: {gompi, blas, home}} {
		var withCgo []string
		for _, p := range list(t, tags, "1") {
			if len(p.CgoFiles) > 0 && !p.Standard {
				withCgo = append(withCgo, p.ImportPath)
			}
			if rel, ours := strings.CutPrefix(p.ImportPath, module+"/"); ours && p.ImportPath != home &&
				slices.Index(order, entryOf(rel)) < slices.Index(order, "spmd") && !within(rel, "internal") {
				assert.NotContains(t, p.Deps, home, p.ImportPath)
			}
		}
		slices.Sort(withCgo)
		assert.Equal(t, allowed, withCgo, "tags %q", tags)
	}
}

func TestWithoutMPIThereIsNoCgo(t *testing.T) {
	for _, p := range list(t, "nompi", "0") {
		assert.Empty(t, p.CgoFiles, p.ImportPath)
		assert.NotEqual(t, gompi, p.ImportPath)
	}
}

// The rules themselves: each must find its breach, and let pass what is allowed.
func TestRules(t *testing.T) {
	file := func(pkg string, imports ...string) sourceFile {
		return sourceFile{pkg: pkg, name: "x.go", imports: imports, comment: true, lines: 10}
	}
	test := func(f sourceFile) sourceFile {
		f.name, f.test = "x_test.go", true
		return f
	}
	built := func(f sourceFile, constraint string) sourceFile {
		f.build = constraint
		return f
	}
	drawing := func(pkg string, names ...string) sourceFile {
		f := file(pkg, generators)
		f.random = names
		return f
	}
	long := file("lb")
	long.lines = maxLines + 1
	for _, c := range []struct {
		file sourceFile
		says string // nothing: allowed
	}{
		{file("lb", "math", "shiftwork/filter", "shiftwork/dist", "shiftwork/pipeline"), ""},
		{file("filter", "shiftwork/dist"), "stands below"},
		{file("dist", "shiftwork/filter"), "dist may use only []"},
		{file("lb", "shiftwork/comm"), "stands below"},
		{file("lb", "time"), "lb is pure"},
		{file("lb/sub", "sync/atomic"), "lb is pure"},
		{file("pipeline", "math/rand/v2"), "pipeline is pure"},
		{file("filter", "os"), "filter is pure"},
		{drawing("lb", "New", "NewPCG", "Rand", "PCG"), ""},
		{drawing("lb", "New", "IntN"), "uses IntN"},
		{drawing("lb", "."), "uses . of math/rand/v2"},
		{drawing("dist", "New"), "dist is pure"},
		{test(drawing("lb", "IntN")), ""},
		{file("lb", "math/rand"), "lb is pure"},
		{file("lb", "crypto/rand"), "lb is pure"},
		{file("dist", "net/netip"), "dist is pure"},
		{file("lb", "timeless"), ""},
		{test(file("lb", "os", "time", "math/rand/v2")), ""},
		{test(file("lb", "shiftwork/hooks")), "stands below"},
		{file("comm", "shiftwork/lb"), "comm may use only []"},
		{file("comm/local", "shiftwork/comm", "sync"), ""},
		{file("comm/mpi", "C", gompi, "shiftwork/comm"), ""},
		{file("comm/local", "C"), "only comm/mpi may"},
		{built(file("apps/internal/openblas", "C"), "openblas"), ""},
		{built(file("apps/internal/openblas", "C"), ""), "without the build tag openblas"},
		{built(file("apps/internal/openblas", "C"), "openblas || cgo"), "without the build tag openblas"},
		{built(file("apps/internal/openblas", gompi), "openblas"), "only comm/mpi may"},
		{built(file("apps/internal/kernel", "C"), "openblas"), "only comm/mpi may"},
		{file("spmd", gompi), "only comm/mpi may"},
		{test(file("comm/commtest", gompi)), "only comm/mpi may"},
		{file("hooks", "shiftwork/lb", "shiftwork/comm", "time"), ""},
		{file("hooks", "shiftwork/placement"), ""},
		{file("lb", "shiftwork/placement"), "lb may use only"},
		{file("hooks", "shiftwork/comm/local"), "spmd picks the transport"},
		{file("loops", "shiftwork/comm/mpi"), "spmd picks the transport"},
		{test(file("loops", "shiftwork/comm/sim")), ""},
		{file("loops", "shiftwork/spmd"), "stands below"},
		{file("spmd", "shiftwork/comm/mpi", "shiftwork/comm/local"), ""},
		{file("apps/sor", "shiftwork/spmd", "shiftwork/apps/internal/cli"), ""},
		{file("spmd", "shiftwork/apps/internal/cli"), "stands below"},
		{file("apps/sor", "shiftwork/internal/mpirun"), "serves tests and scripts only"},
		{test(file("apps/sor", "shiftwork/internal/mpirun")), ""},
		{file("scripts/lab", "shiftwork/internal/mpirun", "shiftwork/lb"), ""},
		{file("internal/mpirun", "shiftwork/spmd"), ""},
		{file("utils"), "no place in the house"},
		{long, "701 lines"},
	} {
		found := strings.Join(breaches(c.file), "\n")
		if c.says == "" {
			assert.Empty(t, found, "%+v", c.file)
		} else {
			assert.Contains(t, found, c.says, "%+v", c.file)
		}
	}
}

// What a file uses of a package is found whatever the package is called there.
func TestUsed(t *testing.T) {
	for code, want := range map[string][]string{
		`import "math/rand/v2"; var a, b = rand.New(rand.NewPCG(1, 2)), rand.New(nil)`: {"New", "NewPCG"},
		`import r "math/rand/v2"; func f() int { return r.IntN(3) }`:                   {"IntN"},
		`import "math/rand/v2"; func f(x *rand.Rand) int { return x.IntN(3) }`:         {"Rand"},
		`import . "math/rand/v2"; func f() int { return IntN(3) }`:                     {"."},
		`import "strings"; var a = strings.ToUpper("")`:                                nil,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x; "+code, 0)
		require.NoError(t, err)
		assert.Equal(t, want, used(file, generators), code)
	}
}
