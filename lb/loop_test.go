package lb

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/dist"
)

// secondPeriod is a loop whose sweep takes about 1 s of 4 ranks, so that interactions are 1 s apart.
func secondPeriod(ranks int) (Config, Loop) {
	return Config{Period: 1}, Loop{Ranks: ranks, Movement: Adjacent}
}

func TestCompetitorHalvesRank0AwayAndBack(t *testing.T) {
	for _, movement := range []Movement{Adjacent, Direct} {
		cfg, loop := secondPeriod(4)
		loop.Movement = movement
		s := newSim(t, cfg, loop, 400)
		s.noise, s.moveFixed, s.moveAll = 0.05, 0.2, 2
		s.speed = func(r int, t float64) float64 {
			if r == 0 && t > 20 && t < 60 {
				return 50
			}
			return 100
		}
		var loaded, back int
		for s.t < 120 {
			d := s.step()
			if s.t > 55 && s.t < 60 {
				loaded = s.iterations[0]
			}
			require.Equal(t, 400, s.iterations[0]+s.iterations[1]+s.iterations[2]+s.iterations[3], "%+v", d)
		}
		back = s.iterations[0]
		assert.InDelta(t, 400.0/7, float64(loaded), 8, "%v: under load rank 0 holds half a share", movement)
		assert.InDelta(t, 100, float64(back), 8, "%v: and afterwards a full one", movement)
		assert.Greater(t, s.rate(), 0.93)
		assert.LessOrEqual(t, s.moves, 8)
	}
}

func TestNoiseMovesNothing(t *testing.T) {
	for _, ranks := range []int{2, 4, 16, 64} {
		for seed := range uint64(3) {
			cfg, loop := secondPeriod(ranks)
			s := newSim(t, cfg, loop, 100*ranks)
			s.noise, s.rng = 0.05, rand.New(rand.NewPCG(seed, 1))
			s.speed = func(int, float64) float64 { return 100 }
			for range 1000 {
				d := s.step()
				require.Empty(t, d.Transfers, "P = %d, interaction %d: %s", ranks, d.Interaction, d.Reason)
			}
		}
	}
}

func TestClaim4_14ConstantLoadStaysPut(t *testing.T) {
	for seed := range uint64(10) {
		cfg, loop := secondPeriod(4)
		s := newSim(t, cfg, loop, 400)
		s.noise, s.rng, s.moveFixed, s.moveAll = 0.05, rand.New(rand.NewPCG(seed, 2)), 0.2, 2
		s.speed = func(r int, _ float64) float64 { return []float64{50, 100, 100, 100}[r] }
		for range 10 {
			s.step()
		}
		settled := s.moves
		for range 500 {
			s.step()
		}
		assert.LessOrEqual(t, s.moves-settled, 2, "seed %d", seed)
		assert.Greater(t, s.rate(), 0.93)
	}
}

func TestAThousandTimesSlowerAndBack(t *testing.T) {
	cfg, loop := secondPeriod(4)
	s := newSim(t, cfg, loop, 400)
	s.speed = func(r int, t float64) float64 {
		if r == 2 && t > 10 && t < 20_000 { // a sweep of equal shares then takes 1000 s
			return 0.1
		}
		return 100
	}
	for s.t < 19_900 {
		s.step()
	}
	assert.Equal(t, 1, s.iterations[2], "the minimum: one iteration")
	for s.t < 20_200 {
		s.step()
	}
	assert.InDelta(t, 100, float64(s.iterations[2]), 5)
}

func TestHeterogeneousStart(t *testing.T) {
	for _, movement := range []Movement{Adjacent, Direct} {
		cfg, loop := secondPeriod(4)
		loop.Movement = movement
		s := newSim(t, cfg, loop, 1500)
		s.speed = func(r int, _ float64) float64 { return []float64{100, 200, 400, 800}[r] }
		for range 3 {
			s.step()
		}
		assert.Greater(t, s.rate(), 0.97)
	}
}

// A rise of one rank of 16 from half to full speed is worth (1-s)/P = 3%: no fixed threshold of 10% ever sees it.
func TestQuietThresholdFindsARecoveryOnOneOfMany(t *testing.T) {
	run := func(cfg Config) *sim {
		cfg.Period = 1
		s := newSim(t, cfg, Loop{Ranks: 12, Movement: Adjacent}, 2400)
		s.noise, s.moveFixed, s.moveAll = 0.01, 0.2, 2
		s.speed = func(r int, t float64) float64 {
			if r == 5 && t < 100 {
				return 100
			}
			return 200
		}
		for s.t < 400 {
			s.step()
		}
		return s
	}
	paper, auto := run(Config{Threshold: 0.1}), run(Config{})
	assert.Less(t, paper.iterations[5], 120, "(1-s)/P = 0.042 never reaches 0.1")
	assert.InDelta(t, 200, float64(auto.iterations[5]), 20)
	assert.Greater(t, auto.rate(), paper.rate())
}

func TestFreeLoopEndsTogether(t *testing.T) {
	for name, speeds := range map[string][]float64{
		"equal":         {100, 100, 100, 100},
		"heterogeneous": {100, 200, 400, 800},
		"very slow":     {0.1, 100, 100, 100},
	} {
		s := newSim(t, Config{}, Loop{Ranks: 4, Movement: Direct, Free: true, Interact: 1e-4}, 4000)
		s.period = 0.04
		s.speed = func(r int, _ float64) float64 { return speeds[r] }
		interactions := 0
		for !s.final && interactions < 10_000 {
			s.step()
			interactions++
		}
		require.True(t, s.final, "%s: must end", name)
		for r := range 4 {
			if speeds[r] > 1 {
				assert.Less(t, s.owned[r]/speeds[r], 0.05*4000/(speeds[0]+speeds[1]+speeds[2]+speeds[3]), "%s, rank %d", name, r)
			}
		}
		ideal := 4000 / (speeds[0] + speeds[1] + speeds[2] + speeds[3])
		longest := 0.0
		for r := range 4 {
			longest = max(longest, s.owned[r]/speeds[r])
		}
		if name != "very slow" { // there one iteration alone takes 10 s, as long as the loop
			assert.Less(t, s.t+longest, 1.06*ideal, name)
		}
		assert.Less(t, float64(interactions)*1e-4, 0.06*s.t, "%s: %d interactions", name, interactions)
	}
}

func TestFreeLoopLoadChangesOnTheWay(t *testing.T) {
	s := newSim(t, Config{}, Loop{Ranks: 4, Movement: Direct, Free: true}, 40_000)
	s.speed = func(r int, t float64) float64 {
		if r == 1 && t > 2 {
			return 250
		}
		return 1000
	}
	for !s.final {
		s.step()
		require.Less(t, s.k, 10_000)
	}
	longest := 0.0
	for r := range 4 {
		longest = max(longest, s.owned[r]/s.speed(r, s.t))
	}
	// 8000 units are done at 2 s, then 3250 units/s.
	assert.Less(t, s.t+longest, 1.05*(2+32_000/3250.0))
}

func TestMechanismPoliciesMoveAtEveryInteraction(t *testing.T) {
	for _, policy := range []Policy{Rotate, Random} {
		for _, movement := range []Movement{Adjacent, Direct} {
			for _, ranks := range []int{2, 3, 7} {
				for _, n := range []int{ranks + 1, 50} {
					first := ranks / 7 // 7 ranks have a dedicated master
					s := newSim(t, Config{Policy: policy, Seed: 3}, Loop{Ranks: ranks, FirstWorker: first, Movement: movement}, n)
					s.speed = func(int, float64) float64 { return 10 }
					for range 60 {
						d := s.step()
						require.NotEmpty(t, d.Transfers, "%v %v, %d ranks, %d iterations: %v", policy, movement, ranks, n, s.iterations)
						checkTransfers(t, s, d)
					}
				}
			}
		}
	}
}

func checkTransfers(t *testing.T, s *sim, d Decision) {
	gives, takes := map[int]bool{}, map[int]bool{}
	for _, x := range d.Transfers {
		require.GreaterOrEqual(t, min(x.From, x.To), s.loop.FirstWorker)
		require.Positive(t, x.Units)
		gives[x.From], takes[x.To] = true, true
	}
	if s.loop.Movement == Direct {
		for r := range s.loop.Ranks {
			require.False(t, gives[r] && takes[r], "rank %d gives and takes", r)
		}
	}
	total := 0
	for r, n := range s.iterations {
		require.GreaterOrEqual(t, n, min(1, max(0, r-s.loop.FirstWorker+1)), "rank %d", r)
		total += n
	}
	require.Equal(t, s.loop.Start.Span().Len(), total)
}

func TestOffAndSmallLoopsStandStill(t *testing.T) {
	for name, c := range map[string]struct {
		cfg        Config
		ranks, n   int
		speedOfAll []float64
	}{
		"off":                            {Config{Policy: Off}, 2, 20, []float64{1, 9}},
		"one rank":                       {Config{}, 1, 20, []float64{1}},
		"fewer iterations than ranks":    {Config{Policy: Random}, 3, 2, []float64{1, 9, 9}},
		"as many":                        {Config{Policy: Rotate}, 3, 3, []float64{1, 9, 9}},
		"no iterations":                  {Config{}, 3, 0, []float64{1, 9, 9}},
		"indivisible: 3 for 2, 1.3 to 1": {Config{}, 2, 3, []float64{1.3, 1}},
	} {
		s := newSim(t, c.cfg, Loop{Ranks: c.ranks, Movement: Adjacent}, c.n)
		s.speed = func(r int, _ float64) float64 { return c.speedOfAll[r] }
		for range 30 {
			d := s.step()
			require.Empty(t, d.Transfers, "%s: %s", name, d.Reason)
			require.NotEmpty(t, d.Reason)
			require.GreaterOrEqual(t, d.NextHook, 1)
		}
	}
}

func TestWeightedLoopsAreBalancedInUnits(t *testing.T) {
	units := make([]float64, 400) // triangular
	for i := range units {
		units[i] = float64(i + 1)
	}
	w, err := dist.NewWeights(dist.Span(0, 400), units)
	require.NoError(t, err)
	s := newSim(t, Config{Period: 1}, Loop{Ranks: 4, Movement: Adjacent, Weights: w}, 400)
	s.speed = func(int, float64) float64 { return 20_000 }
	before := s.rate()
	for range 5 {
		s.step()
	}
	assert.Less(t, before, 0.6)
	assert.Greater(t, s.rate(), 0.98)
}

// Relabelling the ranks relabels the decision, as far as neighbourhood allows: Direct has none.
func TestRelabellingRanks(t *testing.T) {
	speeds := []float64{70, 210, 130, 330, 90}
	perm := []int{3, 0, 4, 1, 2}
	targets := func(order []int) []float64 {
		s := newSim(t, Config{Period: 1}, Loop{Ranks: 5, Movement: Direct}, 1000)
		s.speed = func(r int, _ float64) float64 { return speeds[order[r]] }
		s.step()
		d := s.step()
		return slices.Clone(d.Targets)
	}
	straight, relabelled := targets([]int{0, 1, 2, 3, 4}), targets(perm)
	for r := range perm {
		assert.InDelta(t, straight[perm[r]], relabelled[r], 1e-9)
	}
}

func TestSameInputSameOutput(t *testing.T) {
	for _, policy := range []Policy{On, Rotate, Random} {
		run := func() (log []Decision) {
			s := newSim(t, Config{Policy: policy, Seed: 11}, Loop{Ranks: 5, Movement: Adjacent}, 300)
			s.noise = 0.1
			s.speed = func(r int, t float64) float64 { return 100 + 80*math.Sin(float64(r)+t/9) }
			for range 100 {
				d := s.step()
				d.Raw, d.Filtered, d.Targets = slices.Clone(d.Raw), slices.Clone(d.Filtered), slices.Clone(d.Targets)
				log = append(log, d)
			}
			return log
		}
		require.Equal(t, run(), run())
	}
}

// besideAVisitor are the speeds of ranks of which one is slower for half of every 30 s.
func besideAVisitor(r int, t float64) float64 {
	if r == 2 && math.Mod(t, 30) > 15 {
		return 40
	}
	return 100
}

// The unit of work is the program's own: if all rates are 1024 times as high and nothing else differs, so are no decisions.
func TestScalingAllRatesChangesNothing(t *testing.T) {
	s := newSim(t, Config{Period: 1}, Loop{Ranks: 5, Movement: Adjacent}, 500)
	scaled, err := New(Config{Period: 1}, s.b.loop)
	require.NoError(t, err)
	s.noise, s.moveAll = 0.05, 1
	s.speed = besideAVisitor
	for range 150 {
		s.step()
		st := slices.Clone(s.seen)
		for r := range st {
			st[r].Units *= 1024
		}
		require.Equal(t, s.decided.Transfers, append([]dist.Transfer(nil), scaled.Decide(st).Transfers...))
	}
	assert.Greater(t, s.moves, 3)
}

// Weights are relative to each other: where each is 1/400 or 1e6 what a movement costs and when it is worth it is as where each is 1.
func TestScalingAllWeightsChangesNothing(t *testing.T) {
	of := func(weight float64) dist.Weights {
		w, err := dist.NewWeights(dist.Span(0, 500), slices.Repeat([]float64{weight}, 500))
		require.NoError(t, err)
		return w
	}
	for _, weight := range []float64{1.0 / 512, 1 << 20} {
		s := newSim(t, Config{Period: 1}, Loop{Ranks: 5, Movement: Adjacent, Weights: of(1), MoveUnit: 0.03}, 500)
		loop := s.b.loop
		loop.Weights = of(weight)
		loop.MoveUnit /= weight
		scaled, err := New(Config{Period: 1}, loop)
		require.NoError(t, err)
		s.noise, s.moveAll = 0.05, 4
		s.speed = besideAVisitor
		for range 150 {
			s.step()
			st := slices.Clone(s.seen)
			for r := range st {
				st[r].Units *= weight
				st[r].Owned *= weight
				st[r].MoveUnits *= weight
			}
			d := scaled.Decide(st)
			require.Len(t, d.Transfers, len(s.decided.Transfers))
			for i, x := range d.Transfers {
				require.Equal(t, s.decided.Transfers[i].Iterations, x.Iterations)
			}
		}
		assert.Greater(t, s.moves, 3)
	}
}

func TestMechanismPoliciesLetFreeLoopsEnd(t *testing.T) {
	for _, policy := range []Policy{Off, Rotate, Random} {
		for _, ranks := range []int{1, 2, 5} {
			s := newSim(t, Config{Policy: policy}, Loop{Ranks: ranks, Movement: Direct, Free: true}, 50*ranks)
			s.speed = func(r int, _ float64) float64 { return float64(20 * (r + 1)) }
			moved := 0
			for !s.final {
				moved += len(s.step().Transfers)
				require.Less(t, s.k, 10_000, "%v, %d ranks: must end", policy, ranks)
			}
			assert.Equal(t, policy != Off && ranks > 1, moved > 0, "%v, %d ranks", policy, ranks)
		}
	}
}

func TestDirectWithWeightsMovesUnits(t *testing.T) {
	weights, err := dist.NewWeights(dist.Span(0, 4), []float64{1, 2, 3, 6})
	require.NoError(t, err)
	b, err := New(Config{Threshold: 0.1}, Loop{Ranks: 2, Movement: Direct, Weights: weights})
	require.NoError(t, err)
	d := b.Decide([]Status{
		{Units: 3, Compute: 1, Elapsed: 3, Phases: 1, PhasesLeft: -1, Owned: 3, OwnedIterations: 2},
		{Rank: 1, Units: 9, Compute: 3, Elapsed: 3, Phases: 1, PhasesLeft: -1, Owned: 9, OwnedIterations: 2},
	})
	assert.Equal(t, []dist.Transfer{{From: 1, To: 0, Units: 3}}, d.Transfers, "equal rates: 6 units each; the sender chooses iterations")
	// Less than half an iteration of the sender would come to nothing.
	b, err = New(Config{NoThreshold: true}, Loop{Ranks: 2, Movement: Direct, Weights: weights})
	require.NoError(t, err)
	d = b.Decide([]Status{
		{Units: 5, Compute: 1, Elapsed: 1, Phases: 1, PhasesLeft: -1, Owned: 5, OwnedIterations: 1},
		{Rank: 1, Units: 7, Compute: 1.4, Elapsed: 1.4, Phases: 1, PhasesLeft: -1, Owned: 7, OwnedIterations: 2},
	})
	assert.Empty(t, d.Transfers, d.Reason)
}

// Sixteen ranks that share a processor have done one phase each, told of it at once, and wait for the others ever since: what they may have done meanwhile, had they
// gone on so fast, is more than all. Nothing but what they tell ends the balancing of a Free loop.
func TestAFreeLoopIsOverWhenRanksSaySo(t *testing.T) {
	const ranks, all = 16, 5712.0
	for _, period := range []float64{0, 0.05} {
		b, err := New(Config{Period: period}, Loop{Ranks: ranks, Movement: Direct, Free: true, Quantum: 4e-3, Interact: 88e-6})
		require.NoError(t, err)
		statuses := make([]Status, ranks)
		told := func(k int, done, computed, elapsed, owned float64) Decision {
			for r := range statuses {
				statuses[r] = Status{Rank: r, Interaction: k, Obeyed: k - 1, Units: done, Compute: computed, Elapsed: elapsed, Age: 0.1, Phases: 1, PhasesLeft: -1,
					Owned: owned, OwnedIterations: int(owned / 16), Least: 4}
			}
			return b.Decide(statuses)
		}
		assert.False(t, told(0, 16, 110e-6, 111e-6, all).Final)
		for k := 1; k < 9; k++ {
			d := told(k, all/8, 40e-3, 400e-3, all*float64(8-k)/8)
			assert.Equal(t, k == 8, d.Final, "period %v, %d of 8 done: %s", period, k, d.Reason)
		}
	}
}

// Whoever is no worker gets no iterations, also where boundaries move one by one.
func TestADedicatedMasterStaysWithoutWork(t *testing.T) {
	start := dist.Even(dist.Span(0, 100), 3, 1)
	b, err := New(Config{NoThreshold: true, NoCostBenefit: true, Filter: "raw", Period: 1}, Loop{Ranks: 3, FirstWorker: 1, Movement: Adjacent, OneByOne: true, Start: start})
	require.NoError(t, err)
	d := b.Decide([]Status{{}, {Rank: 1, Obeyed: -1, Units: 50, Compute: 1, Elapsed: 2, Phases: 1, PhasesLeft: 1000, Owned: 50, OwnedIterations: 50},
		{Rank: 2, Obeyed: -1, Units: 50, Compute: 2, Elapsed: 2, Phases: 1, PhasesLeft: 1000, Owned: 50, OwnedIterations: 50}})
	assert.Equal(t, []int{0, 0, 67, 100}, d.To.Bounds)
}
