package main

import (
	"context"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Runs of a cell compute as much as those that are there, whatever an iteration is measured to take since.
func TestACellKeepsItsSize(t *testing.T) {
	for _, w := range []work{sor(4000), mm, {"mm", 500, 500}} {
		s := &store{runs: map[key]run{}}
		c := cell{part: "idle", name: "x", work: w}
		_, ok := s.like(c)
		assert.False(t, ok)
		_, n, m, count := w.command("", 12.3, 0.0456)
		s.note(run{Part: "idle", Cell: "x", Work: w.String(), N: n, M: m, Iterations: count})
		r, ok := s.like(c)
		require.True(t, ok)
		_, n2, m2, again := w.command("", w.amount(r.N, r.Iterations), 1)
		assert.Equal(t, []int{n, m, count}, []int{n2, m2, again})
	}
}

// Cells of a part that draw the same work against the number of workstations compute as much, whatever runs were told to take in between.
func TestAPartKeepsItsSize(t *testing.T) {
	s := &session{store: &store{runs: map[key]run{}}}
	all := parts(10000)
	p := all[slices.IndexFunc(all, func(p part) bool { return p.name == "speedup" })]
	two, four := p.cells[1], p.cells[2]
	require.Equal(t, two.work, four.work)
	require.Less(t, len(two.place.cpu), len(four.place.cpu))
	first := someRun(two.part, two.name, "off-slow", 0, 1)
	first.Work, first.Iterations = two.work.String(), 123
	s.store.note(first)
	_, ok := s.alike(four)
	assert.False(t, ok, "of another part")
	s.cells = p.cells
	r, ok := s.alike(four)
	require.True(t, ok)
	assert.Equal(t, 123, r.Iterations)
	four.seconds *= 2
	_, ok = s.alike(four)
	assert.False(t, ok, "it lasts longer")
}

// A work that costs so much more over a slow network that its size is measured there does not compute as much there.
func TestALocalSizeIsItsOwn(t *testing.T) {
	s := &session{store: &store{runs: map[key]run{}}, cells: blocks()}
	for i := range s.cells {
		s.cells[i].part = "block"
	}
	memory, wire := s.cells[0], s.cells[2]
	require.Equal(t, memory.work, wire.work)
	first := someRun(memory.part, memory.name, automatic, 0, 1)
	first.Work, first.Iterations = memory.work.String(), 123
	s.store.note(first)
	_, ok := s.alike(memory)
	assert.True(t, ok)
	_, ok = s.alike(wire)
	assert.False(t, ok)
}

// The whole plan keeps within an hour, what was promised comes first, has its five rounds, and all of it but the block sizes within 35 minutes.
func TestPlan(t *testing.T) {
	all := parts(10000)
	s := fit(all, defaultBudget)
	assert.LessOrEqual(t, minutes(all, s), float64(defaultBudget))
	assert.Less(t, defaultBudget, 60)
	assert.Equal(t, scale{1, 1}, s.promised)
	last := slices.IndexFunc(all, func(p part) bool { return !p.promised })
	require.Equal(t, "block", all[last-1].name)
	assert.Less(t, minutes(all[:last-1], s), 35.0)
	for i, p := range all {
		assert.Equal(t, i < last, p.promised, p.name)
	}
	for _, budget := range []float64{1, 5, 20, 40} {
		assert.LessOrEqual(t, minutes(all, fit(all, budget)), minutes(all, fit(all, 2*budget)))
	}
}

// know puts the sizes of all works into the store, so that none is to be found yet.
func know(st *store, all []part) {
	for _, p := range all {
		for _, c := range p.cells {
			name, _ := c.sized()
			st.sizes[name] = size{name, 1}
		}
	}
}

// Where runs take longer than planned, what is not promised is shortened, and stays as short when the evaluation is resumed.
func TestPlanIsShortenedOnASlowMachine(t *testing.T) {
	all := parts(10000)
	plan := fit(all, defaultBudget)
	at := func(from int, slowness float64, dir string) (*session, shortening) {
		st, err := load(dir)
		require.NoError(t, err)
		know(st, all)
		s := &session{store: st}
		before := 60 * minutes(all[:from], plan)
		s.clock(before, slowness*before)
		shorter, err := s.shorten(all[from:], plan)
		require.NoError(t, err)
		return s, shorter
	}
	rest := slices.IndexFunc(all, func(p part) bool { return !p.promised })
	early := rest / 2
	for _, from := range []int{early, rest} {
		for _, slowness := range []float64{0.5, 1} {
			_, same := at(from, slowness, t.TempDir())
			assert.Equal(t, plan, same)
		}
		before := minutes(all[from:], plan)
		for _, slowness := range []float64{1.03, 1.05} {
			s, shorter := at(from, slowness, t.TempDir())
			left := minutes(all[from:], shorter)
			assert.Less(t, left, before, "%g", slowness)
			assert.LessOrEqual(t, s.spent/60+slowness*left, float64(defaultBudget))
			before = left
		}
		dir := t.TempDir()
		_, shorter := at(from, 1.15, dir)
		_, again := at(from, 1, dir)
		assert.Equal(t, shorter.of(all[from]), again.of(all[from]))
	}
	for _, from := range []int{early, rest} {
		_, shorter := at(from, 1.03, t.TempDir())
		assert.Equal(t, plan.promised, shorter.promised, "the rest is first")
	}
	s, shorter := at(early, 1.1, t.TempDir())
	assert.Equal(t, shortest, shorter.rest.length)
	assert.Equal(t, plan.promised.part, shorter.promised.part, "medians of as many")
	assert.Less(t, shorter.promised.length, plan.promised.length)
	assert.GreaterOrEqual(t, shorter.promised.length, 0.7)
	again := shortened(all[early:], shorter, shorterPromised...)
	assert.InDelta(t, 0.7, again[len(again)-1].promised.length, 1e-9, "not 0.7 of what it is already")
	assert.LessOrEqual(t, s.spent/60+1.1*minutes(all[early:], shorter), float64(defaultBudget))
}

// More runs than planned are made as far as the parts to come, shortened as far as they may be, still fit the budget.
func TestMoreRunsLeaveTimeForWhatIsToCome(t *testing.T) {
	all := parts(10000)
	plan := fit(all, defaultBudget)
	st, err := load(t.TempDir())
	require.NoError(t, err)
	s := newSession(st, ".", t.TempDir(), io.Discard)
	unknown, sizing := s.spareFor(all, plan), s.sizing(all)
	assert.Greater(t, sizing, 60.0, "15 sizes of block alone")
	know(st, all)
	assert.Zero(t, s.sizing(all))
	assert.Less(t, unknown, s.spareFor(all, plan), "sizes that are to be found take their time, too")
	least := shortening{plan.promised, scale{0.2, shortest}}
	free := 60 * (defaultBudget - minutes(all, least)) // s
	require.Positive(t, free)
	assert.InDelta(t, (free+60*(minutes(all[:1], least)-minutes(all[:1], plan)))/2, s.spareFor(all, plan), 1e-6)

	late := free + 10 // s that the first part took too long
	s.spent = all[0].planned(plan.of(all[0])) + late
	assert.InDelta(t, -10, s.spareFor(all[1:], plan), 1e-6)

	for spare, most := range map[float64]float64{-10: 190, 30: 230, 1000: 400} { // s, of 200 s that are planned
		s.spare = spare
		p, began := part{cells: make([]cell, 2)}, time.Now()
		var until []time.Time
		require.NoError(t, s.each(p, func(cell) float64 { return 100 }, func(_ cell, t time.Time) error { until = append(until, t); return nil }))
		assert.WithinDuration(t, began.Add(time.Duration(most*float64(time.Second))), until[1], time.Second)
	}
}

// A cell computes what its dedicated runs are as long with as it says, as far as runs of this session have told.
func TestPace(t *testing.T) {
	st, err := load(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, st.addSize(size{"sor-4000", 0.01}))
	require.NoError(t, st.addSize(size{"sor-8000", 0.04}))
	s := newSession(st, ".", t.TempDir(), io.Discard)
	s.scale = scale{1, 1}
	var unit float64
	slowness := 1.25
	s.once = func(_ context.Context, _ int, c cell, v variant, round int, z size) taken {
		if v.name == "off" {
			unit = z.CPU
		}
		r := someRun(c.part, c.name, v.name, round, slowness)
		r.Iterations = int(c.place.total() / st.sizes[c.work.String()].CPU) // of a second
		if len(v.loads) > 0 || v.name == "on" {
			r.Time *= 2
		}
		return taken{variant: v, run: r}
	}
	run := func(name string, w work) float64 {
		c := cell{part: "idle", name: name, place: four, work: w, seconds: 1, rounds: 1, variants: []variant{off, on, off.beside(constant(1), 2)}}
		c.variants[2].name = "beside"
		require.NoError(t, s.measure(t.Context(), c))
		return unit
	}
	assert.Equal(t, 0.01, run("a", sor4000))
	run("b", sor4000)
	assert.Equal(t, 0.01, run("c", sor4000), "two are too few")
	assert.InDelta(t, 0.0125, run("d", sor4000), 1e-4)
	assert.InDelta(t, 0.05, run("e", sor8000), 1e-3, "no other is known of this work")
	slowness = 1
	run("f", sor8000)
	run("g", sor8000)
	assert.InDelta(t, 0.04, run("h", sor8000), 1e-3)
	assert.InDelta(t, 0.0125, run("i", sor4000), 1e-3)
	assert.Equal(t, 1.0, s.pace(cell{work: sor4000, place: four, local: true}))
}
