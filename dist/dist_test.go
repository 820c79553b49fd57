package dist

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestRange(t *testing.T) {
	r := Span(3, 7)
	assert.Equal(t, 4, r.Len())
	assert.Equal(t, "[3,7)", r.String())
	assert.True(t, r.Contains(3) && r.Contains(6) && !r.Contains(7) && !r.Contains(2))
	assert.Equal(t, Span(5, 7), r.Intersect(Span(5, 9)))
	assert.Equal(t, Range{}, r.Intersect(Span(7, 9)))
	assert.True(t, Span(5, 2).Empty())
	assert.Equal(t, 0, Span(5, 2).Len())
}

func TestEven(t *testing.T) {
	for _, c := range []struct {
		span         Range
		ranks, first int
		want         []int
	}{
		{Span(0, 8), 4, 0, []int{0, 2, 4, 6, 8}},
		{Span(1, 11), 4, 0, []int{1, 4, 7, 9, 11}},
		{Span(0, 8), 3, 1, []int{0, 0, 4, 8}},
		{Span(0, 2), 4, 0, []int{0, 1, 2, 2, 2}}, // fewer iterations than workers
		{Span(5, 5), 2, 0, []int{5, 5, 5}},
		{Span(0, 3), 1, 0, []int{0, 3}},
	} {
		b := Even(c.span, c.ranks, c.first)
		assert.Equal(t, c.want, b.Bounds)
		assert.NoError(t, b.Validate())
	}
	assert.Panics(t, func() { Even(Span(0, 8), 2, 2) })
}

func TestBlockOwnerAndValidate(t *testing.T) {
	b := Block{Bounds: []int{2, 2, 5, 5, 9}} // ranks 0 and 2 own nothing
	for i, want := range map[int]int{1: -1, 2: 1, 4: 1, 5: 3, 8: 3, 9: -1} {
		assert.Equal(t, want, b.Owner(i), "iteration %d", i)
	}
	assert.Error(t, Block{}.Validate())
	assert.Error(t, Block{Bounds: []int{0, 3, 2}}.Validate())
	assert.Equal(t, -1, Block{}.Owner(0))
	c := b.Clone()
	c.Bounds[1] = 3
	assert.False(t, b.Equal(c))
}

// drawBlock returns a block distribution; ranks may own nothing.
func drawBlock(t *rapid.T, name string, span Range, ranks int) Block {
	b := Block{Bounds: make([]int, ranks+1)}
	for k := range b.Bounds {
		b.Bounds[k] = rapid.IntRange(span.Lo, span.Hi).Draw(t, name)
	}
	slices.Sort(b.Bounds)
	b.Bounds[0], b.Bounds[ranks] = span.Lo, span.Hi
	return b
}

func drawWeights(t *rapid.T, span Range) Weights {
	if rapid.Bool().Draw(t, "uniform") {
		return Weights{}
	}
	units := rapid.SliceOfN(rapid.Float64Range(0.01, 10), span.Len(), span.Len()).Draw(t, "units")
	w, err := NewWeights(span, units)
	require.NoError(t, err)
	return w
}

func TestOwnerAgreesWithRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBlock(t, "bounds", Span(-5, rapid.IntRange(-5, 40).Draw(t, "hi")), rapid.IntRange(1, 9).Draw(t, "ranks"))
		for i := b.Span().Lo; i < b.Span().Hi; i++ {
			owners := 0
			for r := range b.Ranks() {
				if b.Range(r).Contains(i) {
					owners++
					assert.Equal(t, r, b.Owner(i))
				}
			}
			assert.Equal(t, 1, owners)
		}
	})
}

// channel is one message that is under way between two neighbours.
type channel map[[2]int]Range

// Every rank executes its Moves. With buffered sends a send never waits; with rendezvous it waits for the receive. Neither may
// lock up, no rank may send what it does not hold, and in the end everybody holds exactly what to says.
func TestMovesNeverDeadlockAndLeadToTheTarget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(1, 9).Draw(t, "ranks")
		span := Span(3, 3+rapid.IntRange(0, 60).Draw(t, "n"))
		from, to := drawBlock(t, "from", span, ranks), drawBlock(t, "to", span, ranks)
		rendezvous := rapid.Bool().Draw(t, "rendezvous")

		holds, todo := make([]Intervals, ranks), make([][]Move, ranks)
		for r := range ranks {
			holds[r].Add(from.Range(r))
			todo[r] = Moves(from.Range(r), to.Range(r), r, rapid.IntRange(0, 20).Draw(t, "spread"))
		}
		under := channel{}
		handOver := func(r int, m Move) {
			for i := m.Iterations.Lo; i < m.Iterations.Hi; i++ {
				if !holds[r].Contains(i) {
					t.Fatalf("rank %d sends %d before it has it", r, i)
				}
			}
			holds[r].Remove(m.Iterations)
		}
		for progress := true; progress; {
			progress = false
			for r := range ranks {
				if len(todo[r]) == 0 {
					continue
				}
				m := todo[r][0]
				switch {
				case m.Send && !rendezvous:
					handOver(r, m)
					under[[2]int{r, m.Peer}] = m.Iterations
				case m.Send: // the peer must stand at the matching receive
					peer := todo[m.Peer]
					if len(peer) == 0 || peer[0].Send || peer[0].Peer != r {
						continue
					}
					require.Equal(t, m.Iterations, peer[0].Iterations)
					handOver(r, m)
					holds[m.Peer].Add(m.Iterations)
					todo[m.Peer] = peer[1:]
				case rendezvous:
					continue // the sender completes it
				default:
					got, ok := under[[2]int{m.Peer, r}]
					if !ok {
						continue
					}
					require.Equal(t, m.Iterations, got)
					delete(under, [2]int{m.Peer, r})
					holds[r].Add(got)
				}
				todo[r] = todo[r][1:]
				progress = true
			}
		}
		for r := range ranks {
			require.Empty(t, todo[r], "rank %d is stuck: %v to %v", r, from, to)
			for i := span.Lo; i < span.Hi; i++ {
				require.Equal(t, to.Range(r).Contains(i), holds[r].Contains(i), "rank %d, iteration %d", r, i)
			}
		}
		require.Empty(t, under)
	})
}

func TestMovesOfTheDocumentation(t *testing.T) {
	from, to := Block{Bounds: []int{0, 4, 6, 10, 12}}, Block{Bounds: []int{0, 1, 2, 4, 12}}
	assert.Equal(t, []Move{{1, true, Span(1, 4)}}, Moves(from.Range(0), to.Range(0), 0, 0))
	assert.Equal(t, []Move{{0, false, Span(1, 4)}, {2, true, Span(2, 6)}}, Moves(from.Range(1), to.Range(1), 1, 0))
	assert.Equal(t, []Move{{1, false, Span(2, 6)}, {3, true, Span(4, 10)}}, Moves(from.Range(2), to.Range(2), 2, 0))
	assert.Equal(t, []Move{{2, false, Span(4, 10)}}, Moves(from.Range(3), to.Range(3), 3, 0))
	// A rank that has enough of its own sends first: nobody waits for anybody.
	near := Block{Bounds: []int{0, 3, 5, 9, 12}}
	assert.Equal(t, []Move{{2, true, Span(5, 6)}, {0, false, Span(3, 4)}}, Moves(from.Range(1), near.Range(1), 1, 0))
	assert.Equal(t, []Move{{0, false, Span(3, 4)}, {2, true, Span(5, 6)}}, Moves(from.Range(1), near.Range(1), 1, 2), "what it keeps is no wider than what both sides have a part of")
	assert.Empty(t, Moves(from.Range(2), from.Range(2), 2, 0))
}

func TestAdjacentFlows(t *testing.T) {
	from, to := Block{Bounds: []int{0, 4, 6, 10, 12}}, Block{Bounds: []int{0, 1, 8, 10, 12}}
	w, err := NewWeights(Span(0, 12), []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
	require.NoError(t, err)
	assert.Equal(t, []Transfer{{0, 1, 3, 9}, {2, 1, 2, 15}}, Adjacent(from, to, w))
	assert.Equal(t, "0>1:3(9)", Adjacent(from, to, w)[0].String())
}

func TestAdjacentIsThePrefixSumOfTheDifferences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks, span := rapid.IntRange(1, 9).Draw(t, "ranks"), Span(0, rapid.IntRange(0, 50).Draw(t, "n"))
		from, to := drawBlock(t, "from", span, ranks), drawBlock(t, "to", span, ranks)
		flow := make([]int, ranks) // over boundary i|i+1
		for _, x := range Adjacent(from, to, Weights{}) {
			require.Positive(t, x.Iterations)
			require.Equal(t, float64(x.Iterations), x.Units)
			if x.To == x.From+1 {
				flow[x.From] += x.Iterations
			} else {
				require.Equal(t, x.From-1, x.To)
				flow[x.To] -= x.Iterations
			}
		}
		sum := 0
		for i := range ranks {
			sum += from.Range(i).Len() - to.Range(i).Len()
			require.Equal(t, sum, flow[i], "F_%d", i)
		}
	})
}

func TestDirectConservesAndNeedsFewTransfers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(1, 12).Draw(t, "ranks")
		have := rapid.SliceOfN(rapid.IntRange(0, 50), ranks, ranks).Draw(t, "have")
		total := 0
		for _, h := range have {
			total += h
		}
		shares := rapid.SliceOfN(rapid.Float64Range(0, 10), ranks, ranks).Draw(t, "shares")
		want := Apportion(total, shares, nil)
		transfers := Direct(have, want)
		require.LessOrEqual(t, len(transfers), ranks-1)
		got := slices.Clone(have)
		gives, takes := make([]bool, ranks), make([]bool, ranks)
		for _, x := range transfers {
			require.Positive(t, x.Iterations)
			got[x.From] -= x.Iterations
			got[x.To] += x.Iterations
			gives[x.From], takes[x.To] = true, true
		}
		require.Equal(t, want, got)
		for r := range ranks {
			require.False(t, gives[r] && takes[r], "rank %d gives and takes", r)
		}
	})
}

func TestDirectFloats(t *testing.T) {
	assert.Equal(t, []Transfer{{From: 0, To: 1, Units: 1.5}, {From: 0, To: 2, Units: 3}},
		Direct([]float64{6, 1, 0}, []float64{1.5, 2.5, 3}))
	assert.Empty(t, Direct([]float64{1, 1}, []float64{1 + 1e-15, 1 - 1e-15}), "rounding is no surplus")
	assert.Equal(t, []Transfer{{From: 0, To: 1, Units: 1}}, Direct([]float64{3, 0}, []float64{2, 5}), "sums differ: the smaller side")
	assert.Empty(t, Direct([]float64{math.NaN(), 1}, []float64{1, 1}))
	assert.Empty(t, Direct([]float64{1, 1}, []float64{math.NaN(), 1}))
	assert.Panics(t, func() { Direct([]int{1}, []int{1, 2}) })
}

func TestApportionTable(t *testing.T) {
	for _, c := range []struct {
		name    string
		total   int
		shares  []float64
		minimum []int
		want    []int
	}{
		{"exact", 12, []float64{1, 2, 3}, nil, []int{2, 4, 6}},
		{"remainders", 10, []float64{1, 1, 1}, nil, []int{4, 3, 3}},
		{"not twice as many for one that is slow", 9, []float64{1.6, 4.3, 3.1}, nil, []int{1, 5, 3}},
		{"largest first", 10, []float64{0.26, 0.37, 0.37}, nil, []int{2, 4, 4}},
		{"minimum binds", 10, []float64{0, 1, 1}, []int{1, 1, 1}, []int{1, 5, 4}},
		{"a thousand to one", 1000, []float64{0.001, 1, 1, 1}, []int{1, 1, 1, 1}, []int{1, 333, 333, 333}},
		{"minimum takes from the others in proportion", 10, []float64{1, 1, 2}, []int{4, 0, 0}, []int{4, 2, 4}},
		{"all zero", 4, []float64{0, 0}, nil, []int{2, 2}},
		{"no number", 4, []float64{math.NaN(), 1, -1, math.Inf(1)}, nil, []int{0, 4, 0, 0}},
		{"minima do not fit", 3, []float64{1, 1, 1, 1}, []int{1, 1, 1, 1}, []int{1, 1, 1, 0}},
		{"nothing", 0, []float64{1, 1}, nil, []int{0, 0}},
		{"huge rates", 4, []float64{1e308, 1e308}, nil, []int{2, 2}},
		{"nobody", 0, nil, nil, []int{}},
		{"all that an int holds", math.MaxInt, []float64{1, 0}, nil, []int{math.MaxInt, 0}},
		{"a minimum that nothing meets", 10, []float64{1, 2, 3}, []int{math.MaxInt, 1, 1}, []int{10, 0, 0}},
	} {
		assert.Equal(t, c.want, Apportion(c.total, c.shares, c.minimum), c.name)
	}
}

func TestApportionProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, total := rapid.IntRange(1, 20).Draw(t, "p"), rapid.IntRange(0, 10_000).Draw(t, "total")
		shares := rapid.SliceOfN(rapid.Float64Range(0, 1000), p, p).Draw(t, "shares")
		var minimum []int
		if rapid.Bool().Draw(t, "minima") {
			minimum = rapid.SliceOfN(rapid.IntRange(0, 3), p, p).Draw(t, "minimum")
		}
		parts := Apportion(total, shares, minimum)
		sum, needed, sumShares, binds := 0, 0, 0.0, false
		for i := range parts {
			sum += parts[i]
			sumShares += shares[i]
			if minimum != nil {
				needed += minimum[i]
			}
		}
		require.Equal(t, total, sum)
		for i := range parts {
			if minimum != nil {
				binds = binds || parts[i] <= minimum[i]
				if needed <= total {
					require.GreaterOrEqual(t, parts[i], minimum[i])
				}
			}
		}
		if sumShares == 0 || binds {
			return
		}
		for i := range parts { // within one of the exact quota
			quota := float64(total) * shares[i] / sumShares
			require.InDelta(t, quota, float64(parts[i]), 1+1e-6)
			for j := range parts { // none that was rounded down would be slowed down less by what this one has more than its quota
				if float64(parts[i]) > quota*(1+1e-9) && float64(parts[j]) <= float64(total)*shares[j]/sumShares {
					require.GreaterOrEqual(t, float64(parts[j]+1)/shares[j], float64(parts[i])/shares[i]*(1-1e-9))
				}
			}
		}
	})
}

func TestApportionForgetsTheScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shares := rapid.SliceOfN(rapid.Float64Range(0.01, 100), 1, 20).Draw(t, "shares")
		scaled := slices.Clone(shares)
		for i := range scaled {
			scaled[i] *= 1 << 20
		}
		require.Equal(t, Apportion(997, shares, nil), Apportion(997, scaled, nil))
	})
}

func TestCutProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(1, 9).Draw(t, "ranks")
		first := rapid.IntRange(0, ranks-1).Draw(t, "first")
		span := Span(2, 2+rapid.IntRange(0, 60).Draw(t, "n"))
		w := drawWeights(t, span)
		shares := rapid.SliceOfN(rapid.Float64Range(0, 10), ranks, ranks).Draw(t, "shares")
		b := Cut(span, first, shares, w)
		require.NoError(t, b.Validate())
		require.Equal(t, span, b.Span())
		for r := range ranks {
			switch n := b.Range(r).Len(); {
			case r < first:
				require.Zero(t, n)
			case span.Len() >= ranks-first:
				require.Positive(t, n, "worker %d", r)
			default:
				require.LessOrEqual(t, n, 1)
			}
		}
	})
}

// The cut points of a weighted division are the nearest prefix sums, as a search over all of them finds.
func TestCutIsNearestByBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		span := Span(0, rapid.IntRange(8, 60).Draw(t, "n"))
		units := rapid.SliceOfN(rapid.Float64Range(0.01, 10), span.Len(), span.Len()).Draw(t, "units")
		w, err := NewWeights(span, units)
		require.NoError(t, err)
		shares := rapid.SliceOfN(rapid.Float64Range(0.1, 10), 4, 4).Draw(t, "shares")
		b := Cut(span, 0, shares, w)
		sum := shares[0] + shares[1] + shares[2] + shares[3]
		target, before := 0.0, 0
		for k := 1; k < 4; k++ {
			target += w.Units(span) * shares[k-1] / sum
			best := math.Inf(1)
			for at := before + 1; at <= span.Hi-(4-k); at++ {
				best = min(best, math.Abs(w.Units(Span(0, at))-target))
			}
			require.InDelta(t, best, math.Abs(w.Units(Span(0, b.Bounds[k]))-target), 1e-9)
			before = b.Bounds[k]
		}
	})
}

func TestWeights(t *testing.T) {
	w, err := NewWeights(Span(10, 14), []float64{1, 2, 3, 4})
	require.NoError(t, err)
	assert.Equal(t, 5.0, w.Units(Span(11, 13)))
	assert.Equal(t, 10.0, w.Units(Span(0, 99)))
	assert.Equal(t, 3.0, w.Of(12))
	assert.Equal(t, 4, w.Len())
	assert.False(t, w.Uniform())
	assert.Equal(t, 2, w.Front(Span(10, 14), 3.4))
	assert.Equal(t, 2, w.Front(Span(10, 14), 4.5), "a tie gives the smaller number")
	assert.Equal(t, 4, w.Front(Span(10, 14), 99))
	assert.Equal(t, 1, w.Tail(Span(10, 14), 5))
	assert.Equal(t, 2, w.Tail(Span(10, 14), 5.6))
	assert.Equal(t, 0, w.Tail(Span(10, 14), math.NaN()))

	var one Weights
	assert.Equal(t, 3.0, one.Units(Span(4, 7)))
	assert.Equal(t, 0.0, one.Units(Span(7, 4)))
	assert.True(t, one.Uniform())

	_, err = NewWeights(Span(0, 3), []float64{1, 2})
	assert.Error(t, err)
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		_, err = NewWeights(Span(0, 1), []float64{bad})
		assert.Error(t, err, "%v", bad)
	}
	_, err = NewWeights(Span(0, 3), []float64{1e17, 1, 1e17})
	assert.ErrorContains(t, err, "weight of iteration 1 is too little beside the 1e+17 before it")
	w, err = NewWeights(Span(0, 3), nil)
	require.NoError(t, err)
	assert.True(t, w.Uniform())
}

// Intervals against a set of single iterations.
func TestIntervalsAgainstASet(t *testing.T) {
	const n = 40
	rapid.Check(t, func(t *rapid.T) {
		var s Intervals
		var set [n]bool
		mark := func(r Range, in bool) {
			for i := r.Lo; i < r.Hi; i++ {
				set[i] = in
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				lo := rapid.IntRange(0, n-1).Draw(t, "lo")
				r := Span(lo, min(n, lo+rapid.IntRange(0, 9).Draw(t, "len")))
				s.Add(r)
				mark(r, true)
			},
			"remove": func(t *rapid.T) {
				lo := rapid.IntRange(0, n-1).Draw(t, "lo")
				r := Span(lo, min(n, lo+rapid.IntRange(0, 9).Draw(t, "len")))
				s.Remove(r)
				mark(r, false)
			},
			"take": func(t *rapid.T) {
				count, keep := rapid.IntRange(0, 15).Draw(t, "count"), rapid.IntRange(0, 2).Draw(t, "keep")
				had := s.Len()
				want := min(count, max(0, had-keep))
				got := 0
				for _, r := range s.TakeTail(Weights{}, float64(count), keep) {
					got += r.Len()
					mark(r, false)
					for _, kept := range s.Ranges() {
						require.LessOrEqual(t, kept.Hi, r.Lo, "taken from the wrong end")
					}
				}
				require.Equal(t, want, got)
			},
			"": func(t *rapid.T) {
				count := 0
				for i, in := range set {
					require.Equal(t, in, s.Contains(i), "iteration %d", i)
					if in {
						count++
					}
				}
				require.Equal(t, count, s.Len())
				require.Equal(t, float64(count), s.Units(Weights{}))
				for k, r := range s.Ranges() {
					require.False(t, r.Empty())
					if k > 0 {
						require.Greater(t, r.Lo, s.Ranges()[k-1].Hi, "ranges that touch must be one")
					}
				}
			},
		})
	})
}

func TestTakeTailByUnitsTakesTheNearest(t *testing.T) {
	w, err := NewWeights(Span(0, 6), []float64{1, 1, 1, 5, 5, 5})
	require.NoError(t, err)
	var s Intervals
	s.Add(Span(0, 2))
	s.Add(Span(3, 6))
	assert.Equal(t, []Range{Span(4, 6)}, s.TakeTail(w, 11, 1))
	assert.Equal(t, []Range{Span(1, 2), Span(3, 4)}, s.TakeTail(w, 99, 1), "keeps one")
	assert.Equal(t, []Range{Span(0, 1)}, s.Ranges())
	assert.Empty(t, s.TakeTail(w, 99, 1))
	assert.Equal(t, []Range{Span(0, 1)}, s.TakeTail(w, 99, 0))
}

func TestCutLeavesLeastToEachWorker(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(1, 9).Draw(t, "ranks")
		first := rapid.IntRange(0, ranks-1).Draw(t, "first")
		span := Span(2, 2+rapid.IntRange(0, 60).Draw(t, "n"))
		w := drawWeights(t, span)
		shares := rapid.SliceOfN(rapid.Float64Range(0, 10), ranks, ranks).Draw(t, "shares")
		d := Divider{Least: rapid.IntRange(0, 12).Draw(t, "least")}
		b := d.Cut(Block{Bounds: make([]int, ranks+1)}, span, first, shares, w)
		least := min(d.Least, span.Len()/(ranks-first))
		for r := first; r < ranks; r++ {
			require.GreaterOrEqual(t, b.Range(r).Len(), least, "worker %d", r)
		}
	})
}

func TestMovesLeft(t *testing.T) {
	own, next := Span(4, 6), Span(5, 9) // gives 1 of 2 to the left, gets 3 from the right
	assert.True(t, Moves(own, next, 1, 0)[0].Send)
	assert.False(t, Moves(own, next, 1, 2)[0].Send, "data of both sides lie in what it keeps")
}
