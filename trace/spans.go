package trace

import (
	"math/bits"
	"time"

	"shiftwork/dist"
)

// kind is what a rank does in a span: the kinds of package hooks, and those that only this package knows.
type kind uint8

const (
	computing kind = iota
	moving
	interacting
	waiting
	tracing // this package, at work in the rank's own time
)

var kindNames = [...]string{"compute", "move", "interact", "wait", "trace"}

// span is one piece of a rank's time, or several of one kind that are drawn as one.
type span struct {
	start, end time.Duration // since the rank's trace began
	iterations dist.Range    // of the last one
	number     int           // of the last one
	units      float64       // of all
	count      int32         // spans that it is made of
	kind       kind
	loop       uint16
}

// spans are the spans of a rank in order, not more than limit of them. When there are more, short ones are drawn together:
// time is cut into windows whose length, the resolution, is a power of two ns; the spans that lie within one window become
// one for each kind, one behind the other from where the first of them began. So each kind keeps its time in each
// window, what is longer than a window keeps its place, and nothing is displaced by more than the resolution. Windows
// of one resolution lie in those of the next, so this holds however often it was made coarser.
type spans struct {
	limit  int
	shift  uint // resolution 1<<shift ns; 0: all spans are kept as they are
	list   []span
	window int64 // in which list[open:] lie
	open   int   // what stands before it does not change any more, unless the resolution does
	seen   int   // all that were added
}

const (
	// maxLoops is how many loops are told apart by name.
	maxLoops = 8
	// leastLimit is enough, twice, for a window with spans of each kind in each loop.
	leastLimit = 2 * maxLoops * len(kindNames)
)

func newSpans(limit int) spans { return spans{limit: max(limit, leastLimit), window: -1} }

func (l *spans) resolution() time.Duration {
	if l.shift == 0 {
		return 0
	}
	return 1 << l.shift
}

// add appends a span, which begins where the last one ended or later. It reports whether everything has become coarser.
func (l *spans) add(s span) (coarser bool) {
	l.seen++
	if s.count = 1; l.shift == 0 {
		l.list = append(l.list, s)
		l.open = len(l.list)
	} else {
		l.place(s)
	}
	if len(l.list) < l.limit {
		return false
	}
	l.coarsen()
	return true
}

// place appends a span, or makes it part of one of its window.
func (l *spans) place(s span) {
	first, last := int64(s.start)>>l.shift, int64(max(s.start, s.end-1))>>l.shift
	if first != last {
		l.list = append(l.list, s)
		l.open, l.window = len(l.list), -1
		return
	}
	if first != l.window {
		l.open, l.window = len(l.list), first
	}
	group := l.list[l.open:]
	for i := range group {
		same := &group[i]
		if same.kind != s.kind || same.loop != s.loop {
			continue
		}
		took := s.end - s.start
		same.end += took
		same.iterations, same.number = s.iterations, s.number
		same.units += s.units
		same.count += s.count
		for j := i + 1; j < len(group); j++ {
			group[j].start += took
			group[j].end += took
		}
		return
	}
	if n := len(group); n > 0 { // close up, so that there is room for whatever comes
		took := s.end - s.start
		s.start = group[n-1].end
		s.end = s.start + took
	}
	l.list = append(l.list, s)
}

// coarsen makes the resolution so coarse that half of the limit is enough.
func (l *spans) coarsen() {
	all := l.list
	end := all[len(all)-1].end
	// With windows shorter than this there are as many of them as there may be spans.
	l.shift = max(l.shift+1, uint(bits.Len64(uint64(end)/uint64(l.limit)))) - 1
	for len(l.list) > l.limit/2 {
		l.shift++
		all, l.list = l.list, l.list[:0] // in place: what is written is never ahead of what is read
		l.open, l.window = 0, -1
		for _, s := range all {
			l.place(s)
		}
	}
}
