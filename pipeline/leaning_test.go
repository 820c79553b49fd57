package pipeline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"shiftwork/pipeline"
)

// By hand: 100 columns of 10 us, two batches of eight sweeps; with 4 strips each costs 2 us in a batch and 1 us in each of its sweeps.
func TestALeanByHand(t *testing.T) {
	l := pipeline.Leaning{Iterations: 100, Work: 10e-6, Turn: 10e-6, Strip: 2e-6, PerSweep: 1e-6, Sweeps: 16, Batches: 2}
	assert.InEpsilon(t, 1e-3+4*(2*2e-6+16*1e-6)/16+25*10e-6/2, l.Predict(25), 1e-12)
	l.Wire, l.Turn = 30e-6, 40e-6
	assert.InEpsilon(t, 1.5*3e-3+25*40e-6/2, l.Predict(25), 1e-12, "the network sets the pace, half of the time both ways: strips cost nothing")
	l.Batches = 1
	assert.InEpsilon(t, 3e-3+25*40e-6, l.Predict(25), 1e-12, "all of the time both ways")
}

// The number of strips that is chosen is as good as any within its bounds.
func TestStripsOfALeanAreTheBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sweeps := rapid.IntRange(1, 65).Draw(t, "sweeps")
		l := pipeline.Leaning{
			Iterations: 1 << 20, // strips are equal but for a hair
			Work:       rapid.Float64Range(1e-9, 1e-6).Draw(t, "work"), Strip: rapid.Float64Range(0, 1e-3).Draw(t, "strip"),
			PerSweep: rapid.Float64Range(1e-7, 1e-3).Draw(t, "per sweep"), Sweeps: sweeps, Batches: rapid.IntRange(1, sweeps).Draw(t, "batches"),
		}
		l.Turn = rapid.Float64Range(0, 2e-6).Draw(t, "turn")
		if l.Wire = l.Work * rapid.Float64Range(0, 3).Draw(t, "wire"); l.WireBound() {
			l.Batches = 1
		}
		least, most := 2, rapid.IntRange(2, 64).Draw(t, "most")
		n := l.Strips(least, most)
		assert.GreaterOrEqual(t, n, least)
		assert.LessOrEqual(t, n, most)
		at := func(n int) float64 { return l.Predict((l.Iterations + n - 1) / n) }
		for other := least; other <= most; other++ {
			assert.LessOrEqual(t, at(n), 1.02*at(other), "%d strips, not %d", n, other)
		}
	})
}

func TestStripsThatCostNothing(t *testing.T) {
	assert.Equal(t, 64, pipeline.Leaning{Iterations: 100, Work: 1e-6, Sweeps: 9, Batches: 2}.Strips(4, 64))
}
