package dist

import (
	"fmt"
	"math"
	"sort"
)

// Weights is the cost of every iteration of a span in work units, held as prefix sums so that the units of any range
// take O(1). The zero value is uniform: each iteration is 1 unit.
type Weights struct {
	lo     int
	prefix []float64 // prefix[k] = units of the first k iterations of the span
}

// NewWeights returns the weights of the iterations of span, units[k] for iteration span.Lo+k, each finite and > 0.
// Nil units give uniform weights.
func NewWeights(span Range, units []float64) (Weights, error) {
	if units == nil {
		return Weights{}, nil
	}
	if len(units) != span.Len() {
		return Weights{}, fmt.Errorf("dist: %d weights for the %d iterations of %v", len(units), span.Len(), span)
	}
	w := Weights{lo: span.Lo, prefix: make([]float64, len(units)+1)}
	for k, u := range units {
		if !(u > 0) || math.IsInf(u, 0) {
			return Weights{}, fmt.Errorf("dist: weight of iteration %d is %v, want a finite number > 0", span.Lo+k, u)
		}
		w.prefix[k+1] = w.prefix[k] + u
	}
	return w, nil
}

// Uniform reports whether every iteration is 1 unit.
func (w Weights) Uniform() bool { return w.prefix == nil }

// Units returns the work units of r. With given weights, iterations outside their span count nothing.
func (w Weights) Units(r Range) float64 {
	if r.Empty() {
		return 0
	}
	if w.Uniform() {
		return float64(r.Len())
	}
	return w.prefix[w.clip(r.Hi)] - w.prefix[w.clip(r.Lo)]
}

// Of returns the work units of iteration i.
func (w Weights) Of(i int) float64 { return w.Units(Span(i, i+1)) }

func (w Weights) clip(i int) int { return min(max(i-w.lo, 0), len(w.prefix)-1) }

// Front returns how many iterations at the front of r come nearest to units; a tie gives the smaller number.
func (w Weights) Front(r Range, units float64) int {
	if !(units > 0) {
		return 0
	}
	k := sort.Search(r.Len(), func(k int) bool { return w.Units(Span(r.Lo, r.Lo+k+1)) >= units })
	if k == r.Len() {
		return k // all of r is less than units
	}
	if w.Units(Span(r.Lo, r.Lo+k+1))-units < units-w.Units(Span(r.Lo, r.Lo+k)) {
		return k + 1
	}
	return k
}

// Tail returns how many iterations at the end of r come nearest to units; a tie gives the smaller number.
func (w Weights) Tail(r Range, units float64) int {
	if !(units > 0) {
		return 0
	}
	k := sort.Search(r.Len(), func(k int) bool { return w.Units(Span(r.Hi-k-1, r.Hi)) >= units })
	if k == r.Len() {
		return k
	}
	if w.Units(Span(r.Hi-k-1, r.Hi))-units < units-w.Units(Span(r.Hi-k, r.Hi)) {
		return k + 1
	}
	return k
}

// Len returns the number of iterations that have a weight of their own, 0 for uniform weights.
func (w Weights) Len() int { return max(0, len(w.prefix)-1) }
