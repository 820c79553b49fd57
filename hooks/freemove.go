package hooks

import (
	"fmt"
	"slices"
	"time"
)

// landing is a transfer whose header has come.
type landing struct {
	from   int
	began  time.Duration
	parts  []part
	pieces []message // still on their way
}

// give starts the transfers in which this rank gives. Nobody waits: it computes on while its data leaves, and the takers until it is
// there.
func (f *Free) give(in *instruction) error {
	for _, t := range in.transfers {
		if t.To == f.c.Rank() {
			continue
		}
		parts, units := f.take(t.To, t.Units)
		if err := f.move.giveParts(t.To, tagStatus, encodeParts([]byte{kindTransfer}, parts), parts); err != nil {
			return err
		}
		f.moved.transfers++
		f.moved.units += units
	}
	return nil
}

// take removes iterations for another rank, so many that their remaining work units come nearest to units. The rank may have done some
// of them since it reported, so it may be fewer, or none. Where the loop is repeated they are those next to that rank's, which makes one
// chunk of its own and these; else those that would be done last. What is missing then comes of the chunk under way, of which one is kept.
func (f *Free) take(to int, units float64) (parts []part, taken float64) {
	below := f.loop.Repeat > 1 && to < f.c.Rank()
	byIndex := func(a, b part) int { return a.Lo - b.Lo }
	rest := slices.Clone(f.queue)
	if f.loop.Repeat > 1 {
		slices.SortFunc(rest, byIndex)
	}
	if !below {
		slices.Reverse(rest)
	}
	f.queue = f.queue[:0]
	for i, p := range rest {
		given, kept := f.divide(p, below, p.Len(), units-taken)
		if !given.Empty() {
			parts = append(parts, given)
			taken += f.unitsLeft(given)
		}
		if !kept.Empty() {
			f.insert(kept)
		}
		if !given.Empty() && !kept.Empty() {
			for _, p := range rest[i+1:] {
				f.insert(p)
			}
			break
		}
	}
	if len(f.queue) > 0 || f.chunk.Len() < 2 {
		return parts, taken
	}
	given, kept := f.divide(f.chunk, below, f.chunk.Len()-1, units-taken)
	if !given.Empty() {
		f.chunk, f.lap.divided = kept, true
		parts = append(parts, given)
		taken += f.unitsLeft(given)
	}
	return parts, taken
}

// divide takes off the front or the end of a part so many iterations, most of them at most, that the work units left to do of them come
// nearest to units. Of iterations in pieces it takes none if they are too few for a call of their own, but all of a part: the master knows
// what is left to do of all iterations of a rank, not of these.
func (f *Free) divide(p part, front bool, most int, units float64) (given, kept part) {
	end, each := f.loop.Weights.Tail, f.timesLeft(p)
	if front {
		end = f.loop.Weights.Front
	}
	n := min(end(p.Range, units/each), most)
	if f.loop.Pieces > 1 && n < f.grain.least() && n < p.Len() {
		n = 0
	}
	given, kept = p, p
	if front {
		given.Hi, kept.Lo = p.Lo+n, p.Lo+n
	} else {
		given.Lo, kept.Hi = p.Hi-n, p.Hi-n
	}
	return given, kept
}

// accept begins to receive a transfer whose header has come.
func (f *Free) accept(from int, header []byte) error {
	parts, err := decodeParts(header)
	if err != nil {
		return fmt.Errorf("transfer from rank %d: %w", from, err)
	}
	// What this rank has given may come back; it must have left for good before its memory is written to. It has: what it gave by
	// an earlier instruction has landed, or there would be no later one, and no rank gives and takes by the same.
	if err := f.move.flush(); err != nil {
		return err
	}
	began := f.c.Now()
	f.move.waited = 0
	l := landing{from: from, began: began, parts: parts}
	for _, p := range parts {
		pieces, err := f.move.receive(from, p)
		if err != nil {
			return err
		}
		l.pieces = append(l.pieces, pieces...)
		f.moved.units += f.unitsLeft(p)
		f.total.iterations += p.Len()
	}
	f.moved.transfers++
	f.moved.time += f.c.Now() - began - f.move.waited
	f.landing = append(f.landing, l)
	return f.land(false)
}

// carrying reports whether messages are on their way from here or to here.
func (f *Free) carrying() bool { return len(f.move.pending)+len(f.landing) > 0 }

// land queues the iterations of the transfers that have arrived; wait says to wait for the first of them.
func (f *Free) land(wait bool) error {
	began := f.c.Now()
	f.move.waited = 0
	for len(f.landing) > 0 {
		l := &f.landing[0]
		var err error
		if l.pieces, err = f.move.arrived(l.from, l.pieces, wait); err != nil {
			return err
		}
		if len(l.pieces) > 0 {
			break
		}
		f.moved.transit += f.c.Now() - l.began
		for _, p := range l.parts {
			f.insert(p)
			f.moved.transitUnits += f.unitsLeft(p)
		}
		f.awaited--
		f.landing = f.landing[1:]
		wait = false
	}
	f.moved.time += f.c.Now() - began - f.move.waited
	return nil
}
