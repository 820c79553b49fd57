package loops

import (
	"errors"
	"fmt"

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
// blocks and move between neighbours. With After, all ranks have finished a repetition before the next begins.
type DOALL struct {
	Name    string       // for messages and records; default "doall"
	Repeat  int          // repetitions; 0 means 1
	Rows    Range        // the iterations
	Weights dist.Weights // work units of each iteration; zero: unknown, and learned with Halo or After
	Arrays  []Array      // rows move with their iterations
	Halo    bool         // before each repetition, row Lo-1 and row Hi of each rank's block are its neighbours' latest
	// Body does the iterations rows, which this rank owns, for the given repetition. Its effect must not depend on how
	// the rows are split among calls.
	Body func(repetition int, rows Range)
	// After, if set, is called on every rank after each repetition; it may use c's collectives. All ranks must return
	// the same; true ends the loop.
	After func(repetition int) (stop bool, err error)

	Quantum float64        // s; 0: measured
	Record  hooks.Recorder // on rank 0
}

// Run executes the loop; every rank calls it with the same arguments. Each rank's Arrays hold the rows
// of Initial, and with Halo the fixed rows next to Rows, where the loop has any.
func (d DOALL) Run(c comm.Comm, cfg lb.Config) (rep *Report, err error) {
	if d.Name == "" {
		d.Name = "doall"
	}
	if err := comm.Agree(c, d.validate(cfg)); err != nil {
		return nil, err
	}
	d.Repeat = max(1, d.Repeat)
	if d.Halo || d.After != nil {
		return d.runInStep(c, cfg)
	}
	return d.runFree(c, cfg)
}

func (d DOALL) validate(cfg lb.Config) error {
	var faults []error
	if d.Body == nil {
		faults = append(faults, errors.New("loops.DOALL: Body is missing"))
	}
	if d.Repeat < 0 {
		faults = append(faults, fmt.Errorf("%d repetitions: at least 1, or 0 for 1", d.Repeat))
	}
	if cfg.Movement == lb.Direct && d.Halo {
		faults = append(faults, errors.New("movement direct: a loop with a halo needs adjacent movement, which keeps rows in blocks"))
	}
	return errors.Join(faults...)
}

func (d DOALL) runFree(c comm.Comm, cfg lb.Config) (rep *Report, err error) {
	f, err := hooks.NewFree(c, hooks.FreeLoop{
		Name: d.Name, Iterations: d.Rows, Repeat: d.Repeat, Weights: d.Weights,
		Arrays: moving(d.Arrays), Quantum: d.Quantum, Record: d.Record,
	}, cfg)
	if err != nil {
		return nil, err
	}
	defer catch(&err)
	defer f.Annotate()
	rep = &Report{Steps: d.Repeat}
	rep.Time, err = timed(c, func() error {
		for {
			repetition, rows, ok, err := f.Next()
			if err != nil || !ok {
				return err
			}
			d.Body(repetition, rows)
		}
	})
	if err != nil {
		return nil, err
	}
	rep.Own = f.Owned()
	rep.Report, err = f.Finish()
	return rep, err
}

func (d DOALL) runInStep(c comm.Comm, cfg lb.Config) (rep *Report, err error) {
	adjacent := d.Halo || cfg.Movement == lb.Adjacent
	h, err := hooks.New(c, hooks.Loop{
		Name: d.Name, Iterations: d.Rows, Weights: d.Weights, Arrays: moving(d.Arrays),
		Adjacent: adjacent, Phases: d.Repeat, Quantum: d.Quantum, Record: d.Record,
		Agreed: fmt.Sprintf("halo %v, stop test %v", d.Halo, d.After != nil),
	}, cfg)
	if err != nil {
		return nil, err
	}
	defer catch(&err)
	defer h.Annotate()
	left, right := h.Neighbours()
	x := exchange{c: c, arrays: d.Arrays, left: left, right: right}
	rep = &Report{}
	rep.Time, err = timed(c, func() error {
		for rep.Steps < d.Repeat {
			if d.Halo {
				own := h.Range()
				if err := x.rows(own, left >= 0, right >= 0); err != nil {
					return err
				}
			}
			h.Begin()
			for _, rows := range h.Parts() {
				d.Body(rep.Steps, rows)
				h.Lap(rows)
			}
			h.End()
			rep.Steps++
			if d.After != nil {
				stop, err := d.After(rep.Steps - 1)
				if err != nil {
					return fmt.Errorf("after repetition %d: %w", rep.Steps-1, err)
				}
				if stop {
					return nil
				}
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
	rep.Own = h.Ranges()
	rep.Report, err = h.Finish()
	return rep, err
}

func moving(arrays []Array) []hooks.Array {
	out := make([]hooks.Array, len(arrays))
	for i, a := range arrays {
		out[i] = a
	}
	return out
}
