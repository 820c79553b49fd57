package loops

import (
	"errors"
	"fmt"

	"shiftwork/comm"
	"shiftwork/dist"
	"shiftwork/hooks"
	"shiftwork/lb"
	"shiftwork/pipeline"
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
	Block   int           // columns in a strip; 0: chosen from measured costs (package pipeline)

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
	left, right int
	boundary    exchange

	block  int
	strips []Range
	next   int            // strip that is computed next
	credit int            // strips, from next on, whose right boundary row is already here
	down   []comm.Request // per strip: the last row's send to the right
	up     []comm.Request // per strip: the first row's send to the left

	column float64 // s, shortest time seen for one column of this rank's rows in strips of this length
	short  timing  // of the first sweep
}

func (x *across) run(cfg lb.Config) (*Report, error) {
	d := &x.d
	all := append(moving(d.Arrays), d.Local...)
	began := x.c.Now()
	costs, err := measureShift(x.c)
	if err != nil {
		return nil, err
	}
	x.rep.Calibrate = (x.c.Now() - began).Seconds()
	x.provisional()
	phases := 0
	if d.Block > 0 {
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
	x.own = x.h.Range()
	x.left, x.right = x.h.Neighbours()
	x.boundary = exchange{c: x.c, arrays: d.Arrays, left: x.left, right: x.right}
	if err := x.boundary.rows(x.own, x.left >= 0, x.right >= 0); err != nil {
		return nil, err
	}
	x.rep.Time, err = timed(x.c, func() error {
		for x.rep.Steps < d.Outer {
			if d.Block == 0 {
				if err := x.calibrate(costs); err != nil {
					return err
				}
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
		return x.drain()
	})
	if err != nil {
		return nil, err
	}
	x.rep.Block = x.block
	x.own = x.h.Range()
	x.rep.Own = x.h.Ranges()
	x.rep.Report, err = x.h.Finish()
	return x.rep, err
}

// provisional sets the block size of the first sweep: the one asked for, or such that filling the pipeline takes at
// most a quarter of the sweep (equation (6) with M = StreamingSlack P).
func (x *across) provisional() {
	b := x.d.Block
	if b == 0 {
		b = max(1, x.d.Strip.Len()/(pipeline.StreamingSlack*x.c.Size()))
	}
	x.setBlock(b)
}

func (x *across) setBlock(b int) {
	x.block = max(1, min(b, x.d.Strip.Len()))
	x.strips = x.strips[:0]
	for lo := x.d.Strip.Lo; lo < x.d.Strip.Hi; lo += x.block {
		x.strips = append(x.strips, Span(lo, min(lo+x.block, x.d.Strip.Hi)))
	}
	m := len(x.strips)
	x.next, x.credit = 0, m
	arrays := len(x.d.Arrays)
	x.down, x.up = make([]comm.Request, m*arrays), make([]comm.Request, m*arrays)
}

// enoughSweeps is how many sweeps a loop must have for its second one to be spent on measuring.
const enoughSweeps = 16

// calibrate sets the block size of the sweep that comes next, where it is automatic. The first one measures short strips,
// the second one long ones: what a strip costs beside its columns, cold caches above all, is the body's own t_fixed. Then
// the choice is made. All ranks leave a sweep together when the block size changes.
func (x *across) calibrate(costs pipeline.Costs) error {
	second := x.d.Outer >= enoughSweeps && x.c.Size() > 1
	switch {
	case x.rep.Steps == 1 && second:
		if err := x.drain(); err != nil {
			return err
		}
		x.short = x.measured()
		x.setBlock(pipeline.StreamingSlack * x.block)
		return nil
	case x.rep.Steps == 2 && second:
		return x.tune(costs, x.short, x.measured())
	case x.rep.Steps == 1 && !second:
		only := x.measured()
		return x.tune(costs, only, only)
	}
	return nil
}

// timing is what strips of one length took.
type timing struct {
	block  int
	column float64 // s, the shortest time for a column of this rank's rows
}

func (x *across) measured() timing {
	t := timing{x.block, x.column}
	x.column = 0
	return t
}

// tune chooses the block size from what sweeps of short and of long strips measured: a column takes Iteration + Fixed/block.
func (x *across) tune(costs pipeline.Costs, short, long timing) error {
	if err := x.drain(); err != nil {
		return err
	}
	fixed := 0.0
	if long.block > short.block && long.column > 0 {
		fixed = max(0, (short.column-long.column)/(1/float64(short.block)-1/float64(long.block)))
	}
	column := long.column - fixed/float64(long.block)
	if long.column == 0 { // the rows changed in the middle of it
		column = short.column
	}
	slowest, err := comm.AllreduceMax(x.c, max(0, column))
	if err != nil {
		return err
	}
	dearest, err := comm.AllreduceMax(x.c, fixed)
	if err != nil {
		return err
	}
	costs.Iteration = slowest
	costs.Fixed += dearest
	choice := pipeline.ChooseStreaming(costs, x.d.Strip.Len(), x.c.Size(), x.d.Outer-x.rep.Steps)
	x.setBlock(choice.BlockSize)
	x.h.SetPhases(x.h.PhasesDone() + (x.d.Outer-x.rep.Steps)*len(x.strips))
	return nil
}

func (x *across) sweep() error {
	for s, strip := range x.strips {
		x.next = s
		if err := x.strip(s, strip); err != nil {
			return err
		}
		// What follows happens between this strip and the next one.
		x.next = (s + 1) % len(x.strips)
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

func (x *across) strip(s int, strip Range) error {
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
	if x.right >= 0 {
		if x.credit > 0 {
			x.credit--
		} else if err := x.receiveUp(s); err != nil {
			return err
		}
	}
	// Boundary rows are sent from where they lie: what was sent of this strip in the last sweep must have left.
	n := len(x.d.Arrays)
	if err := waitAll(x.down[s*n : (s+1)*n]); err != nil {
		return err
	}
	if err := waitAll(x.up[s*n : (s+1)*n]); err != nil {
		return err
	}
	before := x.c.Now()
	x.h.Begin()
	x.d.Body(x.own, strip)
	x.h.EndPart(float64(strip.Len()) / float64(x.d.Strip.Len()))
	if t := (x.c.Now() - before).Seconds() / float64(strip.Len()); strip.Len() == x.block && (x.column == 0 || t < x.column) {
		x.column = t
	}
	for i, a := range x.d.Arrays {
		var err error
		if x.right >= 0 {
			if x.down[s*n+i], err = x.c.Isend(x.right, tagDown, a.Part(x.own.Hi-1, strip)); err != nil {
				return err
			}
		}
		if x.left >= 0 {
			if x.up[s*n+i], err = x.c.Isend(x.left, tagUp, a.Part(x.own.Lo, strip)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *across) receiveUp(s int) error {
	for _, a := range x.d.Arrays {
		if err := receive(x.c, x.right, tagUp, a.Part(x.own.Hi, x.strips[s])); err != nil {
			return err
		}
	}
	return nil
}

// catchUp receives what the right neighbour has sent, or will have sent when it comes to this point, of its first row:
// afterwards the row behind the block is complete for one sweep.
func (x *across) catchUp() error {
	if x.right < 0 || x.own.Empty() {
		return nil
	}
	m := len(x.strips)
	for ; x.credit < m; x.credit++ {
		if err := x.receiveUp((x.next + x.credit) % m); err != nil {
			return err
		}
	}
	return nil
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
	x.own = x.h.Range()
	left, right := x.left >= 0 && have.Lo != x.own.Lo, x.right >= 0 && have.Hi != x.own.Hi
	x.column = 0 // of another number of rows
	if err := x.boundary.rows(x.own, left, right); err != nil {
		return err
	}
	return nil
}

// gather returns when all ranks have finished the sweep, with nothing under way.
func (x *across) gather() error {
	if err := x.drain(); err != nil {
		return err
	}
	return comm.Barrier(x.c)
}

// drain receives and sends what is under way, so that the block size can change or the loop end.
func (x *across) drain() error {
	if err := x.catchUp(); err != nil {
		return err
	}
	if err := waitAll(x.down); err != nil {
		return err
	}
	return waitAll(x.up)
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
