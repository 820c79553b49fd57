package pipeline

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawUnequal draws a streaming or draining loop of random costs, with different work and speed per rank.
func drawUnequal(t *rapid.T) Loop {
	c, _, _ := drawCosts(t)
	m, ranks := rapid.IntRange(1, 80).Draw(t, "columns"), rapid.IntRange(1, 8).Draw(t, "P")
	l := Uniform(c, m, ranks, rapid.IntRange(1, 30).Draw(t, "sweeps"))
	l.Sync = rapid.SampledFrom([]Sync{Stream, Ahead, Drain}).Draw(t, "sync")
	if rapid.Bool().Draw(t, "unequal") {
		for p := range l.Ranks {
			l.Ranks[p].Work *= rapid.Float64Range(0, 2).Draw(t, "share")
			l.Ranks[p].Speed = rapid.Float64Range(0.25, 4).Draw(t, "speed")
		}
	}
	if rapid.Bool().Draw(t, "delayed") {
		l.Delay = c.Iteration * rapid.Float64Range(0, 20).Draw(t, "delay")
		l.DelayIncr = c.Iteration * rapid.Float64Range(0, 2).Draw(t, "delay per column")
	}
	return l
}

func (l Loop) elapsed(t require.TestingT, block int) float64 {
	l.Block = block
	return simulate(t, l).Elapsed
}

// Without competing processes the closed form is exact, for equal and unequal ranks.
func TestPredictEqualsSimulate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawUnequal(t)
		l.Sync = Sync(rapid.IntRange(int(Stream), int(Barrier)).Draw(t, "any sync"))
		b := rapid.IntRange(1, l.Iterations).Draw(t, "b")
		if want, got := l.elapsed(t, b), l.Predict(b); math.Abs(got-want) > 1e-9*want {
			t.Fatalf("%v s, simulated %v s", got, want)
		}
	})
}

// The slowest rank may lie before the pair whose round trip is longest: the chain of strips then goes through its last but one,
// and round later.
func TestPredictGoesRoundBehindTheSlowestRank(t *testing.T) {
	l := Loop{Ranks: []Rank{{Work: 2}, {Work: 0.25}, {Work: 1.75}, {Work: 1.75}}, Iterations: 2, Sweeps: 3, Delay: 1}
	assert.Equal(t, l.elapsed(t, 1), l.Predict(1))
}

// Choose against every block size in the simulator. What it allows above the best is what slack may cost.
func TestChooseIsWithinTwoPercentOfTheBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawUnequal(t)
		best := math.Inf(1)
		for b := 1; b <= l.Iterations; b++ {
			best = min(best, l.elapsed(t, b))
		}
		c := l.Choose()
		limit := best
		if l.Sync == Stream {
			limit *= 1 + slackCost
		}
		if got := l.elapsed(t, c.BlockSize); got > limit*(1+1e-9) {
			t.Fatalf("%+v: %v s, best %v s", c, got, best)
		}
		checkChoice(t, c, l.Iterations)
	})
}

// With a balanced competing load, Choose is near the best of all block sizes, also where a sweep is shorter than a
// quantum, which the means do not know.
func TestChooseUnderLoad(t *testing.T) {
	const quantum, m = 0.004, 100
	for _, competing := range [][]int{{1, 0}, {1, 0, 0, 0}, {0, 0, 1, 0}, {1, 0, 0, 1}, {0, 0, 0, 2, 0, 0, 0, 0}} {
		for _, quanta := range []float64{0.1, 0.3, 1, 2, 4, 16} { // per sweep
			for _, fixed := range []float64{1e-6, 3e-5} {
				l := Loop{Ranks: Balanced(quanta*quantum/m*float64(len(competing)), competing...), Iterations: m, Sweeps: 50,
					Quantum: quantum, Fixed: fixed}
				best := math.Inf(1)
				for b := 1; b <= m; b++ {
					l.Block = b
					best = min(best, simulate(t, l).Elapsed)
				}
				c := l.Choose()
				l.Block = c.BlockSize
				got := simulate(t, l).Elapsed
				t.Logf("loads %v, %v quanta a sweep, t_fixed %v: %.3f of the best", competing, quanta, fixed, got/best)
				assert.Less(t, got/best, 1.03, "loads %v, %v quanta a sweep, t_fixed %v", competing, quanta, fixed)
				assert.InEpsilon(t, got, c.Time, 1e-9)
			}
		}
	}
}

// With 4 ranks, 40 sweeps and free messages a streaming SOR loses one fill and drain, and nothing more.
func TestStreamingBeatsTheFillOfEverySweep(t *testing.T) {
	const ranks, sweeps, m = 4, 40, 998
	for _, blocks := range []int{2, 3, 4, 8, 16, 39, 100, 499} {
		l := Uniform(Costs{Iteration: sor.Iteration}, m, ranks, sweeps)
		l.Block = ceilDiv(m, blocks)
		efficiency := simulate(t, l).Efficiency
		once := MaxEfficiency(sweeps*blocks, ranks)
		assert.GreaterOrEqual(t, efficiency, 0.98*once, "M = %d", blocks)
		assert.Greater(t, efficiency, MaxEfficiency(blocks, ranks)*1.005, "M = %d: each sweep filled and drained", blocks)
		l.Sync = Drain
		assert.LessOrEqual(t, simulate(t, l).Efficiency, MaxEfficiency(blocks, ranks)+1e-9)
	}
	l := Uniform(sor, m, ranks, sweeps)
	l.Block = l.Choose().BlockSize
	assert.Greater(t, simulate(t, l).Efficiency, 0.95, "with messages; half of (10) is fill and drain")
}

// The steady state is bound by the slowest rank and by the round trip between neighbours.
func TestStreamingSteadyState(t *testing.T) {
	perSweep := func(blocks int, work ...float64) float64 {
		l := Loop{Iterations: blocks, Block: 1, Fixed: 0.5}
		for _, w := range work {
			l.Ranks = append(l.Ranks, Rank{Work: w / float64(blocks)})
		}
		elapsed := func(sweeps int) float64 {
			l.Sweeps = sweeps
			return simulate(t, l).Elapsed
		}
		return (elapsed(300) - elapsed(200)) / 100
	}
	assert.InDelta(t, 2*12+2*0.5, perSweep(1, 12, 12, 12), 1e-9, "one strip: a round trip is two of them")
	assert.InDelta(t, 7+12+2*0.5, perSweep(1, 7, 12, 3), 1e-9, "of the slowest two neighbours")
	assert.InDelta(t, 12+2*0.5, perSweep(2, 12, 12, 12), 1e-9, "two strips just hide it")
	assert.InDelta(t, 12+8*0.5, perSweep(8, 7, 12, 3), 1e-9, "the slowest rank")
}

func TestStreamingOfOneSweepIsEquation9And10(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, m, ranks := drawCosts(t)
		blocks := rapid.Float64Range(1, 400).Draw(t, "M")
		one, want := Streaming(c, m, ranks, 1, blocks), Total(c, m, ranks, blocks)
		optimum, ideal := StreamingOptimum(c, m, ranks, 1), Optimum(c, m, ranks)
		if math.Abs(one-want) > 1e-9*want || math.Abs(optimum-ideal) > 1e-9*ideal {
			t.Fatalf("%v s and M = %v, (9) %v s and (10) %v", one, optimum, want, ideal)
		}
		sweeps := rapid.IntRange(1, 50).Draw(t, "sweeps")
		size := rapid.IntRange(1, 5).Draw(t, "b")
		l := Uniform(c, 12*size, ranks, sweeps)
		for _, b := range []int{1, 2, 3, 12} { // without a short last strip
			got := Streaming(c, 12*size, ranks, sweeps, float64(12/b))
			if want := l.Predict(b * size); math.Abs(got-want) > 1e-9*want {
				t.Fatalf("%d blocks: %v s, Predict %v s", 12/b, got, want)
			}
		}
	})
}

func TestStreamingPaysFillAndDrainOnce(t *testing.T) {
	c := Costs{Iteration: 0.001, Fixed: 0.0005, Incr: 1e-6}
	one, many := ChooseStreaming(c, 1000, 4, 1), ChooseStreaming(c, 1000, 4, 1000)
	assert.Less(t, many.Blocks, one.Blocks, "many sweeps need fewer strips")
	assert.GreaterOrEqual(t, many.Blocks, StreamingSlack*4-1)
	assert.Equal(t, ReasonStall, many.Reason)
	assert.Less(t, many.Time, 1000*Choose(c, 1000, 4).Time, "and beat as many sweeps with a barrier after each")
	assert.Equal(t, 1, ChooseStreaming(c, 1000, 1, 10).Blocks)
	assert.InDelta(t, 10*1000*0.001, ChooseStreaming(c, 1000, 1, 10).Time, 1e-9)
	dear := ChooseStreaming(Costs{Iteration: 1e-6, Fixed: 1e-4}, 1000, 4, 1000)
	assert.Equal(t, 2, dear.Blocks, "slack is not bought with dear messages")
}

func TestLoopChooseEdgeCases(t *testing.T) {
	most := math.MaxFloat64
	for _, c := range []struct {
		name         string
		loop         Loop
		size, blocks int
		reason       string
	}{
		{"m = 0", Uniform(Costs{1, 1, 1}, 0, 4, 1), 0, 0, ReasonEmpty},
		{"no ranks", Loop{Iterations: 5}, 0, 0, ReasonEmpty},
		{"m = 1", Uniform(Costs{1, 1, 1}, 1, 4, 10), 1, 1, ReasonOneStrip},
		{"m = 1, messages cheap", Uniform(Costs{1, 1e-9, 0}, 1, 4, 10), 1, 1, ReasonAllStrips},
		{"P = 1 sends nothing", Uniform(Costs{1, 1, 1}, 50, 1, 10), 50, 1, ReasonOneRank},
		{"P = 0 counts as 1", Uniform(Costs{1, 1, 1}, 50, 0, 10), 50, 1, ReasonOneRank},
		{"no sweeps count as one", Uniform(Costs{1, 4, 0}, 64, 4, 0), 8, 8, ReasonMinimum},
		{"t_iteration = 0: only messages count", Uniform(Costs{0, 1, 0}, 50, 4, 10), 50, 1, ReasonOneStrip},
		{"t_fixed = 0", Uniform(Costs{1, 0, 0}, 50, 4, 10), 1, 50, ReasonFree},
		{"nothing costs anything: slack", Uniform(Costs{}, 48, 4, 10), 3, 16, ReasonStall},
		{"negative from noise", Uniform(Costs{-1, -2, -3}, 48, 4, 10), 3, 16, ReasonStall},
		{"NaN", Uniform(Costs{math.NaN(), math.NaN(), math.NaN()}, 48, 4, 10), 3, 16, ReasonStall},
		{"NaN as given", Loop{Ranks: []Rank{{Work: math.NaN()}, {Speed: math.NaN()}, {Speed: -1}}, Iterations: 24,
			Fixed: math.NaN()}, 2, 12, ReasonStall},
		{"more than a float64 holds", Uniform(Costs{most, most, most}, 48, 4, 10), 3, 16, ReasonStall},
		{"more than a float64 holds, one sweep", Uniform(Costs{most, most, most}, 48, 4, 1), 3, 16, ReasonStall},
		{"receiver buffers 7",
			Loop{Ranks: equal(4, 1e-3), Iterations: 48, Sweeps: 10, Fixed: 6e-3, Longest: 7}, 7, 7, ReasonLongest},
		{"receiver buffers more than a sweep",
			Loop{Ranks: equal(4, 1e-3), Iterations: 48, Sweeps: 10, Fixed: 6e-3, Longest: 99}, 24, 2, ReasonMinimum},
		{"barriers: the largest grain",
			Loop{Ranks: equal(4, 1), Iterations: 48, Sync: Barrier, Fixed: 1}, 48, 1, ReasonOneStrip},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.loop.Choose()
			assert.Equal(t, []any{c.size, c.blocks, c.reason}, []any{got.BlockSize, got.Blocks, got.Reason}, "%+v", got)
			assert.False(t, math.IsNaN(got.Time))
		})
	}
}

func TestLongestIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawUnequal(t)
		l.Longest = rapid.IntRange(1, 100).Draw(t, "longest")
		c := l.Choose()
		if len(l.Ranks) > 1 && c.BlockSize > l.Longest {
			t.Fatalf("%+v", c)
		}
		best := math.Inf(1)
		for b := 1; b <= min(l.Longest, l.Iterations); b++ {
			best = min(best, l.Predict(b))
		}
		if c.Time > best*(1+slackCost)*(1+1e-9) {
			t.Fatalf("%+v, best %v s", c, best)
		}
	})
}

func TestLongestIsKeptInTurns(t *testing.T) {
	l := Loop{Ranks: Balanced(4e-3, 1, 0, 0, 0), Iterations: 100, Sweeps: 20, Quantum: 0.05, Fixed: 0.05}
	free := l.Choose().BlockSize
	l.Longest = 6
	assert.LessOrEqual(t, l.Choose().BlockSize, 6)
	assert.Greater(t, free, 6)
}

func TestSerialIsTheFastestRankAlone(t *testing.T) {
	l := Loop{Ranks: []Rank{{Work: 1}, {Work: 2, Speed: 4}, {Work: 3, Speed: 6, Competing: 2}}, Iterations: 10, Sweeps: 5,
		Quantum: 0.1}
	c := l.Choose()
	assert.InDelta(t, 5*10*(1.0+2+3)/4, c.Serial, 1e-9)
	assert.False(t, c.Worthwhile(), "rank 0 alone needs 50 s, and rank 2 75 s")
	assert.InDelta(t, 5*Sequential(sor, 998, 4), ChooseStreaming(sor, 998, 4, 5).Serial, 1e-9)
}

func TestBlockSizesAreAllThatDiffer(t *testing.T) {
	for m := 1; m <= 300; m++ {
		next, count := 1, 0
		for smallest, largest := range blockSizes(m) {
			assert.Equal(t, next, smallest)
			assert.Equal(t, ceilDiv(m, smallest), ceilDiv(m, largest))
			if largest < m {
				assert.Less(t, ceilDiv(m, largest+1), ceilDiv(m, largest))
			}
			next, count = largest+1, count+1
		}
		assert.Equal(t, m+1, next)
		assert.LessOrEqual(t, count, int(2*math.Sqrt(float64(m))))
	}
}

func TestCurve(t *testing.T) {
	l := Uniform(sor, 998, 4, 40)
	points := l.Curve()
	var sizes []int
	lowest := math.Inf(1)
	for _, p := range points {
		sizes = append(sizes, p.BlockSize)
		lowest = min(lowest, p.Time)
		assert.Equal(t, ceilDiv(998, p.BlockSize), p.Blocks)
		assert.InEpsilon(t, l.Predict(p.BlockSize)/40, p.Time, 1e-12)
	}
	assert.Equal(t, []int{1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128, 181, 256, 362, 512, 724, 998}, sizes)
	assert.InEpsilon(t, l.Choose().Time/40, lowest, slackCost, "the curve's lowest point is the choice's")
	assert.Equal(t, []Point{{1, 1, 4}}, Loop{Ranks: equal(4, 1), Iterations: 1, Block: 1}.Curve())
	assert.Empty(t, Uniform(sor, 0, 4, 1).Curve())
}

func BenchmarkChoose(b *testing.B) {
	for _, m := range []int{1000, 100_000} {
		b.Run(fmt.Sprintf("m=%d", m), func(b *testing.B) {
			l := Uniform(sor, m, 8, 40)
			for b.Loop() {
				l.Choose()
			}
		})
		b.Run(fmt.Sprintf("m=%d/competing", m), func(b *testing.B) {
			l := Loop{Ranks: Balanced(8*sor.Iteration, 1, 0, 0, 0, 0, 0, 0, 0), Iterations: m, Sweeps: 1000, Quantum: 0.004,
				Fixed: 1e-5}
			for b.Loop() {
				l.Choose()
			}
		})
	}
}
