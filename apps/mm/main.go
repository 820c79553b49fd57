// Command mm multiplies matrices, C = A B: a DOALL loop over the rows of C. The rows of A and C are distributed; those of A
// move, and those of C come to be where they are computed; every rank has all of B.
//
//	mpirun -np 8 ./mm --n 2000 --verify          a single loop, which balances within itself
//	mpirun -np 8 ./mm --n 500 --repeat 200       the loop again and again
//	./mm --ranks 4 --a a.npy --b b.npy --output c.npy
//
// It computes blocks of rows, one goroutine a rank, and its bits are those of gonum's BLAS. The bits of a row of C do not depend on
// the other rows in its block, so the result is the same for every number of ranks, with and without balancing.
//
// Built with the tag openblas it computes with OpenBLAS, one thread a rank. Bits then depend on how rows lie in blocks:
// --verify allows each element the difference that rounding explains, the largest of which is the bound in the result line.
package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"shiftwork/apps/internal/checksum"
	"shiftwork/apps/internal/cli"
	"shiftwork/apps/internal/frame"
	"shiftwork/apps/internal/gridfile"
	"shiftwork/apps/internal/kernel"
	"shiftwork/apps/internal/problem"
	"shiftwork/comm"
	"shiftwork/loops"
)

type flags struct {
	N      int    `default:"1000" placeholder:"ROWS" help:"Rows and columns of A and B, which are made up (default ${default})."`
	A      string `placeholder:"FILE.npy" help:"Read A, float64; needs --b too and replaces --n (default: made up)."`
	B      string `placeholder:"FILE.npy" help:"Read B, float64, with as many rows as A has columns (default: made up)."`
	Output string `placeholder:"FILE.npy" help:"Write C (default: not)."`
	Repeat int    `default:"1" placeholder:"COUNT" help:"How often the loop is run; 1: a single loop, balanced within itself (default ${default})."`
	cli.Shared
}

func (f *flags) Validate() error {
	var faults []error
	fault := func(bad bool, flag string, value any, accepted string) {
		if bad {
			faults = append(faults, cli.Refuse(flag, value, accepted))
		}
	}
	fault(f.N < 1, "n", f.N, "a whole number from 1 on")
	fault(f.Movement == "adjacent", "movement", f.Movement, "auto or direct: the ranks of mm do not wait for their neighbours")
	fault(f.Repeat < 1, "repeat", f.Repeat, "a whole number from 1 on")
	fault(f.A != "" && f.B == "", "b", f.B, "a file, because --a is given")
	once := "with --repeat above 1: a loop stops between two repetitions"
	fault(f.Checkpoint != "" && f.Repeat == 1, "checkpoint", f.Checkpoint, once)
	fault(f.Restart != "" && f.Repeat == 1, "restart", f.Restart, once)
	fault(f.TimeLimit > 0 && f.Repeat == 1, "time-limit", f.TimeLimit, once)
	fault(f.B != "" && f.A == "", "a", f.A, "a file, because --b is given")
	return errors.Join(faults...)
}

func main() {
	var f flags
	frame.Main("mm", "Matrix multiplication C = A B, balanced over the ranks.", &f, &f.Shared, func(c comm.Comm) error {
		return run(c, &f)
	})
}

func run(c comm.Comm, f *flags) error {
	began := c.Now()
	cfg, err := frame.Config(c.Size(), &f.Shared)
	if err := frame.Refused(c, err); err != nil {
		return err
	}
	in, err := open(f)
	if err := frame.Refused(c, err); err != nil {
		return err
	}
	defer in.close()
	if err := frame.CheckFiles(c, &f.Shared, f.Output, frame.File{Flag: "a", Path: f.A}, frame.File{Flag: "b", Path: f.B}); err != nil {
		return err
	}
	if err := frame.CheckFolders(c, &f.Shared); err != nil {
		return err
	}
	n, inner, m := in.rows, in.inner, in.cols
	rows := loops.Span(0, n)
	own := loops.Initial(c, rows, cfg)
	if err := in.checkMemory(c, f, own.Len()); err != nil {
		return err
	}
	a, out := loops.NewMatrix(n, inner), loops.NewMatrix(n, m)
	b := loops.NewMatrix(inner, m).Data()
	err = errors.Join(in.readB(b), in.readA(own, a.Data()))
	clear(out.Rows(own)) // gets its memory now, not in the midst of the first products
	if err := frame.Agree(c, err); err != nil {
		return err
	}
	recorder, done, err := frame.Recorder(c, &f.Shared, frame.Work{
		App: "mm", Step: "repetition", Steps: f.Repeat, Points: float64(n) * float64(inner) * float64(m), Unit: "multiply-adds",
	})
	if err != nil {
		return err
	}
	var checkpoint loops.Checkpoint
	if f.Checkpoint != "" || f.Restart != "" || f.TimeLimit > 0 {
		var sums []uint64
		for i := range inner {
			sums = append(sums, checksum.Row(b[i*m:(i+1)*m]))
		}
		sumA, err := frame.Checksum(c, n, []frame.Rows{{Range: own, Values: a.Rows(own)}})
		if err := frame.Agree(c, err); err != nil {
			return err
		}
		of := binary.BigEndian.AppendUint64(nil, uint64(sumA)) // rank 0's
		if err := comm.Bcast(c, 0, of); err != nil {
			return err
		}
		checkpoint = frame.Checkpoint("mm", &f.Shared, fmt.Sprintf("%d x %d x %d, A %v, B %v", n, inner, m, checksum.Sum(binary.BigEndian.Uint64(of)), checksum.Of(sums)))
	}
	right := kernel.Pack(inner, m, b)
	multiply := loops.DOALL{
		Name: "mm", Repeat: f.Repeat, Rows: rows, Arrays: []loops.Array{a}, Results: []loops.Array{out}, Record: recorder, Checkpoint: checkpoint,
		// Many rows at once, or B must be read anew for each few of them.
		Pieces: right.Groups(),
		Piece: func(_ int, rows loops.Range, group int) {
			kernel.Multiply(rows.Len(), a.Rows(rows), right, group, out.Rows(rows))
		},
	}
	if kernel.Slow != "" && c.Rank() == 0 && !f.Quiet {
		fmt.Fprintln(os.Stderr, "mm:", kernel.Slow)
	}
	setup := c.Now() - began
	rep, err := multiply.Run(c, cfg)
	ended := c.Now()
	unsaved, err := frame.Unsaved(rep, err)
	unwritten := errors.Join(done(err), unsaved)
	if err != nil {
		return frame.Ran(err)
	}
	var product []frame.Rows
	for _, r := range rep.Own {
		product = append(product, frame.Rows{Range: r, Values: out.Rows(r)})
	}
	line := frame.Line("mm", c, &f.Shared, rep)
	line.BLAS = kernel.BLAS
	line.N, line.M, line.Iterations, line.Setup, line.Stopped = n, m, rep.Steps, setup, rep.Stopped
	if rep.Time > 0 {
		// Work units are multiply-adds.
		line.Rate = float64(n) * float64(inner) * float64(m) * float64(rep.Steps-rep.Resumed) / rep.Time
	}
	if line.Checksum, err = frame.Checksum(c, n, product); err != nil {
		return err
	}
	if f.Output != "" {
		if err := frame.Write(c, f.Output, n, m, product); err != nil {
			return err
		}
	}
	if f.Verify {
		same, err := frame.VerifyRows(c, product, func() (func(int, []float64) bool, error) {
			a, b := make([]float64, n*inner), make([]float64, inner*m) // whole, and b as it was
			if err := errors.Join(in.readA(rows, a), in.readB(b)); err != nil {
				return nil, err
			}
			right, bound := kernel.Check(n, inner, m, a, b)
			line.Bound = bound
			return right, nil
		})
		if err != nil {
			return err
		}
		line.Verified = &same
	}
	line.Finish = c.Now() - ended
	return frame.Finish(c, &f.Shared, line, rep, unwritten)
}

// source is where A (rows x inner) and B (inner x cols) come from: two files, or a formula.
type source struct {
	rows, inner, cols int
	a, b              *gridfile.File
}

func open(f *flags) (*source, error) {
	if f.A == "" {
		return &source{rows: f.N, inner: f.N, cols: f.N}, nil
	}
	a, err := gridfile.Open(f.A, 1, 1)
	if err != nil {
		return nil, err
	}
	b, err := gridfile.Open(f.B, 1, 1)
	if err == nil && a.Cols() != b.Rows() {
		err = fmt.Errorf("%s is %d x %d and %s is %d x %d: accepted is a B with as many rows as A has columns",
			f.A, a.Rows(), a.Cols(), f.B, b.Rows(), b.Cols())
	}
	if err != nil {
		return nil, err
	}
	return &source{rows: a.Rows(), inner: a.Cols(), cols: b.Cols(), a: a, b: b}, nil
}

// checkMemory finds out whether there is memory for A, B and C, of which this rank has so many rows at first, and in the end for the
// serial run's besides C.
func (s *source) checkMemory(c comm.Comm, f *flags, own int) error {
	a := frame.Grid{Rows: s.rows, Cols: s.inner, Used: own}
	b := frame.Grid{Rows: s.inner, Cols: s.cols, Used: s.inner}
	out := frame.Grid{Rows: s.rows, Cols: s.cols, Used: own}
	if err := frame.CheckMemory(c, &f.Shared, a, b, out); err != nil || !f.Verify {
		return err
	}
	last := []frame.Grid{out}
	if c.Rank() == 0 {
		whole := out
		a.Used, whole.Used = s.rows, s.rows
		last = append(last, a, b, whole)
	}
	return frame.CheckMemory(c, &f.Shared, last...)
}

func (s *source) close() {
	if s.a != nil {
		_, _ = s.a.Close(), s.b.Close() // read only
	}
}

// readA puts the given rows of A in their places in a, which holds all of A.
func (s *source) readA(rows loops.Range, a []float64) error {
	return read(s.a, rows, s.inner, a, problem.A)
}

func (s *source) readB(b []float64) error {
	return read(s.b, loops.Span(0, s.inner), s.cols, b, problem.B)
}

func read(file *gridfile.File, rows loops.Range, cols int, to []float64, entry func(i, j, cols int) float64) error {
	if rows.Empty() {
		return nil
	}
	if file != nil {
		return file.ReadRows(rows.Lo, rows.Hi, to[rows.Lo*cols:rows.Hi*cols])
	}
	for i := rows.Lo; i < rows.Hi; i++ {
		for j := range cols {
			to[i*cols+j] = entry(i, j, cols)
		}
	}
	return nil
}
