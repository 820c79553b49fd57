package loops

import (
	"encoding/binary"
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
	Outer   int           // sweeps, 0 or more
	Rows    Range         // iterations of the distributed loop
	Strip   Range         // iterations of the strip-mined loop: columns
	Weights dist.Weights  // work units of each iteration; zero: 1 each
	Arrays  []Array       // neighbours read each other's boundary rows; rows move with their iterations
	Local   []hooks.Array // data that only moves with its iterations: coefficients, right-hand sides
	Block   int           // columns in a strip; 0: chosen from measured costs, again and again (package pipeline)

	// Body does one strip of one sweep for the given rows: those that this rank owns or, with Reach, any near them. Its
	// effect must not depend on how Rows and Strip are split.
	Body func(rows, strip Range)

	// Bodies, if set, takes Body's place. It does the given parts one after the other: several where several sweeps pass over the same rows and columns (Reach), for a
	// body that is faster when it need not stop in between, such as a wavefront that fills and drains, or that does not do the same in all sweeps. It must not keep parts.
	Bodies func(parts []Part)

	// Reach is how many columns to the left and to the right of an element Body reads at most, fixed ones outside Strip
	// aside: 1 in the nest above. 0: any number. Where it is set and there are no Local arrays,
	//   - blocks lean: they are shifted by a row from sweep to sweep, and back after some, so that ranks need not keep step
	//     with their right neighbours while one of them is off its core;
	//   - several sweeps pass over rows and columns that fit the cache, one behind the other, before the next ones: calls of
	//     Body are then for several sweeps in turn, each element's in the order that the nest demands.
	Reach int

	// After, if set, is called on every rank when all have finished Every more sweeps (0 means 1); it may use c's
	// collectives. All ranks must return the same; true ends the loop. So does an error, at once: see Run. It drains the pipeline: do it rarely.
	After func(sweeps int) (stop bool, err error)
	Every int

	// NextAfter, if set, takes Every's place: after how many sweeps in all After is called next, if it last was after so many, or at the beginning, 0; one more at least. It must depend on
	// that number only. A loop that stops and goes on later calls After as one that does not stop.
	NextAfter func(sweeps int) int

	// Checkpoint lets the loop stop between two sweeps, and go on later.
	Checkpoint Checkpoint

	Quantum float64        // s; 0: measured
	Record  hooks.Recorder // on rank 0
}

// Run executes the loop; every rank calls it with the same arguments. Each rank's Arrays hold the rows of
// Initial, and the fixed rows before and behind Rows, where the loop has any.
//
// An error ends the loop at once, on the rank that has it: messages are under way, and all that c is good for then is to end the program. But for those
// about the arguments, and a *FolderError before the first sweep, which all ranks get, with nothing under way. And but for a *WriteError with
// which a report comes: the loop has stopped, as it was asked to, and only its checkpoint is missing.
func (d DOACROSS) Run(c comm.Comm, cfg lb.Config) (rep *Report, err error) {
	if d.Name == "" {
		d.Name = "doacross"
	}
	if err := comm.Agree(c, d.validate(cfg)); err != nil {
		return nil, err
	}
	if err := d.Checkpoint.same(c, "a DOACROSS"); err != nil {
		return nil, err
	}
	d.Reach = min(d.Reach, max(1, d.Strip.Len())) // beyond that there is nothing to read but fixed columns
	r := across{d: d, c: c, rep: &Report{}, pauses: pauses{
		c: c, k: &d.Checkpoint, arrays: append(moving(d.Arrays), d.Local...), leader: leader(c, d.Rows, cfg.DedicatedMaster), total: d.Outer,
		what: fmt.Sprintf("DOACROSS %q, rows %v, strip %v, %d and %d arrays", d.Name, d.Rows, d.Strip, len(d.Arrays), len(d.Local)),
	}}
	if err := r.pauses.open(); err != nil {
		return nil, err
	}
	defer r.pauses.close()
	if err := r.pauses.load(Initial(c, d.Rows, cfg)); err != nil {
		return nil, err
	}
	r.d.Outer -= r.pauses.first // from here on sweeps are counted from 0 again
	defer catch(&err)
	return r.run(cfg)
}

func (d DOACROSS) validate(cfg lb.Config) error {
	var faults []error
	if d.Body == nil && d.Bodies == nil {
		faults = append(faults, errors.New("loops.DOACROSS: Body is missing"))
	}
	if d.Block < 0 {
		faults = append(faults, fmt.Errorf("block size %d: at least 1, or 0 for automatic", d.Block))
	}
	if d.Strip.Hi < d.Strip.Lo {
		faults = append(faults, fmt.Errorf("strip %v: the end lies before the beginning", d.Strip))
	}
	if d.Reach < 0 {
		faults = append(faults, fmt.Errorf("reach %d columns: at least 1, or 0 for any number", d.Reach))
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
	return errors.Join(append(faults, fits(d.Arrays, d.Rows, d.Strip), d.Checkpoint.validate())...)
}

// Part is a strip of a sweep, counted from 0, for some rows: what Body does in one call.
type Part struct {
	Sweep       int
	Rows, Strip Range
}

// nextAfter is after how many sweeps After is called, if it has been called after so many, or at the beginning.
func (d *DOACROSS) nextAfter(sweeps int) int {
	if d.NextAfter != nil {
		return max(sweeps+1, d.NextAfter(sweeps))
	}
	return sweeps + max(1, d.Every)
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

	tuner  tuner
	told   told
	width  int // columns in a strip of strips, but perhaps the last
	vector int // columns that are whole vectors

	// Strips may differ from batch to batch, so that nothing need stop when the block size changes: messages are
	// matched by the columns that they hold.
	strips  []Range // of the batch that is under way, or else comes next
	at      point   // to which this rank has come
	past    past    // batches up to the one with sweep at.sweep
	done    int     // strips of that
	mail    mail
	up      messagesUp
	down    messagesDown
	pieces  []piece
	tiles   []Range // of a strip: rows
	parts   []Part  // what compute does
	look    int     // After is called next after so many sweeps, those before a restart included
	token   [1]byte
	end     [maxHead]byte // of this rank's block behind the strip that comes next, on its way
	begin   [maxHead]byte // the same of the left rank's
	seam    bool          // messages from the left are of the boundary as it was, up to a seam
	passing passing

	lean      lean
	leans     bool    // blocks may lean
	longest   int     // sweeps of a batch at most
	wireBound bool    // on rank 0: messages on their way set the pace
	single    bool    // one, until the first answer
	tokens    bool    // leans are long: isLong
	rationed  bool    // ranks have CPU quotas
	leanMost  int     // what lean.most may become at most
	leanUsual int     // the same, where ranks have quotas and that lasts long enough
	leaned    bool    // it was settled, on rank 0
	wider     int     // what lean.most becomes at the next hook; 0: it stays
	quantum   float64 // s
}

// point is where all columns below column are of the given sweep, and the others of sweeps before.
type point struct{ sweep, column int }

func (x *across) run(cfg lb.Config) (*Report, error) {
	d := &x.d
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
	if x.rationed, err = areRationed(x.c); err != nil {
		return nil, err
	}
	share := usualShare
	switch {
	case x.rationed:
		share = rationedShare
	case !comm.IsCrowded(x.c): // where they share processors, whoever waits lets another rank compute
		share = min(mostShare, max(usualShare, leanShare*float64(workers)))
	}
	x.leanUsual, x.leanMost, x.longest = d.mostLean(workers, usualShare), d.mostLean(workers, share), longestBatch
	if d.mayLean() && workers == 1 {
		x.lean.most = alone
	}
	x.vector = d.vector()
	x.startTuning()
	x.at.column = d.Strip.Lo
	for x.look <= x.pauses.first {
		x.look = d.nextAfter(x.look)
	}
	var ahead hooks.Ahead
	if x.leans = x.leanMost > 0; x.leans {
		ahead = leaner{x}
	}
	phases := 0
	if d.Block > 0 || x.c.Size() == 1 {
		phases = x.phases()
	}
	x.h, err = hooks.New(x.c, hooks.Loop{
		Name: d.Name, Iterations: d.Rows, Weights: d.Weights, Arrays: x.movingArrays(), Adjacent: true, OneByOne: ahead,
		Phases: phases, Quantum: d.Quantum, Record: d.Record, Later: true,
		Before: func(have, want Range) error { return x.before(have, want, x.h.PhasesDone()) },
		Agreed: fmt.Sprintf("%d sweeps, strip %v, block size %d, reach %d, %d arrays with boundary rows, %d local, stop test %v after every %d sweeps, or as it says: %v",
			d.Outer, d.Strip, d.Block, d.Reach, len(d.Arrays), len(d.Local), d.After != nil, d.Every, d.NextAfter != nil),
	}, cfg)
	if err != nil {
		return nil, err
	}
	if x.leanMost > 0 {
		if x.quantum, err = x.h.Quantum(); err != nil {
			return nil, err
		}
	}
	perByte := 0.0 // s
	if x.tuner.answer >= 0 {
		began = x.c.Now()
		if perByte, err = x.h.PerByte(); err != nil {
			return nil, err
		}
		x.tuner.messages.carries(perByte)
		x.rep.Calibrate += (x.c.Now() - began).Seconds()
	}
	defer x.h.Annotate()
	x.setOwn()
	x.left, x.right = x.h.Neighbours()
	x.mail = mail{c: x.c, in: x.h, arrays: d.Arrays}
	x.up.pieces, x.down.pieces = x.awaitedUps, x.awaitedDowns
	x.boundary = exchange{c: x.c, arrays: d.Arrays, left: x.left, right: x.right}
	if x.leanMost > 0 && x.tuner.answer >= 0 {
		if err := x.beginLeaning(perByte); err != nil {
			return nil, err
		}
	}
	if err := x.boundary.rows(x.own, x.left >= 0, x.right >= 0); err != nil {
		return nil, err
	}
	x.rep.Time, err = timed(x.c, func() error {
		x.h.BeginLoop()
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
			if err := x.batch(); err != nil {
				return err
			}
			x.rep.Steps += x.past.current().count
			if done := x.pauses.first + x.rep.Steps; d.After != nil && done == x.look {
				x.look = d.nextAfter(done)
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
	if err := x.mail.shelf.Close(); err != nil {
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
	x.rep.Block = x.width
	if x.leanMost > 0 {
		x.rep.Lean = x.lean.most
	}
	if x.c.Rank() != 0 {
		x.rep.Untuned = ""
	}
	x.own = x.h.Range()
	x.rep.Own = x.h.Ranges()
	if x.rep.Report, err = x.h.Finish(); err != nil {
		return nil, err
	}
	return x.rep, x.pauses.unsaved
}

// pause stops the loop, or writes a checkpoint, if all ranks have agreed to do so before the sweep that comes next.
func (x *across) pause() (stop bool, err error) {
	done := x.pauses.first + x.rep.Steps
	x.pauses.lead = x.lean.notice(x.leanMost)
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
	x.width = max(1, min(b, x.d.Strip.Len()))
	x.strips = nil // current and previous may be the old ones
	x.cut(x.width, x.d.Strip.Hi)
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

// batch does one batch, strip by strip.
func (x *across) batch() error {
	b := x.past.add(x.next())
	x.h.SetSlack(b.slack())
	x.at, x.done = point{b.last(), x.d.Strip.Lo}, 0
	for i := range b.strips {
		if err := x.strip(b, i); err != nil {
			return err
		}
		// What follows happens between this strip and the next one.
		x.at.column, x.done = x.part(b, i, b.count-1).Hi, i+1
		if err := x.hook(b, i); err != nil {
			return err
		}
	}
	return nil
}

// strip does strip number i of all sweeps of a batch.
func (x *across) strip(b *batch, i int) error {
	if x.own.Empty() {
		return nil
	}
	before := point{b.sweep - 1, b.strips[i].Hi}
	if b.back || x.leans && x.past.travelled() {
		before.column += x.d.Reach // some of the rows that come from the right are computed here, or may be: CatchUp
	}
	if err := x.receiveUps(before); err != nil {
		return err
	}
	if err := x.receiveDowns(b, i); err != nil {
		return err
	}
	began := x.c.Now()
	work := x.sweep(b, i, x.own, x.left >= 0, x.right >= 0)
	x.tuner.timed(b.strips[i].Len(), x.width, work/float64(b.strips[i].Len()), (x.c.Now() - began).Seconds())
	if err := x.sendDowns(b, i, x.h.NextEnd()); err != nil {
		return err
	}
	return x.mail.send(x.left, tagUp, x.tokenUp(b, i), x.ups(b, i, x.own.Lo))
}

// sweep is compute as part of what this rank computes.
func (x *across) sweep(b *batch, i int, rows Range, lo, hi bool) (work float64) {
	x.h.Begin()
	work = x.compute(b, i, rows, lo, hi)
	x.h.EndPart(work / x.units / float64(x.d.Strip.Len()))
	return work
}

// sendDowns sends the last row's part of strip i to the right, and where the boundary to the right is to be behind this strip.
func (x *across) sendDowns(b *batch, i, end int) error {
	binary.LittleEndian.PutUint64(x.end[:], uint64(end))
	return x.mail.send(x.right, tagDown, x.end[:], x.downs(b, i, x.own.Hi))
}

// receiveDowns receives that of the left neighbour.
func (x *across) receiveDowns(b *batch, i int) error {
	if x.left < 0 {
		return nil
	}
	if err := x.skipDowns(); err != nil {
		return err
	}
	x.down.batch, x.down.strip = b, i
	if err := x.mail.receive(x.left, tagDown, x.begin[:], x.down.pieces); err != nil {
		return err
	}
	x.h.NextBegin(int(binary.LittleEndian.Uint64(x.begin[:])))
	return nil
}

// stop is the number of sweeps after which all ranks meet.
func (x *across) stop() int {
	stop := x.pauses.meet()
	if x.d.After != nil {
		stop = min(stop, x.look)
	}
	return stop - x.pauses.first
}

// reaches reports whether a strip that begins at from has columns below p.
func (p point) reaches(from point) bool {
	return from.sweep < p.sweep || from.sweep == p.sweep && from.column < p.column
}

// catchUp makes the row behind the block complete for one sweep, up to the point to which this rank has come.
func (x *across) catchUp() error {
	if x.own.Empty() {
		return nil
	}
	return x.receiveUps(x.at)
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
	if err := x.skipDowns(); err != nil {
		return err
	}
	if err := x.h.Await(); err != nil {
		return err
	}
	return x.mail.flush()
}
