package hooks

import (
	"time"

	"shiftwork/dist"
)

// Kind says what a rank does in a Span.
type Kind uint8

// Kinds of spans. What lies between two spans of a loop is waiting: for neighbours, for the master, or for the rank that is
// to give or to take work.
const (
	Computing   Kind = iota // from Begin to End
	Moving                  // handing over or taking in iterations
	Interacting             // reporting to the master and taking its instruction; on the master, deciding
)

// Span is a piece of a rank's time. The spans of a rank do not overlap and come in order.
type Span struct {
	Kind       Kind
	Start, End time.Duration // the rank's clock: comm.Comm.Now
	Number     int           // Computing: the phase, from 0; otherwise the interaction, from 0
	Iterations dist.Range    // Computing: those done, or in part; Moving: those owned afterwards; empty if they are no block
	Units      float64       // work units done, or moved: a movement with pauses names them in its first span
}

// Tracer is a Recorder that wants to know where the time of its rank goes, too. As Record of a loop it is called on every
// rank, by the goroutine of the loop, so it must be quick. Of a Tee, the first Tracer is called.
type Tracer interface {
	Recorder
	Begin(loop string, at time.Duration) // a loop begins
	Span(Span)
	End(at time.Duration) // the loop ends
}

// Pulse says how far a loop has come, without any message: as seen by rank 0.
type Pulse struct {
	Loop   string
	Time   float64 // s since the loop began
	Phases int     // hook executions so far; of a free loop: chunks
	Steps  float64 // how often each iteration has been done, as far as rank 0 knows
}

// Watcher is a Recorder that wants to know how far the loop has come also while nothing is decided: balancing may be off, and
// periods may be long. It is called on rank 0, when the loop begins, and then at hooks, every 0.2 s at most, where rank 0 computes. Of a Tee, the
// first Watcher is called.
type Watcher interface {
	Recorder
	Pulse(Pulse)
}

// pulseEvery is the least time between two calls of a Watcher.
const pulseEvery = 200 * time.Millisecond

// find is r as a T, or the first T of a Tee; nil, if there is none.
func find[T Recorder](r Recorder) (found T) {
	if all, ok := r.(tee); ok {
		for _, one := range all {
			if found = find[T](one); any(found) != nil {
				return found
			}
		}
		return found
	}
	found, _ = r.(T)
	return found
}

// followed is what a loop keeps for those who follow it.
type followed struct {
	trace    Tracer // nil: nobody looks
	moves    tracedMove
	watching *watching // on rank 0, if anybody watches
}

// follow tells the Tracer and the Watcher of r, if it has them, that the loop begins.
func (f *followed) follow(r Recorder, loop string, rank int, began time.Duration) {
	if f.trace = find[Tracer](r); f.trace != nil {
		f.moves.to = f.trace
		f.trace.Begin(loop, began)
	}
	f.watching = watch(r, loop, rank, began)
}

// watching is what a loop does for a Watcher.
type watching struct {
	to    Watcher
	began time.Duration
	last  time.Duration // of the last call
}

// watch starts watching on rank 0; nil: nobody watches.
func watch(r Recorder, loop string, rank int, began time.Duration) *watching {
	if to := find[Watcher](r); to != nil && rank == 0 {
		to.Pulse(Pulse{Loop: loop})
		return &watching{to: to, began: began, last: began}
	}
	return nil
}

// due reports whether it is time for another call.
func (w *watching) due(now time.Duration) bool { return now-w.last >= pulseEvery }

func (w *watching) pulse(now time.Duration, p Pulse) {
	w.last = now
	p.Time = (now - w.began).Seconds()
	w.to.Pulse(p)
}

// tracedMove makes spans of a movement, which pauses where it waits for other ranks.
type tracedMove struct {
	to      Tracer
	piece   Span
	pending []Span // how much was moved is known at the end
}

// begin starts a movement.
func (t *tracedMove) begin(at time.Duration, interaction int) {
	t.piece = Span{Kind: Moving, Start: at, Number: interaction}
	t.pending = t.pending[:0]
}

// pause says that the movement has waited.
func (t *tracedMove) pause(from, until time.Duration) {
	if from > t.piece.Start {
		t.piece.End = from
		t.pending = append(t.pending, t.piece)
	}
	t.piece.Start = until
}

func (t *tracedMove) end(at time.Duration, own dist.Range, units float64) {
	if t.pause(at, at); len(t.pending) == 0 {
		t.piece.End = at
		t.pending = append(t.pending, t.piece) // it took no time, and yet it was
	}
	t.pending[0].Units = units
	for _, s := range t.pending {
		s.Iterations = own
		t.to.Span(s)
	}
}
