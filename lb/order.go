package lb

import (
	"sort"

	"shiftwork/dist"
)

// keepOrder shortens the way from block to spare where boundaries move one by one, in any order (Loop.OneByOne): none goes beyond where its neighbours are, or the rank
// between two would be left with less than it must keep for a while. Where work has to pass through ranks, such as from four slow ones to four fast ones, each
// instruction brings it a block farther. That must pay by itself, so it is not each boundary that stops where it must: of the divisions within these bounds it is
// one in which the rank that has most, as a part of what it should have, has least; and of those the one nearest to spare. It reports whether it has.
func (b *Balancer) keepOrder() (shortened bool) {
	w := way{from: b.block.Bounds[b.loop.FirstWorker:], to: b.spare.Bounds[b.loop.FirstWorker:], least: max(1, b.divider.Least), weights: b.loop.Weights}
	within := true
	for k := 1; k < len(w.from); k++ {
		if w.from[k]-w.from[k-1] < w.least { // that is so already
			copy(w.to, w.from)
			return false
		}
		within = within && (k == w.ranks() || w.to[k] >= w.lowest(k) && w.to[k] <= w.highest(k))
	}
	if !within {
		w.shorten()
	}
	return !within
}

// way leads from one division to another: boundary k, at which the block of rank k begins, from from[k] to to[k].
type way struct {
	from, to []int
	least    int // iterations that a rank must keep
	weights  dist.Weights

	should []float64 // units of each rank at the end of the whole way
}

func (w *way) ranks() int { return len(w.from) - 1 }

// lowest and highest are between what boundary k may move.
func (w *way) lowest(k int) int  { return w.from[k-1] + w.least }
func (w *way) highest(k int) int { return w.from[k+1] - w.least }

// shorteningSteps halve the range in which lies how many times what it should have a rank has at most: to a millionth.
const shorteningSteps = 20

// shorten makes to what keepOrder is about.
func (w *way) shorten() {
	w.should = make([]float64, w.ranks())
	low, high := 1.0, 1.0
	for r := range w.should {
		w.should[r] = w.weights.Units(dist.Span(w.to[r], w.to[r+1]))
		high = max(high, w.weights.Units(dist.Span(w.from[r], w.from[r+1]))/w.should[r])
	}
	high *= 1 + 1e-9 // for rounding: where blocks are now is possible
	highest, lowest := make([]int, w.ranks()), make([]int, w.ranks())
	for range shorteningSteps {
		if middle := (low + high) / 2; w.up(highest, middle) {
			high = middle
		} else {
			low = middle
		}
	}
	w.up(highest, high)
	w.down(lowest, high)
	for k := 1; k < w.ranks(); k++ {
		most := min(highest[k], w.end(w.to[k-1], high*w.should[k-1]))
		w.to[k] = max(lowest[k], w.to[k-1]+w.least, min(w.to[k], most))
	}
}

// up fills in how high each boundary can be if no rank has more than so many times what it should have, or than it must keep, and reports whether the last one has not either.
func (w *way) up(bounds []int, times float64) bool {
	last := w.ranks() - 1
	bounds[0] = w.from[0]
	for k := 1; k <= last; k++ {
		bounds[k] = min(w.end(bounds[k-1], times*w.should[k-1]), w.highest(k))
		if bounds[k] < w.lowest(k) {
			return false
		}
	}
	return w.end(bounds[last], times*w.should[last]) >= w.from[last+1]
}

// down fills in how low each boundary can be.
func (w *way) down(bounds []int, times float64) {
	next := w.from[w.ranks()]
	for k := w.ranks() - 1; k > 0; k-- {
		bounds[k] = max(w.begin(next, times*w.should[k]), w.lowest(k))
		next = bounds[k]
	}
}

// end is where a block ends that begins there and has so many units at most, but what a rank must keep.
func (w *way) end(begin int, units float64) int {
	n := sort.Search(w.from[w.ranks()]-begin, func(n int) bool { return w.weights.Units(dist.Span(begin, begin+n+1)) > units })
	return begin + max(w.least, n)
}

// begin is where a block begins that ends there.
func (w *way) begin(end int, units float64) int {
	n := sort.Search(end-w.from[0], func(n int) bool { return w.weights.Units(dist.Span(end-n-1, end)) > units })
	return end - max(w.least, n)
}
