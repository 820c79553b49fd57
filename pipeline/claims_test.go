package pipeline

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// The claims of S&S 1997, section 4 and 5.1, that are about grain size, and where each is held:
//
//	4.1  (6), efficiency of an ideal pipeline    here
//	4.2  Fig. 8, block size at the peak          here for the predicted curve; the measured one is an experiment
//	4.3  Fig. 9, optimal against fixed grain     here for the model; the measured one is an experiment
//	4.4  Figs 10(a), 11, pipelined, with loads   here: a simulation in the paper, too
//	4.5  Figs 10(b), 13, barriers, with loads    here: a simulation in the paper, too
//	4.6  (12), the number of barriers            here
//	4.7  a hook costs at most 1% of its code     here what that costs a run; where hooks go is a matter of loop nests
//	4.8  Figs 15, 16, the hook of SOR and MM     not here: it is a matter of loop nests

// sor is the paper's SOR of 1000 x 1000 on 4 ranks: 2 s a sweep on one rank, 1 ms a message, 2 us an element.
var sor = Costs{Iteration: 2.0 / (4 * 998), Fixed: 1e-3, Incr: 2e-6}

func TestClaim4_1IdealPipelineEfficiency(t *testing.T) {
	for ranks := 1; ranks <= 16; ranks++ {
		for blocks := 1; blocks <= 100; blocks++ {
			l := Loop{Ranks: equal(ranks, 0.1), Iterations: 5 * blocks, Block: 5, Sync: Drain, Sweeps: 3}
			assert.InDelta(t, MaxEfficiency(blocks, ranks), simulate(t, l).Efficiency, 1e-12, "M = %d, P = %d", blocks, ranks)
		}
	}
}

// Three cases, two of them with an artificial delay of each message.
func TestClaim4_2AutomaticBlockSizeIsAtThePeak(t *testing.T) {
	const m, ranks, sweeps = 998, 4, 10
	for _, delay := range []float64{0, 5e-3, 20e-3} {
		t.Run(fmt.Sprintf("delay=%vms", 1e3*delay), func(t *testing.T) {
			c := sor
			c.Fixed += delay
			l := Uniform(c, m, ranks, sweeps)
			l.Sync = Drain
			measured := func(block int) float64 {
				l.Block = block
				return simulate(t, l).Efficiency
			}
			peak := 0.0
			for b := 1; b <= m; b++ {
				peak = max(peak, measured(b))
			}
			automatic := Choose(c, m, ranks).BlockSize
			at := measured(automatic)
			assert.InDelta(t, peak, at, 0.005)
			for _, b := range []int{automatic / 2, 2 * automatic} {
				assert.Less(t, measured(b), at)
				assert.Greater(t, measured(b), 0.87*at, "a factor of two hardly changes the efficiency")
			}
			for _, b := range []int{max(1, automatic/16), min(m, 16*automatic)} {
				assert.Less(t, measured(b), 0.8*at, "a factor of sixteen does")
			}
		})
	}
}

func TestClaim4_2FlatAroundTheOptimum(t *testing.T) {
	const m, ranks = 998, 4 // M* = 39, b = 25.6
	at := Optimum(sor, m, ranks)
	assert.InDelta(t, 39, at, 0.5)
	assert.InDelta(t, 25.6, m/math.Round(at), 0.05)
	efficiency := func(x float64) float64 { return 2 / (ranks * Total(sor, m, ranks, x*at)) }
	for x, want := range map[float64]float64{1: 0.860, 0.5: 0.832, 2: 0.832, 0.25: 0.747, 4: 0.747} {
		assert.InDelta(t, want, efficiency(x), 0.0006, "at %v times the best M", x)
	}
	// A factor of two costs a quarter of the variable part.
	variable := 2 * math.Sqrt((2*(1-1.0/ranks)+2e-6*m*(ranks-2))*1e-3)
	assert.InDelta(t, variable/4, Total(sor, m, ranks, 2*at)-Total(sor, m, ranks, at), 1e-9)
}

// Fig. 9: a fixed grain of 1.5 quanta (150 ms) is as good on few ranks; the more ranks, the less work there is to fill
// the pipeline with.
func TestClaim4_3OptimalGrainAgainstFixedGrain(t *testing.T) {
	for _, size := range []struct {
		m          int
		sequential float64 // s per sweep
	}{{998, 4}, {1998, 16}} {
		before := -0.02
		for _, ranks := range []int{1, 2, 4, 8, 16} {
			c := sor
			c.Iteration = size.sequential / float64(ranks*size.m)
			l := Uniform(c, size.m, ranks, 10)
			l.Sync = Drain
			l.Block = FixedGrain(0.150, c.Iteration, size.m)
			fixed := simulate(t, l).Efficiency
			l.Block = Choose(c, size.m, ranks).BlockSize
			gain := simulate(t, l).Efficiency - fixed
			t.Logf("m = %d, P = %2d: fixed grain %.3f, optimal %.3f", size.m, ranks, fixed, fixed+gain)
			assert.GreaterOrEqual(t, gain, before, "P = %d", ranks)
			before = gain
			if ranks == 1 {
				assert.Less(t, gain, 0.02)
			}
		}
		assert.Greater(t, before, 0.25, "on 16 ranks")
	}
}

// loads are numbers of competing processes on four ranks.
var loads = [][]int{
	{0, 0, 0, 0}, {1, 0, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}, {1, 1, 0, 0}, {1, 0, 0, 1}, {1, 1, 1, 1}, {2, 0, 0, 0},
	{3, 0, 1, 0},
}

// grained is the loop of Figs 11 and 13: t_sequential = 200 quanta, balanced, messages free. The grain is the time from
// one synchronisation to the next if nobody waits, in quanta.
func grained(competing []int, blocks int, sync Sync) (l Loop, grain float64) {
	const sequential = 200
	ranks := Balanced(sequential/float64(blocks), competing...)
	l = Loop{Ranks: ranks, Iterations: blocks, Block: 1, Sync: sync, Quantum: 1}
	return l, l.Ranks[0].Work * float64(1+competing[0])
}

func TestClaim4_4CompetingLoadsDoNotHurtAPipeline(t *testing.T) {
	for _, competing := range loads {
		for _, phase := range []float64{0, 0.5, -0.7} {
			for blocks := 2; blocks <= 2000; blocks += 1 + blocks/8 {
				l, grain := grained(competing, blocks, Drain)
				for p := range l.Ranks {
					l.Ranks[p].Phase = phase * float64(p)
				}
				ratio := simulate(t, l).Efficiency / MaxEfficiency(blocks, 4)
				if ratio < 0.96 || ratio > 1.05 {
					t.Errorf("loads %v, phase %v, grain %v quanta: %v of the bound", competing, phase, grain, ratio)
				}
			}
		}
	}
}

// "This is true for any grain size, as long as there is enough buffer space."
func TestClaim4_4NeedsBuffers(t *testing.T) {
	l, grain := grained([]int{0, 0, 1, 0}, 1000, Drain)
	strips := int(math.Ceil(2 / grain)) // that rank 1 does in a scheduling period
	efficiency := func(buffer int) float64 {
		l.Buffer = buffer
		return simulate(t, l).Efficiency
	}
	unlimited := efficiency(0)
	assert.InDelta(t, unlimited, efficiency(strips), 0.01)
	assert.Less(t, efficiency(strips/4), 0.85*unlimited)
	assert.Less(t, efficiency(1), 0.6*unlimited)
}

func TestClaim4_5BarriersNeedALargeGrain(t *testing.T) {
	for _, competing := range loads[1:] {
		if competing[0] == competing[2] && competing[1] == competing[3] && competing[0] == competing[1] {
			continue // equal loads in step cost nothing
		}
		var trend []float64 // mean efficiency for each octave of the grain
		falls := 0
		before := 1.0
		for grain := 1.0 / 16; grain < 32; grain *= 2 {
			sum := 0.0
			const samples = 16
			for i := range samples {
				l, unit := grained(competing, 1, Barrier)
				g := grain * math.Pow(2, float64(i)/samples)
				for p := range l.Ranks {
					l.Ranks[p].Work *= g / unit
				}
				l.Iterations = int(math.Ceil(2000 / g))
				efficiency := simulate(t, l).Efficiency
				if efficiency < before-1e-9 {
					falls++
				}
				sum, before = sum+efficiency, efficiency
			}
			trend = append(trend, sum/samples)
		}
		t.Logf("loads %v: %.3f", competing, trend)
		for i := 1; i < len(trend); i++ {
			assert.Greater(t, trend[i], trend[i-1], "loads %v, octave %d", competing, i)
		}
		assert.Less(t, trend[0], 0.62, "loads %v", competing)
		assert.Greater(t, trend[len(trend)-1], 0.95, "loads %v", competing)
		assert.Greater(t, falls, 5, "loads %v: not monotonic", competing)
	}
}

func TestClaim4_5FullEfficiencyAtMultiplesOfTheSchedulingPeriod(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 4).Draw(t, "competing")
		competing := rapid.SliceOfN(rapid.SampledFrom([]int{0, k}), 4, 4).Draw(t, "where")
		competing[0] = k
		quantum := rapid.Float64Range(1e-3, 1).Draw(t, "quantum")
		interval := float64(rapid.IntRange(1, 10).Draw(t, "multiple")*(k+1)) * quantum
		l := Loop{Ranks: Balanced(1, competing...), Iterations: 50, Block: 1, Sync: Barrier, Quantum: quantum}
		unit := l.Ranks[0].Work * float64(k+1)
		for p := range l.Ranks {
			l.Ranks[p].Work *= interval / unit
			l.Ranks[p].Phase = rapid.Float64Range(-10, 10).Draw(t, "phase")
		}
		if e := simulate(t, l).Efficiency; math.Abs(e-1) > 1e-3 {
			t.Fatalf("efficiency %v", e)
		}
	})
}

// With grains far below a quantum, one process beside one of four ranks halves what the others get out of their CPUs.
func TestClaim4_5SmallGrain(t *testing.T) {
	l, _ := grained([]int{1, 0, 0, 0}, 100000, Barrier)
	assert.InDelta(t, 0.5, simulate(t, l).Efficiency, 0.005)
}

func TestClaim4_6TheNumberOfBarriersDoesNotMatter(t *testing.T) {
	barrier, iteration, n, ranks := 0.02, 0.001, 200, 4
	for _, m := range []int{1, 10, 1000} {
		l := Loop{Ranks: equal(ranks, float64(n/ranks)*iteration), Iterations: m, Block: 1, Sync: Barrier, Fixed: barrier}
		run := simulate(t, l)
		assert.InEpsilon(t, BarrierTotal(barrier, iteration, n, m, ranks), run.Elapsed, 1e-9)
		assert.InDelta(t, BarrierEfficiency(barrier, iteration, n, ranks), run.Efficiency, 1e-9)
		assert.InDelta(t, 1/1.4, run.Efficiency, 1e-9)
	}
}

// A hook that does nothing costs t_fixed a strip. Where it costs 1% of the strip, the run loses 1%.
func TestClaim4_7AHookOfOnePercentCostsOnePercent(t *testing.T) {
	const hook, iteration = 1e-6, 3e-6
	least := int(math.Ceil(hook / (0.01 * iteration))) // iterations that a hook of 1% needs: 34
	assert.Equal(t, 34, least)
	efficiency := func(block int) float64 {
		l := Loop{Ranks: equal(1, iteration), Iterations: 20 * block, Block: block, Sync: Barrier, Fixed: hook}
		return simulate(t, l).Efficiency
	}
	assert.GreaterOrEqual(t, efficiency(least), 1/1.01)
	assert.Less(t, efficiency(least-1), 1/1.01)
}
