package comm

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"unsafe"
)

// Reader is implemented by a Comm whose ranks on one machine can read each other's memory.
type Reader interface {
	// CanRead reports whether this rank and the peer can. Both get the same answer.
	CanRead(peer int) bool
	// Read copies what lies at an address of the peer's memory into b.
	Read(peer int, address uint64, b []byte) error
}

// Lend starts to hand b over to a rank that calls Borrow or Iborrow. b must not change until the request is finished, which is when the other one has
// it. Several with one tag are borrowed in the order in which they were lent, and all that one rank lends another are borrowed in the order of their lending.
//
// Where ranks can read each other's memory (Reader) the borrower copies b by itself, at once and without this rank's help. A long message of MPI
// travels through shared memory in pieces, for which both must have a processor at the same time: with 0.4 of one each, by quotas, 30 MB
// took 0.1 to 0.4 s of waiting; read they take 3 ms. Elsewhere it is Isend.
func Lend(c Comm, to, tag int, b []byte) (Request, error) {
	if !CanRead(c, to) {
		return c.Isend(to, tag, b)
	}
	l := &lent{bytes: len(b), tag: tag, rank: c.Rank()}
	var e Encoder
	address := uint64(0)
	if len(b) > 0 {
		l.pin.Pin(unsafe.SliceData(b))
		address = uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
	}
	e.Uint64(address)
	e.Int(len(b))
	var err error
	if l.offer, err = c.Isend(to, tag, e.Message()); err == nil {
		l.taken, err = c.Irecv(to, tagTaken, nil)
	}
	if err != nil {
		l.pin.Unpin()
		return nil, err
	}
	lending.Store(l, nil)
	return l, nil
}

// lending are all loans that are not finished, as keys. A program that gives up after an error forgets them, and a pin that the garbage collector finds forgotten would end the process
// before it can say why.
var lending sync.Map

// offerBytes is how long the message is that says where something lent lies, and how long it is.
const offerBytes = 16

// Borrow receives into room(n) the n bytes that a rank lends, of which Probe has found something. It fails with ErrTruncated if that is less than n bytes long.
func Borrow(c Comm, found Status, room func(bytes int) []byte) (Status, error) {
	if !CanRead(c, found.Source) {
		return c.Recv(found.Source, found.Tag, room(found.Len))
	}
	b := make([]byte, offerBytes)
	if _, err := c.Recv(found.Source, found.Tag, b); err != nil {
		return Status{}, err
	}
	return read(c, found.Source, found.Tag, b, room)
}

// Iborrow starts to receive into b what rank from lends next with this tag; Status.Len may be less than len(b). Where it is read from the other rank's memory that
// happens in Test or Wait. WaitAny does not take such a request.
func Iborrow(c Comm, from, tag int, b []byte) (Request, error) {
	if !CanRead(c, from) {
		return c.Irecv(from, tag, b)
	}
	k := &borrowed{c: c, from: from, tag: tag, b: b, text: make([]byte, offerBytes)}
	var err error
	k.offer, err = c.Irecv(from, tag, k.text)
	return k, err
}

// CanRead reports whether what this rank and the peer lend each other is read from memory.
func CanRead(c Comm, peer int) bool {
	k, ok := c.(Reader)
	return ok && peer != c.Rank() && k.CanRead(peer)
}

// read copies what an offer is about, and says so to the rank that has made it.
func read(c Comm, from, tag int, offer []byte, room func(bytes int) []byte) (Status, error) {
	fail := func(err error) (Status, error) {
		return Status{}, &Error{Op: "borrow", Rank: c.Rank(), Peer: from, Tag: tag, Err: err}
	}
	d := NewDecoder(offer)
	address, n := d.Uint64(), d.Int()
	if err := d.Finish(); err != nil {
		return fail(err)
	}
	if n < 0 {
		return fail(fmt.Errorf("%d bytes are offered", n))
	}
	b := room(n)
	if len(b) < n {
		_, err := fail(ErrTruncated)
		return Status{}, errors.Join(err, c.Send(from, tagTaken, nil)) // its lender need not wait for ever
	}
	if n > 0 {
		if err := c.(Reader).Read(from, address, b[:n]); err != nil {
			return fail(err)
		}
	}
	return Status{Source: from, Tag: tag, Len: n}, c.Send(from, tagTaken, nil)
}

// lent is something that another rank is to read.
type lent struct {
	offer, taken Request
	pin          runtime.Pinner
	bytes        int
	tag, rank    int
}

func (l *lent) Test() (Status, bool, error) {
	_, done, err := l.taken.Test()
	if !done && err == nil {
		return Status{}, false, nil
	}
	st, err := l.finish(err)
	return st, true, err
}

func (l *lent) Wait() (Status, error) {
	_, err := l.taken.Wait()
	return l.finish(err)
}

func (l *lent) finish(err error) (Status, error) {
	_, failed := l.offer.Wait() // it has arrived
	l.pin.Unpin()
	lending.Delete(l)
	return Status{Source: l.rank, Tag: l.tag, Len: l.bytes}, errors.Join(err, failed)
}

// borrowed is something that this rank is to read.
type borrowed struct {
	c         Comm
	from, tag int
	b, text   []byte
	offer     Request
}

func (k *borrowed) Test() (Status, bool, error) {
	_, done, err := k.offer.Test()
	if err != nil || !done {
		return Status{}, done, err
	}
	st, err := k.read()
	return st, true, err
}

func (k *borrowed) Wait() (Status, error) {
	if _, err := k.offer.Wait(); err != nil {
		return Status{}, err
	}
	return k.read()
}

func (k *borrowed) read() (Status, error) {
	return read(k.c, k.from, k.tag, k.text, func(int) []byte { return k.b })
}
