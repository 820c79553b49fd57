package dist

import (
	"fmt"
	"slices"
	"sort"
)

// Block is a block distribution: rank r owns [Bounds[r], Bounds[r+1]). Bounds never decrease, so every iteration of
// the span has exactly one owner; a rank whose two bounds are equal owns nothing. The zero Block has no ranks.
type Block struct{ Bounds []int }

// Even splits span evenly over the workers firstWorker..ranks-1; sizes differ by at most one and the larger blocks
// come first. Ranks before firstWorker own nothing. When there are fewer iterations than workers the first workers
// get one each. It panics unless 0 <= firstWorker < ranks.
func Even(span Range, ranks, firstWorker int) Block {
	if firstWorker < 0 || firstWorker >= ranks {
		panic(fmt.Sprintf("dist: first worker %d of %d ranks", firstWorker, ranks))
	}
	b := Block{Bounds: make([]int, ranks+1)}
	n, workers := span.Len(), ranks-firstWorker
	for r := range b.Bounds {
		k := max(0, r-firstWorker) // workers before rank r
		b.Bounds[r] = span.Lo + k*(n/workers) + min(k, n%workers)
	}
	return b
}

// Ranks returns the number of ranks.
func (b Block) Ranks() int { return max(0, len(b.Bounds)-1) }

// Span returns the whole index range that is distributed.
func (b Block) Span() Range {
	if len(b.Bounds) == 0 {
		return Range{}
	}
	return Range{Lo: b.Bounds[0], Hi: b.Bounds[len(b.Bounds)-1]}
}

// Range returns the iterations that rank owns.
func (b Block) Range(rank int) Range { return Range{Lo: b.Bounds[rank], Hi: b.Bounds[rank+1]} }

// Owner returns the rank that owns iteration i, or -1 when i lies outside the span. O(log P).
func (b Block) Owner(i int) int {
	if !b.Span().Contains(i) {
		return -1
	}
	return sort.Search(b.Ranks(), func(r int) bool { return b.Bounds[r+1] > i })
}

// Validate reports what is wrong with b, nil when nothing is: at least one rank, bounds that never decrease.
func (b Block) Validate() error {
	if len(b.Bounds) < 2 {
		return fmt.Errorf("dist: block distribution has %d bounds, want ranks+1 >= 2", len(b.Bounds))
	}
	for r := range b.Ranks() {
		if b.Bounds[r] > b.Bounds[r+1] {
			return fmt.Errorf("dist: block of rank %d is %v: bounds must not decrease", r, b.Range(r))
		}
	}
	return nil
}

// Equal reports whether both distributions have the same bounds.
func (b Block) Equal(c Block) bool { return slices.Equal(b.Bounds, c.Bounds) }

// Clone returns a copy that shares no memory with b.
func (b Block) Clone() Block { return Block{Bounds: slices.Clone(b.Bounds)} }
