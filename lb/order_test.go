package lb

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"shiftwork/dist"
)

// Slow ranks and as many fast ones, as of two generations of machines: a third of all work passes the boundary between them, more than a block. Where there are many, each
// instruction saves little by itself.
func TestWorkPassesThroughRanks(t *testing.T) {
	for _, ranks := range []int{8, 40} {
		rows := 100 * ranks
		start := dist.Even(dist.Span(0, rows), ranks, 0)
		b, err := New(Config{}, Loop{Ranks: ranks, Movement: Adjacent, OneByOne: true, Start: start})
		require.NoError(t, err)
		speed := func(r int) float64 { return float64(1 + 4*(2*r/ranks)) }
		at, moves := start.Clone(), 0
		for k := range 8 + ranks {
			statuses := make([]Status, ranks)
			for r := range statuses {
				n := float64(at.Range(r).Len())
				statuses[r] = Status{Rank: r, Interaction: k, Obeyed: k - 1, Units: 10 * n, Compute: 10 * n / speed(r) / 100, Elapsed: 10, Phases: 10, PhasesLeft: 10000 - 10*k,
					Owned: n, OwnedIterations: int(n), Least: 5}
			}
			d := b.Decide(statuses)
			if len(d.Transfers) > 0 {
				moves++
			}
			for k := 1; k < ranks; k++ {
				require.GreaterOrEqual(t, d.To.Bounds[k], at.Bounds[k-1]+5)
				require.LessOrEqual(t, d.To.Bounds[k], at.Bounds[k+1]-5)
			}
			at = d.To.Clone()
		}
		for r := range ranks {
			assert.Less(t, float64(at.Range(r).Len()), 1.05*float64(rows)*speed(r)/float64(3*ranks), "rank %d of %v", r, at.Bounds)
		}
		assert.Less(t, moves, ranks)
	}
}

// most is how many times what a way wants it to have a rank has at most.
func (w *way) most(bounds []int, should []float64) (most float64) {
	for r := range should {
		if n := bounds[r+1] - bounds[r]; n > w.least {
			most = max(most, w.weights.Units(dist.Span(bounds[r], bounds[r+1]))/should[r])
		}
	}
	return most
}

// No other division within the bounds has a smaller largest part.
func TestAWayIsShortenedNoMoreThanItMust(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		least := rapid.IntRange(1, 3).Draw(t, "least")
		draw := func(name string) []int {
			bounds := []int{4}
			for range 3 {
				bounds = append(bounds, bounds[len(bounds)-1]+least+rapid.IntRange(0, 9).Draw(t, name))
			}
			return append(bounds, 60)
		}
		var weights dist.Weights
		if rapid.Bool().Draw(t, "weighted") {
			weights, _ = dist.NewWeights(dist.Span(4, 60), rapid.SliceOfN(rapid.Float64Range(0.5, 4), 56, 56).Draw(t, "weights"))
		}
		from, target := draw("from"), draw("to")
		w := way{from: from, to: slices.Clone(target), least: least, weights: weights}
		w.shorten()
		should := w.should
		possible := func(bounds []int) bool {
			for k := 1; k < len(bounds)-1; k++ {
				if bounds[k] < w.lowest(k) || bounds[k] > w.highest(k) || bounds[k]-bounds[k-1] < least {
					return false
				}
			}
			return bounds[len(bounds)-1]-bounds[len(bounds)-2] >= least
		}
		require.True(t, possible(w.to), "%v", w.to)
		best := w.most(from, should)
		for i := w.lowest(1); i <= w.highest(1); i++ {
			for j := w.lowest(2); j <= w.highest(2); j++ {
				for k := w.lowest(3); k <= w.highest(3); k++ {
					if other := []int{4, i, j, k, 60}; possible(other) {
						best = min(best, w.most(other, should))
					}
				}
			}
		}
		require.LessOrEqual(t, w.most(w.to, should), max(1, best)*(1+1e-5))
		if possible(target) {
			require.Equal(t, target, w.to)
		}
	})
}
