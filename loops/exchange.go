package loops

import (
	"fmt"

	"shiftwork/comm"
	"shiftwork/hooks"
)

// MaxTag is the largest tag that a program may use beside this package.
const MaxTag = hooks.MaxTag - 30

// Tags of the loops' own messages, below those of the run time and above MaxTag.
const (
	tagDown = hooks.MaxTag - iota // the last row of a block, to the rank that owns the rows above it in index
	tagUp                         // the first row of a block, to the rank that owns the rows below it in index
	tagRows                       // whole boundary rows, or what they have outside strips
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

// margins exchanges the same rows, but only what they have outside the given columns. Where blocks begin to lean farther the columns themselves come with strips.
func (x *exchange) margins(own, columns Range) error {
	type arrival struct {
		rows  Range
		bytes []byte
	}
	var arrivals []arrival
	err := x.between(own, x.left >= 0, x.right >= 0, func(neighbour int, mine, theirs Range) error {
		var out []byte
		x.outside(mine, columns, func(part []byte) { out = append(out, part...) })
		size := 0
		x.outside(theirs, columns, func(part []byte) { size += len(part) })
		in := arrival{theirs, make([]byte, size)}
		arrivals = append(arrivals, in)
		return x.swap(neighbour, out, in.bytes)
	})
	if err != nil {
		return err
	}
	if err := x.finish(); err != nil {
		return err
	}
	for _, in := range arrivals {
		x.outside(in.rows, columns, func(part []byte) { in.bytes = in.bytes[copy(part, in.bytes):] })
	}
	return nil
}

// outside calls f with what the rows have before and behind the columns, or with all of a row whose columns are not in one piece of it.
func (x *exchange) outside(rows, columns Range, f func(part []byte)) {
	for _, a := range x.arrays {
		for row := rows.Lo; row < rows.Hi; row++ {
			whole, part := a.Bytes(Span(row, row+1)), a.Part(row, columns)
			if at, ok := comm.Within(whole, part); ok {
				f(whole[:at])
				whole = whole[at+len(part):]
			}
			f(whole)
		}
	}
}

// start begins what rows does. Until it is finished the neighbours' rows must be neither read nor written, and this
// rank's boundary rows not written.
func (x *exchange) start(own Range, withLeft, withRight bool) error {
	return x.between(own, withLeft, withRight, func(neighbour int, mine, theirs Range) error {
		for _, a := range x.arrays {
			if err := x.swap(neighbour, a.Bytes(mine), a.Bytes(theirs)); err != nil {
				return err
			}
		}
		return nil
	})
}

// between calls f with each neighbour, and with the rows about the boundary between that are this rank's and the neighbour's.
func (x *exchange) between(own Range, withLeft, withRight bool, f func(neighbour int, mine, theirs Range) error) error {
	if own.Empty() {
		return nil
	}
	if withLeft {
		lo := own.Lo + x.by
		if err := f(x.left, Span(lo, own.Lo+1+x.more), Span(own.Lo-1-x.more, lo)); err != nil {
			return err
		}
	}
	if withRight {
		hi := own.Hi + x.by
		return f(x.right, Span(own.Hi-1-x.more, hi), Span(hi, own.Hi+1+x.more))
	}
	return nil
}

// swap begins to send out and to receive in.
func (x *exchange) swap(neighbour int, out, in []byte) error {
	q, err := x.c.Irecv(neighbour, tagRows, in)
	x.reqs = append(x.reqs, q)
	if err != nil {
		return err
	}
	q, err = x.c.Isend(neighbour, tagRows, out)
	x.reqs = append(x.reqs, q)
	return err
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

// receive fills b and insists on its length.
func receive(c receiver, from, tag int, b []byte) error {
	st, err := c.Recv(from, tag, b)
	if err == nil && st.Len != len(b) {
		err = wrongLength(st.Len, from, len(b))
	}
	return err
}

func wrongLength(bytes, from, want int) error {
	return fmt.Errorf("got %d bytes of a boundary row from rank %d, expected %d", bytes, from, want)
}
