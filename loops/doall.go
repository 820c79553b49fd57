package loops

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"shiftwork/comm"
	"shiftwork/dist"
	"shiftwork/hooks"
	"shiftwork/lb"
)

// DOALL is a distributed loop without dependences between its iterations, done once or several times.
//
// Without Halo and After its ranks do not synchronise: a single loop balances within itself down to its last iterations,
// and repetitions of different iterations may overlap. Work then moves directly between any two ranks.
//
// With Halo, Body may read one row of each neighbour, exchanged before each repetition (stencils); iterations stay in
// blocks and move between neighbours. With After, all ranks have finished a repetition before the next begins. Either
// way the hook comes once a repetition, the largest grain that there is, and Report.Barrier says what meeting costs.
//
// With Halo and Overlap, boundary rows travel while Body does the rows that do not need them:
//
//	rows Lo to Hi-1     send Lo and Hi-1 | Body: Lo+1 to Hi-2 | wait for Lo-1 and Hi | Body: Lo, then Hi-1
type DOALL struct {
	Name    string       // for messages and records; default "doall"
	Repeat  int          // repetitions; 0 means 1
	Rows    Range        // the iterations
	Weights dist.Weights // work units of each iteration; zero: unknown, and learned with Halo or After
	Arrays  []Array      // rows move with their iterations
	// Results are arrays whose rows Body sets without reading them: a row lies, after the loop, where its iteration was done last
	// (Report.Own). Unlike those of Arrays they travel only when Piece has begun them. With Halo they belong in Arrays.
	Results []Array
	Halo    bool // before each repetition, row Lo-1 and row Hi of each rank's block are its neighbours' latest
	// Overlap allows, with Halo, to call Body for the rows of a repetition in any order, while boundary rows travel. For
	// each row i that it is given, Body(t, ...) may then read and write row i, and read of rows i-1 and i+1 what no
	// Body(t, ...) writes: the other array of a pair (Jacobi) or, in place, the points of the other colour (red-black).
	// Sums that it makes over rows are made in another order.
	Overlap bool
	// Body does the iterations rows, which this rank owns, for the given repetition. Its effect must not depend on how
	// the rows are split among calls. Without Halo and After it must send and receive
	// nothing, on c or by MPI itself: work may be moving meanwhile.
	Body func(repetition int, rows Range)
	// Piece, in place of Body, does one piece of each of the iterations rows, of so many as Pieces says; rows are done once it was called for
	// every piece, from 0 on. It is for iterations that are long, or that are done best many at once: between pieces a rank may report,
	// and give and take rows, also those that it has begun. So the pieces of a row may be done by several ranks, and what one leaves to the
	// next, or to the program, must lie in Arrays or Results.
	Piece  func(repetition int, rows Range, piece int)
	Pieces int // 1 or more with Piece, 0 without
	// After, if set, is called on every rank after each repetition; it may use c's collectives. All ranks must return
	// the same; true ends the loop. So does an error, at once: see Run.
	After func(repetition int) (stop bool, err error)

	// Checkpoint lets the loop stop between two repetitions, and go on later; Body then gets the repetitions that are left.
	// With it, a loop without Halo and After balances between repetitions, as if it had them; Repeat must be above 1.
	Checkpoint Checkpoint

	Quantum float64        // s; 0: measured
	Record  hooks.Recorder // on rank 0
}

// Run executes the loop; every rank calls it with the same arguments. Each rank's Arrays hold the rows
// of Initial, and with Halo the fixed rows next to Rows, where the loop has any.
//
// An error ends the loop at once, on the rank that has it: messages are under way, and all that c is good for then is to end the program. But for those
// about the arguments, and a *FolderError before the first repetition, which all ranks get, with nothing under way. And but for a *WriteError with
// which a report comes: the loop has stopped, as it was asked to, and only its checkpoint is missing.
func (d DOALL) Run(c comm.Comm, cfg lb.Config) (rep *Report, err error) {
	if d.Name == "" {
		d.Name = "doall"
	}
	if err := comm.Agree(c, d.validate(cfg)); err != nil {
		return nil, err
	}
	if err := d.Checkpoint.same(c, fmt.Sprintf("a DOALL with halo %v, stop test %v", d.Halo, d.After != nil)); err != nil {
		return nil, err
	}
	d.Repeat = max(1, d.Repeat)
	if !d.inStep() {
		return d.runFree(c, cfg)
	}
	if d.Piece != nil {
		d.Body = func(repetition int, rows Range) {
			for i := range d.Pieces {
				d.Piece(repetition, rows, i)
			}
		}
	}
	d.Arrays = slices.Concat(d.Arrays, d.Results) // a loop may stop after any repetition, and its results are then where its rows are
	p := pauses{
		c: c, k: &d.Checkpoint, arrays: moving(d.Arrays), leader: leader(c, d.Rows, cfg.DedicatedMaster), total: d.Repeat,
		// With a halo, a rank that is so many ranks away may be so many repetitions ahead.
		delay: c.Size() - 1,
		what:  fmt.Sprintf("DOALL %q, rows %v, %d arrays", d.Name, d.Rows, len(d.Arrays)),
	}
	if err := p.open(); err != nil {
		return nil, err
	}
	defer p.close()
	if err := p.load(Initial(c, d.Rows, cfg)); err != nil {
		return nil, err
	}
	return d.runInStep(c, cfg, &p)
}

// inStep reports whether ranks meet once a repetition.
func (d DOALL) inStep() bool { return d.Halo || d.After != nil || d.Checkpoint.used() }

func (d DOALL) validate(cfg lb.Config) error {
	var faults []error
	switch {
	case d.Body == nil && d.Piece == nil:
		faults = append(faults, errors.New("loops.DOALL: Body is missing"))
	case d.Body != nil && d.Piece != nil:
		faults = append(faults, errors.New("loops.DOALL: Body and Piece: one of them does the iterations"))
	case d.Piece == nil && d.Pieces != 0, d.Piece != nil && d.Pieces < 1:
		faults = append(faults, fmt.Errorf("loops.DOALL: %d pieces: at least 1 with Piece, 0 without", d.Pieces))
	}
	if d.Halo && len(d.Results) > 0 {
		faults = append(faults, errors.New("loops.DOALL: Results with Halo: neighbours read rows, which belong in Arrays"))
	}
	if d.Repeat < 0 {
		faults = append(faults, fmt.Errorf("%d repetitions: at least 1, or 0 for 1", d.Repeat))
	}
	if cfg.Movement == lb.Direct && d.Halo {
		faults = append(faults, errors.New("movement direct: a loop with a halo needs adjacent movement, which keeps rows in blocks"))
	}
	if d.Overlap && !d.Halo {
		faults = append(faults, errors.New("loops.DOALL: Overlap without Halo: there are no messages that could be overlapped"))
	}
	if d.Checkpoint.used() && d.Repeat < 2 && !d.Halo && d.After == nil {
		faults = append(faults, errors.New("loops.DOALL: Checkpoint in a loop that is done once: it stops between repetitions, and there is but one"))
	}
	if cfg.Movement == lb.Adjacent && !d.inStep() {
		faults = append(faults, errors.New("movement adjacent: ranks of a loop without Halo, After and Checkpoint do not wait for their neighbours; auto or direct"))
	}
	faults = append(faults, fits(slices.Concat(d.Arrays, d.Results), d.Rows, Range{}), d.Checkpoint.validate())
	return errors.Join(faults...)
}

func (d DOALL) runFree(c comm.Comm, cfg lb.Config) (rep *Report, err error) {
	if d.Piece == nil {
		d.Piece = func(repetition int, rows Range, _ int) { d.Body(repetition, rows) }
	}
	f, err := hooks.NewFree(c, hooks.FreeLoop{
		Name: d.Name, Iterations: d.Rows, Repeat: d.Repeat, Weights: d.Weights, Arrays: moving(d.Arrays),
		Pieces: d.Pieces, Results: moving(d.Results), Quantum: d.Quantum, Record: d.Record,
	}, cfg)
	if err != nil {
		return nil, err
	}
	defer catch(&err)
	defer f.Annotate()
	rep = &Report{Steps: d.Repeat}
	rep.Time, err = timed(c, func() error {
		for {
			repetition, rows, piece, ok, err := f.NextPiece()
			if err != nil || !ok {
				return err
			}
			d.Piece(repetition, rows, piece)
		}
	})
	if err != nil {
		return nil, err
	}
	rep.Own = f.Owned()
	rep.Report, err = f.Finish()
	return rep, err
}

func (d DOALL) runInStep(c comm.Comm, cfg lb.Config, p *pauses) (rep *Report, err error) {
	adjacent := d.Halo || cfg.Movement == lb.Adjacent
	h, err := hooks.New(c, hooks.Loop{
		Name: d.Name, Iterations: d.Rows, Weights: d.Weights, Arrays: moving(d.Arrays),
		Adjacent: adjacent, Phases: d.Repeat - p.first, Quantum: d.Quantum, Record: d.Record, Later: true,
		Agreed: fmt.Sprintf("overlap %v", d.Overlap),
	}, cfg)
	if err != nil {
		return nil, err
	}
	defer catch(&err)
	defer h.Annotate()
	left, right := h.Neighbours()
	r := inStep{d: d, c: c, h: h, boundary: exchange{c: c, arrays: d.Arrays, left: left, right: right}}
	rep = &Report{Steps: p.first}
	rep.Time, err = timed(c, func() error {
		h.BeginLoop()
		p.begin()
		for rep.Steps < d.Repeat {
			pause, err := p.at(rep.Steps)
			if err == nil {
				err = p.carryOut(pause, rep.Steps, h.Ranges())
			}
			if err != nil || pause.stop != "" {
				return err
			}
			stop, err := r.step(rep.Steps)
			if err != nil {
				return err
			}
			rep.Steps++
			if stop {
				return nil
			}
			if _, err := h.Hook(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := p.end(); err != nil {
		return nil, err
	}
	p.report(rep)
	rep.Own = h.Ranges()
	if rep.Report, err = h.Finish(); err != nil {
		return nil, err
	}
	if rep.Barrier, err = r.meetings.gather(c, rep.Report); err != nil {
		return nil, err
	}
	return rep, p.unsaved
}

// inStep is one rank's run of a DOALL whose ranks meet once a repetition.
type inStep struct {
	d        DOALL
	c        comm.Comm
	h        *hooks.Hooks
	boundary exchange
	meeting  time.Duration // what the repetition under way has spent on meeting
	meetings meetings
}

// step does one repetition, and After, and reports whether that ends the loop.
func (r *inStep) step(repetition int) (stop bool, err error) {
	r.meeting = 0
	// A repetition that is timed in parts is done in that order.
	parts := r.h.Parts()
	if interior := r.interior(); r.d.Overlap && len(parts) == 1 && !interior.Empty() {
		err = r.overlapped(repetition, parts[0], interior)
	} else {
		err = r.plain(repetition, parts)
	}
	if err != nil {
		return false, err
	}
	if r.d.After != nil {
		err = r.meet(func() error {
			stop, err = r.d.After(repetition)
			return err
		})
		if err != nil {
			return false, fmt.Errorf("after repetition %d: %w", repetition, err)
		}
	}
	r.meetings.add(r.meeting)
	return stop, nil
}

// meet counts f as part of the barrier.
func (r *inStep) meet(f func() error) error {
	began := r.c.Now()
	err := f()
	r.meeting += r.c.Now() - began
	return err
}

// plain exchanges boundary rows and then calls Body.
func (r *inStep) plain(repetition int, parts []Range) error {
	if r.d.Halo {
		err := r.meet(func() error { return r.boundary.rows(r.h.Range(), r.boundary.left >= 0, r.boundary.right >= 0) })
		if err != nil {
			return err
		}
	}
	r.h.Begin()
	for _, rows := range parts {
		r.d.Body(repetition, rows)
		r.h.Lap(rows)
	}
	r.h.End()
	return nil
}

// interior are the own rows that are not a neighbour's halo: they need none of its rows either.
func (r *inStep) interior() Range {
	own := r.h.Range()
	if r.boundary.left >= 0 {
		own.Lo++
	}
	if r.boundary.right >= 0 {
		own.Hi--
	}
	return own
}

// pollParts is into how many parts the interior is cut while messages are under way. MPI moves a long message only while
// both ranks call it: its announcement, its answer and its end each want one call.
const pollParts = 4

// overlapped calls Body for the interior while boundary rows travel, and then for the rows at the edges.
func (r *inStep) overlapped(repetition int, own, interior Range) error {
	err := r.meet(func() error { return r.boundary.start(own, r.boundary.left >= 0, r.boundary.right >= 0) })
	if err != nil {
		return err
	}
	done := len(r.boundary.reqs) == 0
	for part, rest := (interior.Len()+pollParts-1)/pollParts, interior; !rest.Empty(); {
		rows := rest
		if !done {
			rows.Hi = min(rows.Lo+part, rest.Hi)
		}
		rest.Lo = rows.Hi
		r.compute(repetition, rows)
		if !done && !rest.Empty() {
			err := r.meet(func() (err error) {
				done, err = r.boundary.poll()
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	if err := r.meet(r.boundary.finish); err != nil {
		return err
	}
	r.h.Begin()
	for _, edge := range []Range{Span(own.Lo, interior.Lo), Span(interior.Hi, own.Hi)} {
		if !edge.Empty() {
			r.d.Body(repetition, edge)
			r.h.Lap(edge)
		}
	}
	r.h.End()
	return nil
}

// compute calls Body for a part of a phase that is interrupted.
func (r *inStep) compute(repetition int, rows Range) {
	r.h.Begin()
	r.d.Body(repetition, rows)
	r.h.Lap(rows)
	r.h.EndPart(0)
}

func moving(arrays []Array) []hooks.Array {
	out := make([]hooks.Array, len(arrays))
	for i, a := range arrays {
		out[i] = a
	}
	return out
}
