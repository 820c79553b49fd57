package dist

import (
	"slices"
	"sort"
)

// Intervals is a set of iterations, kept as sorted, disjoint ranges that do not touch. The zero value is empty.
type Intervals struct{ ranges []Range }

// Ranges returns the ranges in index order. They belong to s and are valid until s changes.
func (s *Intervals) Ranges() []Range { return s.ranges }

// Len returns the number of iterations.
func (s *Intervals) Len() int {
	n := 0
	for _, r := range s.ranges {
		n += r.Len()
	}
	return n
}

// Units returns the work units of all iterations.
func (s *Intervals) Units(w Weights) float64 {
	sum := 0.0
	for _, r := range s.ranges {
		sum += w.Units(r)
	}
	return sum
}

// Contains reports whether iteration i is in the set. O(log of the number of ranges).
func (s *Intervals) Contains(i int) bool {
	k := sort.Search(len(s.ranges), func(k int) bool { return s.ranges[k].Hi > i })
	return k < len(s.ranges) && s.ranges[k].Contains(i)
}

// Add puts the iterations of r into the set; some may be in it already.
func (s *Intervals) Add(r Range) {
	if r.Empty() {
		return
	}
	first := sort.Search(len(s.ranges), func(k int) bool { return s.ranges[k].Hi >= r.Lo }) // touches or overlaps r
	last := first
	for last < len(s.ranges) && s.ranges[last].Lo <= r.Hi {
		r = Span(min(r.Lo, s.ranges[last].Lo), max(r.Hi, s.ranges[last].Hi))
		last++
	}
	s.ranges = slices.Replace(s.ranges, first, last, r)
}

// Remove takes the iterations of r out of the set; some may not be in it.
func (s *Intervals) Remove(r Range) {
	if r.Empty() {
		return
	}
	first := sort.Search(len(s.ranges), func(k int) bool { return s.ranges[k].Hi > r.Lo })
	last := first
	var rest []Range
	for last < len(s.ranges) && s.ranges[last].Lo < r.Hi {
		if before := Span(s.ranges[last].Lo, r.Lo); !before.Empty() {
			rest = append(rest, before)
		}
		if after := Span(r.Hi, s.ranges[last].Hi); !after.Empty() {
			rest = append(rest, after)
		}
		last++
	}
	s.ranges = slices.Replace(s.ranges, first, last, rest...)
}

// TakeTail removes whole iterations from the end whose work comes nearest to units, leaving at least keep iterations,
// and returns them in index order. With uniform weights units is a count of iterations.
func (s *Intervals) TakeTail(w Weights, units float64, keep int) []Range {
	var taken []Range
	spare := s.Len() - max(0, keep)
	for len(s.ranges) > 0 && spare > 0 {
		r := s.ranges[len(s.ranges)-1]
		n := min(w.Tail(r, units), spare)
		if n == 0 {
			break
		}
		part := Span(r.Hi-n, r.Hi)
		taken = append(taken, part)
		s.Remove(part)
		spare -= n
		units -= w.Units(part)
		if n < r.Len() {
			break
		}
	}
	slices.Reverse(taken)
	return taken
}
