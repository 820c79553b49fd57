package loops

import (
	"fmt"

	"shiftwork/dist"
	"shiftwork/hooks"
)

// Rows can change their owner behind each strip, also in the midst of a batch, where columns are of different sweeps, and the more of them are done the
// lower lie the blocks: README.md, "A shift within a batch".

// hook executes the hook behind strip number i of a batch.
func (x *across) hook(b *batch, i int) error {
	if b.count > 1 { // the hook ends the last sweep
		if err := x.h.Pass(b.count - 1); err != nil {
			return err
		}
	}
	last := i == len(b.strips)-1
	x.behind, x.boundary.low, x.boundary.high = i, b.lowest(), b.shift
	if last { // all columns are of the last sweep
		x.boundary.high = b.lowest()
	}
	have := x.own
	moved, err := x.h.Hook()
	if err != nil {
		return err
	}
	if moved {
		if err := x.resume(have); err != nil {
			return err
		}
	}
	if last && x.wider > 0 {
		return x.widen()
	}
	return nil
}

// before is called at the hook where this rank is about to give or take rows, with nothing but up-messages under way.
func (x *across) before(have, want dist.Range) error {
	x.have, x.want = have, want
	if have.Hi == want.Hi {
		return nil // the boundary to the right stays: its messages flow on
	}
	return x.catchUp()
}

// resume goes on after a shift: the boundary rows along each boundary that moved are exchanged anew.
func (x *across) resume(have Range) error {
	x.setOwn()
	left, right := x.left >= 0 && have.Lo != x.own.Lo, x.right >= 0 && have.Hi != x.own.Hi
	return x.boundary.rows(x.own, left, right)
}

// toLeft reports whether iterations r, which change their owner, go to a lower rank.
func (x *across) toLeft(r Range) bool {
	return r.Lo == x.have.Lo && r.Hi == x.want.Lo || r.Lo == x.have.Hi && r.Hi == x.want.Hi
}

// leaningArray is an array whose iterations are the rows that they stand for at a hook, where blocks may lean: those of an inner boundary are as
// many rows higher as blocks are shifted. Rows at the ends of the loop, whose blocks do not lean there, never move.
type leaningArray struct {
	Array
	x *across
}

func (a leaningArray) rows(r Range) Range {
	by := a.x.boundary.low
	if a.x.toLeft(r) {
		by = a.x.boundary.high
	}
	return Span(r.Lo+by, r.Hi+by)
}

func (a leaningArray) Bytes(r Range) []byte              { return a.Array.Bytes(a.rows(r)) }
func (a leaningArray) Pack(r Range, buf []byte) []byte   { return a.Array.Pack(a.rows(r), buf) }
func (a leaningArray) Unpack(r Range, data []byte) error { return a.Array.Unpack(a.rows(r), data) }

// edges is, as an array, what must travel with iterations beside the rows of leaningArray: parts of the rows in which their old boundary lies.
type edges struct{ x *across }

func (e edges) Pack(r Range, buf []byte) []byte {
	e.x.mail.each(e.x.slant(r), func(part []byte) { buf = append(buf, part...) })
	return buf
}

func (e edges) Unpack(r Range, data []byte) error {
	want, got := 0, len(data)
	e.x.mail.each(e.x.slant(r), func(part []byte) {
		want += len(part)
		data = data[copy(part, data):]
	})
	if got != want {
		return fmt.Errorf("the rows in which the boundary of %v lies take %d bytes, got %d", r, want, got)
	}
	return nil
}

// slant is those parts. Where a sweep of the batch is done the boundary lies a row lower than where it is not.
func (x *across) slant(r Range) []piece {
	x.pieces = x.pieces[:0]
	b, left := &x.current, x.toLeft(r)
	for by := x.boundary.low; by < x.boundary.high; by++ {
		p := piece{r.Hi + by, Span(x.part(b, x.behind, b.shift-1-by).Hi, x.d.Strip.Hi)}
		if left {
			p = piece{r.Lo + by, Span(x.d.Strip.Lo, x.part(b, x.behind, b.shift-by).Hi)}
		}
		x.pieces = append(x.pieces, p)
	}
	return x.pieces
}

// movingArrays are the loop's arrays as the run time moves their rows.
func (x *across) movingArrays() []hooks.Array {
	var arrays []hooks.Array
	for _, a := range x.d.Arrays {
		arrays = append(arrays, leaningArray{a, x})
	}
	if x.leanMost > 0 {
		arrays = append(arrays, edges{x})
	}
	return append(arrays, x.d.Local...)
}
