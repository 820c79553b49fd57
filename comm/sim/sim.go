package sim

import (
	"container/heap"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"shiftwork/comm"
	"shiftwork/comm/internal/ranks"
)

// ErrLimit is wrapped by the error of a run that passes Config.MaxTime or Config.MaxOps.
var ErrLimit = errors.New("the simulation passed its limit")

// Run calls f once on each rank and returns when all have ended. A rank that returns an error, panics, exits or aborts ends
// the run; the others are released from their operations with runtime.Goexit. The error is then that first failure:
// a *comm.RankError, *comm.AbortError or *DeadlockError, or one that wraps ErrLimit. The Result is filled in as far as the run got.
//
// With Config.Faults a rank that fails does not end the run: the others are told by the errors of their operations, and the
// run ends when all have returned, with a *LostError.
func Run(cfg Config, f func(c *Comm) error) (Result, error) {
	if err := cfg.Validate(); err != nil {
		return Result{}, err
	}
	s := newSimulation(cfg)
	var all sync.WaitGroup
	for _, c := range s.ranks {
		s.push(&c.resume)
		all.Go(func() {
			<-c.turn
			ranks.Guard(func() error {
				c.leave()
				return f(c)
			}, c.end)
		})
	}
	s.next().turn <- struct{}{}
	all.Wait()
	if s.failure == nil && s.lost != nil {
		return s.result(), s.lost
	}
	return s.result(), s.failure
}

// simulation is the machine: the ranks, the clock's queue of events, and the failure that ends the run. Only the goroutine
// that has the turn touches any of it; the turn is handed on through the channels Comm.turn.
type simulation struct {
	cfg      Config
	alpha    instant
	beta     float64 // picoseconds per byte
	overhead instant
	poll     instant
	maxTime  instant

	ranks   []*Comm
	events  eventQueue
	ops     int
	numbers int // given out, to messages and requests
	failure error
	lost    *LostError // the first rank that failed, where others are told; the run goes on
	struck  int        // faults that have happened
}

func newSimulation(cfg Config) *simulation {
	s := &simulation{
		cfg:      cfg,
		alpha:    instantOf(cfg.Alpha),
		beta:     cfg.Beta * picoseconds,
		overhead: instantOf(cfg.SendOverhead),
		poll:     instantOf(orDefault(cfg.PollCost, DefaultPollCost)),
		maxTime:  instantOf(orDefault(cfg.MaxTime, DefaultMaxTime)),
	}
	s.cfg.Rendezvous = orDefault(cfg.Rendezvous, DefaultRendezvous)
	s.cfg.MaxOps = orDefault(cfg.MaxOps, DefaultMaxOps)
	for r := range cfg.Ranks {
		c := &Comm{s: s, rank: r, turn: make(chan struct{}, 1), lastArrival: map[channel]instant{}, slow: 1}
		c.faults = planned(cfg.Faults, r)
		c.resume = event{class: resumes, who: r}
		var steps []Step
		if r < len(cfg.Speed) {
			steps = cfg.Speed[r]
		}
		c.speed = newProfile(steps)
		if r < len(cfg.Quotas) {
			c.ration = newRation(cfg.Quotas[r])
		}
		if r < len(cfg.ClockOffset) {
			c.offset = cfg.ClockOffset[r]
		}
		s.ranks = append(s.ranks, c)
	}
	return s
}

// The classes of events, in the order in which those of one instant happen: a rank sees all that arrives at
// the instant at which it looks.
const (
	arrives   = iota // a message, or the announcement of a long one, reaches its destination
	completes        // a long message has been transferred
	resumes          // a rank runs
)

// event is embedded in what it happens to: a rank resumes at one time, a message arrives and then may complete.
type event struct {
	at      instant
	class   int
	who     int // rank that resumes, or source of the message
	number  int // of the message
	message *message
}

func (e *event) before(o *event) bool {
	switch {
	case e.at != o.at:
		return e.at < o.at
	case e.class != o.class:
		return e.class < o.class
	case e.who != o.who:
		return e.who < o.who
	}
	return e.number < o.number
}

// eventQueue is a heap.Interface.
type eventQueue []*event

func (q eventQueue) Len() int           { return len(q) }
func (q eventQueue) Less(i, j int) bool { return q[i].before(q[j]) }
func (q eventQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *eventQueue) Push(e any)        { *q = append(*q, e.(*event)) }
func (q *eventQueue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	*q = (*q)[:last]
	return e
}

func (s *simulation) push(e *event) { heap.Push(&s.events, e) }

func (s *simulation) reorder() { heap.Init(&s.events) }

// next lets messages arrive until a rank's turn comes and returns that rank. Once the run has failed, it is the
// lowest one that has not ended, nil if all have.
func (s *simulation) next() *Comm {
	for s.failure == nil {
		if len(s.events) == 0 {
			if s.running() == nil {
				return nil
			}
			s.failure = s.deadlock()
			break
		}
		e := heap.Pop(&s.events).(*event)
		if e.at == never {
			s.release(e)
			continue
		}
		if c := s.happen(e); c != nil {
			return c
		}
	}
	return s.running()
}

// happen returns the rank whose turn the event is, nil if it is a message's.
func (s *simulation) happen(e *event) *Comm {
	switch e.class {
	case arrives:
		s.arrive(e.message)
	case completes:
		e.message.complete(e.at)
	case resumes:
		c := s.ranks[e.who]
		c.clock = e.at
		if e.at > s.maxTime {
			s.failure = s.pastMaxTime(c, "has waited until then")
		}
		return c
	}
	return nil
}

// running returns the lowest rank that has not ended.
func (s *simulation) running() *Comm {
	for _, c := range s.ranks {
		if !c.ended {
			return c
		}
	}
	return nil
}

// enter begins an operation: it returns when this rank has the smallest clock and all messages due have arrived. The error
// is that another rank is gone.
func (c *Comm) enter(op string, peer, tag int) error {
	c.leave()
	s := c.s
	c.doing = operation{op, peer, tag}
	s.ops++
	if s.ops > s.cfg.MaxOps {
		s.failure = s.limit(fmt.Sprintf("%d operations (Config.MaxOps)", s.cfg.MaxOps))
		c.leave()
	}
	c.queue()
	c.leave()
	c.strike()
	return c.told()
}

// queue returns when this rank has the smallest clock and all messages due have arrived, or when the run has failed.
func (c *Comm) queue() {
	s := c.s
	c.resume.at = c.clock
	if len(s.events) == 0 || c.resume.before(s.events[0]) {
		return
	}
	s.push(&c.resume)
	c.yield()
}

// block waits until wakeAt is called for this rank. The caller has said in c.waiting for what. The error is that another
// rank is gone.
func (c *Comm) block() error {
	from := c.clock
	c.blocked = true
	c.yield()
	c.waited += c.clock - from
	c.leave()
	return c.told()
}

// wakeAt ends the block of a rank, if it is in one.
func (c *Comm) wakeAt(t instant) {
	if c.blocked {
		c.blocked = false
		c.resume.at = t
		c.s.push(&c.resume)
	}
}

// yield hands the turn on and returns when it comes back, perhaps because the run has failed.
func (c *Comm) yield() {
	if n := c.s.next(); n != c {
		n.turn <- struct{}{}
		<-c.turn
	}
}

// leave ends the calling rank if it is dead or the run has failed.
func (c *Comm) leave() {
	if c.dead || c.s.failure != nil {
		runtime.Goexit()
	}
}

// fail ends the run, unless another rank fails at an earlier virtual time.
func (c *Comm) fail(err func() error) {
	if c.s.failure == nil {
		c.queue()
	}
	if c.s.failure == nil {
		c.s.failure = err()
	}
}

// end is the last thing a rank does: it hands on the turn for good.
func (c *Comm) end(err error) {
	s := c.s
	switch {
	case err == nil || c.dead || s.failure != nil:
	case len(s.cfg.Faults) > 0:
		c.err = err
		c.queue()
		if s.failure == nil {
			s.lose(c, err)
		}
	default:
		c.err = err
		c.fail(func() error { return &comm.RankError{Rank: c.rank, Err: err} })
	}
	c.ended = true
	if n := s.next(); n != nil {
		n.turn <- struct{}{}
	}
}

// advance moves the rank's clock by d picoseconds, unless that passes the limit.
func (c *Comm) advance(d float64) {
	if float64(c.clock)+d > float64(c.s.maxTime) {
		c.fail(func() error { return c.s.pastMaxTime(c, fmt.Sprintf("would go on for %.3g s", d/picoseconds)) })
		c.leave()
	}
	c.clock += instant(d + 0.5)
}

func (s *simulation) pastMaxTime(c *Comm, how string) error {
	return s.limit(fmt.Sprintf("%v s of virtual time (Config.MaxTime): rank %d, at %v, %s",
		s.maxTime.seconds(), c.rank, c.clock.duration(), how))
}

func (s *simulation) result() Result {
	res := Result{Ops: s.ops, Struck: s.struck}
	for _, c := range s.ranks {
		r := RankResult{
			End:      c.clock.duration(),
			Worked:   c.worked.duration(),
			Waited:   c.waited.duration(),
			Messages: c.messages,
			Bytes:    c.bytes,
			Ops:      c.ops,
			Err:      c.err,
		}
		res.Ranks = append(res.Ranks, r)
		res.Elapsed = max(res.Elapsed, r.End)
	}
	if s.failure == nil && s.lost == nil {
		res.Leaks = s.leaks()
	}
	return res
}
