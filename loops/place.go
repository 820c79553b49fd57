package loops

import (
	"fmt"
	"slices"

	"shiftwork/dist"
	"shiftwork/hooks"
)

// Rows can change their owner behind each strip, also in the midst of a batch, where columns are of different sweeps, and the more of them are done the
// lower lie the blocks: README.md, "A shift within a batch".

// passing is a change of this rank's block: the place behind which rows are as they are handed over, and the block before and after.
type passing struct {
	place
	have, want Range
}

// toLeft reports whether iterations r, which change their owner, go to a lower rank.
func (p *passing) toLeft(r Range) bool {
	return r.Lo == p.have.Lo && r.Hi == p.want.Lo || r.Lo == p.have.Hi && r.Hi == p.want.Hi
}

// toRight reports whether they go to a higher one.
func (p *passing) toRight(r Range) bool {
	return r.Lo == p.want.Lo && r.Hi == p.have.Lo || r.Lo == p.want.Hi && r.Hi == p.have.Hi
}

// hook executes the hook behind strip number i of a batch.
func (x *across) hook(b *batch, i int) error {
	if b.count > 1 { // the hook ends the last sweep
		if err := x.h.Pass(b.count - 1); err != nil {
			return err
		}
	}
	moved, err := x.h.Hook()
	if err != nil {
		return err
	}
	if moved {
		x.setOwn()
	}
	if i == len(b.strips)-1 && x.wider > 0 {
		return x.widen()
	}
	return nil
}

// before is called where this rank is about to give or take rows as they are behind a hook.
func (x *across) before(have, want dist.Range, hook int) error {
	p := x.past.behind(hook)
	x.passing = passing{p, have, want}
	x.seam = x.seam || x.leans && want.Lo > have.Lo
	switch {
	case want.Hi < have.Hi: // messages from the right up to here go on coming along the boundary as it is
		x.up.moved = append(x.up.moved, moved{p.batch.ordinal, p.strip, have.Hi})
	case want.Hi > have.Hi:
		return x.receiveUpsTo(p)
	}
	return nil
}

// leaner is what an across whose blocks may lean is for hooks.
type leaner struct{ x *across }

func (l leaner) Before(have, want dist.Range, hook int) error { return l.x.before(have, want, hook) }

func (l leaner) MayTake(hook int) bool {
	p := l.x.past.behind(hook)
	return !l.x.up.awaited || l.x.up.upTo(p.batch.ordinal, p.strip)
}

// CatchUp sweeps the rows that this rank has taken over where its right neighbour was, up to where it is itself. In a lean all that they need of this rank's is
// there still: the last row of each sweep is not touched by the next ones.
func (l leaner) CatchUp(have dist.Range, hook int) error {
	x := l.x
	x.setOwn()
	if err := x.mail.seam(x.right, tagDown); err != nil {
		return err
	}
	from := x.past.behind(hook)
	for i, rows := from.strip+1, Span(have.Hi, x.own.Hi); ; i++ {
		for i == len(from.batch.strips) {
			if from.batch, i = x.past.number(from.batch.ordinal+1), 0; from.batch == nil {
				return nil
			}
		}
		b := from.batch
		if b == x.past.current() && i >= x.done {
			return nil
		}
		x.sweep(b, i, rows, true, true)
		if err := x.sendDowns(b, i, x.own.Hi); err != nil {
			return err
		}
	}
}

// shiftedArray is an array whose iterations are the rows that they stand for where they are handed over, as a whole: blocks may lean. It is without those that their
// giver goes on with, or its neighbour's messages come to, while they are on their way.
type shiftedArray struct {
	Array
	x *across
}

func (a shiftedArray) Bytes(r Range) []byte {
	still, _ := a.x.wholeRows(r)
	return a.Array.Bytes(still)
}

func (a shiftedArray) Pack(r Range, buf []byte) []byte   { return append(buf, a.Bytes(r)...) }
func (a shiftedArray) Unpack(r Range, data []byte) error { copy(a.Bytes(r), data); return nil }

// wholeRows is the rows that are handed over with iterations r: those that nobody touches meanwhile, and the others, with those beyond the new boundary over which blocks may
// lean. Rows of loops that have no neighbours' rows are in other arrays (DOACROSS.Local).
func (x *across) wholeRows(r Range) (still, others Range) {
	b := x.passing.batch
	switch {
	case b == nil: // nothing moves yet
	case x.passing.toLeft(r):
		lo, hi := r.Lo+b.shift+1, r.Hi+1+b.more
		if b.sendsUp() { // lower ones have travelled, or are edges
			lo = r.Lo + max(b.shift, b.after) + 1
		}
		still = Span(lo, max(lo, r.Hi-1-b.more))
		return still, Span(still.Hi, hi)
	case x.passing.toRight(r):
		lo, hi := r.Lo-1-b.more, r.Hi+min(b.lowest(), b.floor)
		still = Span(min(hi, r.Lo+1+b.more), hi)
		return still, Span(lo, still.Lo)
	}
	return r, Range{}
}

// edges is, as an array, what travels with iterations beside the rows of shiftedArray, as it is when they are packed.
type edges struct{ x *across }

func (e edges) each(r Range, f func(part []byte)) {
	e.x.mail.each(e.x.slant(r), f)
	_, rows := e.x.wholeRows(r)
	for _, a := range e.x.d.Arrays {
		f(a.Bytes(rows))
	}
}

func (e edges) Pack(r Range, buf []byte) []byte {
	bytes := 0
	e.each(r, func(part []byte) { bytes += len(part) })
	buf = slices.Grow(buf, bytes) // megabytes, which would be copied over and over while the other rank waits
	e.each(r, func(part []byte) { buf = append(buf, part...) })
	return buf
}

func (e edges) Unpack(r Range, data []byte) error {
	want, got := 0, len(data)
	e.each(r, func(part []byte) {
		want += len(part)
		data = data[copy(part, data):]
	})
	if got != want {
		return fmt.Errorf("the rows in which the boundaries of %v lie take %d bytes, got %d", r, want, got)
	}
	return nil
}

// slant is the parts of the rows in which the old boundary of r lies that the taker has not. Where a sweep of the batch is done the boundary lies a row lower
// than where it is not.
func (x *across) slant(r Range) []piece {
	x.pieces = x.pieces[:0]
	b, strip := x.passing.batch, x.passing.strip
	done := x.part(b, strip, b.count-1).Hi // columns below are of the last sweep
	if !x.passing.toLeft(r) {
		for by := min(b.lowest(), b.floor); by < b.shift; by++ {
			p := piece{row: r.Hi + by, part: x.d.Strip}
			if k := b.shift - 1 - by; k < b.count {
				p.part.Lo = x.part(b, strip, k).Hi
			}
			if by >= b.floor {
				p.part.Hi = x.part(b, strip, 0).Hi
			}
			x.pieces = append(x.pieces, p)
		}
		return x.pieces
	}
	for k := range b.count {
		lo := x.d.Strip.Lo
		if b.sendsUp() && b.shift-k <= b.after { // what is of the last sweep has travelled as messages up
			lo = done
		}
		x.pieces = append(x.pieces, piece{row: r.Lo + b.shift - k, part: Span(lo, x.part(b, strip, k).Hi)})
	}
	if b.sendsUp() {
		for row := r.Lo + b.shift + 1; row <= r.Lo+b.after; row++ {
			x.pieces = append(x.pieces, piece{row: row, part: Span(done, x.d.Strip.Hi)})
		}
	}
	return x.pieces
}

// movingArrays are the loop's arrays as the run time moves their rows.
func (x *across) movingArrays() []hooks.Array {
	var arrays []hooks.Array
	for _, a := range x.d.Arrays {
		arrays = append(arrays, shiftedArray{a, x})
	}
	if len(x.d.Arrays) > 0 {
		arrays = append(arrays, edges{x})
	}
	return append(arrays, x.d.Local...)
}
