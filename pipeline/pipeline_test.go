package pipeline

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/diff/fd"
	"pgregory.net/rapid"
)

func TestEquation3FixedGrain(t *testing.T) {
	for _, c := range []struct {
		grain, iteration float64
		m, want          int
	}{
		{0.15, 0.01, 100, 15},   // 1.5 quanta of 100 ms
		{0.15, 0.04, 100, 4},    // 3.75 rounded
		{0.15, 1, 100, 1},       // clipped from below
		{0.15, 0.001, 100, 100}, // and from above
		{0.15, 0, 100, 100},
		{0, 0.01, 100, 1},
		{0, 0, 100, 100},
		{0.15, 0.01, 0, 0},
	} {
		assert.Equal(t, c.want, FixedGrain(c.grain, c.iteration, c.m), "%+v", c)
	}
}

func TestEquation5And6(t *testing.T) {
	c := Costs{Iteration: 0.25}
	assert.Equal(t, 4*10*0.25, Sequential(c, 10, 4))
	assert.Equal(t, 10.0/13, MaxEfficiency(10, 4))
	// (6) is (5)/(P t_elapsed) without communication, for every M
	for blocks := 1; blocks <= 10; blocks++ {
		assert.InDelta(t, MaxEfficiency(blocks, 4), Sequential(c, 10, 4)/(4*Total(c, 10, 4, float64(blocks))), 1e-12)
	}
}

func TestEquation7By8And9(t *testing.T) {
	c := Costs{Iteration: 0.5, Fixed: 0.125, Incr: 0.0625}
	m, ranks, blocks := 12, 3, 4.0
	block, shift := 3*0.5, 0.125+0.0625*3
	assert.Equal(t, shift, Shift(c, 3))
	assert.InDelta(t, (blocks+2)*block+(blocks+1)*shift, Total(c, m, ranks, blocks), 1e-12)
}

func TestEquation9IsTheTimeOfASimulatedPipeline(t *testing.T) {
	c := Costs{Iteration: 0.01, Fixed: 0.003, Incr: 0.0005}
	for _, ranks := range []int{2, 3, 8} {
		for _, blocks := range []int{1, 2, 5, 20} {
			l := Uniform(c, 100, ranks, 1)
			l.Block, l.Sync = 100/blocks, Drain
			assert.InDelta(t, simulate(t, l).Elapsed, Total(c, 100, ranks, float64(blocks)), 1e-9)
		}
	}
}

func drawCosts(t *rapid.T) (c Costs, m, ranks int) {
	cost := func(name string, lo, hi float64) float64 {
		return math.Exp(rapid.Float64Range(math.Log(lo), math.Log(hi)).Draw(t, name))
	}
	c = Costs{Iteration: cost("iteration", 1e-6, 1), Fixed: cost("fixed", 1e-6, 1), Incr: cost("incr", 1e-9, 1e-2)}
	if rapid.Bool().Draw(t, "noIncr") {
		c.Incr = 0
	}
	return c, rapid.IntRange(1, 400).Draw(t, "m"), rapid.IntRange(2, 64).Draw(t, "ranks")
}

func TestEquation10IsTheMinimumOf9(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, m, ranks := drawCosts(t)
		at := Optimum(c, m, ranks)
		slope := fd.Derivative(func(x float64) float64 { return Total(c, m, ranks, x) }, at,
			&fd.Settings{Formula: fd.Central, Step: at * 1e-4})
		if math.Abs(slope)/c.Fixed > 1e-4 {
			t.Fatalf("slope %v t_fixed at M = %v", slope/c.Fixed, at)
		}
		for _, x := range []float64{0.5, 0.9, 1.1, 2} {
			if Total(c, m, ranks, x*at) < Total(c, m, ranks, at) {
				t.Fatalf("M = %v is better than %v", x*at, at)
			}
		}
	})
}

func TestChooseEqualsBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, m, ranks := drawCosts(t)
		best := 1
		for blocks := 2; blocks <= m; blocks++ {
			if Total(c, m, ranks, float64(blocks)) < Total(c, m, ranks, float64(best)) {
				best = blocks
			}
		}
		got, size := Choose(c, m, ranks), (m+best-1)/best
		// Two M may tie up to rounding: equal times are as good.
		tie := Total(c, m, ranks, math.Ceil(float64(m)/float64(size)))
		if got.BlockSize != size && math.Abs(got.Time-tie) > 1e-12*got.Time {
			t.Fatalf("%+v, brute force M = %d", got, best)
		}
		checkChoice(t, got, m)
	})
}

func checkChoice(t *rapid.T, c Choice, m int) {
	if c.BlockSize < 1 || c.BlockSize > m || c.Blocks != ceilDiv(m, c.BlockSize) || c.Reason == "" || math.IsNaN(c.Time) {
		t.Fatalf("%+v for m = %d", c, m)
	}
}

func TestEquation10EdgeCases(t *testing.T) {
	one := Costs{Iteration: 0.01, Fixed: 0.001, Incr: 0.001}
	for _, c := range []struct {
		name         string
		costs        Costs
		m, ranks     int
		size, blocks int
		reason       string
	}{
		{"P = 1 sends nothing", one, 100, 1, 100, 1, ReasonOneRank},
		{"t_fixed = 0", Costs{Iteration: 0.01}, 100, 4, 1, 100, ReasonFree},
		{"t_fixed negative from noise", Costs{Iteration: 0.01, Fixed: -1e-6}, 100, 4, 1, 100, ReasonFree},
		{"M > m", Costs{Iteration: 1, Fixed: 1e-6}, 100, 4, 1, 100, ReasonAllStrips},
		{"M < 1", Costs{Iteration: 1e-6, Fixed: 10}, 100, 4, 100, 1, ReasonOneStrip},
		{"no work", Costs{Fixed: 1}, 100, 4, 100, 1, ReasonOneStrip},
		{"nothing costs anything", Costs{}, 100, 4, 100, 1, ReasonOneStrip},
		{"NaN", Costs{math.NaN(), math.NaN(), math.NaN()}, 100, 4, 100, 1, ReasonOneStrip},
		{"m = 1", one, 1, 4, 1, 1, ReasonAllStrips},
		{"m = 0", one, 0, 4, 0, 0, ReasonEmpty},
		{"t_incr negative from noise", Costs{Iteration: 0.01, Fixed: 0.01, Incr: -5}, 48, 4, 4, 12, ReasonMinimum},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Choose(c.costs, c.m, c.ranks)
			assert.Equal(t, []any{c.size, c.blocks, c.reason}, []any{got.BlockSize, got.Blocks, got.Reason}, "%+v", got)
			assert.False(t, math.IsNaN(got.Time))
		})
	}
	assert.Equal(t, Optimum(Costs{1, 1, 0}, 50, 2), Optimum(Costs{1, 1, 9}, 50, 2), "P = 2: t_incr drops out")
	assert.False(t, Choose(Costs{Iteration: 1e-6, Fixed: 10}, 100, 4).Worthwhile(), "messages dearer than the work")
	assert.True(t, Choose(Costs{Iteration: 1, Fixed: 1e-6}, 100, 4).Worthwhile())
}

func TestEquation11And12(t *testing.T) {
	barrier, iteration, n, ranks := 0.02, 0.001, 200, 4
	for _, m := range []int{1, 10, 1000} {
		sequential := float64(n*m) * iteration
		assert.InDelta(t, sequential/(float64(ranks)*BarrierTotal(barrier, iteration, n, m, ranks)),
			BarrierEfficiency(barrier, iteration, n, ranks), 1e-12)
	}
	assert.Equal(t, 1.0, BarrierEfficiency(0, iteration, n, ranks))
	assert.Equal(t, 0.0, BarrierEfficiency(barrier, 0, n, ranks))
	assert.Equal(t, 0.0, BarrierEfficiency(0, 0, n, ranks))
}
