package lb

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"shiftwork/dist"
)

func TestAGridCoversItsSpanOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		span := dist.Span(rapid.IntRange(-50, 50).Draw(t, "lo"), 0)
		span.Hi = span.Lo + rapid.IntRange(0, 5000).Draw(t, "n")
		workers := rapid.IntRange(0, 600).Draw(t, "workers")
		g := NewGrid(span, workers)
		if g.Cells == 0 {
			require.True(t, workers < 2 || span.Len() < 2*workers)
			return
		}
		require.LessOrEqual(t, g.Cells, 256)
		next := span.Lo
		for c := range g.Cells {
			cell := g.Cell(c)
			require.Equal(t, next, cell.Lo)
			require.False(t, cell.Empty())
			require.Equal(t, c, g.At(cell.Lo))
			require.Equal(t, c, g.At(cell.Hi-1))
			next = cell.Hi
		}
		require.Equal(t, span.Hi, next)

		units := make([]float64, g.Cells)
		for c := range units {
			units[c] = float64(1 + c)
		}
		w, err := g.Weights(units)
		require.NoError(t, err)
		i := rapid.IntRange(span.Lo, span.Hi-1).Draw(t, "i")
		require.Equal(t, units[g.At(i)], w.Of(i))
		_, err = g.Weights(units[1:])
		require.Error(t, err)
	})
	assert.Zero(t, NewGrid(dist.Span(0, mostLearned+1), 4).Cells, "a number for each iteration would take too much")
}

// ranks measure cells of true weights: the profile's input without a loop around it.
type ranks struct {
	grid   Grid
	weight []float64 // true, per cell; the mean is 1
	speed  []float64 // per rank
	bounds []int     // cells: rank r measures [bounds[r], bounds[r+1])
	parts  int       // timings a rank, at most
	noise  float64   // relative standard deviation of a timing
	rng    *rand.Rand
}

func (m *ranks) statuses() []Status {
	st := make([]Status, len(m.speed))
	for r := range st {
		st[r].Rank = r
		n := m.bounds[r+1] - m.bounds[r]
		each := max(1, (n+m.parts-1)/max(1, m.parts))
		for c := m.bounds[r]; c < m.bounds[r+1]; c += each {
			to := min(c+each, m.bounds[r+1])
			own := dist.Span(m.grid.Cell(c).Lo, m.grid.Cell(to-1).Hi)
			work := 0.0
			for e := c; e < to; e++ {
				work += m.weight[e] * float64(m.grid.Cell(e).Len())
			}
			st[r].Timings = append(st[r].Timings, Timing{own.Lo, own.Hi, work / m.speed[r] * math.Exp(m.noise*m.rng.NormFloat64())})
		}
	}
	return st
}

func newRanks(speed []float64, n int, weight func(x float64) float64) *ranks {
	m := &ranks{grid: NewGrid(dist.Span(0, n), len(speed)), speed: speed, parts: MaxTimings, rng: rand.New(rand.NewPCG(4, 2))}
	sum := 0.0
	for c := range m.grid.Cells {
		m.weight = append(m.weight, weight((float64(c)+0.5)/float64(m.grid.Cells)))
		sum += m.weight[c] * float64(m.grid.Cell(c).Len()) / float64(n)
	}
	for c := range m.weight {
		m.weight[c] /= sum
	}
	for r := range len(speed) + 1 {
		m.bounds = append(m.bounds, r*m.grid.Cells/len(speed))
	}
	return m
}

func (m *ranks) profile() *profile {
	p := newProfile(Loop{Ranks: len(m.speed), Start: dist.Even(m.grid.Span, len(m.speed), 0), Learn: true})
	return p
}

// worst is the largest relative error of the estimate in the given cells, after the best common factor.
func worst(p *profile, m *ranks, from, to int) float64 {
	mean := 0.0
	for c := from; c < to; c++ {
		mean += (p.x[c] - math.Log(m.weight[c])) / float64(to-from)
	}
	most := 0.0
	for c := from; c < to; c++ {
		most = max(most, math.Abs(p.x[c]-math.Log(m.weight[c])-mean))
	}
	return most
}

// Within a rank the ratios of weights are known from one status, whatever the speeds.
func TestRatiosWithinARankAreKnownAtOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		speed := rapid.SliceOfN(rapid.Float64Range(0.01, 100), 2, 6).Draw(t, "speed")
		m := newRanks(speed, 2000, func(float64) float64 { return math.Exp(rapid.Float64Range(-3, 3).Draw(t, "weight")) })
		if m.grid.Cells/len(speed) > MaxTimings {
			m.parts = m.grid.Cells
		}
		p := m.profile()
		require.True(t, p.learn(m.statuses(), 0))
		require.True(t, p.solve())
		sum := 0.0
		for c, x := range p.x {
			sum += math.Exp(x) * float64(m.grid.Cell(c).Len())
		}
		require.InEpsilon(t, 2000, sum, 1e-6, "units are conserved")
		for r := range speed {
			if to := min(m.bounds[r+1], m.bounds[r]+MaxTimings); m.bounds[r+1] == to {
				require.Less(t, worst(p, m, m.bounds[r], to), 0.05)
			}
		}
	})
}

// Between ranks the ratio is known where cells have changed their owner, whatever the speeds and however they differ.
func TestCellsThatMoveTellWeightFromSpeed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		speed := rapid.SliceOfN(rapid.Float64Range(0.05, 20), 10, 13).Draw(t, "speed") // more than 8: cells < MaxTimings
		m := newRanks(speed, 3000, func(float64) float64 { return math.Exp(rapid.Float64Range(-2, 2).Draw(t, "weight")) })
		m.parts = m.grid.Cells
		p := m.profile()
		p.learn(m.statuses(), 0)
		for r := 1; r < len(speed); r++ { // each boundary moves by some cells
			m.bounds[r] -= rapid.IntRange(1, 3).Draw(t, "moved")
		}
		for r := range speed { // a load has come or gone meanwhile
			m.speed[r] *= rapid.Float64Range(0.2, 5).Draw(t, "change")
		}
		p.learn(m.statuses(), 0)
		require.True(t, p.solve())
		require.Less(t, worst(p, m, 0, m.grid.Cells), 0.1)
	})
}

// Where no cell has moved, weights are taken to be continuous from rank to rank: true of a smooth profile.
func TestASmoothProfileIsKnownAtOnce(t *testing.T) {
	m := newRanks([]float64{1, 2, 4, 8}, 4000, func(x float64) float64 { return 0.2 + x })
	p := m.profile()
	p.learn(m.statuses(), 0)
	require.True(t, p.solve())
	assert.Less(t, worst(p, m, 0, m.grid.Cells), 0.05)
}

// Equal iterations: whatever the noise of the timings, one rank's or another's, nothing is ever announced.
func TestNoiseIsNoProfile(t *testing.T) {
	for _, noise := range []float64{0, 0.01, 0.05, 0.2, 0.5} {
		for _, speed := range [][]float64{{1, 1}, {1, 2, 4, 8}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}} {
			m := newRanks(speed, 3000, func(float64) float64 { return 1 })
			m.noise = noise
			p := m.profile()
			for k := range 300 {
				if k%20 == 0 { // the blocks move, as they do where loads come and go
					for r := 1; r < len(speed); r++ {
						m.bounds[r] = (r*m.grid.Cells + (k/20)%3) / len(speed)
					}
				}
				p.learn(m.statuses(), 0)
				require.False(t, p.significant() && p.solve() && p.worthwhile(len(speed)), "noise %v, %d ranks, interaction %d", noise, len(speed), k)
			}
		}
	}
}

// The same with a disturbed timing now and then: a rank that was descheduled for many times the length of a part.
func TestDisturbancesAreNoProfile(t *testing.T) {
	m := newRanks([]float64{1, 1, 1, 1}, 3000, func(float64) float64 { return 1 })
	p := m.profile()
	for k := range 500 {
		st := m.statuses()
		for r := range st {
			for i := range st[r].Timings {
				if m.rng.Float64() < 0.02 {
					st[r].Timings[i].Seconds *= 1 + 20*m.rng.Float64()
				}
			}
		}
		p.learn(st, 0)
		require.False(t, p.significant() && p.solve() && p.worthwhile(4), "interaction %d", k)
	}
}

// Weights that differ are found in the midst of noise, and once announced they stay as they are.
func TestAProfileIsFoundInNoise(t *testing.T) {
	for _, noise := range []float64{0, 0.02, 0.1} {
		m := newRanks([]float64{1, 3, 1, 2}, 4000, func(x float64) float64 { return 0.05 + x })
		m.noise = noise
		p := m.profile()
		found, announced := -1, 0
		for k := range 200 {
			if k == 10 {
				for r := 1; r < 4; r++ {
					m.bounds[r] -= 4
				}
			}
			p.learn(m.statuses(), 0)
			if (p.known || p.significant()) && p.solve() {
				p.known = true
				if p.worthwhile(4) {
					copy(p.announced, p.x)
					announced++
					if found < 0 {
						found = k
					}
				}
			}
		}
		assert.True(t, found >= 1 && found < 5, "noise %v: found at interaction %d", noise, found)
		assert.LessOrEqual(t, announced, 4, "noise %v", noise)
		assert.Less(t, worst(p, m, 0, m.grid.Cells), 0.01+4*noise, "noise %v", noise)
	}
}

// A front of heavy iterations that moves is followed.
func TestAProfileThatChangesIsFollowed(t *testing.T) {
	front := 0.2
	heavy := func(x float64) float64 {
		if math.Abs(x-front) < 0.1 {
			return 5
		}
		return 1
	}
	m := newRanks([]float64{1, 1}, 4000, heavy)
	p := m.profile()
	for range 20 {
		p.learn(m.statuses(), 0)
	}
	require.True(t, p.significant() && p.solve())
	p.known = true
	front = 0.4
	m.weight = newRanks(m.speed, 4000, heavy).weight
	for range 20 {
		p.learn(m.statuses(), 0)
		require.True(t, p.solve())
	}
	assert.Less(t, worst(p, m, 0, m.grid.Cells), 0.1)
}

// Whatever a status says, the estimate stays finite and the decision valid, and no work moves between the announcement and
// the adoption.
func TestLearningDecisionsAreValidWhateverTheStatuses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(2, 4).Draw(t, "ranks")
		span := dist.Span(-7, 193)
		loop := Loop{Ranks: ranks, Movement: Adjacent, Start: dist.Even(span, ranks, 0), Learn: true}
		if rapid.Bool().Draw(t, "direct") {
			loop.Movement = Direct
		}
		b, err := New(Config{}, loop)
		require.NoError(t, err)
		seconds := rapid.OneOf(rapid.Float64Range(1e-3, 1), rapid.SampledFrom([]float64{0, 1e-300, 5e-324, 1e300, -1, math.NaN(), math.Inf(1)}))
		bound := rapid.OneOf(rapid.IntRange(-7, 193), rapid.SampledFrom([]int{math.MinInt, -8, 194, math.MaxInt}))
		version, adopted := 0, 0
		for k := range rapid.IntRange(1, 12).Draw(t, "interactions") {
			st := make([]Status, ranks)
			if rapid.Bool().Draw(t, "adopt") {
				adopted = version
			}
			for r := range st {
				own := 50.0
				st[r] = Status{Rank: r, Interaction: k, Obeyed: k - 1, PhasesLeft: -1, Phases: 1, Elapsed: 1, Units: own,
					Compute: rapid.Float64Range(0.1, 1).Draw(t, "compute"), Owned: own, OwnedIterations: 200 / ranks}
				st[r].Weights = adopted
				for range rapid.IntRange(0, 40).Draw(t, "timings") {
					st[r].Timings = append(st[r].Timings, Timing{bound.Draw(t, "lo"), bound.Draw(t, "hi"), seconds.Draw(t, "seconds")})
				}
			}
			d := b.Decide(st)
			if len(d.Profile) > 0 {
				require.Equal(t, version+1, d.Weights)
				require.Empty(t, d.Transfers)
				w, err := NewGrid(span, ranks).Weights(d.Profile)
				require.NoError(t, err)
				require.InEpsilon(t, 200, w.Units(span), 1e-3)
			} else if version != adopted {
				require.Empty(t, d.Transfers, d.Reason)
			}
			version = d.Weights
			for r := 0; loop.blocks() && r < ranks; r++ {
				require.Positive(t, d.To.Range(r).Len())
			}
		}
	})
}

// New weights change no rank's speed: rates measured before are converted, and nothing moves between the announcement and the
// first statuses in new units.
func TestRatesAreConvertedToNewWeights(t *testing.T) {
	const n = 400
	for _, movement := range []Movement{Adjacent, Direct} {
		speed := []float64{50, 100}
		m := newRanks(speed, n, func(x float64) float64 { return 0.1 + x*x })
		block := dist.Even(dist.Span(0, n), 2, 0)
		loop := Loop{Ranks: 2, Movement: movement, Start: block, Learn: true}
		b, err := New(Config{Threshold: 0.99}, loop) // it shall not move work meanwhile
		require.NoError(t, err)
		truth, err := m.grid.Weights(m.weight)
		require.NoError(t, err)
		weights, version := dist.Weights{}, 0
		for k := range 12 {
			st := m.statuses()
			for r := range st {
				own := block.Range(r)
				took := truth.Units(own) / speed[r]
				st[r] = Status{Rank: r, Interaction: k, Obeyed: k - 1, Units: weights.Units(own), Compute: took, Elapsed: 5, Phases: 1,
					PhasesLeft: -1, Owned: weights.Units(own), OwnedIterations: own.Len(), Weights: version, Timings: st[r].Timings}
				if k < 7 {
					st[r].Timings = nil
				}
			}
			d := b.Decide(st)
			require.Empty(t, d.Transfers, d.Reason)
			if len(d.Profile) > 0 {
				b.fickle = append(b.fickle, 1) // as if it came and went
				require.Zero(t, version, "announced once")
				require.Equal(t, 8, k, "at the second measurement")
				weights, err = b.profile.grid.Weights(d.Profile)
				require.NoError(t, err)
				version = d.Weights
				continue
			}
			if version == 0 {
				continue
			}
			require.Empty(t, b.fickle, "levels are found anew")
			for r := range speed {
				require.InEpsilon(t, weights.Units(block.Range(r))/(truth.Units(block.Range(r))/speed[r]), b.level[r], 1e-9)
				require.Equal(t, k, b.ranks[r].levels.Samples(), "the latest 8 samples are kept, and those since")
				require.Zero(t, b.ranks[r].levels.Changes())
			}
		}
		require.Equal(t, 1, version)
	}
}

// A single heavy cell could be chance for longer than a shape of many cells.
func TestOneHeavyCellIsBelievedInTheEnd(t *testing.T) {
	m := newRanks([]float64{1, 1, 1, 1}, 4000, func(x float64) float64 {
		if math.Abs(x-0.3) < 0.004 {
			return 40
		}
		return 1
	})
	p := m.profile()
	measured := 0
	for !p.significant() {
		p.learn(m.statuses(), 0)
		measured++
		require.Less(t, measured, 40)
	}
	assert.InDelta(t, 16, measured, 8)
	require.True(t, p.solve())
	assert.True(t, p.worthwhile(4))
}

func TestLearningIsRefusedWhereItCannotBe(t *testing.T) {
	start := dist.Even(dist.Span(0, 100), 2, 0)
	w, err := dist.NewWeights(dist.Span(0, 2), []float64{1, 2})
	require.NoError(t, err)
	for name, bad := range map[string]Loop{
		"free":     {Ranks: 2, Movement: Direct, Start: start, Learn: true, Free: true},
		"given":    {Ranks: 2, Movement: Direct, Start: start, Learn: true, Weights: w},
		"no start": {Ranks: 2, Movement: Direct, Learn: true},
	} {
		_, err := New(Config{}, bad)
		assert.Error(t, err, name)
	}
}
