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
// Body may read, besides its own rows, the row before them in this strip and to the left of it as left by this
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

	// Body does one strip of one sweep for the given rows, which this rank owns. Its effect must not depend on how
	// Rows and Strip are split.
	Body func(rows, strip Range)

	// After, if set, is called on every rank when all have finished Every more sweeps (0 means 1); it may use c's
	// collectives. All ranks must return the same; true ends the loop. It drains the pipeline: do it rarely.
	After func(sweeps int) (stop bool, err error)
	Every int

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
	r := across{d: d, c: c, rep: &Report{}}
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
	if d.Every < 0 {
		faults = append(faults, fmt.Errorf("every %d sweeps: at least 1, or 0 for 1", d.Every))
	}
	if d.Outer < 0 {
		faults = append(faults, fmt.Errorf("%d sweeps: at least 0", d.Outer))
	}
	if cfg.Movement == lb.Direct {
		faults = append(faults, errors.New("movement direct: a DOACROSS loop needs adjacent movement, which keeps rows in blocks"))
	}
	return errors.Join(faults...)
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

	tuner tuner
	told  told
	block int // columns in a strip of strips, but perhaps the last

	// Strips may differ from sweep to sweep, so that nothing need stop when the block size changes: messages are
	// matched by the columns that they hold.
	strips   []Range // of the sweep that is under way, or else comes next
	at       point   // to which this rank has come
	current  []Range // strips of sweep at.sweep
	previous []Range // and of the sweep before it
	ups      int     // the first message from the right that is not here yet: its sweep ...
	upStrip  int     // ... and its strip
	sent     []outgoing
}

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
	x.startTuning()
	x.at.column = d.Strip.Lo
	phases := 0
	if d.Block > 0 || x.c.Size() == 1 {
		phases = d.Outer * len(x.strips)
	}
	x.h, err = hooks.New(x.c, hooks.Loop{
		Name: d.Name, Iterations: d.Rows, Weights: d.Weights, Arrays: all, Adjacent: true,
		Phases: phases, Quantum: d.Quantum, Before: x.before, Record: d.Record,
		Agreed: fmt.Sprintf("%d sweeps, strip %v, block size %d, %d arrays with boundary rows, stop test %v after every %d sweeps",
			d.Outer, d.Strip, d.Block, len(d.Arrays), d.After != nil, d.Every),
	}, cfg)
	if err != nil {
		return nil, err
	}
	defer x.h.Annotate()
	x.setOwn()
	x.left, x.right = x.h.Neighbours()
	x.boundary = exchange{c: x.c, arrays: d.Arrays, left: x.left, right: x.right}
	if err := x.boundary.rows(x.own, x.left >= 0, x.right >= 0); err != nil {
		return nil, err
	}
	x.rep.Time, err = timed(x.c, func() error {
		for x.rep.Steps < d.Outer {
			if err := x.tune(); err != nil {
				return err
			}
			if err := x.sweep(); err != nil {
				return err
			}
			x.rep.Steps++
			if d.After != nil && x.rep.Steps%max(1, d.Every) == 0 {
				if err := x.gather(); err != nil {
					return err
				}
				if stop, err := d.After(x.rep.Steps); err != nil {
					return fmt.Errorf("after sweep %d: %w", x.rep.Steps, err)
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
	x.rep.Block = x.block
	if x.c.Rank() != 0 {
		x.rep.Untuned = ""
	}
	x.own = x.h.Range()
	x.rep.Own = x.h.Ranges()
	x.rep.Report, err = x.h.Finish()
	return x.rep, err
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
	for _, strip := range x.current {
		if err := x.strip(strip); err != nil {
			return err
		}
		// What follows happens between this strip and the next one.
		x.at.column = strip.Hi
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
	}
	return nil
}

func (x *across) strip(strip Range) error {
	if x.own.Empty() {
		return nil
	}
	if x.left >= 0 {
		for _, a := range x.d.Arrays {
			if err := receive(x.c, x.left, tagDown, a.Part(x.own.Lo-1, strip)); err != nil {
				return err
			}
		}
	}
	before := point{x.at.sweep - 1, strip.Hi}
	if err := x.receiveUps(before); err != nil {
		return err
	}
	// Boundary rows are sent from where they lie: what was sent of these columns in the last sweep must have left.
	if err := x.waitSent(before); err != nil {
		return err
	}
	began := x.c.Now()
	x.h.Begin()
	x.d.Body(x.own, strip)
	x.h.EndPart(float64(strip.Len()) / float64(x.d.Strip.Len()))
	x.tuner.timed(strip.Len(), x.block, x.units, (x.c.Now() - began).Seconds())
	from := point{x.at.sweep, strip.Lo}
	for _, a := range x.d.Arrays {
		if x.right >= 0 {
			if err := x.send(x.right, tagDown, a.Part(x.own.Hi-1, strip), from); err != nil {
				return err
			}
		}
		if x.left >= 0 {
			if err := x.send(x.left, tagUp, a.Part(x.own.Lo, strip), from); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *across) send(to, tag int, b []byte, from point) error {
	q, err := x.c.Isend(to, tag, b)
	if err == nil {
		x.sent = append(x.sent, outgoing{q, from})
	}
	return err
}

// reaches reports whether a strip that begins at from has columns below p.
func (p point) reaches(from point) bool {
	return from.sweep < p.sweep || from.sweep == p.sweep && from.column < p.column
}

// waitSent waits for what was sent before p.
func (x *across) waitSent(p point) error {
	n := 0
	for ; n < len(x.sent) && p.reaches(x.sent[n].from); n++ {
		if _, err := x.sent[n].q.Wait(); err != nil {
			return err
		}
	}
	x.sent = x.sent[n:]
	return nil
}

// receiveUps receives what the right neighbour has sent, or will have sent when it comes to p, of its first row.
func (x *across) receiveUps(p point) error {
	if x.right < 0 {
		return nil
	}
	for x.ups <= x.at.sweep {
		strips := x.current
		if x.ups < x.at.sweep {
			strips = x.previous
		}
		switch {
		case x.upStrip == len(strips):
			x.ups, x.upStrip = x.ups+1, 0
		case p.reaches(point{x.ups, strips[x.upStrip].Lo}):
			for _, a := range x.d.Arrays {
				if err := receive(x.c, x.right, tagUp, a.Part(x.own.Hi, strips[x.upStrip])); err != nil {
					return err
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
	if have.Hi == want.Hi {
		return nil // the boundary to the right stays: its messages flow on
	}
	return x.catchUp()
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
