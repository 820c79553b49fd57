package loops

import (
	"errors"
	"fmt"

	"shiftwork/comm"
	"shiftwork/dist"
	"shiftwork/hooks"
	"shiftwork/lb"
)

// DOACROSS is a loop nest whose distributed loop carries dependences between neighbouring iterations, such as
//
//	for sweep := range Outer {
//		for c in Strip {            // strip mined: blocks of columns
//			for r in Rows {         // distributed: blocks of rows
//				u[r][c] = f(u[r][c-1], u[r-1][c], u[r][c+1], u[r+1][c])
//	}}}
//
// The ranks form a pipeline: a rank computes a strip of its rows when its left neighbour (lower rows) has finished
// this strip of this sweep and its right neighbour this strip of the sweep before. Sweeps stream: nobody waits
// at the end of one. Iterations stay in blocks and move between neighbours, with their rows.
//
// Body may read, besides the rows that it is given, the row before them in this strip and to the left of it as left by this
// sweep, and the row behind them in this strip as left by the sweep before.
type DOACROSS struct {
	Name    string        // for messages and records; default "doacross"
	Outer   int           // sweeps
	Rows    Range         // iterations of the distributed loop
	Strip   Range         // iterations of the strip-mined loop: columns
	Weights dist.Weights  // work units of each iteration; zero: 1 each
	Arrays  []Array       // neighbours read each other's boundary rows; rows move with their iterations
	Local   []hooks.Array // data that only moves with its iterations: coefficients, right-hand sides
	Block   int           // columns in a strip; 0: chosen from measured costs, again and again (package pipeline)

	// Body does one strip of one sweep for the given rows: those that this rank owns, or (see Ahead) as many a little
	// before or behind them. Its effect must not depend on how Rows and Strip are split.
	Body func(rows, strip Range)

	// Ahead is how many columns behind the strip Body reads in the rows that it is given: 1 in the nest above. Where it is
	// set and there are no Local arrays, blocks lean: they are shifted by a row from sweep to sweep, and back after some,
	// so that ranks need not keep step with their right neighbours while one of them is off its core. 0: blocks stand still.
	Ahead int

	// After, if set, is called on every rank when all have finished Every more sweeps (0 means 1); it may use c's
	// collectives. All ranks must return the same; true ends the loop. It drains the pipeline: do it rarely.
	After func(sweeps int) (stop bool, err error)
	Every int

	// Checkpoint lets the loop stop between two sweeps, and go on later.
	Checkpoint Checkpoint

	Quantum float64        // s; 0: measured
	Record  hooks.Recorder // on rank 0
}

// Run executes the loop; every rank calls it with the same arguments. Each rank's Arrays hold the rows of
// Initial, and the fixed rows before and behind Rows, where the loop has any.
func (d DOACROSS) Run(c comm.Comm, cfg lb.Config) (rep *Report, err error) {
	if d.Name == "" {
		d.Name = "doacross"
	}
	if err := comm.Agree(c, d.validate(cfg)); err != nil {
		return nil, err
	}
	r := across{d: d, c: c, rep: &Report{}, pauses: pauses{
		c: c, k: &d.Checkpoint, arrays: append(moving(d.Arrays), d.Local...), leader: leader(c, d.Rows, cfg.DedicatedMaster), total: d.Outer,
		what: fmt.Sprintf("DOACROSS %q, rows %v, strip %v, %d and %d arrays", d.Name, d.Rows, d.Strip, len(d.Arrays), len(d.Local)),
	}}
	if err := r.pauses.open(); err != nil {
		return nil, err
	}
	defer r.pauses.close()
	r.d.Outer -= r.pauses.first // from here on sweeps are counted from 0 again
	defer catch(&err)
	return r.run(cfg)
}

func (d DOACROSS) validate(cfg lb.Config) error {
	var faults []error
	if d.Body == nil {
		faults = append(faults, errors.New("loops.DOACROSS: Body is missing"))
	}
	if d.Block < 0 {
		faults = append(faults, fmt.Errorf("block size %d: at least 1, or 0 for automatic", d.Block))
	}
	if d.Strip.Hi < d.Strip.Lo {
		faults = append(faults, fmt.Errorf("strip %v: the end lies before the beginning", d.Strip))
	}
	if d.Ahead < 0 {
		faults = append(faults, fmt.Errorf("body reads %d columns ahead: at least 1, or 0 for any number", d.Ahead))
	}
	if d.Every < 0 {
		faults = append(faults, fmt.Errorf("every %d sweeps: at least 1, or 0 for 1", d.Every))
	}
	if d.Outer < 0 {
		faults = append(faults, fmt.Errorf("%d sweeps: at least 0", d.Outer))
	}
	if cfg.Movement == lb.Direct {
		faults = append(faults, errors.New("movement direct: a DOACROSS loop needs adjacent movement, which keeps rows in blocks"))
	}
	return errors.Join(append(faults, d.Checkpoint.validate())...)
}

// across is one run of a DOACROSS loop in one rank; README.md describes the protocol.
type across struct {
	d   DOACROSS
	c   comm.Comm
	h   *hooks.Hooks
	rep *Report

	own         Range
	units       float64 // work units of own
	left, right int
	boundary    exchange

	pauses pauses

	tuner tuner
	told  told
	block int // columns in a strip of strips, but perhaps the last

	// Strips may differ from sweep to sweep, so that nothing need stop when the block size changes: messages are
	// matched by the columns that they hold.
	strips   []Range       // of the sweep that is under way, or else comes next
	at       point         // to which this rank has come
	current  []Range       // strips of sweep at.sweep
	previous []Range       // and of the sweep before it
	ups      int           // the first messages from the right that are not here yet: their sweep ...
	upStrip  int           // ... and their strip
	sent     [2][]outgoing // by side

	lean     lean
	leanMost int     // what lean.most may become at most
	leaned   bool    // it was settled, on rank 0
	wider    int     // what lean.most becomes when blocks stand upright; 0: it stays
	quantum  float64 // s
}

// The sides of a block.
const (
	toLeft = iota
	toRight
)

// point is where all columns below column are of the given sweep, and the others of the sweep before.
type point struct{ sweep, column int }

// outgoing is a part of a boundary row that may be on its way still, sent from where it lies.
type outgoing struct {
	q    comm.Request
	from point
}

func (x *across) run(cfg lb.Config) (*Report, error) {
	d := &x.d
	all := append(moving(d.Arrays), d.Local...)
	began := x.c.Now()
	var err error
	if x.tuner.messages, err = measureMessages(x.c); err != nil { // always: ranks whose arguments differ must come to hooks.New
		return nil, err
	}
	x.rep.Calibrate = (x.c.Now() - began).Seconds()
	workers := x.c.Size()
	if cfg.DedicatedMaster {
		workers--
	}
	x.leanMost = d.mostLean(workers)
	x.startTuning()
	x.at.column = d.Strip.Lo
	phases := 0
	if d.Block > 0 || x.c.Size() == 1 {
		phases = d.Outer * len(x.strips)
	}
	x.h, err = hooks.New(x.c, hooks.Loop{
		Name: d.Name, Iterations: d.Rows, Weights: d.Weights, Arrays: all, Adjacent: true,
		Phases: phases, Quantum: d.Quantum, Before: x.before, Record: d.Record,
		Agreed: fmt.Sprintf("%d sweeps, strip %v, block size %d, %d columns ahead, %d arrays with boundary rows, %d local, stop test %v after every %d sweeps",
			d.Outer, d.Strip, d.Block, d.Ahead, len(d.Arrays), len(d.Local), d.After != nil, d.Every),
	}, cfg)
	if err != nil {
		return nil, err
	}
	if x.leanMost > 0 {
		if x.quantum, err = x.h.Quantum(); err != nil {
			return nil, err
		}
	}
	defer x.h.Annotate()
	x.setOwn()
	x.left, x.right = x.h.Neighbours()
	x.boundary = exchange{c: x.c, arrays: d.Arrays, left: x.left, right: x.right}
	if err := x.pauses.load(x.h.Ranges()); err != nil {
		return nil, err
	}
	if err := x.boundary.rows(x.own, x.left >= 0, x.right >= 0); err != nil {
		return nil, err
	}
	x.rep.Time, err = timed(x.c, func() error {
		x.pauses.begin()
		for x.rep.Steps < d.Outer {
			if stop, err := x.pause(); err != nil {
				return err
			} else if stop {
				break
			}
			if err := x.tune(); err != nil {
				return err
			}
			if err := x.sweep(); err != nil {
				return err
			}
			x.rep.Steps++
			if done := x.pauses.first + x.rep.Steps; d.After != nil && done%max(1, d.Every) == 0 {
				if err := x.gather(); err != nil {
					return err
				}
				if stop, err := d.After(done); err != nil {
					return fmt.Errorf("after sweep %d: %w", done, err)
				} else if stop {
					break
				}
			}
		}
		if err := x.drain(); err != nil {
			return err
		}
		return x.endTuning()
	})
	if err != nil {
		return nil, err
	}
	if err := x.pauses.end(); err != nil {
		return nil, err
	}
	x.pauses.report(x.rep)
	x.rep.Steps += x.pauses.first
	for i := range x.rep.Tunings {
		x.rep.Tunings[i].Sweep += x.pauses.first
	}
	x.rep.Block, x.rep.Lean = x.block, x.lean.most
	if x.c.Rank() != 0 {
		x.rep.Untuned = ""
	}
	x.own = x.h.Range()
	x.rep.Own = x.h.Ranges()
	x.rep.Report, err = x.h.Finish()
	return x.rep, err
}

// pause stops the loop, or writes a checkpoint, if all ranks have agreed to do so before the sweep that comes next.
func (x *across) pause() (stop bool, err error) {
	done := x.pauses.first + x.rep.Steps
	x.pauses.lead = notice(x.leanMost)
	todo, err := x.pauses.at(done)
	if err != nil || !todo.something() {
		return false, err
	}
	began := x.c.Now()
	if todo.write && x.rep.Steps > 0 { // before the first sweep nothing is under way
		if err := x.gather(); err != nil {
			return false, err
		}
	}
	err = x.pauses.carryOut(todo, done, x.h.Ranges())
	x.tuner.since += x.c.Now() - began // no part of the sweeps' time
	return todo.stop != "", err
}

func (x *across) setOwn() {
	x.own = x.h.Range()
	x.units = x.d.Weights.Units(x.own)
}

// setBlock sets the strips of the sweeps to come; all ranks do so between the same two.
func (x *across) setBlock(b int) {
	x.block = max(1, min(b, x.d.Strip.Len()))
	x.strips = nil // current and previous may be the old ones
	x.cut(x.block, x.d.Strip.Hi)
}

// cut appends strips of the given number of columns, up to column hi, to those that there are.
func (x *across) cut(block, hi int) {
	lo := x.d.Strip.Lo
	if n := len(x.strips); n > 0 {
		lo = x.strips[n-1].Hi
	}
	for ; lo < hi; lo += block {
		x.strips = append(x.strips, Span(lo, min(lo+block, hi)))
	}
}

func (x *across) sweep() error {
	x.previous, x.current = x.current, x.strips
	x.at = point{x.rep.Steps, x.d.Strip.Lo}
	x.lean.step(x.rep.Steps, x.stop())
	for _, strip := range x.current {
		if err := x.strip(strip); err != nil {
			return err
		}
		// What follows happens between this strip and the next one.
		x.at.column = strip.Hi
		if !x.lean.upright() {
			if err := x.h.Pass(); err != nil {
				return err
			}
			continue
		}
		have := x.own
		moved, err := x.h.Hook()
		if err != nil {
			return err
		}
		if moved {
			if err := x.resume(have); err != nil {
				return err
			}
		}
		if x.wider > 0 {
			if err := x.widen(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *across) strip(strip Range) error {
	if x.own.Empty() {
		return nil
	}
	before := point{x.at.sweep - 1, strip.Hi}
	if x.lean.back() {
		before.column += x.d.Ahead // some of the rows that come from the right are computed here
	}
	if err := x.receiveUps(before); err != nil {
		return err
	}
	// Boundary rows are sent from where they lie: what was sent of these columns before this lean began must have left.
	if err := x.waitSent(point{x.lean.began - 1, strip.Hi}); err != nil {
		return err
	}
	rows := x.leaning()
	if x.left >= 0 {
		for _, a := range x.d.Arrays {
			if err := receive(x.c, x.left, tagDown, a.Part(rows.Lo-1, strip)); err != nil {
				return err
			}
		}
	}
	units := x.d.Weights.Units(rows)
	began := x.c.Now()
	x.h.Begin()
	x.d.Body(rows, strip)
	x.h.EndPart(units / x.units * float64(strip.Len()) / float64(x.d.Strip.Len()))
	x.tuner.timed(strip.Len(), x.block, units, (x.c.Now() - began).Seconds())
	from := point{x.at.sweep, strip.Lo}
	for _, a := range x.d.Arrays {
		if x.right >= 0 {
			if err := x.send(toRight, tagDown, a.Part(rows.Hi-1, strip), from); err != nil {
				return err
			}
		}
		if x.left >= 0 {
			for i := x.own.Lo + x.lean.now; i <= x.own.Lo+x.lean.after; i++ {
				if err := x.send(toLeft, tagUp, a.Part(i, strip), from); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// leaning are the rows that this rank computes in this sweep.
func (x *across) leaning() Range {
	rows := x.own
	if x.left >= 0 {
		rows.Lo += x.lean.now
	}
	if x.right >= 0 {
		rows.Hi += x.lean.now
	}
	return rows
}

// stop is the number of sweeps after which all ranks meet.
func (x *across) stop() int {
	stop := x.pauses.meet()
	if x.d.After != nil {
		every, done := max(1, x.d.Every), x.pauses.first+x.rep.Steps
		stop = min(stop, (done/every+1)*every)
	}
	return stop - x.pauses.first
}

func (x *across) send(side, tag int, b []byte, from point) error {
	to := x.left
	if side == toRight {
		to = x.right
	}
	q, err := x.c.Isend(to, tag, b)
	if err == nil {
		x.sent[side] = append(x.sent[side], outgoing{q, from})
	}
	return err
}

// reaches reports whether a strip that begins at from has columns below p.
func (p point) reaches(from point) bool {
	return from.sweep < p.sweep || from.sweep == p.sweep && from.column < p.column
}

// waitSent waits for what was sent before p.
func (x *across) waitSent(p point) error {
	if err := x.waitSentTo(toLeft, p); err != nil {
		return err
	}
	return x.waitSentTo(toRight, p)
}

func (x *across) waitSentTo(side int, p point) error {
	n, sent := 0, x.sent[side]
	for ; n < len(sent) && p.reaches(sent[n].from); n++ {
		if _, err := sent[n].q.Wait(); err != nil {
			return err
		}
	}
	x.sent[side] = append(sent[:0], sent[n:]...)
	return nil
}

// receiveUps receives what the right neighbour has sent, or will have sent when it comes to p, of its first rows.
func (x *across) receiveUps(p point) error {
	if x.right < 0 {
		return nil
	}
	for x.ups <= x.at.sweep {
		strips, now, after := x.current, x.lean.now, x.lean.after
		if x.ups < x.at.sweep {
			strips, now, after = x.previous, x.lean.previous, x.lean.now
		}
		switch {
		case x.upStrip == len(strips) || after < now:
			x.ups, x.upStrip = x.ups+1, 0
		case p.reaches(point{x.ups, strips[x.upStrip].Lo}):
			for _, a := range x.d.Arrays {
				for i := x.own.Hi + now; i <= x.own.Hi+after; i++ {
					if err := receive(x.c, x.right, tagUp, a.Part(i, strips[x.upStrip])); err != nil {
						return err
					}
				}
			}
			x.upStrip++
		default:
			return nil
		}
	}
	return nil
}

// catchUp makes the row behind the block complete for one sweep, up to the point to which this rank has come.
func (x *across) catchUp() error {
	if x.own.Empty() {
		return nil
	}
	return x.receiveUps(x.at)
}

// before is called at the hook where this rank is about to give or take rows, with nothing but up-messages under way.
func (x *across) before(have, want dist.Range) error {
	if have.Lo != want.Lo {
		if err := x.waitSentTo(toLeft, x.at); err != nil {
			return err
		}
	}
	if have.Hi == want.Hi {
		return nil // the boundary to the right stays: its messages flow on
	}
	if err := x.catchUp(); err != nil {
		return err
	}
	return x.waitSentTo(toRight, x.at)
}

// resume goes on after a shift: the boundary rows along each boundary that moved are exchanged anew.
func (x *across) resume(have Range) error {
	x.setOwn()
	left, right := x.left >= 0 && have.Lo != x.own.Lo, x.right >= 0 && have.Hi != x.own.Hi
	return x.boundary.rows(x.own, left, right)
}

// gather returns when all ranks have finished the sweep, with nothing under way.
func (x *across) gather() error {
	if err := x.drain(); err != nil {
		return err
	}
	return comm.Barrier(x.c)
}

// drain receives and sends what is under way.
func (x *across) drain() error {
	if err := x.catchUp(); err != nil {
		return err
	}
	return x.waitSent(point{x.at.sweep + 1, x.d.Strip.Lo})
}

func waitAll(reqs []comm.Request) error {
	for i, q := range reqs {
		if q == nil {
			continue
		}
		reqs[i] = nil
		if _, err := q.Wait(); err != nil {
			return err
		}
	}
	return nil
}
