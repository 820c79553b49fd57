package loops

import (
	"fmt"

	"shiftwork/comm"
	"shiftwork/dist"
	"shiftwork/hooks"
	"shiftwork/lb"
)

// Report is what a loop's run came to.
type Report struct {
	Own   []Range // the iterations whose data is on this rank at the end, ascending
	Steps int     // sweeps or repetitions done, those before a restart included

	Block     int      // DOACROSS: the strip-mine block size at the end, in columns
	Lean      int      // DOACROSS: by how many rows blocks leaned to each side at the end (DOACROSS.Reach)
	Calibrate float64  // s, measuring communication costs before the loop
	Tunings   []Tuning // DOACROSS, on rank 0: each choice of the block size that changed it, and the first; 100 at most
	Untuned   string   // DOACROSS, on rank 0: why there is no Tuning
	Time      float64  // s, from a barrier before the first iteration to a barrier after the last

	Stopped        string  // why the loop stopped before its end (Checkpoint.Stop, StoppedByTime); "": it did not
	Resumed        int     // Steps that were done before this run, which went on from a checkpoint
	Checkpoints    int     // written
	CheckpointTime float64 // s, part of Time

	Barrier *Barrier `json:"barrier,omitempty"` // a DOALL with Halo, After or Checkpoint, on rank 0; nil elsewhere

	*hooks.Report // on rank 0; nil elsewhere
}

// Initial is the block of iterations that a rank owns before the first iteration of a loop: what it has to read or
// to initialise.
func Initial(c comm.Comm, iterations Range, cfg lb.Config) Range {
	first := 0
	if cfg.DedicatedMaster && c.Size() > 1 {
		first = 1
	}
	return dist.Even(iterations, c.Size(), first).Range(c.Rank())
}

// Collect brings rows of the arrays to one rank, which has all of them afterwards: own are those that a rank has, Report.Own after a loop. Elsewhere
// arrays stay as they are. Every rank calls it, with the same arrays. It fails where rows come in another length than the array of rank to has, or a message fails.
func Collect(c comm.Comm, to int, own []Range, arrays ...Array) error {
	var e comm.Encoder
	e.Int(len(own))
	for _, r := range own {
		e.Int(r.Lo)
		e.Int(r.Hi)
	}
	all, err := comm.Gather(c, to, e.Message())
	if err != nil {
		return err
	}
	if c.Rank() != to {
		for _, r := range own {
			for _, a := range arrays {
				if err := c.Send(to, tagRows, a.Bytes(r)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for from, owned := range all {
		if from == to {
			continue
		}
		in := comm.NewDecoder(owned)
		for range in.Count(16) {
			r := Span(in.Int(), in.Int())
			for i, a := range arrays {
				st, err := c.Recv(from, tagRows, a.Bytes(r))
				if err != nil {
					return err
				}
				if n := len(a.Bytes(r)); st.Len != n {
					return fmt.Errorf("array %d, rows %v: rank %d sent %d bytes, %d expected: do all ranks list the same arrays?", i, r, from, st.Len, n)
				}
			}
		}
	}
	return nil
}

// timed runs f between two barriers and returns the seconds in between.
func timed(c comm.Comm, f func() error) (float64, error) {
	if err := comm.Barrier(c); err != nil {
		return 0, err
	}
	began := c.Now()
	if err := f(); err != nil {
		return 0, err
	}
	if err := comm.Barrier(c); err != nil {
		return 0, err
	}
	return (c.Now() - began).Seconds(), nil
}

// catch turns a panic that a run time has annotated into the error that it is.
func catch(err *error) {
	switch v := recover().(type) {
	case nil:
	case *hooks.PanicError:
		*err = v
	default:
		panic(v)
	}
}
