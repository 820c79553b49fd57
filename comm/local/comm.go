package local

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"shiftwork/comm"
	"shiftwork/comm/internal/ranks"
)

// endpoint is one rank's Comm, and where the others leave messages for it.
type endpoint struct {
	w        *world
	rank     int
	released atomic.Bool // this rank was told to leave: how it ends is no failure of its own

	free   []*request // requests to use again; only the rank itself touches them
	shares int        // calls of Share; likewise

	mu   sync.Mutex
	wake sync.Cond // something that this rank may be waiting for has happened

	// Invariant: no message in arrived matches a receive in posted.
	arrived []*message // in order of arrival
	posted  []*request // in order of posting
	spare   []*message // messages to use again, with the memory of their copies
}

// mostSpare bounds what a rank that was once far behind keeps for ever.
const mostSpare = 64

// message waits for its receive.
type message struct {
	source, tag int
	data        []byte   // a copy, or the sender's buffer if send is set
	send        *request // to be finished when the message has been received; nil if it was buffered
	buffer      []byte   // memory for copies
}

// request is an Isend or Irecv under way. done, status and err are guarded by owner.mu; the rest does not change.
type request struct {
	owner     *endpoint
	op        string
	peer, tag int
	buffer    []byte

	done   bool
	status comm.Status
	err    error
}

var (
	_ comm.Comm    = (*endpoint)(nil)
	_ comm.Crowded = (*endpoint)(nil)
	_ comm.Sharer  = (*endpoint)(nil)
)

// Crowding is by how much there are more ranks than goroutines that run at once.
func (c *endpoint) Crowding() float64 {
	return float64(len(c.w.ranks)) / float64(runtime.GOMAXPROCS(0))
}

func newEndpoint(w *world, rank int) *endpoint {
	c := &endpoint{w: w, rank: rank}
	c.wake.L = &c.mu
	return c
}

func (c *endpoint) Rank() int          { return c.rank }
func (c *endpoint) Size() int          { return len(c.w.ranks) }
func (c *endpoint) Now() time.Duration { return time.Since(c.w.began) }
func (c *endpoint) Transport() string  { return "local" }

func (c *endpoint) Abort(code int) {
	c.w.fail(c.rank, &comm.AbortError{Rank: c.rank, Code: code})
	c.released.Store(true)
	runtime.Goexit()
}

// Share gives each rank memory of the process.
func (c *endpoint) Share(bytes int) (comm.Shared, error) {
	c.leave()
	c.shares++
	return comm.Shared{Of: slices.Clone(c.w.share(c.shares-1, bytes))}, nil
}

func (c *endpoint) Send(to, tag int, b []byte) error {
	r, err := c.send(to, tag, b)
	if err != nil {
		return err
	}
	_, err = r.Wait()
	return err
}

func (c *endpoint) Recv(from, tag int, b []byte) (comm.Status, error) {
	r, err := c.receive(from, tag, b)
	if err != nil {
		return comm.Status{}, err
	}
	return r.Wait()
}

func (c *endpoint) Isend(to, tag int, b []byte) (comm.Request, error) {
	r, err := c.send(to, tag, b)
	if err != nil {
		return nil, err // not r: a nil *request is not a nil Request
	}
	return r, nil
}

func (c *endpoint) Irecv(from, tag int, b []byte) (comm.Request, error) {
	r, err := c.receive(from, tag, b)
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (c *endpoint) Probe(from, tag int) (comm.Status, error) {
	if err := c.check("probe", from, tag, true); err != nil {
		return comm.Status{}, err
	}
	c.mu.Lock()
	for {
		if i := c.findArrived(from, tag); i >= 0 {
			st := c.arrived[i].status()
			c.mu.Unlock()
			return st, nil
		}
		c.sleep()
	}
}

func (c *endpoint) Iprobe(from, tag int) (comm.Status, bool, error) {
	if err := c.check("probe", from, tag, true); err != nil {
		return comm.Status{}, false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := c.findArrived(from, tag); i >= 0 {
		return c.arrived[i].status(), true, nil
	}
	return comm.Status{}, false, nil
}

func (c *endpoint) WaitAny(reqs []comm.Request) (int, comm.Status, error) {
	c.leave()
	c.mu.Lock()
	for {
		pending := false
		for i, q := range reqs {
			if q == nil {
				continue
			}
			pending = true
			if r := q.(*request); r.done {
				c.mu.Unlock()
				st, err := r.finish()
				return i, st, err
			}
		}
		if !pending {
			c.mu.Unlock()
			return -1, comm.Status{}, nil
		}
		c.sleep()
	}
}

func (r *request) Test() (comm.Status, bool, error) {
	c := r.owner
	c.leave()
	c.mu.Lock()
	done := r.done
	c.mu.Unlock()
	if !done {
		return comm.Status{}, false, nil
	}
	st, err := r.finish()
	return st, true, err
}

func (r *request) Wait() (comm.Status, error) {
	c := r.owner
	c.leave()
	c.mu.Lock()
	for !r.done {
		c.sleep()
	}
	c.mu.Unlock()
	return r.finish()
}

// sleep waits, with c.mu held, until something has happened, or leaves if the run is ending.
func (c *endpoint) sleep() {
	if !c.w.failed.Load() {
		c.wake.Wait()
	}
	if c.w.failed.Load() {
		c.mu.Unlock()
		c.leave()
	}
}

// send starts a send, which may be done at once.
func (c *endpoint) send(to, tag int, b []byte) (*request, error) {
	if err := c.check("send", to, tag, false); err != nil {
		return nil, err
	}
	s := c.request("send", to, tag, b)
	s.status = comm.Status{Source: c.rank, Tag: tag, Len: len(b)}
	d := c.w.ranks[to]
	d.mu.Lock()
	if i := d.findPosted(c.rank, tag); i >= 0 {
		r := d.posted[i]
		d.posted = slices.Delete(d.posted, i, i+1)
		d.mu.Unlock()
		r.fill(c.rank, tag, b)
		s.finished(nil)
		return s, nil
	}
	m := d.message()
	m.source, m.tag, m.data, m.send = c.rank, tag, b, s
	buffered := len(b) <= c.w.rendezvous
	if buffered {
		m.buffer = append(m.buffer[:0], b...)
		m.data, m.send = m.buffer, nil
	}
	d.arrived = append(d.arrived, m)
	d.wake.Signal() // it may be in a Probe
	d.mu.Unlock()
	if buffered {
		s.finished(nil)
	}
	return s, nil
}

// receive starts a receive, which may be done at once.
func (c *endpoint) receive(from, tag int, b []byte) (*request, error) {
	if err := c.check("receive", from, tag, true); err != nil {
		return nil, err
	}
	r := c.request("receive", from, tag, b)
	c.mu.Lock()
	i := c.findArrived(from, tag)
	if i < 0 {
		c.posted = append(c.posted, r)
		c.mu.Unlock()
		return r, nil
	}
	m := c.arrived[i]
	c.arrived = slices.Delete(c.arrived, i, i+1)
	c.mu.Unlock()
	r.fill(m.source, m.tag, m.data)
	if m.send != nil {
		m.send.finished(nil)
	}
	c.mu.Lock()
	if len(c.spare) < mostSpare {
		m.data, m.send = nil, nil
		c.spare = append(c.spare, m)
	}
	c.mu.Unlock()
	return r, nil
}

// message returns one to use, with c.mu held.
func (c *endpoint) message() *message {
	n := len(c.spare)
	if n == 0 {
		return &message{}
	}
	m := c.spare[n-1]
	c.spare = c.spare[:n-1]
	return m
}

// fill finishes a receive with a message. A message that is too long is consumed and reported.
func (r *request) fill(source, tag int, data []byte) {
	var err error
	if len(data) > len(r.buffer) {
		err = &comm.Error{Op: r.op, Rank: r.owner.rank, Peer: source, Tag: tag, Err: comm.ErrTruncated}
	}
	copy(r.buffer, data)
	r.status = comm.Status{Source: source, Tag: tag, Len: len(data)} // read only after finished, which locks
	r.finished(err)
}

// finished marks the request done. The caller holds no lock and does not touch the request afterwards.
func (r *request) finished(err error) {
	c := r.owner
	c.mu.Lock()
	r.err, r.done = err, true
	c.wake.Signal()
	c.mu.Unlock()
}

// finish returns what a request that is done has found, and keeps it for the next use.
func (r *request) finish() (comm.Status, error) {
	st, err := r.status, r.err
	c := r.owner
	*r = request{owner: c}
	c.free = append(c.free, r)
	return st, err
}

func (c *endpoint) request(op string, peer, tag int, b []byte) *request {
	var r *request
	if n := len(c.free); n > 0 {
		r, c.free = c.free[n-1], c.free[:n-1]
	} else {
		r = &request{owner: c}
	}
	r.op, r.peer, r.tag, r.buffer = op, peer, tag, b
	return r
}

func (c *endpoint) findArrived(from, tag int) int {
	return slices.IndexFunc(c.arrived, func(m *message) bool {
		return m.tag == tag && (from == m.source || from == comm.Any)
	})
}

func (c *endpoint) findPosted(source, tag int) int {
	return slices.IndexFunc(c.posted, func(r *request) bool {
		return r.tag == tag && (r.peer == source || r.peer == comm.Any)
	})
}

func (m *message) status() comm.Status {
	return comm.Status{Source: m.source, Tag: m.tag, Len: len(m.data)}
}

// check refuses bad arguments, and is where a rank that never waits notices that the run is ending.
func (c *endpoint) check(op string, peer, tag int, wild bool) error {
	c.leave()
	return ranks.Check(op, c.rank, len(c.w.ranks), peer, tag, wild)
}
