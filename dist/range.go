package dist

import "fmt"

// Range is the half-open range [Lo, Hi) of global iteration indices. It is empty when Hi <= Lo.
type Range struct{ Lo, Hi int }

// Span returns the range [lo, hi).
func Span(lo, hi int) Range { return Range{Lo: lo, Hi: hi} }

// Len returns the number of iterations in r, never negative.
func (r Range) Len() int { return max(0, r.Hi-r.Lo) }

// Empty reports whether r holds no iteration.
func (r Range) Empty() bool { return r.Hi <= r.Lo }

// Contains reports whether iteration i lies in r.
func (r Range) Contains(i int) bool { return r.Lo <= i && i < r.Hi }

// Intersect returns the iterations that lie in both ranges; the zero Range when there are none.
func (r Range) Intersect(s Range) Range {
	t := Range{Lo: max(r.Lo, s.Lo), Hi: min(r.Hi, s.Hi)}
	if t.Empty() {
		return Range{}
	}
	return t
}

// String returns "[lo,hi)".
func (r Range) String() string { return fmt.Sprintf("[%d,%d)", r.Lo, r.Hi) }
