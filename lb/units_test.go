package lb

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"shiftwork/dist"
)

func TestAutoIsValidAndZero(t *testing.T) {
	assert.Equal(t, Config{}, Auto())
	assert.NoError(t, Auto().Validate())
}

func TestValidateJoinsAllFaults(t *testing.T) {
	for name, bad := range map[string]Config{
		"policy":      {Policy: 9},
		"filter":      {Filter: "fixed:2"},
		"negative":    {Threshold: -0.1},
		"one":         {Threshold: 1},
		"NaN":         {Threshold: math.NaN()},
		"both":        {Threshold: 0.1, NoThreshold: true},
		"period":      {Period: -1},
		"infinite":    {Period: math.Inf(1)},
		"interaction": {Interaction: 2},
		"movement":    {Movement: -1},
	} {
		before := bad
		assert.Error(t, bad.Validate(), name)
		if name != "NaN" { // which does not equal itself
			assert.Equal(t, before, bad, "Validate changes nothing")
		}
	}
	err := Config{Policy: -1, Filter: "x", Threshold: 2, Period: -1, Interaction: 7, Movement: 7}.Validate()
	for _, part := range []string{"policy", "filter", "threshold", "period", "interaction", "movement"} {
		assert.ErrorContains(t, err, part)
	}
}

func TestNewRefusesImpossibleLoops(t *testing.T) {
	start := dist.Even(dist.Span(0, 10), 2, 0)
	for name, bad := range map[string]Loop{
		"no ranks":         {Movement: Direct},
		"first worker":     {Ranks: 2, FirstWorker: 2, Movement: Direct},
		"movement":         {Ranks: 2, Start: start},
		"no start":         {Ranks: 2, Movement: Adjacent},
		"other ranks":      {Ranks: 3, Movement: Adjacent, Start: start},
		"master with work": {Ranks: 2, FirstWorker: 1, Movement: Adjacent, Start: start},
		"quantum":          {Ranks: 2, Movement: Direct, Quantum: -1},
		"interact":         {Ranks: 2, Movement: Direct, Interact: math.NaN()},
		"move unit":        {Ranks: 2, Movement: Direct, MoveUnit: math.Inf(1)},
		"free and blocks":  {Ranks: 2, Movement: Adjacent, Free: true, Start: start},
	} {
		_, err := New(Config{}, bad)
		assert.Error(t, err, name)
	}
	_, err := New(Config{Threshold: 3}, Loop{Ranks: 2, Movement: Adjacent, Start: start})
	assert.ErrorContains(t, err, "threshold")
	b, err := New(Config{}, Loop{Ranks: 2, Movement: Adjacent, Start: start})
	require.NoError(t, err)
	assert.Panics(t, func() { b.Decide(make([]Status, 3)) })
}

func TestParseRoundTrips(t *testing.T) {
	for _, s := range []string{"on", "off", "rotate", "random"} {
		v, err := ParsePolicy(s)
		require.NoError(t, err)
		assert.Equal(t, s, v.String())
	}
	for _, s := range []string{"auto", "adjacent", "direct"} {
		v, err := ParseMovement(s)
		require.NoError(t, err)
		assert.Equal(t, s, v.String())
	}
	for _, s := range []string{"pipelined", "synchronous"} {
		v, err := ParseInteraction(s)
		require.NoError(t, err)
		assert.Equal(t, s, v.String())
	}
	_, err := ParsePolicy("maybe")
	assert.EqualError(t, err, `lb: balance "maybe" is not one of on, off, rotate, random`)
	_, err = ParseMovement("")
	assert.Error(t, err)
	_, err = ParseInteraction("Pipelined")
	assert.Error(t, err)
	assert.Equal(t, "invalid(9)", Policy(9).String())
}

// bare returns a balancer of P ranks to call the parts of.
func bare(t testing.TB, ranks int) *Balancer {
	b, err := New(Config{}, Loop{Ranks: ranks, Movement: Direct})
	require.NoError(t, err)
	return b
}

func TestSection6_2Imbalance(t *testing.T) {
	equal := func(p int) []float64 {
		w := make([]float64, p)
		for i := range w {
			w[i] = 1
		}
		return w
	}
	for _, p := range []int{2, 4, 5, 8} {
		for _, s := range []float64{0.1, 0.5, 0.9} {
			loaded := equal(p)
			loaded[0] = s
			// One of P slows to s after equal shares: 1 - P s/(P-1+s).
			n := float64(p)
			assert.InDelta(t, 1-n*s/(n-1+s), bare(t, p).measure(equal(p), loaded).fraction(), 1e-12)
			// It recovers with the work balanced for s: (1-s)/P.
			assert.InDelta(t, (1-s)/n, bare(t, p).measure(loaded, equal(p)).fraction(), 1e-12)
		}
	}
	b := bare(t, 2)
	assert.Equal(t, 1.0, b.measure([]float64{1, 1}, []float64{0, 1}).fraction(), "work and no rate: T_cur is infinite")
	assert.Equal(t, 0.0, b.measure([]float64{0, 1}, []float64{0, 1}).fraction(), "no work and no rate")
	assert.Equal(t, 0.0, b.measure([]float64{1, 1}, []float64{0, 0}).fraction(), "no rates at all: do nothing")
	assert.Equal(t, 0.0, b.measure([]float64{0, 0}, []float64{1, 1}).fraction())
}

func TestImbalanceForgetsTheScaleOfRates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "ranks")
		work := rapid.SliceOfN(rapid.Float64Range(0, 100), n, n).Draw(t, "work")
		rates := rapid.SliceOfN(rapid.Float64Range(0.01, 100), n, n).Draw(t, "rates")
		b, err := New(Config{}, Loop{Ranks: n, Movement: Direct})
		require.NoError(t, err)
		before := b.measure(work, rates).fraction()
		require.True(t, before >= 0 && before <= 1)
		for i := range rates {
			rates[i] *= 4096
		}
		require.Equal(t, before, b.measure(work, rates).fraction())
	})
}

func TestRatesOfRanksThatDoNotCompute(t *testing.T) {
	b := bare(t, 3)
	say := func(units, compute [3]float64) []float64 {
		st := make([]Status, 3)
		for r := range st {
			st[r] = Status{Rank: r, Units: units[r], Compute: compute[r], Owned: 10, OwnedIterations: 10}
		}
		b.rates(st)
		return append([]float64(nil), b.filtered...)
	}
	assert.Equal(t, []float64{10, 20, 20}, say([3]float64{10, 20, 0}, [3]float64{1, 1, 0}), "never heard of: like the faster one")
	assert.Equal(t, []float64{10, 20, 20}, say([3]float64{0, 0, 0}, [3]float64{0, 0, 0}), "no computing: as before")
	assert.Equal(t, 0.0, b.raw[0])
	assert.Equal(t, 40.0, say([3]float64{0, 0, 40}, [3]float64{0, 0, 1})[2], "the first sample is taken whole")
	// Half an iteration in 4 s: at most 1/4 per s, and when it is done after 8 s, 1/8.
	say([3]float64{0, 0, 0}, [3]float64{4, 0, 0})
	assert.Equal(t, 0.25, b.raw[0])
	say([3]float64{1, 0, 0}, [3]float64{4, 0, 0})
	assert.Equal(t, 0.125, b.raw[0])
	before := b.filtered[1]
	say([3]float64{0, -3, 0}, [3]float64{0, 1, 0})
	say([3]float64{0, 3, 0}, [3]float64{0, math.Inf(1), 0})
	say([3]float64{0, math.NaN(), 0}, [3]float64{0, 1, 0})
	assert.Equal(t, before, b.filtered[1], "what cannot be is ignored")
}

func TestWhatAllRanksShareIsNoImbalance(t *testing.T) {
	b, err := New(Config{}, Loop{Ranks: 4, Movement: Direct})
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(1, 7))
	say := func(rates ...float64) {
		st := make([]Status, len(rates))
		for r, rate := range rates {
			st[r] = Status{Rank: r, Units: rate * (1 + 0.03*rng.NormFloat64()), Compute: min(rate, 1), Elapsed: 1, Owned: 10, OwnedIterations: 10}
		}
		b.rates(st)
	}
	relative := func(r int) float64 { return b.filtered[r] / b.filtered[0] }
	for range 20 {
		say(10, 10, 10, 10)
	}
	assert.Equal(t, 1.0, b.common, "noise is not shared")
	for range 5 {
		say(6, 6, 6, 6)
		for r := range 4 {
			assert.InDelta(t, 1, relative(r), 0.05)
			assert.InDelta(t, 6, b.filtered[r], 0.5, "the rates themselves are those of now")
		}
	}
	for range 2 {
		say(6, 3, 6, 6)
	}
	assert.InDelta(t, 0.5, relative(1), 0.05, "what one rank loses besides counts")
	assert.InDelta(t, 1, relative(2), 0.05)
	say(0, 0, 0, 6)
	assert.InDelta(t, 0.6, b.common, 0.05, "one that tells nothing does not change what all share")
	for range 2 {
		say(10, 5, 10, 10)
	}
	assert.InDelta(t, 0.5, relative(1), 0.05, "its level is the same, however fast all are")
	assert.InDelta(t, 10, b.filtered[3], 0.5)
}

func TestEquations13To15Period(t *testing.T) {
	for _, c := range []struct {
		name              string
		cfg               Config
		interact, quantum float64
		want              float64
		limit             string
	}{
		{"(15): 10 quanta of 100 ms", Config{}, 1e-3, 0.1, 1, "quantum"},
		{"(13): 20 t_interact", Config{}, 0.1, 0.1, 2, "interaction"},
		{"fixed", Config{Period: 0.25}, 0.1, 0.1, 0.25, "fixed"},
		{"defaults", Config{}, 0, 0, 0.04, "quantum"},
	} {
		p := newPeriod(c.cfg, Loop{Interact: c.interact, Quantum: c.quantum})
		got, limit := p.choose()
		assert.InDelta(t, c.want, got, 1e-12, c.name)
		assert.Equal(t, c.limit, limit, c.name)
	}
}

func TestEquation14PeriodOfMovement(t *testing.T) {
	p := newPeriod(Config{}, Loop{Interact: 1e-3, Quantum: 0.1}) // 1 s
	p.moved(10, 4)
	got, limit := p.choose()
	assert.InDelta(t, 1, got, 1e-12, "4 s every 10 s at a period of 1 s: 0.4 s, rarely critical")
	assert.Equal(t, "quantum", limit)
	p = newPeriod(Config{}, Loop{Interact: 1e-3, Quantum: 0.1})
	p.moved(2, 6)
	got, limit = p.choose()
	assert.InDelta(t, 3, got, 1e-12, "6 s every 2 s at 1 s: workscale 2")
	assert.Equal(t, "movement", limit)
	p.moved(2.5, 6)
	got, _ = p.choose()
	assert.InDelta(t, 6, got, 1e-12, "workscale is clipped at 1")
	p.moved(10, 2)
	assert.InDelta(t, 4, p.moveTime, 1e-12, "the mean over recent movements")
	assert.InDelta(t, (1.25+7.5)/2, p.moveInterval, 1e-12)
}

func TestNextHook(t *testing.T) {
	p := newPeriod(Config{Period: 1}, Loop{})
	assert.Equal(t, 1, p.hooks(1), "phases of unknown length")
	p.phase = bare(t, 3).look([]Status{{Phases: 4, Elapsed: 1}, {Phases: 4, Elapsed: 2}, {}}).phase
	assert.InDelta(t, (0.25+0.5)/2, p.phase, 1e-12)
	assert.Equal(t, 3, p.hooks(1))
	assert.Equal(t, 1, p.hooks(0.01))
	assert.Equal(t, math.MaxInt32, p.hooks(1e300))
}

func TestNextHookEndsWithTheLoop(t *testing.T) {
	s := newSim(t, Config{Period: 10}, Loop{Ranks: 2, Movement: Adjacent}, 20)
	s.speed = func(int, float64) float64 { return 10 }
	s.sweeps = 5 // of 1 s
	d := s.step()
	assert.Equal(t, 4, d.NextHook)
	assert.Equal(t, "end", d.Limit)
}

func TestCostModelLearnsBothParts(t *testing.T) {
	var m costModel
	for i := range 20 {
		transfers, units := 1+i%2, float64(10+7*(i%5))
		m.learn(transfers, units, 0.2*float64(transfers)+0.01*units)
	}
	a, c := m.fit()
	assert.InDelta(t, 0.2, a, 1e-9)
	assert.InDelta(t, 0.01, c, 1e-9)
	// Rank 1 passes work through: 2 transfers, 30 units.
	transfers := []dist.Transfer{{From: 0, To: 1, Units: 10}, {From: 1, To: 2, Units: 20}}
	for range 2 { // nothing is left over from the call before
		assert.InDelta(t, 0.2*2+0.01*30, m.predict(transfers, 3, 0), 1e-9)
	}
}

func TestCostModelWithoutVariety(t *testing.T) {
	var m costModel
	a, c := m.fit()
	assert.Equal(t, [2]float64{}, [2]float64{a, c})
	for range 5 {
		m.learn(2, 50, 1)
	}
	a, c = m.fit()
	assert.InDelta(t, 1, 2*a+50*c, 1e-9, "always the same movement: at least its own cost is right")
	m = costModel{}
	m.learn(1, 10, 0.3)
	m.learn(1, 20, 0.1) // more units in less time
	a, c = m.fit()
	assert.True(t, a > 0 && c > 0, "no negative cost")
}

func TestProfitabilityCancelsAndLetsGo(t *testing.T) {
	run := func(cfg Config, sweeps int, moveAll float64) *sim {
		cfg.Period = 1
		s := newSim(t, cfg, Loop{Ranks: 4, Movement: Adjacent}, 400)
		s.sweeps, s.moveAll = sweeps, moveAll
		s.speed = func(r int, t float64) float64 { // rank 0 is halved every other 10 s
			if r == 0 && math.Mod(t, 20) >= 10 {
				return 50
			}
			return 100
		}
		for s.t < 400 && s.sweeps != 0 {
			s.step()
		}
		return s
	}
	fixed := Config{Threshold: 0.1}
	cheap, dear := run(fixed, -1, 0.1), run(fixed, -1, 200)
	assert.Greater(t, cheap.moves, 20)
	assert.LessOrEqual(t, dear.moves, 3, "the first move shows what a move costs")
	fixed.NoCostBenefit = true
	assert.Greater(t, run(fixed, -1, 200).moves, 3)
}

func TestNothingMovesAtTheEnd(t *testing.T) {
	for sweeps, moves := range map[int]bool{40: true, 2: false} {
		s := newSim(t, Config{Period: 1}, Loop{Ranks: 2, Movement: Adjacent}, 100)
		s.speed = func(r int, _ float64) float64 { return []float64{100, 300}[r] }
		s.sweeps = sweeps
		d := s.step()
		assert.Equal(t, moves, d.Moved(), "%d sweeps: %s", sweeps, d.Reason)
	}
}

// An order that has not been obeyed yet must not be given again.
func TestOrdersUnderWayAreCounted(t *testing.T) {
	b, err := New(Config{Threshold: 0.1}, Loop{Ranks: 2, Movement: Direct})
	require.NoError(t, err)
	statuses := func(k int, obeyed, owned [2]int) []Status {
		st := make([]Status, 2)
		for r := range st {
			st[r] = Status{Rank: r, Interaction: k, Obeyed: obeyed[r], Units: float64(owned[r]), Phases: 1, PhasesLeft: -1, Elapsed: 1,
				Compute: float64(owned[r]) / []float64{10, 30}[r], Owned: float64(owned[r]), OwnedIterations: owned[r]}
		}
		return st
	}
	d := b.Decide(statuses(0, [2]int{-1, -1}, [2]int{40, 40}))
	require.Equal(t, []dist.Transfer{{From: 0, To: 1, Iterations: 20, Units: 20}}, d.Transfers)
	d = b.Decide(statuses(1, [2]int{-1, -1}, [2]int{40, 40}))
	assert.Empty(t, d.Transfers, "neither has obeyed")
	d = b.Decide(statuses(2, [2]int{0, -1}, [2]int{20, 40}))
	assert.Empty(t, d.Transfers, "one has")
	d = b.Decide(statuses(3, [2]int{0, 0}, [2]int{20, 60}))
	assert.Empty(t, d.Transfers)
	assert.Empty(t, b.orders)
	assert.InDelta(t, 0, d.Imbalance, 1e-12)
}

// Whatever happens, decisions are valid: blocks over the whole span, work conserved, a hook at least 1.
func TestDecisionsAreValidWhateverTheStatuses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(1, 6).Draw(t, "ranks")
		first := rapid.IntRange(0, min(1, ranks-1)).Draw(t, "first")
		n := rapid.IntRange(0, 40).Draw(t, "n")
		cfg := Config{Policy: Policy(rapid.IntRange(0, 3).Draw(t, "policy")),
			NoThreshold: rapid.Bool().Draw(t, "noThreshold"), NoCostBenefit: rapid.Bool().Draw(t, "noCostBenefit")}
		loop := Loop{Ranks: ranks, FirstWorker: first, Movement: Adjacent, Start: dist.Even(dist.Span(5, 5+n), ranks, first)}
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 1:
			loop.Movement = Direct
		case 2:
			loop.Movement, loop.Free = Direct, true
		}
		b, err := New(cfg, loop)
		require.NoError(t, err)
		number := rapid.OneOf(rapid.Float64Range(0, 100), rapid.SampledFrom([]float64{0, 1e-300, 1e300, -1, math.NaN(), math.Inf(1)}))
		block := loop.Start.Clone()
		for k := range rapid.IntRange(1, 8).Draw(t, "interactions") {
			st := make([]Status, ranks)
			for r := range st {
				st[r] = Status{Rank: r, Interaction: k, Obeyed: k - 1, PhasesLeft: rapid.IntRange(-1, 5).Draw(t, "left"),
					Units: number.Draw(t, "units"), Compute: number.Draw(t, "compute"), Elapsed: number.Draw(t, "elapsed"),
					Phases: rapid.IntRange(0, 3).Draw(t, "phases"), Owned: number.Draw(t, "owned"),
					OwnedIterations: rapid.IntRange(0, 9).Draw(t, "iterations"), MoveTime: number.Draw(t, "moveTime"),
					MoveTransfers: rapid.IntRange(0, 2).Draw(t, "transfers"), MoveUnits: number.Draw(t, "moveUnits")}
			}
			d := b.Decide(st)
			require.GreaterOrEqual(t, d.NextHook, 1)
			require.True(t, d.Period > 0 && !math.IsInf(d.Period, 0), "period %v", d.Period)
			require.True(t, d.Imbalance >= 0 && d.Imbalance <= 1, "imbalance %v", d.Imbalance)
			_, err := json.Marshal(d) // which refuses NaN and infinities
			require.NoError(t, err)
			if cfg.Policy == Off {
				require.Empty(t, d.Transfers)
			}
			for _, x := range d.Transfers {
				require.NotEqual(t, x.From, x.To)
				require.GreaterOrEqual(t, min(x.From, x.To), first)
				require.Positive(t, x.Units)
			}
			if !loop.blocks() {
				continue
			}
			require.NoError(t, d.To.Validate())
			require.Equal(t, block.Span(), d.To.Span())
			require.Equal(t, dist.Adjacent(block, d.To, dist.Weights{}), append([]dist.Transfer(nil), d.Transfers...))
			for r := first; r < ranks && n >= ranks-first; r++ {
				require.Positive(t, d.To.Range(r).Len())
			}
			block = d.To.Clone()
		}
	})
}

func TestSteadyStateAllocatesNothingPerRank(t *testing.T) {
	// The fewest of single interactions: the mean also counts what the garbage
	// collector and growing histories allocate meanwhile.
	allocations := func(ranks int) float64 {
		b, st := steady(t, ranks)
		fewest := math.Inf(1)
		for range 20 {
			fewest = min(fewest, testing.AllocsPerRun(1, func() { b.Decide(st) }))
		}
		return fewest
	}
	assert.LessOrEqual(t, allocations(1000), allocations(8))
	assert.Less(t, allocations(8), 10.0)
}

// steady returns a balancer in a balanced system.
func steady(t testing.TB, ranks int) (*Balancer, []Status) {
	b, err := New(Config{}, Loop{Ranks: ranks, Movement: Adjacent, Start: dist.Even(dist.Span(0, 100*ranks), ranks, 0)})
	require.NoError(t, err)
	st := make([]Status, ranks)
	for r := range st {
		st[r] = Status{Rank: r, Units: 100, Compute: 1 + 0.001*float64(r%10), Elapsed: 1, Phases: 1, PhasesLeft: -1, Owned: 100, OwnedIterations: 100}
	}
	return b, st
}

func TestStall(t *testing.T) {
	var s stall
	s.observe(0.1, 1, 0.5, 0.1, 3, false)
	assert.Zero(t, s.mean, "nothing was ordered")
	s.ordered(5, 0.9)
	s.observe(0.8, 0.1, -1, 0.1, 4, false)   // the period before the movement
	s.observe(0.4, 0.1, 0.01, 0.1, 4, false) // half of 0.1 s lost, 0.01 s of it by moving
	s.observe(0.6, 0.1, -1, 0.1, 5, false)   // a quarter
	assert.InDelta(t, 0.05-0.01+0.025, s.mean, 1e-12)
	s.observe(0.1, 0.1, 0.05, 0.1, 6, false)
	assert.InDelta(t, 0.065, s.mean, 1e-12, "it is over")
	s.ordered(7, 0.8)
	s.observe(0.9, 0.1, 0.01, 0.1, 7, false)
	assert.InDelta(t, 0.0325, s.mean, 1e-12, "none: the mean of recent ones")
	s.ordered(8, 0.8)
	s.observe(0.1, 0.1, 0.01, 0.1, 8, true)
	assert.InDelta(t, 0.0325, s.mean, 1e-12, "a rate has changed: nobody knows")
}
