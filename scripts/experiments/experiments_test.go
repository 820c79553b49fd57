package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"

	"shiftwork/scripts/lab/cluster"
	"shiftwork/scripts/lab/measure"
)

func TestRefusedBeforeAnythingStarts(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--what"}, "unknown flag --what"},
		{[]string{"--part", "slow,fats"}, "--part=fats: sequential, idle, constant, slow, fast, "},
		{[]string{"--budget=-1"}, "--budget=-1: minutes above 0"},
		{[]string{"--largest", "3"}, "--largest=3: rows from 2000"},
		{[]string{"--draw", "--measure"}, "exclude each other"},
		{[]string{"--draw", "--data", t.TempDir()}, "holds no measurements"},
		{[]string{"--programs", t.TempDir(), "--data", t.TempDir()}, "there is no program sor (make build makes it)"},
	} {
		var stdout, stderr bytes.Buffer
		assert.Equal(t, 2, command(t.Context(), c.args, &stdout, &stderr), "%v", c.args)
		assert.Contains(t, stderr.String(), c.says)
		assert.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
		assert.Empty(t, stdout.String())
	}
}

// Half a series in a folder of its own must not take the place of the figures and tables of the whole one.
func TestDataOfOnesOwnLeaveTheDocumentAlone(t *testing.T) {
	for _, c := range []struct {
		args    []string
		strange bool
	}{
		{nil, false},
		{[]string{"--data", "./data/evaluation/"}, false},
		{[]string{"--data", "elsewhere"}, true},
		{[]string{"--data", "elsewhere", "--figures", "there"}, true},
		{[]string{"--data", "elsewhere", "--figures", "there", "--document", "there.md"}, false},
		{[]string{"--figures", "there"}, false},
	} {
		o, _, err := parse(c.args)
		require.NoError(t, err)
		assert.Equal(t, c.strange, o.strange(), "%q", c.args)
	}
}

// Data of another machine are not added to.
func TestOtherMachinesAreNotMixed(t *testing.T) {
	st, err := load(t.TempDir())
	require.NoError(t, err)
	o := options{Data: st.folder}
	require.NoError(t, o.settings(st))
	require.NoError(t, o.settings(st))
	for i, one := range st.settings {
		if one.Name == "cpus" {
			st.settings[i].Value = "1000"
		}
	}
	assert.ErrorContains(t, o.settings(st), "it was measured where cpus is 1000, and here it is ")
	o.Fresh = true
	require.NoError(t, o.settings(st), "a part of it that is measured anew says where")
}

func TestListHasEveryPart(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Zero(t, command(t.Context(), []string{"--list", "--data", t.TempDir()}, &stdout, &stderr), stderr.String())
	for _, p := range parts(10000) {
		assert.Contains(t, stdout.String(), p.name+" ")
	}
}

// Names tell cells and variants apart, or a run would be taken for another one.
func TestNamesOfCellsAreUnique(t *testing.T) {
	seen := map[key]bool{}
	for _, p := range parts(10000) {
		require.NotEmpty(t, p.cells, p.name)
		for _, c := range p.cells {
			require.NotEmpty(t, c.variants)
			for _, v := range c.variants {
				k := key{c.part, c.name, v.name, 0}
				assert.False(t, seen[k], "%v", k)
				seen[k] = true
				for _, l := range v.loads {
					assert.Less(t, l.Workstation, len(c.place.cpu), "%v", k)
				}
			}
			config := c.place.config()
			assert.NoError(t, config.Validate(2), "%s %s", c.part, c.name)
			assert.Equal(t, c.work, workOf(c.work.String()))
		}
	}
}

func TestCommandIsAsLongAsAsked(t *testing.T) {
	command, _, _, count := sor(1000).command("/bin", 2, 0.01)
	assert.Equal(t, 200, count)
	assert.Equal(t, "/bin/sor --n 1000 --m 1000 --iterations 200", strings.Join(command, " "))
	command, n, _, count := mm.command("/bin", 8, 1)
	assert.Equal(t, 2*unitSize, n, "eight times the work is twice the size")
	assert.Equal(t, 1, count)
	assert.Equal(t, "/bin/mm --n 3000", strings.Join(command, " "))
	assert.InDelta(t, 8, mm.amount(n, count), 1e-9)
	command, _, _, _ = mm500.command("/bin", 1, 0.01)
	assert.Equal(t, "/bin/mm --n 500 --repeat 100", strings.Join(command, " "))
}

func TestBlockSizesBetweenAreTriedWhereTheyMayBeBest(t *testing.T) {
	sizes := []int{1, 2, 3, 4, 6, 8, 11, 16}
	tried := []timed{{1, 9}, {3, 2}, {6, 1}, {11, 3}, {16, 4}}
	assert.Equal(t, []int{4, 8, 2}, between(sizes, tried), "beside 6, and then beside 3")
	assert.Empty(t, between(sizes, []timed{{1, 2}, {2, 1}, {3, 3}}))
	assert.Empty(t, between(sizes, nil))
}

func TestBlockSizesArePowersOfTheRootOfTwo(t *testing.T) {
	assert.Equal(t, []int{1, 2, 3, 4, 6, 8, 11, 16, 23, 30}, blockSizes(32))
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(4, 30000).Draw(t, "m")
		sizes := blockSizes(m)
		assert.Equal(t, m-2, sizes[len(sizes)-1])
		assert.True(t, slices.IsSorted(sizes))
		assert.Equal(t, sizes, slices.Compact(slices.Clone(sizes)))
	})
}

func someRun(part, cell, variant string, round int, seconds float64) run {
	return run{Part: part, Cell: cell, Variant: variant, Round: round, Work: "sor-4000", N: 4000, M: 4000, Iterations: 100, Ranks: 4,
		CPU: "0.4:0.4:0.4:0.4", PeriodMS: 10, Net: "memory", Time: seconds, Began: 0.7, Compete: "0:0.5:0:0"}
}

// Of samples of a normal distribution the error is what their medians really scatter by. One value that is far off is no reason for more pairs, but to have only two is.
func TestMedianError(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var medians, errors []float64
	for range 1000 {
		values := make([]float64, 25)
		for i := range values {
			values[i] = 1 + 0.1*random.NormFloat64()
		}
		medians, errors = append(medians, measure.Median(values)), append(errors, medianError(values))
	}
	assert.InEpsilon(t, stat.StdDev(medians, nil), measure.Median(errors), 0.1)
	assert.Zero(t, medianError([]float64{1, 1, 1, 1, 40}))
	assert.Greater(t, medianError([]float64{1, 1}), 1.0)
}

// What is written is read again; a line that was cut off in the midst is not, and neither is a trace without its run.
func TestStoreSurvivesBeingKilled(t *testing.T) {
	dir := t.TempDir()
	s, err := load(dir)
	require.NoError(t, err)
	require.NoError(t, s.set("budget", "5"))
	require.NoError(t, s.addSize(size{"mm", 1.25}))
	first := someRun("slow", "mm", "on", 0, 1.5)
	first.Loads = "ws=1 from=0s to=end on=3s off=3s;ws=2 from=3s to=end"
	require.NoError(t, s.addRun(first))
	require.NoError(t, s.addRun(someRun("slow", "mm", "on", 1, 1.25)))
	require.NoError(t, s.addSamples([]sample{{Part: "slow", Cell: "mm", Variant: "on", At: 0.5}, {Part: "slow", Cell: "mm", Variant: "off"}}))
	require.NoError(t, s.addPoints([]point{{Part: "block", Cell: "x", Block: 7, Sweep: 0.25}}))

	f, err := os.OpenFile(s.file("runs"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = io.WriteString(f, "slow,mm,on,2,mm,10")
	require.NoError(t, err)
	require.NoError(t, f.Close())

	again, err := load(dir)
	require.NoError(t, err)
	assert.Equal(t, "5", again.setting("budget"))
	assert.Equal(t, 1.25, again.sizes["mm"].CPU)
	assert.Equal(t, s.runs, again.runs)
	assert.Equal(t, s.order, again.order)
	assert.Len(t, again.samples, 1, "the other's run is not there")
	assert.Empty(t, again.points)
	assert.Len(t, again.runs[first.key()].loads(), 2)
	require.NoError(t, again.addRun(someRun("slow", "mm", "on", 2, 1)))

	require.NoError(t, again.addRun(someRun("fast", "mm", "on", 0, 1)))
	require.NoError(t, again.set(anew+"slow", "today"))
	require.NoError(t, again.set(scaled+"slow", "0.2 0.5"))
	require.NoError(t, again.set(anew+"fast", "yesterday"))
	require.NoError(t, again.addRun(someRun("slow"+paired, "mm", "on", 0, 1)))
	require.NoError(t, again.forget([]string{"slow"}, false))
	last, err := load(dir)
	require.NoError(t, err)
	assert.Equal(t, []setting{{"budget", "5"}, {anew + "fast", "yesterday"}}, last.settings)
	assert.Equal(t, []key{{"fast", "mm", "on", 0}}, last.order)
	assert.Empty(t, last.samples)
	require.NoError(t, last.forget(nil, true))
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, files)
}

// The share removed is that of scripts/lab: a constant load on one of four leaves 3.5 of them.
func TestRemovedIsTheLabs(t *testing.T) {
	s := &store{runs: map[key]run{}}
	for round, t := range []float64{12.6, 12.4, 12.9} {
		r := someRun("constant", "x", "on", round, t)
		r.Loads = "ws=1 from=0s to=end"
		s.note(r)
	}
	s.note(someRun("constant", "x", "off", 0, 23.7))
	assert.False(t, s.removed("constant", "x", "on", "off", "dedicated").ok(), "the dedicated time is not known")
	s.note(someRun("constant", "x", "dedicated", 0, 10.2))
	removed := s.removed("constant", "x", "on", "off", "dedicated")
	ideal := 10.2 * 4 / 3.5
	assert.InDelta(t, (23.7-12.6)/(23.7-ideal), removed.median, 1e-9)
	assert.InDelta(t, (23.7-12.9)/(23.7-ideal), removed.low, 1e-9)
	assert.InDelta(t, (23.7-12.4)/(23.7-ideal), removed.high, 1e-9)
	ratio := s.ratio("constant", "x", "on", "off")
	assert.InDelta(t, 12.6/23.7, ratio.median, 1e-9)
}

// Equation (2) against one CPU: four workstations of 0.4 that take 2.5 s for 4 s of work waste nothing.
func TestEfficiencyIsEquation2(t *testing.T) {
	s := &store{runs: map[key]run{}}
	alone := someRun("sequential", "sor-4000", "dedicated", 0, 8)
	alone.CPU, alone.Ranks, alone.Iterations = "1", 1, 200
	s.note(alone)
	r := someRun("slow", "sor-4000", "on", 0, 2.5)
	r.Compete = "0:0:0:0"
	assert.InDelta(t, 1, s.efficiency(r), 1e-9)
	r.Time, r.Compete = 3, "0:2:0:0"
	assert.InDelta(t, 4/(0.4*(12-2)), s.efficiency(r), 1e-9)
	r.CPUs = 8
	assert.True(t, math.IsNaN(s.efficiency(r)), "its sequential time on a machine of another kind is not known")
	r.CPUs, r.Work = 0, "sor-8000"
	assert.True(t, math.IsNaN(s.efficiency(r)), "its sequential time is not known")
}

// A load that takes less than half leaves less to remove.
func TestPenaltyByWhatTheLoadTook(t *testing.T) {
	s := &store{runs: map[key]run{}}
	for name, seconds := range map[string]float64{"off": 19, "on": 12, "dedicated": 10} {
		r := someRun("constant", "x", name, 0, seconds)
		r.Loads = constant(1)[0].String()
		r.Compete = fmt.Sprintf("0:%g:0:0", 0.4*seconds)
		s.note(r)
	}
	assert.InDelta(t, 0.4, s.taken("constant", "x", "on").median, 1e-9)
	assert.InDelta(t, 7/(19-10*4/3.5), s.removed("constant", "x", "on", "off", "dedicated").median, 1e-9)
	assert.InDelta(t, 7/(19-10*4/3.6), s.removedByTaken("constant", "x", "on", "off", "dedicated").median, 1e-9)
	assert.False(t, s.removedByTaken("constant", "y", "on", "off", "dedicated").ok())
}

// The figures of spec/equations.md: P = 4, s = 1/2, delay 2 s, move 1 s.
func TestModelOfFig31(t *testing.T) {
	m := swing{ranks: 4, share: 0.5, half: 30, delay: 2, move: 1, parallel: 1}
	assert.InDelta(t, 0.800, m.unbalanced(), 0.0005)
	assert.InDelta(t, 0.949, m.efficiency(), 0.0005)
	m.half = 10
	assert.InDelta(t, 0.847, m.efficiency(), 0.0005)
	m.half, m.move, m.delay = 19, 3, 3
	assert.InDelta(t, m.unbalanced(), m.efficiency(), 0.005, "the paper's break-even")
}

func TestBusyTimesAreOnTheClockOfTheLoop(t *testing.T) {
	r := run{Began: 1, Loads: "ws=1 from=0s to=end on=3s off=3s"}
	assert.Equal(t, [][2]float64{{-1, 2}, {5, 8}}, r.busy(7))
	r.Loads = "ws=1 from=0s to=end"
	assert.Equal(t, [][2]float64{{-1, 7}}, r.busy(7))
	assert.Equal(t, []cluster.Load{{Workstation: 1}}, r.loads())
	r.Loads = "ws=1 from=loop to=end on=3s off=3s"
	assert.Equal(t, [][2]float64{{0, 3}, {6, 9}}, r.busy(7))
	r.Loads = "ws=1 from=loop+2s to=end on=3s off=3s"
	assert.Equal(t, [][2]float64{{2, 5}}, r.busy(7))
}

func TestFillReplacesOnlyTables(t *testing.T) {
	table := func(name string) (string, bool) { return "new " + name + "\n", name == "a" }
	text := "# title\n<!-- begin a -->\nold\n<!-- end a -->\nrest"
	once, err := fill(text, table)
	require.NoError(t, err)
	assert.Equal(t, "# title\n<!-- begin a -->\nnew a\n<!-- end a -->\nrest", once)
	twice, err := fill(once, table)
	require.NoError(t, err)
	assert.Equal(t, once, twice)
	for _, bad := range []string{
		"<!-- begin b -->\n<!-- end b -->", "<!-- begin a -->", "<!-- end a -->", "<!-- begin a -->\n<!-- begin a -->\n<!-- end a -->",
	} {
		_, err := fill(bad, table)
		assert.Error(t, err, bad)
	}
}

// The document names every table and every figure, and no other.
func TestDocumentShowsEverything(t *testing.T) {
	text, err := os.ReadFile("../../docs/evaluation.md")
	require.NoError(t, err)
	for name := range tables {
		assert.Contains(t, string(text), "<!-- begin "+name+" -->")
	}
	for _, f := range figures() {
		assert.Contains(t, string(text), "(figures/"+f.file+".png)")
	}
	assert.Equal(t, len(figures()), strings.Count(string(text), "(figures/"))
	_, err = fill(string(text), func(name string) (string, bool) { _, ok := tables[name]; return "", ok })
	assert.NoError(t, err)
}

// Every claim of the paper has a line, whatever has been measured, and nothing that was not is called shown.
func TestClaimsWithoutMeasurements(t *testing.T) {
	empty := &store{runs: map[key]run{}}
	for i, c := range claims {
		assert.Equal(t, fmt.Sprintf("4.%d", i+1), c.id)
		_, v := c.judge(empty)
		if !strings.Contains(tableClaims(empty), "| "+c.id+" |") || v != open && v != shown {
			t.Errorf("claim %s: %s", c.id, v)
		}
		measured, _ := c.judge(empty)
		if v == shown {
			assert.Contains(t, measured, "a test: ", c.id)
		}
	}
	for _, table := range tables {
		assert.NotPanics(t, func() { table(empty) })
	}
	for _, f := range figures() {
		_, ok := f.make(empty)
		assert.Equal(t, f.file == "fig11-13", ok, f.file)
	}
}

// All cells of part idle count, not those that cost least.
func TestEveryIdleCellCounts(t *testing.T) {
	s := &store{runs: map[key]run{}}
	s.note(someRun("idle", "sor-8000", "off", 0, 2))
	s.note(someRun("idle", "sor-8000", "on", 0, 1.9))
	measured, v := judgeInteractions(s)
	assert.Equal(t, "balancing costs at most -5.0% where nothing competes (sor-8000)", measured)
	assert.Equal(t, shown, v)
	s.note(someRun("idle", "mm", "off", 0, 2))
	s.note(someRun("idle", "mm", "on", 0, 2.12))
	measured, v = judgeInteractions(s)
	assert.Equal(t, "balancing costs at most 6.0% where nothing competes (mm)", measured)
	assert.Equal(t, notShown, v)
}

// The efficiency must rise from each balancing period to the next.
func TestPeriodsMustRise(t *testing.T) {
	s := &store{runs: map[key]run{}}
	s.note(someRun("sequential", "sor-4000", "dedicated", 0, 8))
	s.note(someRun("period", "sor-4000", "full", 0, 6))
	for i, q := range balancingPeriods {
		_, v := judgePeriods(s)
		assert.Equal(t, open, v, "%d quanta are not measured", q)
		s.note(someRun("period", "sor-4000", fmt.Sprint(q), 0, 10-float64(i)))
	}
	_, v := judgePeriods(s)
	assert.Equal(t, shown, v)
	s.note(someRun("period", "sor-4000", "40", 0, 7.5))
	_, v = judgePeriods(s)
	assert.Equal(t, notShown, v, "40 quanta are worse than 20")
}

// A master that has hardly interacted says nothing about what balancing uses.
func TestMasterThatHardlyInteracted(t *testing.T) {
	s := &store{runs: map[key]run{}}
	for _, l := range masterLoads {
		for cell, interactions := range map[string]int{"p8": 10, "p32": 9} { // of 20 that 50 ms ask for in 1 s
			r := someRun("master", cell, l.variant, 0, 1)
			r.Interactions, r.MasterCPU = interactions, 0.002
			s.note(r)
		}
	}
	measured, v := judgeMaster(s)
	assert.Equal(t, shown, v)
	assert.Contains(t, measured, "P = 8: no load 0.20%, constant load 0.20%")
	assert.Contains(t, measured, "P = 32: no load not measured, constant load not measured")
	assert.Contains(t, tableMaster(s), "| 8 | 0.200 | 0.200 | 0.200 |")
	assert.Contains(t, tableMaster(s), "| 32 | not measured | not measured | not measured |")
	r := someRun("master", "p8", "constant", 0, 1)
	r.Interactions = 2
	s.note(r)
	_, v = judgeMaster(s)
	assert.Equal(t, open, v, "whatever the load")
}

// Section 6.2: one of four with half of the rate, and recovered with work for half of it.
func TestImbalance(t *testing.T) {
	of := func(shares, rates [4]float64) float64 {
		var ranks []sample
		for i := range shares {
			ranks = append(ranks, sample{Share: shares[i], Filtered: rates[i]})
		}
		return imbalance(ranks)
	}
	equal, slowed := [4]float64{0.25, 0.25, 0.25, 0.25}, [4]float64{2. / 7, 1. / 7, 2. / 7, 2. / 7}
	assert.InDelta(t, 0.429, of(equal, [4]float64{1, 0.5, 1, 1}), 0.0005)
	assert.InDelta(t, 0.125, of(slowed, [4]float64{1, 1, 1, 1}), 0.0005)
	assert.InDelta(t, 0, of(slowed, [4]float64{2, 1, 2, 2}), 1e-9)
	assert.Zero(t, of(equal, [4]float64{}))
	assert.InDelta(t, 1, of(equal, [4]float64{1, 0, 1, 1}), 1e-9)
}

// With the threshold more must be left wrong, when the load changes, than without it.
func TestThresholdLeavesRowsWrong(t *testing.T) {
	judged := func(with, without float64) (string, string) {
		s := &store{runs: map[key]run{}}
		for variant, share := range map[string]float64{"24a": without, "24b": with} {
			r := someRun("mechanisms", "traces", variant, 0, 5)
			r.Loads = "ws=1 from=loop to=end on=2s off=2s"
			s.note(r)
			for k, at := range []float64{0.5, 1.9, 2.1, 3.9, 4.5} {
				x := share
				if k%2 == 0 {
					x = 0.5 // not the last one before a change
				}
				for rank, part := range []float64{x, 1 - x} {
					s.samples = append(s.samples, sample{Part: "mechanisms", Cell: "traces", Variant: variant, Interaction: k, Rank: rank, At: at, Share: part, Filtered: 1})
				}
			}
		}
		return judgeThreshold(s)
	}
	measured, v := judged(0.52, 0.5)
	assert.Equal(t, "imbalance left when the load changes: with it 3.8%, 3.8%, without 0.0%, 0.0% (the paper's (c): 6.2% to 7.7%)", measured)
	assert.Equal(t, shown, v)
	_, v = judged(0.5, 0.5)
	assert.Equal(t, notShown, v)
}

// A results folder gives its figures, as PNG and SVG, and fills its document.
func TestDrawsWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	s := &store{folder: dir, runs: map[key]run{}}
	for _, w := range mains {
		for round, x := range []float64{0, 0.1, 0.2} {
			s.note(someRun("slow", w.String(), "off", round, 12+x))
			on := someRun("slow", w.String(), "on", round, 10.8+x)
			on.Loads = "ws=1 from=0s to=end on=3s off=3s"
			s.note(on)
			s.note(someRun("slow", w.String(), "dedicated", round, 9.5+x))
		}
		for k := range 40 {
			for rank := range 4 {
				s.samples = append(s.samples, sample{Part: "slow", Cell: w.String(), Variant: "on", Interaction: k, Rank: rank, At: float64(k) / 4,
					Raw: 1 + float64(rank)/10, Filtered: 1, Share: 0.25, Elapsed: 0.25, Compute: 0.2, Wait: 0.05})
			}
		}
	}
	file := filepath.Join(dir, "evaluation.md")
	require.NoError(t, os.WriteFile(file, []byte("<!-- begin promises -->\n<!-- end promises -->\n"), 0o644))
	require.NoError(t, draw(s, dir, io.Discard))
	for _, name := range []string{"removed", "shares", "gantt", "fig11-13"} {
		png, err := os.ReadFile(filepath.Join(dir, name+".png"))
		require.NoError(t, err)
		assert.True(t, bytes.HasPrefix(png, []byte("\x89PNG")), name)
		svg, err := os.ReadFile(filepath.Join(dir, name+".svg"))
		require.NoError(t, err)
		assert.Contains(t, string(svg), "</svg>", name)
	}
	assert.NoFileExists(t, filepath.Join(dir, "fig20.png"), "it has not been measured")
	var out bytes.Buffer
	require.NoError(t, document(s, file, &out))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(text), "| 60 periods a cycle: penalty removed | mm | at least 0.90 |")
}

// A session that is interrupted ends at once, with nothing measured.
func TestInterruptedBeforeItBegan(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := &session{store: &store{folder: t.TempDir(), sizes: map[string]size{"mm": {"mm", 1}}, runs: map[key]run{}}, out: io.Discard}
	began := time.Now()
	c := cell{part: "x", name: "y", place: four, work: mm, seconds: 1, rounds: 3, variants: []variant{off, on}}
	s.scale = scale{1, 1}
	err := s.measure(ctx, c)
	if err == nil {
		t.Fatal("it measured without being allowed to")
	}
	assert.Less(t, time.Since(began), 5*time.Second)
}

// Rounds of what is compared to a hundredth go on where they differ, and no longer than the part has time.
func TestPairsGoOn(t *testing.T) {
	for name, x := range map[string]struct {
		scatter float64 // of every other run
		minutes int
		want    int
	}{
		"alike": {0.01, 1, 5}, "different": {0.5, 1, mostRounds}, "no time": {0.5, -1, 5},
	} {
		t.Run(name, func(t *testing.T) {
			st, err := load(t.TempDir())
			require.NoError(t, err)
			require.NoError(t, st.addSize(size{"sor-4000", 1}))
			s := newSession(st, ".", t.TempDir(), io.Discard)
			s.scale = scale{1, 1}
			s.once = func(_ context.Context, _ int, c cell, v variant, round int, _ size) taken {
				r := someRun(c.part, c.name, v.name, round, 1)
				if v.name == "on" && round%2 == 1 {
					r.Time += x.scatter
				}
				return taken{run: r}
			}
			c := cell{part: "idle", name: "x", place: four, work: sor4000, seconds: 1, rounds: 5, variants: []variant{off, on}}
			require.NoError(t, s.measurePairs(t.Context(), c, time.Now().Add(time.Duration(x.minutes)*time.Minute)))
			assert.Len(t, st.ratios("idle", "x", "on", "off"), x.want)
			assert.InDelta(t, float64(2*x.want)*c.lasts([]variant{on}, s.scale), s.worked, 1e-6, "each run is clocked once")
		})
	}
}

// Another checksum than that of the same program and size is a failure of the run.
func TestSameResult(t *testing.T) {
	s := &session{store: &store{runs: map[key]run{}}}
	a := someRun("idle", "x", "on", 0, 1)
	a.Checksum = "aa"
	s.store.note(a)
	b := a
	b.Part, b.Ranks = "slow", 8
	assert.NoError(t, s.sameResult(b))
	b.Checksum = "bb"
	assert.ErrorContains(t, s.sameResult(b), "checksum bb")
	b.Iterations++
	assert.NoError(t, s.sameResult(b))
}

// unbalanced is the model's efficiency without balancing.
func (w swing) unbalanced() float64 {
	p, s := float64(w.ranks), w.share
	return w.parallel * (p + p*s) / (p + p - 1 + s)
}

// What parts were measured anew stands in one row for each version, and what came first only as long as something is left of it.
func TestTableOfTheMachine(t *testing.T) {
	s, err := load(t.TempDir())
	require.NoError(t, err)
	for _, x := range []setting{{"begun", "Monday"}, {"cpu", "fast"}, {anew + "slow", "today"}, {scaled + "slow", "0.2 0.5"}, {anew + "fast", "today"}} {
		require.NoError(t, s.set(x.Name, x.Value))
	}
	for _, part := range []string{"slow", "fast" + paired} {
		require.NoError(t, s.addRun(someRun(part, "mm", "on", 0, 1)))
	}
	assert.Equal(t, "|  |  |\n|---|---|\n| cpu | fast |\n| today | slow, fast |\n| runs | 2 |", tableMachine(s))
	require.NoError(t, s.addRun(someRun("constant", "mm", "on", 0, 1)))
	assert.Contains(t, tableMachine(s), "| begun | Monday |")
}
