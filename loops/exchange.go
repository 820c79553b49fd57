package loops

import (
	"fmt"

	"shiftwork/comm"
	"shiftwork/hooks"
)

// Tags of the loops' own messages, below those of the run time.
const (
	tagDown = hooks.MaxTag - iota // the last row of a block, to the rank that owns the rows above it in index
	tagUp                         // the first row of a block, to the rank that owns the rows below it in index
	tagRows                       // whole boundary rows
	tagTime                       // calibration
)

// exchange brings the neighbours' boundary rows up to date.
type exchange struct {
	c           comm.Comm
	arrays      []Array
	left, right int
	more        int // rows exchanged along a boundary, beside the first
	by          int // how many rows higher boundaries between ranks lie than blocks say
	reqs        []comm.Request
}

// rows exchanges whole boundary rows with the left and/or right neighbour, in all arrays: afterwards row own.Lo-1
// is the left neighbour's last and row own.Hi the right neighbour's first, with more behind each.
func (x *exchange) rows(own Range, withLeft, withRight bool) error {
	if err := x.start(own, withLeft, withRight); err != nil {
		return err
	}
	return x.finish()
}

// start begins what rows does. Until it is finished the neighbours' rows must be neither read nor written, and this
// rank's boundary rows not written.
func (x *exchange) start(own Range, withLeft, withRight bool) error {
	if own.Empty() {
		return nil
	}
	if withLeft {
		lo := own.Lo + x.by
		if err := x.along(x.left, Span(lo, own.Lo+1+x.more), Span(own.Lo-1-x.more, lo)); err != nil {
			return err
		}
	}
	if withRight {
		hi := own.Hi + x.by
		return x.along(x.right, Span(own.Hi-1-x.more, hi), Span(hi, own.Hi+1+x.more))
	}
	return nil
}

// along begins to exchange the given rows with one neighbour.
func (x *exchange) along(neighbour int, mine, theirs Range) error {
	for _, a := range x.arrays {
		q, err := x.c.Irecv(neighbour, tagRows, a.Bytes(theirs))
		x.reqs = append(x.reqs, q)
		if err != nil {
			return err
		}
		q, err = x.c.Isend(neighbour, tagRows, a.Bytes(mine))
		x.reqs = append(x.reqs, q)
		if err != nil {
			return err
		}
	}
	return nil
}

// poll reports whether all that was started is done, without waiting. Long messages need both sides' help to arrive.
func (x *exchange) poll() (done bool, err error) {
	done = true
	for i, q := range x.reqs {
		if q == nil {
			continue
		}
		_, arrived, err := q.Test()
		if err != nil {
			return false, err
		}
		if arrived {
			x.reqs[i] = nil
		} else {
			done = false
		}
	}
	return done, nil
}

// finish waits for all that was started.
func (x *exchange) finish() error {
	err := waitAll(x.reqs)
	x.reqs = x.reqs[:0]
	return err
}

// receiver is a comm.Comm, or one that does something else while it waits.
type receiver interface {
	Recv(from, tag int, b []byte) (comm.Status, error)
}

// receive fills part of a boundary row and insists on its length.
func receive(c receiver, from, tag int, b []byte) error {
	st, err := c.Recv(from, tag, b)
	if err == nil && st.Len != len(b) {
		err = fmt.Errorf("got %d bytes of a boundary row from rank %d, expected %d", st.Len, from, len(b))
	}
	return err
}
