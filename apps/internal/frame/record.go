package frame

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"shiftwork/apps/internal/cli"
	"shiftwork/apps/internal/gridfile"
	"shiftwork/apps/internal/output"
	"shiftwork/comm"
	"shiftwork/hooks"
	"shiftwork/loops"
	"shiftwork/trace"
)

// File is a file that a flag names; none if the path is empty.
type File struct{ Flag, Path string }

// CheckFiles finds out, on rank 0 and before anything is computed, whether the files that the flags name can be written, and
// whether one of them would destroy another. --output may be one of the inputs: it is written when they have been read, and
// beside them. The error is every rank's.
func CheckFiles(c comm.Comm, s *cli.Shared, result string, inputs ...File) error {
	var faults []error
	if c.Rank() == 0 {
		written := []File{{"output", result}, {"record", s.Record}, {"report", s.Report}, {"trace", s.Trace}}
		for i, f := range written {
			if f.Path == "" {
				continue
			}
			others := append(slices.Clone(written[:i]), File{"filter", s.Filter.File})
			if i > 0 {
				others = append(others, inputs...)
			}
			if err := cmp.Or(gridfile.CheckOutput(f.Path), taken(f, others)); err != nil {
				faults = append(faults, err)
			}
		}
		if s.Trace != "" {
			faults = append(faults, spared(s.Trace, c.Size(), append(append(inputs, File{"filter", s.Filter.File}), written[:3]...)))
		}
	}
	return Refused(c, errors.Join(faults...))
}

// taken is the error if f is one of the others.
func taken(f File, others []File) error {
	for _, o := range others {
		if o.Path != "" && output.Same(f.Path, o.Path) {
			return cli.Refuse(f.Flag, f.Path, fmt.Sprintf("another file than --%s %s", o.Flag, o.Path))
		}
	}
	return nil
}

// spared is the error if one of the files is what a rank of so many writes while it traces, and removes then.
func spared(path string, ranks int, files []File) error {
	for _, f := range files {
		for r := 0; f.Path != "" && r < ranks; r++ {
			if part := trace.PartPath(path, r); output.Same(f.Path, part) {
				return cli.Refuse(f.Flag, f.Path, fmt.Sprintf("another file than %s, which --trace %s needs for a while", part, path))
			}
		}
	}
	return nil
}

// Recorder is what --record, --progress and --trace ask for; nil where they ask this rank for nothing. Every rank calls it, and done after the loop, with
// the loop's error. What could not be written is for Finish, and this rank's alone: a result does not go with a recording that does.
func Recorder(c comm.Comm, s *cli.Shared, work Work) (r hooks.Recorder, done func(loop error) (unwritten error), err error) {
	var all []hooks.Recorder
	closing := func(error) error { return nil }
	if c.Rank() == 0 && s.Progress {
		if s.Restart != "" {
			work.Steps = 0 // some were done before
		}
		p := &progress{w: os.Stderr, work: work}
		if s.TimeLimit > 0 {
			p.limit = func() time.Duration { return timeLeft(s) }
		}
		all = append(all, p)
	}
	if c.Rank() == 0 && s.Record != "" {
		to := &recording{path: s.Record}
		all = append(all, to)
		closing = to.close
	}
	var tr *trace.Trace
	if s.Trace != "" {
		if tr, err = trace.Start(c, work.App, trace.Options{Path: s.Trace, Limit: int(s.TraceLimit)}); err != nil {
			return nil, nil, err
		}
		all = append(all, tr)
	}
	done = func(loop error) error {
		err := flagged("record", closing(loop))
		if loop != nil {
			var refused *loops.FolderError
			switch {
			case tr == nil:
			case errors.As(loop, &refused):
				tr.Discard()
				if lost := (*comm.Error)(nil); !errors.As(loop, &lost) {
					_ = comm.Barrier(c) // every rank has that error, and the first to return ends all
				}
			default:
				tr.Abandon()
			}
			return nil // the loop's error is what matters
		}
		if tr != nil {
			sum, failed := tr.Close()
			if err = errors.Join(err, flagged("trace", failed)); sum != nil && !s.Quiet && sum.Note() != "" {
				fmt.Fprintf(os.Stderr, "%s: %s: %s\n", work.App, s.Trace, sum.Note())
			}
		}
		return err
	}
	if len(all) == 0 {
		return nil, done, nil
	}
	return hooks.Tee(all...), done, nil
}

// recording writes events to a file, which is never more than a second behind: somebody may be reading it. What is there under its name stays until the first event: a loop that
// refuses its input has none.
type recording struct {
	path    string
	to      *hooks.JSONL // nil: not begun
	f       *os.File
	w       *bufio.Writer
	flushed time.Time
	err     error // of beginning
}

func (r *recording) begin() {
	if r.to != nil || r.err != nil {
		return
	}
	if r.f, r.err = os.Create(r.path); r.err == nil {
		r.w = bufio.NewWriter(r.f)
		r.to = hooks.NewJSONL(r.w)
	}
}

func (r *recording) Record(e hooks.Event) {
	if r.begin(); r.err != nil {
		return
	}
	r.to.Record(e)
	if time.Since(r.flushed) >= time.Second {
		_ = r.w.Flush() // it keeps its error, for close
		r.flushed = time.Now()
	}
}

// close ends the file, which a loop that has come to its end has in any case.
func (r *recording) close(loop error) error {
	if loop == nil {
		r.begin()
	}
	if r.to == nil {
		return r.err
	}
	return errors.Join(r.to.Err(), r.w.Flush(), r.f.Close())
}

// Write writes the rows of all ranks to a .npy file of n x m values, which appears under its name when it is complete.
func Write(c comm.Comm, path string, n, m int, own []Rows) error {
	var temp string
	var err error
	if c.Rank() == 0 {
		temp, err = gridfile.Create(path, n, m)
	}
	if err := Agree(c, err); err != nil {
		return err
	}
	name := make([]byte, 4096) // a path, padded with zeros
	copy(name, temp)
	if err := comm.Bcast(c, 0, name); err != nil {
		return err
	}
	temp = strings.TrimRight(string(name), "\x00")
	err = writeRows(temp, n, m, own)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	failed := comm.Agree(c, err) // to be told when the file is gone
	if c.Rank() == 0 {
		if failed != nil {
			err = errors.Join(err, gridfile.Abort(temp))
		} else {
			err = gridfile.Commit(temp, path)
		}
	}
	return Agree(c, err)
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
