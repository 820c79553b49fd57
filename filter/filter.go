package filter

import "math"

// Filter is the filter of one rank.
type Filter interface {
	// Next takes the raw rate of the latest phase and returns the filtered rate, both in work units per second. A
	// negative, infinite or NaN sample is ignored: the previous filtered rate is returned, 0 before the first sample.
	Next(raw float64) float64
}

// isRate reports whether x can be a rate.
func isRate(x float64) bool { return x >= 0 && !math.IsInf(x, 1) }

// recursive is equation (16) with h from a state table or fixed; h = 0 gives the raw rates.
type recursive struct {
	table    *Table // nil: h is fixed
	h        float64
	state    int
	filtered float64
	started  bool
}

func (f *recursive) Next(raw float64) float64 {
	switch {
	case !isRate(raw):
		return f.filtered
	case !f.started:
		f.filtered, f.started = raw, true
		if f.table != nil {
			f.state = f.table.start
		}
		return raw
	}
	h := f.h
	if f.table != nil {
		in := Increase
		if raw < f.filtered {
			in = Decrease
		}
		row := &f.table.states[f.state]
		h, f.state = row.history[in], row.next[in]
	}
	// As a step from the old value: it stays exactly where it is for h = 1 and when raw and filtered agree.
	f.filtered += (1 - h) * (raw - f.filtered)
	if h == 0 {
		f.filtered = raw // free of rounding
	}
	return f.filtered
}
