package frame

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"shiftwork/apps/internal/cli"
	"shiftwork/apps/internal/gridfile"
	"shiftwork/comm"
	"shiftwork/hooks"
)

// CheckFiles finds out, on rank 0 and before anything is computed, whether the files that the flags name can be written.
// The error is every rank's.
func CheckFiles(c comm.Comm, s *cli.Shared, more ...string) error {
	var faults []error
	if c.Rank() == 0 {
		for _, path := range append(more, s.Record, s.Report) {
			if path != "" {
				if err := gridfile.CheckOutput(path); err != nil {
					faults = append(faults, err)
				}
			}
		}
	}
	return Refused(c, errors.Join(faults...))
}

// Recorder is what --record and --progress ask for, on rank 0; nil elsewhere. Call done after the loop.
func Recorder(c comm.Comm, name string, s *cli.Shared) (r hooks.Recorder, done func() error, err error) {
	done = func() error { return nil }
	if c.Rank() != 0 {
		return nil, done, nil
	}
	var all []hooks.Recorder
	if s.Progress {
		all = append(all, &progress{w: os.Stderr, name: name})
	}
	if s.Record != "" {
		f, err := os.Create(s.Record)
		if err != nil {
			return nil, done, err
		}
		w := bufio.NewWriter(f)
		lines := hooks.NewJSONL(w)
		all = append(all, lines)
		done = func() error { return errors.Join(lines.Err(), w.Flush(), f.Close()) }
	}
	if len(all) == 0 {
		return nil, done, nil
	}
	return hooks.Tee(all...), done, nil
}

// progress prints at most one line a second: who owns how much, and what moved since the last line.
type progress struct {
	w     io.Writer
	name  string
	last  float64 // s
	moves int
}

func (p *progress) Record(e hooks.Event) {
	if e.Decision == nil {
		return
	}
	if e.Decision.Moved() {
		p.moves++
	}
	if e.Time < p.last+1 {
		return
	}
	p.last = e.Time
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %5.1f s  share of work", p.name, e.Time)
	total := 0.0
	for _, s := range e.Statuses {
		total += s.Owned
	}
	for _, s := range e.Statuses {
		share := 0.0
		if total > 0 {
			share = s.Owned / total
		}
		fmt.Fprintf(&b, " %4.1f%%", 100*share)
	}
	fmt.Fprintf(&b, "  period %v", time.Duration(e.Decision.Period*float64(time.Second)).Round(time.Millisecond))
	if p.moves > 0 {
		fmt.Fprintf(&b, "  shifted %d times", p.moves)
		p.moves = 0
	}
	fmt.Fprintln(p.w, b.String())
}

// Write writes the rows of all ranks to a .npy file of n x m values, which appears under its name when it is complete.
func Write(c comm.Comm, path string, n, m int, own []Rows) error {
	var temp string
	var err error
	if c.Rank() == 0 {
		temp, err = gridfile.Create(path, n, m)
	}
	if err := comm.Agree(c, err); err != nil {
		return err
	}
	name := make([]byte, 4096) // a path, padded with zeros
	copy(name, temp)
	if err := comm.Bcast(c, 0, name); err != nil {
		return err
	}
	temp = strings.TrimRight(string(name), "\x00")
	err = comm.Agree(c, writeRows(temp, n, m, own))
	if c.Rank() == 0 {
		if err != nil {
			err = errors.Join(err, gridfile.Abort(temp))
		} else {
			err = gridfile.Commit(temp, path)
		}
	}
	return comm.Agree(c, err)
}

func writeRows(temp string, n, m int, own []Rows) error {
	if len(own) == 0 {
		return nil
	}
	out, err := gridfile.OpenOutput(temp, n, m)
	if err != nil {
		return err
	}
	for _, r := range own {
		err = errors.Join(err, out.WriteRows(r.Lo, r.Values))
	}
	return errors.Join(err, out.Close())
}
