package dist

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sort"
	"strconv"
)

// Weights is the cost of every iteration of a span in work units, held as prefix sums so that the units of any range
// take O(1). The zero value is uniform: each iteration is 1 unit.
type Weights struct {
	lo     int
	prefix []float64 // prefix[k] = units of the first k iterations of the span
}

// NewWeights returns the weights of the iterations of span, units[k] for iteration span.Lo+k, each finite and > 0.
// Their sum must be finite too, and tell them all: of 1e17 and 1 together a float64 keeps 1e17. Nil units give uniform weights.
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
	return w.summable()
}

// summable returns w, or an error if its sum is infinite, or does not tell of a weight.
func (w Weights) summable() (Weights, error) {
	for k := range w.Len() {
		if w.prefix[k+1] == w.prefix[k] && !math.IsInf(w.prefix[k], 0) {
			return Weights{}, fmt.Errorf("dist: the weight of iteration %d is too little beside the %v before it for their sum to tell", w.lo+k, w.prefix[k])
		}
	}
	if math.IsInf(w.prefix[w.Len()], 0) {
		return Weights{}, errors.New("dist: the weights add up to more than a float64 holds")
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

// MarshalJSON writes null for uniform weights, else the first iteration of the span and the work units of one iteration
// after the other, where a pair stands for several of the same weight:
//
//	{"lo":5,"units":[0.5,[200,1.5],2]}
//
// Weights that are read from it have the same prefix sums, bit for bit. Each weight has the fewest digits that allow this.
func (w Weights) MarshalJSON() ([]byte, error) {
	if w.Uniform() {
		return []byte("null"), nil
	}
	b := fmt.Appendf(nil, `{"lo":%d,"units":[`, w.lo)
	for k, n := 0, 0; k < w.Len(); k += n {
		u := w.step(k)
		for n = 1; k+n < w.Len() && w.prefix[k+n]+u == w.prefix[k+n+1]; n++ {
		}
		if k > 0 {
			b = append(b, ',')
		}
		number := strconv.AppendFloat(nil, u, 'g', -1, 64)
		if n > 1 {
			number = fmt.Appendf(nil, "[%d,%s]", n, number)
		}
		b = append(b, number...)
	}
	return append(b, "]}"...), nil
}

// step returns the number with the fewest digits that leads from prefix[k] to prefix[k+1]. Their difference, rounded, does
// so whenever any number does.
func (w Weights) step(k int) float64 {
	from, to := w.prefix[k], w.prefix[k+1]
	exact := to - from
	shortest := exact
	const most = 17 // digits that tell all float64 apart
	sort.Search(most, func(digits int) bool {
		u, err := strconv.ParseFloat(strconv.FormatFloat(exact, 'g', digits+1, 64), 64)
		if err != nil || !(u > 0) || from+u != to {
			return false
		}
		shortest = u
		return true
	})
	return shortest
}

// maxRead bounds the iterations that JSON weights may have in runs: a few bytes of a damaged file must not fill the memory.
const maxRead = 1 << 26

// UnmarshalJSON reads what MarshalJSON writes, with up to 2^26 iterations in runs of the same weight.
func (w *Weights) UnmarshalJSON(data []byte) error {
	var form *struct {
		Lo    int   `json:"lo"`
		Units []run `json:"units"`
	}
	if err := json.Unmarshal(data, &form); err != nil {
		return err
	}
	if form == nil {
		*w = Weights{}
		return nil
	}
	total := 0
	for _, r := range form.Units {
		if r.iterations > maxRead-total {
			return fmt.Errorf("dist: weights of more than %d iterations", maxRead)
		}
		total += r.iterations
	}
	read := Weights{lo: form.Lo, prefix: make([]float64, 1, total+1)}
	for _, r := range form.Units {
		for range r.iterations {
			read.prefix = append(read.prefix, read.prefix[len(read.prefix)-1]+r.units)
		}
	}
	read, err := read.summable()
	if err == nil {
		*w = read
	}
	return err
}

// run is a number of iterations of the same weight.
type run struct {
	iterations int
	units      float64 // work units of each
}

// UnmarshalJSON reads a number, or a pair of a count and a number.
func (r *run) UnmarshalJSON(data []byte) error {
	r.iterations = 1
	err := json.Unmarshal(data, &r.units)
	if bytes.HasPrefix(data, []byte("[")) {
		var pair []json.RawMessage
		if err = json.Unmarshal(data, &pair); err == nil && len(pair) == 2 {
			err = errors.Join(json.Unmarshal(pair[0], &r.iterations), json.Unmarshal(pair[1], &r.units))
		}
	}
	if err != nil || r.iterations < 1 || !(r.units > 0) {
		return fmt.Errorf("dist: %s is not a weight > 0, or [count, weight] for that many iterations", data)
	}
	return nil
}
