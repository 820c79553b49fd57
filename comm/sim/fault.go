package sim

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"shiftwork/comm"
)

// FaultKind is what goes wrong.
type FaultKind int

const (
	// Delay lets the rank's send number At arrive By seconds later than it would. Later messages with the same source,
	// destination and tag stay behind it; all others overtake it.
	Delay FaultKind = iota
	// Late lets the rank's send number At arrive as late as it can: when no rank can go on without it. Everything that
	// can overtake it, from other sources and with other tags, does.
	Late
	// Refuse makes the rank's send number At fail with ErrRefused: nothing is sent.
	Refuse
	// Stop stops the rank for By seconds before its operation number At, like SIGSTOP and SIGCONT.
	Stop
	// Slow multiplies the rank's speed by By, in (0, 1], from its operation number At on.
	Slow
	// Die ends the rank before its operation number At, like SIGKILL: messages that it has sent and that were buffered
	// arrive, those that wait for their receive do not.
	Die
)

func (k FaultKind) String() string {
	names := []string{"delay", "late", "refuse", "stop", "slow", "die"}
	if k < 0 || int(k) >= len(names) {
		return fmt.Sprintf("FaultKind(%d)", int(k))
	}
	return names[k]
}

// ofSend says whether the fault happens to a send; otherwise it happens before any operation.
func (k FaultKind) ofSend() bool { return k == Delay || k == Late || k == Refuse }

// Fault is one thing that goes wrong, at one point of one rank's run. RankResult of a run without it says how many sends and
// operations there are: the run is the same up to there.
type Fault struct {
	Kind FaultKind
	Rank int     // that it happens to
	At   int     // number, from 0, of the rank's send (Delay, Late, Refuse) or operation of any kind (Stop, Slow, Die)
	By   float64 // s, [0, 1e6] (Delay, Stop), or a factor (Slow); 0 for others
}

func (f Fault) String() string {
	point := "operation"
	if f.Kind.ofSend() {
		point = "send"
	}
	by := ""
	if f.By != 0 {
		by = fmt.Sprintf(" by %g", f.By)
	}
	return fmt.Sprintf("%v%s, rank %d, %s %d", f.Kind, by, f.Rank, point, f.At)
}

// validate returns what is wrong with the fault, or "".
func (f Fault) validate(ranks int) string {
	switch {
	case f.Kind < Delay || f.Kind > Die:
		return "there is no such kind"
	case f.Rank < 0 || f.Rank >= ranks:
		return fmt.Sprintf("there is no rank %d of %d", f.Rank, ranks)
	case f.At < 0:
		return "At is at least 0"
	case (f.Kind == Delay || f.Kind == Stop) && !(f.By >= 0 && f.By <= longestCost):
		return fmt.Sprintf("By is %v s, must be in [0, %g]", f.By, longestCost)
	case f.Kind == Slow && !(f.By > 0 && f.By <= 1):
		return fmt.Sprintf("By is %v, a factor must be in (0, 1]", f.By)
	case (f.Kind == Late || f.Kind == Refuse || f.Kind == Die) && f.By != 0:
		return "By is for others"
	}
	return ""
}

var (
	// ErrDied is the reason of a LostError for a rank that was made to die.
	ErrDied = errors.New("died")
	// ErrRefused is wrapped by the error of a send that was made to fail.
	ErrRefused = errors.New("the send was refused")
)

// LostError says that a rank is gone, why, and where everybody was at that moment. Where Config.Faults is set, it is the error
// of every operation that another rank has under way or begins from then on, and of the run.
type LostError struct {
	Rank   int
	Err    error         // ErrDied, or what the rank returned
	At     time.Duration // its clock, without offset
	Places []Place       // of all ranks, by rank
}

// Place is where a rank was.
type Place struct {
	Rank  int
	At    time.Duration // its clock, without offset; it may have computed ahead
	Doing string        // in words
}

func (p Place) String() string { return fmt.Sprintf("rank %d at %v: %s", p.Rank, p.At, p.Doing) }

func (e *LostError) Error() string {
	how := "died"
	if e.Err != ErrDied {
		how = fmt.Sprintf("failed (%v)", e.Err)
	}
	places := make([]string, len(e.Places))
	for i, p := range e.Places {
		places[i] = p.String()
	}
	return fmt.Sprintf("rank %d %s at %v; %s", e.Rank, how, e.At, strings.Join(places, "; "))
}

func (e *LostError) Unwrap() error { return e.Err }

// point is a place in one rank's run: an operation or a send.
type point struct {
	send   bool
	number int
}

// planned returns the faults of one rank, by point.
func planned(faults []Fault, rank int) map[point][]Fault {
	var all map[point][]Fault
	for _, f := range faults {
		if f.Rank != rank {
			continue
		}
		if all == nil {
			all = map[point][]Fault{}
		}
		p := point{f.Kind.ofSend(), f.At}
		all[p] = append(all[p], f)
	}
	return all
}

// strike lets the faults happen that stand before this operation. It does not return if the rank dies.
func (c *Comm) strike() {
	for _, f := range c.faults[point{number: c.ops}] {
		c.s.struck++
		switch f.Kind {
		case Slow:
			c.slow *= f.By
		case Stop:
			before := c.clock
			c.advance(f.By * picoseconds)
			c.waited += c.clock - before
			c.queue()
			c.leave()
		case Die:
			c.dead = true
			c.s.lose(c, ErrDied)
			c.leave()
		}
	}
	c.ops++
}

// sendFaults are those of the send that begins now.
func (c *Comm) sendFaults() []Fault {
	found := c.faults[point{send: true, number: c.sends}]
	c.sends++
	c.s.struck += len(found)
	return found
}

// lose tells all other ranks that this one is gone: those that are blocked go on, with an error.
func (s *simulation) lose(c *Comm, err error) {
	if s.lost != nil {
		return
	}
	s.lost = &LostError{Rank: c.rank, Err: err, At: c.clock.duration()}
	for _, o := range s.ranks {
		s.lost.Places = append(s.lost.Places, o.placeNow())
	}
	for _, o := range s.ranks {
		o.wakeAt(max(o.clock, c.clock))
	}
}

func (c *Comm) placeNow() Place {
	p := Place{Rank: c.rank, At: c.clock.duration()}
	switch {
	case c.ended:
		p.Doing = "has returned"
	case c.blocked:
		var waits []string
		for _, w := range c.waits() {
			waits = append(waits, w.what())
		}
		p.Doing = strings.Join(waits, ", ")
	case c.dead:
		p.Doing = fmt.Sprintf("about to %s", c.doing)
	case c.doing.op == "":
		p.Doing = "has not communicated yet"
	default:
		p.Doing = fmt.Sprintf("computes, last operation %s", c.doing)
	}
	return p
}

// told is the error of an operation of a rank that goes on while another is gone.
func (c *Comm) told() error {
	if c.s.lost == nil {
		return nil
	}
	return &comm.Error{Op: c.doing.op, Rank: c.rank, Peer: c.doing.peer, Tag: c.doing.tag, Err: c.s.lost}
}

// operation is what a rank does, or did last.
type operation struct {
	op        string
	peer, tag int
}

func (o operation) String() string {
	if o.op == "wait" || o.op == "test" || o.op == "abort" {
		return o.op
	}
	return fmt.Sprintf("%s, %s, tag %d", o.op, rankName(o.peer), o.tag)
}

// release lets a message that was held back by a Late fault set out now, and with it those that queue behind it.
func (s *simulation) release(e *event) {
	s.push(e)
	first := e.message
	var at instant // the longest of them decides for all, so that they stay in order
	var held []*event
	for _, o := range s.events {
		if m := o.message; o.at == never && m.who == first.who && m.to == first.to && m.tag == first.tag {
			held = append(held, o)
			at = max(at, s.transfer(len(m.data)))
		}
	}
	now := instant(0)
	for _, c := range s.ranks {
		now = max(now, c.clock)
	}
	at += now
	for _, o := range held {
		o.at = at
	}
	s.reorder()
	s.ranks[first.to].lastArrival[channel{source: first.who, tag: first.tag}] = at
}
