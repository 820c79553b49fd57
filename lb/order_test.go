package lb

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"shiftwork/dist"
)

// swept is what ranks of these speeds tell at interaction k, when each has swept over its block ten times.
func swept(at dist.Block, k int, speed func(r int) float64) []Status {
	statuses := make([]Status, at.Ranks())
	for r := range statuses {
		n := float64(at.Range(r).Len())
		statuses[r] = Status{Rank: r, Interaction: k, Obeyed: k - 1, Units: 10 * n, Compute: 10 * n / speed(r) / 100, Elapsed: 10, Phases: 10, PhasesLeft: 10000 - 10*k,
			Owned: n, OwnedIterations: int(n), Least: 5}
	}
	return statuses
}

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
			d := b.Decide(swept(at, k, speed))
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

// While a rank has less than it must keep, boundaries that move one by one stay where they are.
func TestNothingMovesWhereARankHasLessThanItMustKeep(t *testing.T) {
	b, err := New(Config{}, Loop{Ranks: 3, Movement: Adjacent, OneByOne: true, Start: dist.Block{Bounds: []int{0, 2, 20, 40}}})
	require.NoError(t, err)
	b.divider.Least = 5
	b.spare = dist.Block{Bounds: []int{0, 30, 35, 40}}
	assert.False(t, b.keepOrder())
	assert.Equal(t, b.block.Bounds, b.spare.Bounds)
}

// A part of the way promises what that part brings.
func TestAPartOfTheWayPromisesItsPart(t *testing.T) {
	const ranks, rows = 8, 800
	start := dist.Even(dist.Span(0, rows), ranks, 0)
	b, err := New(Config{}, Loop{Ranks: ranks, Movement: Adjacent, OneByOne: true, Start: start})
	require.NoError(t, err)
	speed := func(r int) float64 { return float64(1 + 4*(2*r/ranks)) }
	at := start
	for k := range 3 {
		d := b.Decide(swept(at, k, speed))
		efficiency := func(of dist.Block) float64 {
			sum, slowest := 0.0, 0.0
			for r := range ranks {
				sum += speed(r)
				slowest = max(slowest, float64(of.Range(r).Len())/speed(r))
			}
			return rows / sum / slowest
		}
		if d.Moved() {
			assert.InDelta(t, efficiency(d.To)-efficiency(at), b.outcome.rise, 0.02, "%d", k)
		}
		at = d.To.Clone()
	}
}

// Boundaries take a while to settle: what is left of a streaming loop by then counts, once that is known.
func TestWhatIsLeftOnceBoundariesHaveSettled(t *testing.T) {
	b, err := New(Config{}, Loop{Ranks: 2, Movement: Adjacent, OneByOne: true, Start: dist.Even(dist.Span(0, 100), 2, 0)})
	require.NoError(t, err)
	b.period.phase, b.heard.phasesLeft = 1, 10
	for settling, left := range map[float64]float64{0: 10, 3: 7, 20: 0} { // s
		b.settling.mean = settling
		assert.Equal(t, left, b.remaining(1))
	}
}

// What the period in which boundaries settle tells of rates is of neither distribution.
func TestRatesAnswerAfterBoundariesHaveSettled(t *testing.T) {
	for _, oneByOne := range []bool{false, true} {
		b, err := New(Config{}, Loop{Ranks: 2, Movement: Adjacent, OneByOne: oneByOne, Start: dist.Even(dist.Span(0, 100), 2, 0)})
		require.NoError(t, err)
		pending := func(obeyed int) bool {
			b.answer.pending, b.answer.interaction = true, 4
			statuses := make([]Status, 2)
			for r := range statuses {
				statuses[r] = Status{Rank: r, Interaction: obeyed + 1, Obeyed: obeyed, Units: 50, Compute: 1, Elapsed: 1, Phases: 1, PhasesLeft: 100, Owned: 50, OwnedIterations: 50}
			}
			b.Decide(statuses)
			return b.answer.pending
		}
		assert.True(t, pending(3))
		assert.Equal(t, oneByOne, pending(4))
		assert.False(t, pending(5))
	}
}
