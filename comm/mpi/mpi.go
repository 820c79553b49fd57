//go:build cgo && !nompi

package mpi

/*
// Where Debian and Ubuntu keep Open MPI's headers; elsewhere export CGO_CFLAGS="$(mpicc --showme:compile)" and
// CGO_LDFLAGS="$(mpicc --showme:link)", as the Makefile does.
#cgo linux,amd64 CFLAGS: -I/usr/lib/x86_64-linux-gnu/openmpi/include
#cgo linux,arm64 CFLAGS: -I/usr/lib/aarch64-linux-gnu/openmpi/include
#cgo linux,arm64 LDFLAGS: -L/usr/lib/aarch64-linux-gnu/openmpi/lib
#cgo CFLAGS: -O2

// None of these calls back into Go or keeps an address but those of sw_isend and sw_irecv, whose buffers are pinned: what
// they are given need not be on the heap, and a strip's messages allocate nothing.
#cgo noescape sw_isend
#cgo nocallback sw_isend
#cgo noescape sw_irecv
#cgo nocallback sw_irecv
#cgo noescape sw_test
#cgo nocallback sw_test
#cgo noescape sw_wait_any
#cgo nocallback sw_wait_any
#cgo noescape sw_probe
#cgo nocallback sw_probe
#include "nonblocking.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
	"unsafe"

	gompi "github.com/sbromberger/gompi"

	"shiftwork/comm"
	"shiftwork/comm/internal/ranks"
	"shiftwork/internal/machine"
)

// Comm is the world of this MPI job.
type Comm struct {
	rank, size int
	crowding   float64 // ranks per processor, 0 unknown
	memory     neighboursMemory
	shares     bool // the user lets ranks on one machine have memory in common
	began      time.Time
	scheduled  time.Duration // when it was, last (monitor.go)
	free       []*request
	handles    []C.MPI_Request // scratch of WaitAny
	where      []int           // handles[i] belongs to the where[i]-th request
	ended      bool
}

var (
	_ comm.Comm    = (*Comm)(nil)
	_ comm.Crowded = (*Comm)(nil)
	_ comm.Reader  = (*Comm)(nil)
	_ comm.Sharer  = (*Comm)(nil)
)

// Start initialises MPI, if the program has not done so, and returns the world. It is called once.
func Start() (*Comm, error) {
	var provided, ranks, cores C.int
	var shares C.double
	wait, err := waiting(os.Getenv(WaitVariable))
	if err != nil {
		return nil, err
	}
	readable, shareable := mayRead(os.Getenv), mayShare(os.Getenv) // before sw_start sets variables of its own
	if code := C.sw_start(&provided, wait); code != C.MPI_SUCCESS {
		return nil, fmt.Errorf("MPI did not start: %w", codeError(code))
	}
	if provided < C.MPI_THREAD_SERIALIZED {
		return nil, errors.New("MPI was started for programs of one thread, and goroutines move between threads: call Start first, or MPI_Init_thread with MPI_THREAD_SERIALIZED (gompi: Start(true))")
	}
	if code := C.sw_neighbours(C.int(machine.Number()), C.double(ownShare()), &ranks, &cores, &shares); code != C.MPI_SUCCESS {
		return nil, fmt.Errorf("MPI did not start: %w", codeError(code))
	}
	if wait == C.SW_BLOCK {
		spareProcessor()
	} else {
		wakeEarly()
	}
	rationed := machine.QuotaPeriod() > 0
	spins, sharing := spin(int(ranks), int(cores), rationed)
	C.sw_spin(C.longlong(spins), C.bool(sharing))
	c := &Comm{rank: gompi.WorldRank(), size: gompi.WorldSize(), began: time.Now(), shares: shareable}
	crowding := 0.0 // unknown
	if cores > 0 {
		crowding = float64(shares) / float64(cores)
	}
	if c.crowding, err = comm.AllreduceMax(c, crowding); err != nil {
		return nil, fmt.Errorf("MPI did not start: %w", err)
	}
	var node C.int
	if code := C.sw_node(&node); code != C.MPI_SUCCESS {
		return nil, fmt.Errorf("MPI did not start: %w", codeError(code))
	}
	period, err := comm.AllreduceMax(c, machine.QuotaPeriod()) // s
	if err != nil {
		return nil, fmt.Errorf("MPI did not start: %w", err)
	}
	// Two ranks that have their processors hand a message over faster: while one copies a piece the other copies the next.
	if err := c.memory.try(c, int(node), readable && (period > 0 || comm.IsCrowded(c))); err != nil {
		return nil, fmt.Errorf("MPI did not start: %w", err)
	}
	return c, nil
}

// ownShare is how much of a processor this rank may use.
func ownShare() float64 {
	if share := machine.QuotaShare(); share > 0 {
		return min(1, share)
	}
	return 1
}

// Crowding is how many ranks share a processor where most do; 0 where that is not known.
func (c *Comm) Crowding() float64 { return c.crowding }

// How long a wait spins before it sleeps.
const (
	// shortSpin is about what a sleep and a wake-up cost: where the core is needed by another rank, or CPU time is
	// rationed by a quota, spinning longer takes from ourselves.
	shortSpin = 50 * time.Microsecond
	// longSpin covers a scheduling slice of a neighbour. A rank with a core of its own loses nothing by spinning. If
	// somebody else's process competes for that core, spinning keeps our half of it; a rank that slept would get the
	// core back only when the other one has finished its slice, at every wait.
	longSpin = 5 * time.Millisecond
)

// spin chooses between them for the ranks on one machine and the cores that they may use, 0 if unknown, and tells whether ranks are known to share cores, so
// that a wait should hand its own over before it spins or sleeps. Under a quota it should not: what it takes of that is gone, whoever else runs.
func spin(ranks, cores int, quota bool) (spins time.Duration, sharing bool) {
	if quota || ranks > cores {
		return shortSpin, !quota && cores > 0
	}
	return longSpin, false
}

// WaitVariable, in the environment of a rank, replaces the way to wait in experiments: see the package documentation.
const WaitVariable = "SHIFTWORK_WAIT"

func waiting(name string) (C.int, error) {
	switch name {
	case "", "auto":
		return C.SW_AUTO, nil
	case "spin":
		return C.SW_SPIN, nil
	case "yield":
		return C.SW_YIELD, nil
	case "sleep":
		return C.SW_SLEEP, nil
	case "block":
		return C.SW_BLOCK, nil
	}
	return 0, fmt.Errorf("%s=%s: auto, spin, yield, sleep or block are accepted", WaitVariable, name)
}

// Library names the MPI that the program is linked with, such as "Open MPI v4.1.4".
func Library() string {
	var text [C.MPI_MAX_LIBRARY_VERSION_STRING]C.char
	var n C.int
	if C.MPI_Get_library_version(&text[0], &n) != C.MPI_SUCCESS {
		return "unknown MPI"
	}
	// Open MPI goes on behind a comma, MPICH ("MPICH Version:\t4.0.2") on further lines.
	name, _, _ := strings.Cut(C.GoStringN(&text[0], n), ",")
	name, _, _ = strings.Cut(name, "\n")
	name = strings.Replace(strings.ReplaceAll(name, ":", " "), " Version ", " ", 1)
	return strings.Join(strings.Fields(name), " ")
}

// Stop ends MPI; every rank must call it, and none may use the Comm afterwards.
func (c *Comm) Stop() {
	if !c.ended {
		c.ended = true
		gompi.Stop()
	}
}

func (c *Comm) Rank() int          { return c.rank }
func (c *Comm) Size() int          { return c.size }
func (c *Comm) Now() time.Duration { return time.Since(c.began) }
func (c *Comm) Transport() string  { return "mpi" }

// Abort ends every rank of the job; mpirun exits with the code.
func (c *Comm) Abort(code int) {
	C.sw_abort(C.int(code))
	os.Exit(code)
}

func (c *Comm) Send(to, tag int, b []byte) error {
	q, err := c.Isend(to, tag, b)
	if err == nil {
		_, err = q.Wait()
	}
	return err
}

func (c *Comm) Recv(from, tag int, b []byte) (comm.Status, error) {
	q, err := c.Irecv(from, tag, b)
	if err != nil {
		return comm.Status{}, err
	}
	return q.Wait()
}

func (c *Comm) Isend(to, tag int, b []byte) (comm.Request, error) {
	if err := c.check("send", to, tag, false); err != nil {
		return nil, err
	}
	r := c.request("send", to, tag, b)
	var done C.int
	code := C.sw_isend(address(b), C.longlong(len(b)), C.int(to), C.int(tag), &r.handle, &done)
	if code != C.MPI_SUCCESS {
		r.release()
		return nil, c.fail("send", to, tag, code)
	}
	r.done = done != 0
	r.status = comm.Status{Source: c.rank, Tag: tag, Len: len(b)}
	return r, nil
}

func (c *Comm) Irecv(from, tag int, b []byte) (comm.Request, error) {
	if err := c.check("receive", from, tag, true); err != nil {
		return nil, err
	}
	r := c.request("receive", from, tag, b)
	if code := C.sw_irecv(address(b), C.longlong(len(b)), source(from), C.int(tag), &r.handle); code != C.MPI_SUCCESS {
		r.release()
		return nil, c.fail("receive", from, tag, code)
	}
	return r, nil
}

func (c *Comm) Probe(from, tag int) (comm.Status, error) {
	var w C.sw_waiter
	for {
		c.beScheduled()
		if st, found, err := c.probe(from, tag, &w); found || err != nil {
			return st, err
		}
		pause(w)
	}
}

func (c *Comm) Iprobe(from, tag int) (comm.Status, bool, error) {
	return c.probe(from, tag, nil)
}

func (c *Comm) probe(from, tag int, w *C.sw_waiter) (comm.Status, bool, error) {
	if err := c.check("probe", from, tag, true); err != nil {
		return comm.Status{}, false, err
	}
	var found C.int
	var st C.sw_status
	if code := C.sw_probe(source(from), C.int(tag), w, &found, &st); code != C.MPI_SUCCESS {
		return comm.Status{}, false, c.fail("probe", from, tag, code)
	}
	if found == 0 {
		return comm.Status{}, false, nil
	}
	return status(st), true, nil
}

func (c *Comm) WaitAny(reqs []comm.Request) (int, comm.Status, error) {
	c.handles, c.where = c.handles[:0], c.where[:0]
	bytes := 0
	for i, q := range reqs {
		if q == nil {
			continue
		}
		r := q.(*request)
		if r.done {
			// One with a lower index may be done too, and the lowest is what we promise.
			for _, j := range c.where {
				if st, ok, err := reqs[j].Test(); ok || err != nil {
					return j, st, err
				}
			}
			return i, r.finish(), nil
		}
		c.handles, c.where = append(c.handles, r.handle), append(c.where, i)
		bytes = max(bytes, r.bytes)
	}
	if len(c.handles) == 0 {
		return -1, comm.Status{}, nil
	}
	index, st, code := c.await(bytes)
	if code != C.MPI_SUCCESS {
		if index < 0 || int(index) >= len(c.where) {
			return -1, comm.Status{}, codeError(code)
		}
		i := c.where[index]
		r := reqs[i].(*request)
		err := c.fail(r.op, r.peer, r.tag, code)
		r.release()
		return i, comm.Status{}, err
	}
	i := c.where[index]
	r := reqs[i].(*request)
	if r.op == "receive" {
		r.status = status(st)
	}
	return i, r.finish(), nil
}

// await waits for one of handles, of messages of so many bytes at most.
func (c *Comm) await(bytes int) (index C.int, st C.sw_status, code C.int) {
	w := C.sw_waiter{bytes: C.longlong(bytes)}
	for {
		c.beScheduled()
		var done C.int
		code = C.sw_wait_any(C.int(len(c.handles)), &c.handles[0], &w, &done, &index, &st)
		if done != 0 || code != C.MPI_SUCCESS {
			return index, st, code
		}
		pause(w)
	}
}

// pause is what a wait does between two looks.
func pause(w C.sw_waiter) {
	if w.sleep > 0 {
		sleep(time.Duration(w.sleep))
	}
}

// request is one Isend or Irecv under way. It pins its buffer, because C holds the address between calls.
type request struct {
	c         *Comm
	handle    C.MPI_Request
	pin       runtime.Pinner
	op        string
	peer, tag int
	bytes     int // of its buffer
	done      bool
	status    comm.Status
}

// requests are all that there ever were, of which free ones are used again: as many as were under way at once. MPI reads or writes the buffers of those that the program
// has forgotten, as after an error.
var requests []*request

func (c *Comm) request(op string, peer, tag int, b []byte) *request {
	var r *request
	if n := len(c.free); n > 0 {
		r, c.free = c.free[n-1], c.free[:n-1]
	} else {
		r = &request{c: c}
		requests = append(requests, r)
	}
	r.op, r.peer, r.tag, r.bytes, r.done = op, peer, tag, len(b), false
	if len(b) > 0 {
		r.pin.Pin(unsafe.SliceData(b))
	}
	return r
}

// finish gives the request back to the pool and returns what it found.
func (r *request) finish() comm.Status {
	st := r.status
	r.release()
	return st
}

func (r *request) release() {
	r.pin.Unpin()
	r.c.free = append(r.c.free, r)
}

func (r *request) Test() (comm.Status, bool, error) {
	if !r.done {
		var done C.int
		var st C.sw_status
		if code := C.sw_test(&r.handle, &done, &st); code != C.MPI_SUCCESS {
			err := r.c.fail(r.op, r.peer, r.tag, code)
			r.release()
			return comm.Status{}, true, err
		}
		if done == 0 {
			return comm.Status{}, false, nil
		}
		if r.op == "receive" {
			r.status = status(st)
		}
	}
	return r.finish(), true, nil
}

func (r *request) Wait() (comm.Status, error) {
	if r.done {
		return r.finish(), nil
	}
	r.c.handles = append(r.c.handles[:0], r.handle)
	_, st, code := r.c.await(r.bytes)
	if code != C.MPI_SUCCESS {
		err := r.c.fail(r.op, r.peer, r.tag, code)
		r.release()
		return comm.Status{}, err
	}
	if r.op == "receive" {
		r.status = status(st)
	}
	return r.finish(), nil
}

// check refuses what MPI would end the job for, or silently misread.
func (c *Comm) check(op string, peer, tag int, wild bool) error {
	return ranks.Check(op, c.rank, c.size, peer, tag, wild)
}

func (c *Comm) fail(op string, peer, tag int, code C.int) error {
	return &comm.Error{Op: op, Rank: c.rank, Peer: peer, Tag: tag, Err: codeError(code)}
}

func codeError(code C.int) error {
	if C.sw_is_truncation(code) != 0 {
		return comm.ErrTruncated
	}
	var text [256]C.char
	C.sw_error_text(code, &text[0], C.int(len(text)))
	return errors.New(C.GoString(&text[0]))
}

func address(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

func source(from int) C.int {
	if from == comm.Any {
		return C.sw_any_source()
	}
	return C.int(from)
}

func status(st C.sw_status) comm.Status {
	return comm.Status{Source: int(st.source), Tag: int(st.tag), Len: int(st.len)}
}
