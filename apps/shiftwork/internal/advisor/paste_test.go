package advisor

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// paste puts the code of an advice in place of its nest, and gives the function, under another name, the Comm and the
// error that the code asks for. Changed is the code as it is pasted.
func paste(t *testing.T, s *source, a Advice, name, changed string) string {
	t.Helper()
	file := s.files[0]
	root, function := around(file, a.outermost)
	fn := root.(*ast.FuncDecl)
	text := s.text[file]
	at := func(p token.Pos) int { return s.fset.PositionFor(p, false).Offset }
	comm := regexp.MustCompile(`a function that has (\w+),`).FindStringSubmatch(changed)
	require.Len(t, comm, 2)
	require.Nil(t, fn.Recv, function)
	return fmt.Sprintf("func %s(%s comm.Comm, %s error %s%s%s\nreturn nil\n}\n", name, comm[1],
		text[at(fn.Type.Params.Opening)+1:at(fn.Type.Params.Closing)+1],
		text[at(fn.Body.Lbrace):at(a.outermost.Pos())], changed, text[at(a.outermost.End()):at(fn.Body.Rbrace)])
}

// program makes a program of functions, in a folder of this module that go list ./... does not see, and returns the
// folder.
func program(t *testing.T, text string) string {
	t.Helper()
	folder, err := os.MkdirTemp(".", "_paste")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	require.NoError(t, os.WriteFile(filepath.Join(folder, "main.go"), []byte(text), 0o600))
	return folder
}

func goTool(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

const imports = `package main

import (
	"fmt"
	"math"
	"os"

	"shiftwork/comm"
	"shiftwork/comm/local"
	"shiftwork/dist"
	"shiftwork/hooks"
	"shiftwork/lb"
	"shiftwork/loops"
)

var _, _, _, _ = math.Pi, hooks.MaxTag, loops.Span, dist.Span

`

// The code for every nest of the test data that takes a hook passes go vet where it is pasted, in both forms.
func TestPastedCodeCompiles(t *testing.T) {
	var text strings.Builder
	text.WriteString(imports)
	text.WriteString("func main() { fmt.Println(local.Run(1, nil), os.Args, lb.Auto()) }\n")
	pasted := map[string]int{}
	for _, name := range []string{"sor.go", "mm.go", "bounds.go"} {
		for _, bare := range []bool{false, true} {
			packages, err := load(filepath.Join("testdata", name))
			require.NoError(t, err)
			o := fixed
			o.Hooks = bare
			advice, err := packages[0].advise(o)
			require.NoError(t, err)
			for i, a := range advice {
				if a.Code == "" || slices.Contains([]string{"unknown", "said", "converge"}, a.Function) {
					continue // these need a package that is not there, or are methods
				}
				pasted[a.Function]++
				text.WriteString(paste(t, packages[0], a, fmt.Sprintf("%s%d%t", a.Function, i, bare), a.Code))
			}
		}
	}
	for _, f := range []string{"sor", "sorRows", "sorFlat", "mm", "mmSmall", "mmRepeated", "while", "jacobi", "short",
		"two", "other", "histogram"} {
		assert.Positive(t, pasted[f], f)
	}
	out, err := goTool(t, "vet", "./"+program(t, text.String()))
	require.NoError(t, err, out)
}

// The code for the paper's nests gives the same bits as the nests, on ranks between which work moves for no reason.
func TestPastedCodeIsRight(t *testing.T) {
	var text strings.Builder
	text.WriteString(imports)
	for _, name := range []string{"sor.go", "mm.go"} {
		packages, err := load(filepath.Join("testdata", name))
		require.NoError(t, err)
		_, plain, _ := bytes.Cut(packages[0].text[packages[0].files[0]], []byte("package nests\n"))
		text.Write(plain)
		advice, err := packages[0].advise(fixed)
		require.NoError(t, err)
		for _, a := range advice {
			code := strings.ReplaceAll(a.Code, "lb.Auto()", "moving()")
			require.NotEqual(t, a.Code, code)
			// The rows of this rank, for the comparison.
			own := regexp.MustCompile(`the rows (.*) of (\w+) now`).FindStringSubmatch(code)
			require.Len(t, own, 3)
			code += fmt.Sprintf("keep(%s)\n", own[1])
			text.WriteString(strings.Replace(paste(t, packages[0], a, a.Function+"Balanced", code), "comm.Comm, ",
				"comm.Comm, keep func([]dist.Range), ", 1))
		}
	}
	text.WriteString(`
// moving moves work at every interaction, for no reason.
func moving() lb.Config {
	cfg := lb.Auto()
	cfg.Policy, _ = lb.ParsePolicy("random")
	cfg.Period, cfg.Seed = 1e-9, 7
	return cfg
}

func matrix(n, m int, seed float64) [][]float64 {
	a := make([][]float64, n)
	for i := range a {
		a[i] = make([]float64, m)
		for j := range a[i] {
			a[i][j] = math.Sin(seed + float64(i*m+j))
		}
	}
	return a
}

func flat(a [][]float64) (all []float64) {
	for _, r := range a {
		all = append(all, r...)
	}
	return all
}

// check runs a nest in one piece and on three ranks, and compares the rows that each of those has with the same rows of the first.
func check(name string, rows, cols int, plain func() []float64, balanced func(c comm.Comm, keep func([]dist.Range)) (func() []float64, error)) {
	want := plain()
	seen := make([]int32, rows)
	err := local.Run(3, func(c comm.Comm) error {
		var own []dist.Range
		got, err := balanced(c, func(r []dist.Range) { own = r })
		if err != nil {
			return err
		}
		for _, r := range own {
			for i := r.Lo; i < r.Hi; i++ {
				seen[i]++
				for k := i * cols; k < (i+1)*cols; k++ {
					if math.Float64bits(got()[k]) != math.Float64bits(want[k]) {
						return fmt.Errorf("%s: row %d is not right on rank %d", name, i, c.Rank())
					}
				}
			}
		}
		return nil
	})
	total := 0
	for _, s := range seen {
		total += int(s)
	}
	fmt.Println(name, total, err)
	if err != nil {
		os.Exit(1)
	}
}

func main() {
	const n, m, sweeps = 40, 50, 6
	for name, f := range map[string]struct{ plain func(b [][]float64, n, m, sweeps int); balanced func(comm.Comm, func([]dist.Range), [][]float64, int, int, int) error }{
		"sor": {sor, sorBalanced}, "sorRows": {sorRows, sorRowsBalanced},
	} {
		check(name, n, m, func() []float64 { b := matrix(n, m, 1); f.plain(b, n, m, sweeps); return flat(b) },
			func(c comm.Comm, keep func([]dist.Range)) (func() []float64, error) {
				b := matrix(n, m, 1)
				err := f.balanced(c, keep, b, n, m, sweeps)
				all := flat(b)
				return func() []float64 { return all }, err
			})
	}
	check("sorFlat", n, m, func() []float64 { u := flat(matrix(n, m, 1)); sorFlat(u, n, m, sweeps); return u },
		func(c comm.Comm, keep func([]dist.Range)) (func() []float64, error) {
			u := flat(matrix(n, m, 1))
			err := sorFlatBalanced(c, keep, u, n, m, sweeps)
			return func() []float64 { return u }, err
		})
	check("mmRepeated", n, n, func() []float64 { c := flat(matrix(n, n, 1)); mmRepeated(c, flat(matrix(n, n, 2)), flat(matrix(n, n, 3)), n, sweeps); return c },
		func(x comm.Comm, keep func([]dist.Range)) (func() []float64, error) {
			c := flat(matrix(n, n, 1))
			err := mmRepeatedBalanced(x, keep, c, flat(matrix(n, n, 2)), flat(matrix(n, n, 3)), n, sweeps)
			return func() []float64 { return c }, err
		})
	for name, f := range map[string]struct{ plain func(c, a, b [][]float64, n int); balanced func(comm.Comm, func([]dist.Range), [][]float64, [][]float64, [][]float64, int) error }{
		"mm": {mm, mmBalanced},
		"mmSmall": {func(c, a, b [][]float64, _ int) { mmSmall(c, a, b) }, func(x comm.Comm, keep func([]dist.Range), c, a, b [][]float64, _ int) error { return mmSmallBalanced(x, keep, c, a, b) }},
	} {
		check(name, n, n, func() []float64 { c := matrix(n, n, 1); f.plain(c, matrix(n, n, 2), matrix(n, n, 3), n); return flat(c) },
			func(x comm.Comm, keep func([]dist.Range)) (func() []float64, error) {
				c := matrix(n, n, 1)
				err := f.balanced(x, keep, c, matrix(n, n, 2), matrix(n, n, 3), n)
				all := flat(c)
				return func() []float64 { return all }, err
			})
	}
}
`)
	out, err := goTool(t, "run", "./"+program(t, text.String()))
	require.NoError(t, err, out)
	for _, line := range []string{"sor 38 <nil>", "sorRows 38 <nil>", "sorFlat 38 <nil>", "mmRepeated 40 <nil>",
		"mm 40 <nil>", "mmSmall 40 <nil>"} {
		assert.Contains(t, out, line+"\n", "every row is on one rank")
	}
}

// The code of other people is read without a panic, and what is made of it is Go.
func TestStandardLibrary(t *testing.T) {
	advised := 0
	for _, folder := range []string{"sort", "math", "math/big", "image/draw", "compress/flate", "compress/bzip2",
		"encoding/json", "slices", "text/tabwriter"} {
		files, err := filepath.Glob(filepath.Join(build.Default.GOROOT, "src", folder, "*.go"))
		require.NoError(t, err)
		for _, name := range files {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			for _, innermost := range []bool{false, true} {
				advice, err := adviseSource(markAll(t, name, text, innermost), fixed)
				require.NoError(t, err, name)
				for _, a := range advice {
					advised++
					require.NotContains(t, strings.Join(a.Notes, " "), "is not Go", "%s:%d", name, a.Line)
					_, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() error {\n"+a.Code+"return nil\n}\n", 0)
					require.NoError(t, err, a.Code)
				}
			}
		}
	}
	assert.Greater(t, advised, 500)
}

// markAll marks the outermost, or the innermost, loops of a file.
func markAll(t *testing.T, name string, text []byte, innermost bool) []byte {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments)
	require.NoError(t, err)
	isLoop := func(n ast.Node) bool {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			return true
		}
		return false
	}
	var at []int
	ast.Inspect(file, func(n ast.Node) bool {
		if !isLoop(n) {
			return true
		}
		around := false
		ast.Inspect(n, func(m ast.Node) bool {
			around = around || m != n && isLoop(m)
			return !around
		})
		if innermost && around {
			return true
		}
		at = append(at, fset.PositionFor(n.Pos(), false).Offset)
		return false
	})
	slices.Reverse(at)
	for _, offset := range at {
		text = slices.Insert(slices.Clone(text), offset, []byte("\n"+directive+"\n")...)
	}
	return text
}
