package main

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"shiftwork/scripts/lab/measure"
)

// ordered are the names of what runs at the same time, after the round.
func ordered(c cell) (all []string) {
	for round, crowd := range c.order(scale{1, 1}) {
		one := strconv.Itoa(round)
		for _, v := range crowd {
			one += " " + v.name
		}
		all = append(all, one)
	}
	return all
}

// What is compared runs at the same time, computes as much as by itself, and has the same quota of all CPUs together.
func TestAtOnce(t *testing.T) {
	c := compared("x", four, sor4000, 4, 2, constant(1), 1.9, 1.2).dedicatedOnce()
	assert.Equal(t, []string{"0 off", "0 on", "0 dedicated", "1 on", "1 off"}, ordered(c))
	d := c.atOnce(2)
	assert.Equal(t, []string{"0 off on", "1 off dedicated", "2 on off"}, ordered(d), "each beside a run without balancing, which starts first and last in turn")
	assert.InDelta(t, c.place.total(), 2*d.place.total(), 1e-9)
	assert.InDelta(t, c.seconds*c.place.total(), d.seconds*d.place.total(), 1e-9)
	assert.Equal(t, 20300*time.Microsecond, d.place.period, "in slow motion, out of step with the kernel's ticks")
	assert.Zero(t, d.place.slice, "the quota is what it was")
	assert.InDelta(t, 0.4, four.cpu[0], 0)
	timed := frequency()[0].atOnce(2)
	assert.InDelta(t, 0.2, timed.place.cpu[0], 1e-9)
	assert.Equal(t, four.period, timed.place.period, "--period stays")
	assert.Equal(t, time.Millisecond, timed.place.slice, "the quota is less than a slice of the kernel")
	assert.Zero(t, four.slice)
	wide := c.atOnce(4)
	assert.Equal(t, c.place, wide.place, "four CPUs are enough for both")
	assert.InDelta(t, c.seconds, wide.seconds, 0)
	assert.Equal(t, ordered(d), ordered(wide))
	assert.InDelta(t, 0.2, c.atOnce(3).place.cpu[0], 1e-9, "one of three CPUs has two workstations")
	assert.InDelta(t, 0.4, beyond()[0].atOnce(8).place.cpu[2], 1e-9, "no CPU has 1.6 of one")

	short := speedup(10000)[10].atOnce(2) // dear, eight workstations
	assert.Equal(t, 2, short.crowd)
	assert.InDelta(t, 0.1, short.place.cpu[7], 1e-9)
	assert.Equal(t, 10150*time.Microsecond, short.place.period)
	assert.Equal(t, 500*time.Microsecond, short.place.slice)
	assert.InDelta(t, speedup(10000)[10].place.bandwidth/2, short.place.bandwidth, 1e-9)
	assert.Equal(t, 3*time.Second, short.variants[0].loads[0].On, "60 periods a cycle")
	assert.Equal(t, 1500*time.Millisecond, speedup(10000)[10].variants[0].loads[0].On, "as they were")

	assert.Len(t, ordered(idle()[0]), 10)
	assert.Len(t, ordered(idle()[0].atOnce(2)), 6, "each is the first in as many rounds")
	paper := harmless()[1].atOnce(2)
	assert.Equal(t, []string{"0 off-fast on-fast", "0 off on", "0 dedicated"}, ordered(paper)[:3])
	assert.Zero(t, coarse()[0].atOnce(2).place.slice, "its quota is long enough")
	full := filters()[0].atOnce(2)
	assert.Equal(t, []string{"0 auto levels", "1 auto state", "2 auto fixed:0.8"}, ordered(full)[:3])
	for _, p := range []string{"sequential", "eight", "block", "master"} {
		for _, whole := range parts(10000) {
			if whole.name == p {
				assert.Equal(t, whole.cells[0], whole.cells[0].atOnce(2), "nothing to compare, or no quota to divide")
			}
		}
	}
}

// A crowd lasts as long as its longest run, and an evaluation of crowds fits the hour.
func TestWhatACrowdLasts(t *testing.T) {
	c := compared("x", four, sor4000, 4, 5, constant(1), 1.9, 1.2).atOnce(2)
	whole := scale{1, 1}
	assert.InDelta(t, c.run(c.variants[0], whole), c.lasts(c.variants[:2], whole), 1e-9)
	assert.InDelta(t, 10*c.run(c.variants[0], whole), c.planned(whole), 1e-9, "six balanced runs and four dedicated ones, each beside one that is not balanced")

	all := parts(10000)
	allAtOnce(all, 2)
	s := fit(all, defaultBudget)
	assert.LessOrEqual(t, minutes(all, s), float64(defaultBudget))
	assert.Equal(t, scale{0.6, 1}, s.promised, "four rounds of whole cycles")
}

// The runs of a crowd are there at the same time, one that is done runs again for company until the other is, and both count or none.
func TestACrowdRunsAtTheSameTime(t *testing.T) {
	st, err := load(t.TempDir())
	require.NoError(t, err)
	st.sizes["sor-4000"] = size{"sor-4000", 1}
	s := newSession(st, "", "", io.Discard)
	s.scale = scale{1, 1}
	var broken, kept, company atomic.Int64
	short, long := make(chan struct{}), make(chan struct{})
	s.once = func(ctx context.Context, number int, c cell, v variant, round int, _ size) taken {
		if round == unkept {
			if company.Add(1) == 3 {
				close(long)
			}
			return taken{}
		}
		kept.Add(1)
		if v.name == "off" {
			close(short)
		} else {
			<-short // for ever, if one ran after the other
			<-long
			if broken.Add(-1) >= 0 {
				return taken{failure: errors.New("it broke")}
			}
		}
		return taken{run: someRun(c.part, c.name, v.name, round, float64(1+number))}
	}
	again := func() { company.Store(0); short, long = make(chan struct{}), make(chan struct{}) }
	c := cell{part: "idle", name: "x", place: four, work: sor4000, seconds: 1, rounds: 1, variants: []variant{off, on}}.atOnce(2)

	broken.Store(1)
	all, err := s.take(t.Context(), c, c.variants, 0, size{})
	require.NoError(t, err)
	require.ErrorContains(t, all[1].failure, "it broke")
	require.NoError(t, s.keep(c, 0, all))
	assert.Empty(t, st.order, "there is nothing to compare it with")
	assert.Equal(t, []string{"idle x on, round 1: it broke"}, s.failures)

	again()
	require.NoError(t, s.measure(t.Context(), c))
	assert.Len(t, st.order, 2)
	assert.InDelta(t, 2, st.runs[key{"idle", "x", "on", 0}].Time, 0, "each has workstations of its own")
	assert.EqualValues(t, 4, kept.Load())
	assert.GreaterOrEqual(t, company.Load(), int64(3))
	require.NoError(t, s.measure(t.Context(), c))
	assert.EqualValues(t, 4, kept.Load(), "they are there")
}

// besideLoad is a run of cell x of part constant.
func besideLoad(variant string, round int, seconds float64) run {
	r := someRun("constant", "x", variant, round, seconds)
	r.Loads, r.Began = constant(1)[0].String(), 0
	return r
}

// Of runs at the same time those of a round are compared, and the median is that of the ratios.
func TestFiguresOfRunsAtTheSameTime(t *testing.T) {
	st, err := load(t.TempDir())
	require.NoError(t, err)
	note := func(name string, round int, seconds float64) { st.note(besideLoad(name, round, seconds)) }
	for round, host := range []float64{1, 3, 1, 1, 1} { // how slow it was
		note("off", 2*round, 19*host)
		note("on", 2*round, (12+0.1*float64(round))*host)
		note("off", 2*round+1, 19*host*host)
		note("dedicated", 2*round+1, 10*host*host)
	}
	require.NoError(t, st.set(together, "yes"))
	assert.InDelta(t, 12.2/19, st.ratio("constant", "x", "on", "off").median, 1e-9)
	assert.InDelta(t, 12.4/19, st.ratio("constant", "x", "on", "off").high, 1e-9)
	ideal := 10 * 4 / 3.5
	x := st.removed("constant", "x", "on", "off", "dedicated")
	assert.InDelta(t, (19-12.2)/(19-ideal), x.median, 1e-9)
	assert.InDelta(t, (19-12.4)/(19-ideal), x.low, 1e-9)
	assert.Equal(t, 5, x.count)
	assert.InDelta(t, (4*19-0.5)/(4*12.2-0.5), st.efficiencies("constant", "x", "on", "off").median, 1e-9, "the load had one of four for 0.5 s")
	assert.InDelta(t, (4*19-0.5)/(4*10-0.5), st.efficiencies("constant", "x", "dedicated", "off").median, 1e-9)
}

// What the share of the penalty scatters by is what its error says, of runs that scatter by a few hundredths.
func TestErrorOfTheShareRemoved(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var shares, errors []float64
	for range 300 {
		st := &store{runs: map[key]run{}, settings: []setting{{together, "yes"}}}
		note := func(name string, round int, seconds float64) { st.note(besideLoad(name, round, seconds)) }
		for round := range 24 {
			note("off", 2*round, 19)
			note("on", 2*round, 12.2*(1+0.04*random.NormFloat64()))
			note("off", 2*round+1, 19)
			note("dedicated", 2*round+1, 10*(1+0.03*random.NormFloat64()))
		}
		shares = append(shares, st.removed("constant", "x", "on", "off", "dedicated").median)
		errors = append(errors, st.removedError("constant", "x", "on", "off", "dedicated"))
	}
	assert.InEpsilon(t, stat.StdDev(shares, nil), measure.Median(errors), 0.15)
	assert.Greater(t, (&store{}).removedError("constant", "x", "on", "off", "dedicated"), 1., "nothing is known")
}

// Rounds of a promised load go on, those without it as well, until the share removed is known; where the plan is short there are none but the planned ones.
func TestPromisedLoadsGoOn(t *testing.T) {
	for name, x := range map[string]struct {
		scatter, plan float64
		on, dedicated int
	}{
		"alike": {0, 1, 6, 6}, "different": {2, 1, 22, 22}, "a short plan": {2, 0.5, 3, 2},
	} {
		t.Run(name, func(t *testing.T) {
			st, err := load(t.TempDir())
			require.NoError(t, err)
			require.NoError(t, st.addSize(size{"sor-4000", 1}))
			require.NoError(t, st.set(together, "yes"))
			s := newSession(st, ".", t.TempDir(), io.Discard)
			s.scale = scale{x.plan, 1}
			s.once = func(_ context.Context, _ int, c cell, v variant, round int, _ size) taken {
				r := besideLoad(v.name, max(0, round), map[string]float64{"off": 19, "on": 13, "dedicated": 10}[v.name])
				if v.name == "dedicated" && round/2%2 == 1 {
					r.Time += x.scatter
				}
				return taken{run: r}
			}
			c := compared("x", four, sor4000, 1, 5, constant(1), 1.9, 1.2).untilKnown().atOnce(2)
			c.part = "constant"
			require.NoError(t, s.measureAll(t.Context(), part{name: "constant", cells: []cell{c}}))
			assert.Len(t, st.ratios("constant", "x", "on", "off"), x.on)
			assert.Len(t, st.ratios("constant", "x", "dedicated", "off"), x.dedicated)
			assert.Len(t, st.group("constant", "x", "off"), x.on+x.dedicated)
		})
	}
}

// A data set is of one kind.
func TestTogetherStays(t *testing.T) {
	st, err := load(t.TempDir())
	require.NoError(t, err)
	o := options{Data: st.folder, Together: true}
	require.NoError(t, o.settings(st))
	assert.True(t, st.together())
	assert.Equal(t, 2, options{}.parts(st, 10000)[2].cells[0].crowd, "also when it is gone on with")

	alone, err := load(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, options{Data: alone.folder}.settings(alone))
	assert.ErrorContains(t, o.settings(alone), "--together: "+st.folder+" was measured without it")
	assert.Zero(t, options{}.parts(alone, 10000)[2].cells[0].crowd)
}
