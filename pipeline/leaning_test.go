package pipeline_test

import (
	"math"
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

// Two ranks share each processor, with which they have 2 ms to do. Of the half lean that each may have to wait for it waits for two strips in five, and both wait at once for 4/25.
func TestALeanOfRanksThatShareAProcessor(t *testing.T) {
	l := pipeline.Leaning{Iterations: 100, Work: 20e-6, Turn: 20e-6, Strip: 4e-6, PerSweep: 2e-6, Sweeps: 16, Batches: 2, Sharing: 2}
	assert.InEpsilon(t, 2e-3+4*(2*4e-6+16*2e-6)/16+2e-3/2*4/25, l.Predict(25), 1e-12)
	assert.InEpsilon(t, 2e-3+1*(2*4e-6+16*2e-6)/16+2e-3/2, l.Predict(100), 1e-12, "for the whole of it")
	assert.InEpsilon(t, 2e-3+2*(2*4e-6+16*2e-6)/16+2e-3/2*4/9, l.Predict(50), 1e-12)
}

// Where the processor sets the pace, M^2 = m Turn S/B / (B Strip + S PerSweep), and (M+1)^(R+1) = R 2^R as much where R ranks share one; where the network does, so many
// that it just hides what they cost.
func TestStripsOfALeanAreTheBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sweeps := rapid.IntRange(1, 65).Draw(t, "sweeps")
		l := pipeline.Leaning{
			Iterations: 1 << 20, // strips are equal but for a hair
			Work:       rapid.Float64Range(1e-9, 1e-6).Draw(t, "work"), Strip: rapid.Float64Range(0, 1e-3).Draw(t, "strip"),
			PerSweep: rapid.Float64Range(1e-7, 1e-3).Draw(t, "per sweep"), Sweeps: sweeps, Batches: rapid.IntRange(1, sweeps).Draw(t, "batches"),
			Turn: rapid.Float64Range(0, 2e-6).Draw(t, "turn"), Sharing: float64(rapid.IntRange(1, 4).Draw(t, "sharing")),
		}
		if l.Wire = l.Work * rapid.Float64Range(0, 3).Draw(t, "wire"); l.WireBound() {
			l.Batches = 1
		}
		least, most := 3, rapid.IntRange(3, 64).Draw(t, "most")
		n := l.Strips(least, most)
		at := func(n int) float64 { return l.Predict((l.Iterations + n - 1) / n) }
		m, each := float64(l.Iterations), (float64(l.Batches)*l.Strip+float64(sweeps)*l.PerSweep)/float64(sweeps)
		best := math.Sqrt(m * l.Turn / float64(l.Batches) / each)
		if r := l.Sharing; r > 1 {
			best = math.Pow(r*math.Pow(2, r)*m*l.Turn/float64(l.Batches)/each, 1/(r+1)) - 1
		}
		best = min(max(best, m*(l.Wire-l.Work)/each, float64(least)), float64(most))
		for _, near := range []int{int(best), int(best) + 1} {
			if least <= near && near <= most {
				assert.LessOrEqual(t, at(n), 1.0001*at(near), "%d strips, not %d", n, near)
			}
		}
	})
}

// One strip may be best, where they cost as much as ranks that share processors wait for.
func TestOneStripOfALean(t *testing.T) {
	l := pipeline.Leaning{Iterations: 100, Work: 1e-6, Turn: 1e-6, Strip: 200e-6, Sweeps: 10, Batches: 2, Sharing: 2}
	assert.Equal(t, 1, l.Strips(1, 64))
	l.Strip = 5e-6
	assert.Equal(t, 6, l.Strips(1, 64))
}

func TestStripsThatCostNothing(t *testing.T) {
	assert.Equal(t, 64, pipeline.Leaning{Iterations: 100, Work: 1e-6, Sweeps: 9, Batches: 2}.Strips(4, 64))
	assert.Equal(t, 64, pipeline.Leaning{Iterations: 100, Work: 1e-6, Sweeps: 9, Batches: 2}.Strips(0, 64), "fewer than one: one")
}

func TestStripsThatOneCanAfford(t *testing.T) {
	l := pipeline.Leaning{Iterations: 1000, Work: 1e-6, Strip: 8e-6, PerSweep: 1e-6, Sweeps: 16, Batches: 2} // 1 ms of computing, 2 us a strip
	assert.Equal(t, 15, l.Affordable(0.03))
	assert.Equal(t, 1, l.Affordable(0.001), "one there is")
	assert.Equal(t, 1000, l.Affordable(10), "as many as columns")
	l.Strip, l.PerSweep = 0, 0
	assert.Equal(t, 1000, l.Affordable(0.03), "they cost nothing")
	l.Work = 0
	assert.Equal(t, 1000, l.Affordable(0.03), "nothing is known")
}

// No number of strips below the fewest is good enough, the fewest is, and where nothing may take longer it is of the best ones the least.
func TestFewestStripsThatAreGoodEnough(t *testing.T) {
	l := pipeline.Leaning{Iterations: 2000, Work: 1e-6, Turn: 1e-6, Strip: 8e-6, PerSweep: 1e-6, Sweeps: 16, Batches: 2, Sharing: 2}
	at := func(n int) float64 { return l.Predict((l.Iterations + n - 1) / n) }
	best := l.Strips(1, 64)
	for _, longer := range []float64{0, 0.01, 0.03, 0.3, 100} {
		n := l.Fewest(1, 64, longer)
		assert.LessOrEqual(t, at(n), (1+longer)*at(best))
		for few := 1; few < n; few++ {
			assert.Greater(t, at(few), (1+longer)*at(best), "%d strips for %g", few, longer)
		}
	}
	assert.Equal(t, best, l.Fewest(1, 64, 0))
	assert.Less(t, l.Fewest(1, 64, 0.01), best)
	assert.Equal(t, 1, l.Fewest(0, 64, 100), "fewer than one: one")
	assert.Equal(t, best-1, l.Fewest(best-1, 64, 100))
}
