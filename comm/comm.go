package comm

import (
	"errors"
	"fmt"
	"time"
)

// Any as a source matches every rank.
const Any = -1

// Tags below MaxUserTag belong to whoever calls; the tags from there up are used by the
// collectives of this package and by Lend. The packages above take the uppermost of the others: their MaxTag is the largest that is left to a program.
const MaxUserTag = 30000

// ErrTruncated is wrapped by the error of a receive whose buffer is shorter than the message.
var ErrTruncated = errors.New("message is longer than the receive buffer")

// Status describes a message that has arrived or, after a probe, one that waits.
type Status struct {
	Source int // rank that sent it
	Tag    int
	Len    int // bytes
}

// Request is a non-blocking operation under way. One goroutine at a time uses it, as the Comm; who hands it over synchronises. A request
// is finished by the first Wait, WaitAny or successful Test that reports it, and must not be used
// afterwards: transports reuse them.
type Request interface {
	// Test reports whether the operation is done, without waiting.
	Test() (Status, bool, error)
	// Wait sleeps until the operation is done.
	Wait() (Status, error)
}

// Comm is one rank's connection to the others: the few message operations that Shiftwork needs.
//
// Messages between one pair of ranks with one tag arrive in the order in which they were sent. A rank calls
// its Comm from one goroutine at a time. Buffers are bytes; a buffer given to Isend or Irecv belongs to
// the transport until the request is finished. A rank may send to itself with Isend and Irecv.
//
// No operation copies more than it must: a large Send may wait until the receiver has posted its receive, as in
// MPI, so a program that is correct only because messages are buffered is not correct. comm/sim finds such programs.
type Comm interface {
	Rank() int
	Size() int

	// Send returns when b may be used again.
	Send(to, tag int, b []byte) error
	// Recv fills b with the next message from `from` (or Any) with this tag; Status.Len may be less than len(b).
	Recv(from, tag int, b []byte) (Status, error)
	Isend(to, tag int, b []byte) (Request, error)
	Irecv(from, tag int, b []byte) (Request, error)

	// Probe sleeps until a message from `from` (or Any) with this tag waits to be received. Receive it
	// from Status.Source, not from Any again.
	Probe(from, tag int) (Status, error)
	Iprobe(from, tag int) (Status, bool, error)

	// WaitAny sleeps until one of the requests is done, finishes it and returns its index: the lowest
	// one where several are done. Nil entries are skipped; with nothing but nil it returns -1 at once.
	WaitAny(reqs []Request) (int, Status, error)

	// Now is this rank's monotonic clock, from an origin of its own. Virtual in comm/sim.
	Now() time.Duration

	// Abort ends the whole job with the exit code; it does not return.
	Abort(code int)

	// Transport is the name for logs and the result line: "mpi", "local" or "sim".
	Transport() string
}

// Error says which operation of which rank failed, towards whom.
type Error struct {
	Op   string // "send", "receive", ...
	Rank int    // the rank that called
	Peer int    // the other rank, or Any
	Tag  int
	Err  error
}

func (e *Error) Error() string {
	peer := fmt.Sprintf("rank %d", e.Peer)
	if e.Peer == Any {
		peer = "any rank"
	}
	return fmt.Sprintf("rank %d: %s, %s, tag %d: %v", e.Rank, e.Op, peer, e.Tag, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }
