package advisor

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"shiftwork/placement"
)

var update = flag.Bool("update", false, "write the golden files anew")

// fixed are options that the defaults may change without changing golden files.
var fixed = Options{HookCost: 100e-9, OperationCost: 0.2e-9, Ranks: 8, Trips: 1000}

func TestGolden(t *testing.T) {
	for _, c := range []struct {
		source, golden string
		options        Options
	}{
		{"sor.go", "sor.golden", fixed}, {"mm.go", "mm.golden", fixed}, {"bounds.go", "bounds.golden", fixed},
		{"refused.go", "refused.golden", fixed},
		{"sor.go", "sor-bare.golden", func() Options { o := fixed; o.Hooks = true; return o }()},
	} {
		t.Run(c.golden, func(t *testing.T) {
			advice, err := Advise(filepath.Join("testdata", c.source), c.options)
			require.NoError(t, err)
			var text bytes.Buffer
			require.NoError(t, Write(&text, advice))
			golden := filepath.Join("testdata", c.golden)
			if *update {
				require.NoError(t, os.WriteFile(golden, text.Bytes(), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			if d := cmp.Diff(string(want), text.String()); d != "" {
				t.Errorf("%s is out of date (-update writes it): %s", golden, d)
			}
		})
	}
}

// of is the advice on the marked loop of a function.
func of(t *testing.T, file, function string, o Options) Advice {
	t.Helper()
	advice, err := Advise(filepath.Join("testdata", file), o)
	require.NoError(t, err)
	for _, a := range advice {
		if a.Function == function {
			return a
		}
	}
	require.Fail(t, "no advice", function)
	return Advice{}
}

func (a Advice) position(t *testing.T, name string) Position {
	t.Helper()
	for _, p := range a.Positions {
		if p.Name == name {
			return p
		}
	}
	require.Fail(t, "no such position", name)
	return Position{}
}

// Claim 4.8, Figures 15 and 16: SOR takes the hook at the strip level; for MM neither native place fits, strip mining
// adds lbhook0a.
func TestClaim4_8(t *testing.T) {
	for _, function := range []string{"sor", "sorRows", "sorFlat"} {
		a := of(t, "sor.go", function, Options{})
		assert.Equal(t, "lbhook1a", a.Take, function)
		assert.Equal(t, placement.Pipelined, a.Order)
		assert.Equal(t, placement.Refused, a.position(t, "lbhook0").Verdict)
		assert.Equal(t, placement.TooCheap, a.position(t, "lbhook1").Verdict)
		assert.Equal(t, placement.Accepted, a.position(t, "lbhook2").Verdict)
		assert.Equal(t, placement.Refused, a.position(t, "lbhook3").Verdict)
		assert.Greater(t, a.position(t, "lbhook1a").Strip, 1)
	}
	for _, function := range []string{"mm", "mmSmall", "mmRepeated"} {
		a := of(t, "mm.go", function, Options{})
		assert.Equal(t, "lbhook0a", a.Take, function)
		assert.Equal(t, placement.Free, a.Order)
		assert.Contains(t, a.position(t, "lbhook0").Reason, "different numbers of hooks")
	}
	assert.Greater(t, of(t, "mm.go", "mmSmall", Options{}).position(t, "lbhook0a").Strip, 1)
	assert.Equal(t, 1, of(t, "mm.go", "mm", Options{}).position(t, "lbhook0a").Strip)
	for _, p := range of(t, "mm.go", "mm", Options{}).Positions {
		if p.Name == "" {
			assert.Equal(t, placement.Refused, p.Verdict)
			assert.Contains(t, p.Reason, "atomic")
		}
	}
}

func TestOrders(t *testing.T) {
	for function, order := range map[string]placement.Order{
		"unknown": placement.Free, "triangle": placement.Free, "while": placement.Free, "jacobi": placement.Synchronous,
		"converge": placement.Synchronous, "short": placement.Synchronous, "two": placement.Synchronous,
		"elimination": placement.Synchronous, "said": placement.Pipelined, "upwards": placement.Pipelined,
	} {
		assert.Equal(t, order, of(t, "bounds.go", function, Options{}).Order, function)
	}
}

func TestTrips(t *testing.T) {
	for _, c := range []struct {
		file, function string
		level          int
		text           string
		count          float64
		guessed        bool
	}{
		{"sor.go", "sor", 1, "m - 2", 998, true}, {"sor.go", "sorRows", 0, "iterations", 40, false}, {"sor.go", "sorFlat",
			2, "n - 2", 998, true},
		{"mm.go", "mmSmall", 1, "8", 8, false}, {"bounds.go", "unknown", 0, "unknown", 1000, true}, {"bounds.go", "hinted",
			1, "len(rows[j])", 10, false},
		{"bounds.go", "triangle", 1, "50.5", 51, false}, {"bounds.go", "while", 1, "unknown", 1000, true},
		{"bounds.go", "converge", 1, "g.n", 50, false}, {"bounds.go", "down", 0, "500", 500, false},
		{"bounds.go", "other", 1, "10000", 10000, false}, {"bounds.go", "elimination", 2, "n/2 + 0.5", 401, false},
	} {
		l := of(t, c.file, c.function, fixed).Levels[c.level]
		assert.Equal(t, c.text, l.Trips, c.function)
		assert.Equal(t, c.count, l.Count, c.function)
		assert.Equal(t, c.guessed, l.Guessed, c.function)
	}
}

// Trip counts of loops with constant bounds are what the loops do.
func TestTripsAreRight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo, hi, step := rapid.IntRange(-20, 20).Draw(t, "lo"), rapid.IntRange(-20, 20).Draw(t, "hi"), rapid.IntRange(1,
			7).Draw(t, "step")
		shape := rapid.SampledFrom([]string{"<", "<=", ">", ">="}).Draw(t, "comparison")
		want := 0
		post := "+="
		switch shape {
		case "<":
			for i := lo; i < hi; i += step {
				want++
			}
		case "<=":
			for i := lo; i <= hi; i += step {
				want++
			}
		case ">":
			post = "-="
			for i := lo; i > hi; i -= step {
				want++
			}
		case ">=":
			post = "-="
			for i := lo; i >= hi; i -= step {
				want++
			}
		}
		a := adviseText(t, "package p\nfunc f(x []int) {\n//shiftwork:distribute\nfor i := "+itoa(lo)+"; i "+shape+" "+itoa(hi)+"; i "+post+" "+itoa(step)+" {\n_ = x\n}\n}\n")
		require.Equal(t, float64(want), a[0].Levels[0].Count)
	})
}

func itoa(n int) string { return strings.TrimSpace(string(must(json.Marshal(n)))) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// adviseText advises on one file.
func adviseText(t require.TestingT, text string) []Advice {
	a, err := adviseSource([]byte(text), fixed)
	require.NoError(t, err)
	return a
}

func adviseSource(text []byte, o Options) ([]Advice, error) {
	fset := token.NewFileSet()
	file, err := parse(fset, "x.go", text)
	if err != nil {
		return nil, err
	}
	return newSource(fset, file, text).advise(o)
}

func TestDearerHooksGoFurtherOut(t *testing.T) {
	for _, function := range []string{"sor", "sorRows"} {
		last := 0.0
		for _, hook := range []float64{1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4} {
			o := fixed
			o.HookCost = hook
			a := of(t, "sor.go", function, o)
			require.NotEmpty(t, a.Take, hook)
			now := a.position(t, a.Take).Seconds
			assert.GreaterOrEqual(t, now, last)
			last = now
		}
		assert.Greater(t, last, 1e-3)
	}
}

func TestBadInputIsOneLine(t *testing.T) {
	folder := t.TempDir()
	file := func(name, text string) string {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
		return filepath.Join(folder, name)
	}
	empty := t.TempDir()
	const loop = "for i := 0; i < 9; i++ {\n}\n"
	for _, c := range []struct{ path, says string }{
		{filepath.Join(folder, "none"), "no such file or directory: accepted are"},
		{filepath.Join(folder, "none") + "/...", "no such file or directory"},
		{file("x.txt", ""), "does not end in .go"},
		{empty, "no Go files there"},
		{file("a.go", "package p\nfunc {"), "a.go:2:6: not Go source: expected"},
		{file("b.go", ""), "b.go:1:1: not Go source"},
		{file("c.go", "package p\nfunc f() {\n"+loop+"}\n"),
			"c.go: no loop is marked: accepted is a line //shiftwork:distribute above a for statement"},
		{file("d.go", "package p\n//shiftwork:distribute\nfunc f() {\n"+loop+"}\n"),
			"d.go:2: //shiftwork:distribute is not on a loop: accepted"},
		{file("e.go", "package p\nfunc f() {\n//shiftwork:distribute quickly\n"+loop+"}\n"),
			`e.go:3: "quickly" is not accepted`},
		{file("f.go", "package p\nfunc f() {\n//shiftwork:distribute n=-1\n"+loop+"}\n"), `f.go:3: "n=-1" is not accepted`},
		{file("g.go", "package p\nfunc f() {\n//shiftwork:distribute\nfor range 3 {\n//shiftwork:distribute\n"+loop+"}\n}\n"), "g.go:5: a loop inside a marked loop cannot be marked"},
		{file("h.go", "package p\nfunc f() {\n//shiftwork:distribute\n\n"+loop+"}\n"),
			"h.go:3: //shiftwork:distribute is not on a loop"},
		{file("i.go", "package p\n\n//shiftwork:distribute"), "i.go:3: //shiftwork:distribute is not on a loop"},
	} {
		_, err := Advise(c.path, Options{})
		require.Error(t, err, c.path)
		assert.ErrorContains(t, err, c.says)
		assert.NotContains(t, err.Error(), "\n")
	}
	for _, o := range []Options{{HookCost: -1}, {OperationCost: math.NaN()}, {Ranks: -1}, {Trips: 0.5},
		{HookCost: math.Inf(1)}} {
		_, err := Advise("testdata/mm.go", o)
		assert.ErrorContains(t, err, "accepted is")
	}
}

func TestFoldersAndLabels(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"a.go":          "package p\nconst n = 7\n",
		"b.go":          "package p\nfunc f(x []float64) {\n//shiftwork:distribute\n// the elements\nouter:\nfor i := range n {\nfor x[i] > 0 {\ncontinue outer\n}\n}\n}\n",
		"b_test.go":     "package p\nfunc g(x []float64) {\n//shiftwork:distribute\nfor range x {\n}\n}\n",
		"w.go":          "//go:build never\n\npackage p\nfunc g(x []float64) {\n//shiftwork:distribute\nfor range x {\n}\n}\n",
		"deep/c.go":     "package q\nvar f = func(x []float64) {\n//shiftwork:distribute\nfor i, v := range x {\nx[i] = 2 * v\n}\n}\n",
		"testdata/d.go": "package broken",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	a, err := Advise(folder, Options{})
	require.NoError(t, err)
	require.Len(t, a, 1, "tests and files that are not built here do not count")
	assert.Equal(t, "7", a[0].Levels[0].Trips, "constants of other files do")
	a, err = Advise(folder+"/...", Options{})
	require.NoError(t, err)
	require.Len(t, a, 2)
	assert.Empty(t, a[1].Function)
}

// Whatever parses gets advice, whose code is Go, or an error of one line.
func FuzzAnySource(f *testing.F) {
	for _, name := range []string{"sor.go", "mm.go", "bounds.go", "refused.go"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(f, err)
		f.Add(text)
	}
	const before = "package p\nfunc f(x []float64, y [][]float64, n int) {\nfor k := range 9 {\n//shiftwork:distribute\n"
	for _, loop := range []string{
		"for {\n}", "for i := range x {\ngoto l\nl:\n}", "for i, i := range x {\n}", "for x[0] = range x {\n}",
		"for i := 0; i < i; i += i {\n}",
		"for range func(func() bool) {} {\n}",
		"for i := 0; i < n; i++ {\nx[i], y[i] = 0, x\nfor j := range i {\nx[j*i+n*n*n*n*n*n*n]++\n}\n}",
		"for i := 0.5; i < 1e308*10; i++ {\nx[i+1:][i] = x[i:n][i-1:][2]\n}",
		"for i := 1 << 62; i < 1<<63; i -= -1 {\n_ = x[i/2]\n}",
		"for a, b := 0, n; a < b; a, b = a+1, b-1 {\n}", "for i := range *x {\n(x)[i] = (y)[i][i]\n}",
		"for i := range y {\na := y[i]\na := a[i]\na[i] = y[i-1][i]\n}",
		"for i := range y {\nr := y[i]\nr = y[i+1]\nr[0] = 1\nfunc() {\nf(x, y, n)\nreturn\n}()\n}",
		"for i := range x[:] {\nswitch {\n}\nselect {\n}\nif n := 1; n > 0 {\n} else if x[i] > 0 {\nbreak\n}\n}",
		"for i := range x {\nvar i = i\nx[i] = x[i+1]\n}", "for i := 0; i < n; i++ {\nfor i := i; i < i; i++ {\n`\n`\n}\n}",
	} {
		f.Add([]byte(before + loop + "\n}\n}\n"))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, bare := range []bool{false, true} {
			o := fixed
			o.Hooks = bare
			advice, err := adviseSource(text, o)
			if err != nil {
				if !strings.Contains(err.Error(), "not Go source") { // which quotes it
					require.NotContains(t, err.Error(), "\n")
				}
				return
			}
			for _, a := range advice {
				require.NotContains(t, strings.Join(a.Notes, " "), "is not Go")
				if a.Code != "" {
					_, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() error {\n"+a.Code+"return nil\n}\n", 0)
					require.NoError(t, err, a.Code)
				}
				if a.Take != "" {
					require.LessOrEqual(t, a.position(t, a.Take).Share, placement.MaxShare)
				}
			}
			require.NoError(t, Write(&bytes.Buffer{}, advice))
			_, err = json.Marshal(advice)
			require.NoError(t, err)
		}
	})
}

// newSource is a package of one file.
func newSource(fset *token.FileSet, file *ast.File, content []byte) *source {
	s := &source{fset: fset, files: []*ast.File{file}, text: map[*ast.File][]byte{file: content}}
	s.check()
	return s
}
