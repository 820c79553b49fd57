package dist

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// Apportion divides total into integers in proportion to shares: the sum is exact, each part is at least its
// minimum, and apart from that each part is its exact quota rounded down or up: up where it becomes least, as a multiple of its quota, ties to
// the lowest index. So of ranks that do so many iterations at these rates the slowest one needs no longer than it must: one of 1.3 iterations gets one, not two.
// Nil minimum means 0 each. A part whose quota lies below its minimum gets the minimum and the rest
// is divided among the others. If the minima do not fit into total they are served in index order until it is used up.
// Shares that are negative, NaN or infinite count as 0; if all are 0 the parts are equal. O(P), or O(P log P) where a
// minimum binds.
func Apportion(total int, shares []float64, minimum []int) []int {
	var d Divider
	return d.Divide(make([]int, len(shares)), total, shares, minimum)
}

// Divider is Apportion with scratch space that is reused from call to call. Its zero value is ready.
type Divider struct {
	Least int // iterations that Cut leaves to each worker; below 1: 1

	share        []float64
	free         []ranked
	parts, least []int
}

// Divide fills parts, which has one element per share, and returns it. See Apportion.
func (d *Divider) Divide(parts []int, total int, shares []float64, minimum []int) []int {
	p := len(shares)
	if len(parts) != p || (minimum != nil && len(minimum) != p) {
		panic(fmt.Sprintf("dist: %d parts and %d minima for %d shares", len(parts), len(minimum), p))
	}
	if p == 0 {
		return parts
	}
	floor := func(i int) int {
		if minimum == nil {
			return 0
		}
		return max(0, minimum[i])
	}
	needed := 0
	for i := range parts {
		needed += min(floor(i), max(0, total-needed)) // no more is there to be given
	}
	if needed >= total {
		left := max(0, total)
		for i := range parts {
			parts[i] = min(left, floor(i))
			left -= parts[i]
		}
		return parts
	}

	d.share, d.free = resize(d.share, p), resize(d.free, p)
	largest := 0.0
	for i, s := range shares {
		if !(s > 0) || math.IsInf(s, 0) {
			s = 0
		}
		d.share[i], d.free[i].index = s, i
		largest = max(largest, s)
	}
	sum := 0.0
	for i := range d.share {
		if largest == 0 {
			d.share[i] = 1
		} else {
			d.share[i] /= largest // no overflow of the sum, and no effect of the rates' scale
		}
		sum += d.share[i]
	}

	rest, sum, free := d.fixMinima(parts, total, sum, floor)
	given := 0
	for k := range free {
		i := free[k].index
		q := float64(rest)
		if sum > 0 {
			q = d.share[i] / sum * float64(rest)
		}
		whole := rest
		if q < float64(rest) { // or the int may overflow
			whole = int(q)
		}
		parts[i] = min(max(whole, floor(i)), rest)
		free[k].key = q / (float64(parts[i]) + 1)
		given += parts[i]
	}
	if given == rest {
		return parts
	}
	if given < rest {
		up := min(rest-given, len(free))
		first(free, up)
		for k := 0; given < rest; k++ {
			parts[free[k%up].index]++
			given++
		}
		return parts
	}
	slices.SortFunc(free, ranked.before)
	// Rounding can have lifted a quota over the next integer; take back where that is most.
	for k := len(free) - 1; given > rest; k-- {
		if k < 0 {
			k = len(free) - 1
		}
		if i := free[k].index; parts[i] > floor(i) {
			parts[i]--
			given--
		}
	}
	return parts
}

// fixMinima gives those whose quota lies below their minimum just that, and returns what is left for the others, the sum
// of their shares, and who they are.
func (d *Divider) fixMinima(parts []int, total int, sum float64, floor func(int) int) (rest int, shares float64, free []ranked) {
	binds := false
	for k := range d.free {
		i := d.free[k].index
		binds = binds || d.share[i]/sum*float64(total) < float64(floor(i))
	}
	rest, free = total, d.free
	if !binds {
		return rest, sum, free
	}
	for k := range free {
		i := free[k].index
		least := float64(floor(i))
		free[k].key = math.Inf(1) // a share of 0 comes first
		if d.share[i] > 0 {
			free[k].key = least / d.share[i]
		} else if least == 0 {
			free[k].key = 0
		}
	}
	// Those that bind are the largest in minimum/share. Fixing one lowers what a share of the others is worth, so one
	// pass in falling order finds all of them.
	slices.SortFunc(free, ranked.before)
	for len(free) > 1 {
		i := free[0].index
		if d.share[i]/sum*float64(rest) >= float64(floor(i)) {
			break
		}
		parts[i] = floor(i)
		rest -= parts[i]
		sum -= d.share[i]
		free = free[1:]
	}
	sum = 0 // subtracting has cost digits: add up again
	for _, f := range free {
		sum += d.share[f.index]
	}
	return rest, sum, free
}

// ranked is an element to be sorted by falling key, ties by index.
type ranked struct {
	key   float64
	index int
}

func (a ranked) before(b ranked) int {
	switch {
	case a.key > b.key:
		return -1
	case a.key < b.key:
		return 1
	}
	return a.index - b.index
}

// first brings the k elements that come first, by before, to the front, in no order (Hoare's selection, with the median of
// three as pivot). O(P).
func first(s []ranked, k int) {
	for lo, hi := 0, len(s); k > lo && k < hi; {
		a, b, c := s[lo], s[lo+(hi-lo)/2], s[hi-1]
		if a.before(b) > 0 {
			a, b = b, a
		}
		if b.before(c) > 0 {
			b = c
		}
		if a.before(b) > 0 {
			b = a
		}
		i, j := lo, hi-1
		for i <= j {
			for s[i].before(b) < 0 {
				i++
			}
			for b.before(s[j]) < 0 {
				j--
			}
			if i <= j {
				s[i], s[j] = s[j], s[i]
				i++
				j--
			}
		}
		switch { // [lo, j] come before the pivot, [i, hi) after it; what is between equals it
		case k <= j+1:
			hi = j + 1
		case k >= i:
			lo = i
		default:
			return
		}
	}
}

func resize[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// Cut returns the block distribution of span in which the units of each rank come as near to its share as whole
// iterations allow. shares has one element per rank; ranks before firstWorker get nothing. If there are as many
// iterations as workers each worker gets at least one; with fewer, the first workers get one each. Uniform weights
// give Apportion's parts; otherwise the cut points are the prefix sums nearest to the cumulative targets.
func Cut(span Range, firstWorker int, shares []float64, w Weights) Block {
	var d Divider
	return d.Cut(Block{Bounds: make([]int, len(shares)+1)}, span, firstWorker, shares, w)
}

// Cut fills b, which has one bound more than there are shares, and returns it. See the function Cut; where there are
// iterations enough, each worker gets at least Least.
func (d *Divider) Cut(b Block, span Range, firstWorker int, shares []float64, w Weights) Block {
	ranks := len(shares)
	workers, n := ranks-firstWorker, span.Len()
	if len(b.Bounds) != ranks+1 || firstWorker < 0 || workers < 1 {
		panic(fmt.Sprintf("dist: %d bounds for %d ranks, first worker %d", len(b.Bounds), ranks, firstWorker))
	}
	for r := 0; r <= firstWorker; r++ {
		b.Bounds[r] = span.Lo
	}
	bounds := b.Bounds[firstWorker:]
	if n <= workers {
		for k := range bounds {
			bounds[k] = span.Lo + min(k, n)
		}
		return b
	}
	least := max(1, min(d.Least, n/workers))
	if w.Uniform() {
		d.parts, d.least = resize(d.parts, workers), resize(d.least, workers)
		for k := range d.least {
			d.least[k] = least
		}
		d.Divide(d.parts, n, shares[firstWorker:], d.least)
		for k, part := range d.parts {
			bounds[k+1] = bounds[k] + part
		}
		return b
	}
	d.cutWeighted(bounds, span, shares[firstWorker:], w, least)
	return b
}

// cutWeighted places bounds[1..workers] at the prefix sums nearest to the cumulative targets, left to right, leaving
// at least so many iterations to every worker.
func (d *Divider) cutWeighted(bounds []int, span Range, shares []float64, w Weights, least int) {
	workers := len(shares)
	largest, sum := 0.0, 0.0
	for _, s := range shares {
		if s > 0 && !math.IsInf(s, 0) {
			largest = max(largest, s)
		}
	}
	clean := func(s float64) float64 {
		switch {
		case largest == 0:
			return 1
		case s > 0 && !math.IsInf(s, 0):
			return s / largest
		}
		return 0
	}
	for _, s := range shares {
		sum += clean(s)
	}
	total, before := w.Units(span), 0.0
	for k := 1; k < workers; k++ {
		before += clean(shares[k-1])
		target := total * (before / sum)
		lo, hi := bounds[k-1]+least, span.Hi-(workers-k)*least // enough for this worker and for each that follows
		at := lo + sort.Search(hi-lo, func(j int) bool { return w.Units(Span(span.Lo, lo+j)) >= target })
		if at > lo && target-w.Units(Span(span.Lo, at-1)) <= w.Units(Span(span.Lo, at))-target {
			at--
		}
		bounds[k] = at
	}
	bounds[workers] = span.Hi
}
