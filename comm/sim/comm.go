package sim

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"shiftwork/comm"
	"shiftwork/comm/internal/ranks"
)

// Comm is one rank's connection to the others, and its clock.
type Comm struct {
	s    *simulation
	rank int
	turn chan struct{} // the right to run; capacity 1

	clock  instant
	offset time.Duration // of Now
	speed  *profile
	ration *ration // nil without a quota
	resume event

	// blocked and waiting say that the rank cannot run, and what for.
	blocked bool
	waiting waiting
	ended   bool
	doing   operation // under way, or the last one
	err     error     // what the rank returned

	faults     map[point][]Fault
	ops, sends int     // begun
	slow       float64 // factor on the speed
	dead       bool    // made to die

	// Invariant, while no event is being handled: no message in arrived matches a receive in posted.
	arrived     []*message // in order of arrival
	posted      []*request // in order of posting
	open        []*request // not finished yet, in no particular order
	lastArrival map[channel]instant

	worked, waited  instant
	messages, bytes int
}

// channel is where messages into one rank must not overtake each other.
type channel struct{ source, tag int }

// waiting is what a blocked rank waits for: one of the requests, or a message that a probe sees.
type waiting struct {
	requests []*request
	probe    bool
	from     int
	tag      int
}

// message is on its way, or waits for its receive.
type message struct {
	event
	to, tag int
	sent    instant
	data    []byte   // a copy, or the sender's buffer if send is set
	send    *request // of a long message: done when it has been transferred; nil if it was buffered
	receive *request // that it has matched
}

// request is an Isend or Irecv under way.
type request struct {
	c         *Comm
	op        string
	peer, tag int
	buffer    []byte
	number    int
	place     int // in c.open
	posted    instant
	done      bool
	finished  bool
	status    comm.Status
	err       error
}

var (
	_ comm.Comm   = (*Comm)(nil)
	_ comm.Worker = (*Comm)(nil)
)

func (c *Comm) Rank() int         { return c.rank }
func (c *Comm) Size() int         { return len(c.s.ranks) }
func (c *Comm) Transport() string { return "sim" }

// Now returns the virtual time, plus Config.ClockOffset.
func (c *Comm) Now() time.Duration { return c.clock.duration() + c.offset }

// Work advances the clock by the time that the rank's speed needs for this many work units. A rank that is
// stopped for good ends the run.
func (c *Comm) Work(units float64) {
	if !(units >= 0) || math.IsInf(units, 1) {
		panic(fmt.Sprintf("sim: Work(%v): work units are finite and not negative", units))
	}
	if c.ration != nil {
		c.pass(c.ration.work(c.clock, units/c.slow, c.speed, c.s.maxTime))
		return
	}
	c.pass(c.speed.work(c.clock, units/c.slow))
}

// Sleep advances the clock, whatever the rank's speed.
func (c *Comm) Sleep(d time.Duration) {
	if d < 0 {
		panic(fmt.Sprintf("sim: Sleep(%v): time does not go back", d))
	}
	c.pass(d.Seconds() * picoseconds)
}

func (c *Comm) pass(d float64) {
	c.leave()
	before := c.clock
	c.advance(d)
	c.worked += c.clock - before
}

func (c *Comm) Abort(code int) {
	_ = c.enter("abort", comm.Any, 0) // the job ends, whoever is gone
	c.s.failure = &comm.AbortError{Rank: c.rank, Code: code}
	runtime.Goexit()
}

func (c *Comm) Send(to, tag int, b []byte) error {
	r, err := c.send(to, tag, b)
	if err != nil {
		return err
	}
	_, err = c.wait(r)
	return err
}

func (c *Comm) Recv(from, tag int, b []byte) (comm.Status, error) {
	r, err := c.receive(from, tag, b)
	if err != nil {
		return comm.Status{}, err
	}
	return c.wait(r)
}

func (c *Comm) Isend(to, tag int, b []byte) (comm.Request, error) {
	r, err := c.send(to, tag, b)
	if err != nil {
		return nil, err // not r: a nil *request is not a nil Request
	}
	return r, nil
}

func (c *Comm) Irecv(from, tag int, b []byte) (comm.Request, error) {
	r, err := c.receive(from, tag, b)
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (c *Comm) Probe(from, tag int) (comm.Status, error) {
	if err := c.enter("probe", from, tag); err != nil {
		return comm.Status{}, err
	}
	if err := ranks.Check("probe", c.rank, c.Size(), from, tag, true); err != nil {
		return comm.Status{}, err
	}
	for {
		if i := c.findArrived(from, tag); i >= 0 {
			return c.arrived[i].status(), nil
		}
		c.waiting = waiting{probe: true, from: from, tag: tag}
		if err := c.block(); err != nil {
			return comm.Status{}, err
		}
	}
}

func (c *Comm) Iprobe(from, tag int) (comm.Status, bool, error) {
	if err := c.enter("probe", from, tag); err != nil {
		return comm.Status{}, false, err
	}
	if err := ranks.Check("probe", c.rank, c.Size(), from, tag, true); err != nil {
		return comm.Status{}, false, err
	}
	if i := c.findArrived(from, tag); i >= 0 {
		return c.arrived[i].status(), true, nil
	}
	c.advance(float64(c.s.poll))
	return comm.Status{}, false, nil
}

func (c *Comm) WaitAny(reqs []comm.Request) (int, comm.Status, error) {
	if err := c.enter("wait", comm.Any, 0); err != nil {
		return -1, comm.Status{}, err
	}
	for {
		c.waiting = waiting{}
		for i, q := range reqs {
			if q == nil {
				continue
			}
			r := q.(*request)
			r.check()
			if r.done {
				st, err := r.finish()
				return i, st, err
			}
			c.waiting.requests = append(c.waiting.requests, r)
		}
		if len(c.waiting.requests) == 0 {
			return -1, comm.Status{}, nil
		}
		if err := c.block(); err != nil {
			return -1, comm.Status{}, err
		}
	}
}

func (r *request) Test() (comm.Status, bool, error) {
	if err := r.c.enter("test", r.peer, r.tag); err != nil {
		return comm.Status{}, false, err
	}
	r.check()
	if !r.done {
		r.c.advance(float64(r.c.s.poll))
		return comm.Status{}, false, nil
	}
	st, err := r.finish()
	return st, true, err
}

func (r *request) Wait() (comm.Status, error) {
	if err := r.c.enter("wait", r.peer, r.tag); err != nil {
		return comm.Status{}, err
	}
	r.check()
	return r.c.wait(r)
}

func (c *Comm) wait(r *request) (comm.Status, error) {
	for !r.done {
		c.waiting = waiting{requests: []*request{r}}
		if err := c.block(); err != nil {
			return comm.Status{}, err
		}
	}
	return r.finish()
}

// check panics if the program uses a request that transports may already have reused.
func (r *request) check() {
	if r.finished {
		panic(fmt.Sprintf("sim: rank %d uses a request after it was finished: %s, %s, tag %d", r.c.rank, r.op, rankName(r.peer), r.tag))
	}
}

// send starts a send, which may be done at once.
func (c *Comm) send(to, tag int, b []byte) (*request, error) {
	if err := c.enter("send", to, tag); err != nil {
		return nil, err
	}
	if err := ranks.Check("send", c.rank, c.Size(), to, tag, false); err != nil {
		return nil, err
	}
	s := c.s
	var delay instant
	for _, f := range c.sendFaults() {
		switch f.Kind {
		case Refuse:
			return nil, &comm.Error{Op: "send", Rank: c.rank, Peer: to, Tag: tag, Err: ErrRefused}
		case Delay:
			delay += instantOf(f.By)
		case Late:
			delay = never
		}
	}
	c.advance(float64(s.overhead))
	c.messages++
	c.bytes += len(b)
	r := c.request("send", to, tag, b)
	r.status = comm.Status{Source: c.rank, Tag: tag, Len: len(b)}
	m := &message{to: to, tag: tag, sent: c.clock, data: b, send: r}
	at := c.clock + s.alpha
	if len(b) <= s.cfg.Rendezvous {
		m.data, m.send = bytes.Clone(b), nil
		r.done = true
		at = c.clock + s.transfer(len(b))
	}
	d := s.ranks[to]
	key := channel{source: c.rank, tag: tag}
	if at += delay; at < delay { // Late: it overflows
		at = never
	}
	at = max(at, d.lastArrival[key])
	d.lastArrival[key] = at
	m.event = event{at: at, class: arrives, who: c.rank, number: s.number(), message: m}
	s.push(&m.event)
	return r, nil
}

// receive starts a receive, which may be done at once.
func (c *Comm) receive(from, tag int, b []byte) (*request, error) {
	if err := c.enter("receive", from, tag); err != nil {
		return nil, err
	}
	if err := ranks.Check("receive", c.rank, c.Size(), from, tag, true); err != nil {
		return nil, err
	}
	r := c.request("receive", from, tag, b)
	r.posted = c.clock
	i := c.findArrived(from, tag)
	if i < 0 {
		c.posted = append(c.posted, r)
		return r, nil
	}
	m := c.arrived[i]
	c.arrived = slices.Delete(c.arrived, i, i+1)
	c.s.match(m, r, c.clock)
	return r, nil
}

// arrive finds the receive of a message that has reached its destination, or queues it there.
func (s *simulation) arrive(m *message) {
	c := s.ranks[m.to]
	i := slices.IndexFunc(c.posted, func(r *request) bool {
		return r.tag == m.tag && (r.peer == m.who || r.peer == comm.Any)
	})
	if i >= 0 {
		r := c.posted[i]
		c.posted = slices.Delete(c.posted, i, i+1)
		s.match(m, r, m.at)
		return
	}
	c.arrived = append(c.arrived, m)
	if w := c.waiting; c.blocked && w.probe && w.tag == m.tag && (w.from == m.who || w.from == comm.Any) {
		c.wakeAt(m.at)
	}
}

// match joins a message that has arrived, or has been announced, and its receive at time now.
func (s *simulation) match(m *message, r *request, now instant) {
	m.receive = r
	if m.send == nil {
		m.complete(now)
		return
	}
	m.class = completes
	m.at = max(max(m.sent, r.posted)+s.transfer(len(m.data)), now)
	s.push(&m.event)
}

// complete gives a message to its receive and finishes both requests.
func (m *message) complete(now instant) {
	r := m.receive
	r.status = m.status()
	if len(m.data) > len(r.buffer) {
		r.err = &comm.Error{Op: r.op, Rank: r.c.rank, Peer: m.who, Tag: m.tag, Err: comm.ErrTruncated}
	}
	copy(r.buffer, m.data)
	r.complete(now)
	if m.send != nil {
		m.send.complete(now)
	}
}

func (r *request) complete(now instant) {
	r.done = true
	if slices.Contains(r.c.waiting.requests, r) {
		r.c.wakeAt(now)
	}
}

// transfer returns how long n bytes take.
func (s *simulation) transfer(n int) instant {
	return s.alpha + instant(math.Round(min(s.beta*float64(n), longestCost*picoseconds)))
}

func (s *simulation) number() int {
	s.numbers++
	return s.numbers
}

func (c *Comm) request(op string, peer, tag int, b []byte) *request {
	r := &request{c: c, op: op, peer: peer, tag: tag, buffer: b, number: c.s.number(), place: len(c.open)}
	c.open = append(c.open, r)
	return r
}

// finish returns what a request that is done has found.
func (r *request) finish() (comm.Status, error) {
	c := r.c
	last := len(c.open) - 1
	c.open[r.place] = c.open[last]
	c.open[r.place].place = r.place
	c.open[last] = nil
	c.open = c.open[:last]
	r.finished, r.buffer = true, nil
	c.waiting = waiting{}
	return r.status, r.err
}

func (c *Comm) findArrived(from, tag int) int {
	return slices.IndexFunc(c.arrived, func(m *message) bool {
		return m.tag == tag && (from == m.who || from == comm.Any)
	})
}

func (m *message) status() comm.Status {
	return comm.Status{Source: m.who, Tag: m.tag, Len: len(m.data)}
}
