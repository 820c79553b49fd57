// Command sor solves Laplace's equation on a plate by successive over-relaxation: a DOACROSS loop whose rows are
// distributed and whose columns are strip mined.
//
//	mpirun -np 8 ./sor --n 1000 --iterations 40 --verify
//	./sor --ranks 8 --input plate.npy --tolerance 1e-6 --output steady.npy
//
// Every point becomes (w/4) times the sum of its neighbours plus (1-w) times itself, in data order, so the result has the
// same bits for every number of ranks, with and without balancing.
package main

import (
	"errors"
	"fmt"
	"math"

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
	N          int     `default:"1000" placeholder:"ROWS" help:"Rows of the grid, boundary included (default ${default})."`
	M          int     `placeholder:"COLUMNS" help:"Columns of the grid, boundary included (default: as many as rows)."`
	Iterations int     `default:"40" placeholder:"SWEEPS" help:"Sweeps over the grid, at most (default ${default})."`
	Omega      float64 `default:"1.972" placeholder:"FACTOR" help:"Relaxation factor, above 0 and below 2 (default ${default})."`
	Tolerance  float64 `placeholder:"CHANGE" help:"Stop when the largest change of a point in a sweep falls below this, looked at after every 16th sweep, more seldom the longer the run; 0: never (default 0)."`
	Input      string  `placeholder:"FILE.npy" help:"Initial grid, float64, boundary included; its size replaces --n and --m (default: a heated plate)."`
	Output     string  `placeholder:"FILE.npy" help:"Write the final grid, boundary included (default: not)."`
	cli.Shared
}

func (f *flags) Validate() error {
	var faults []error
	fault := func(bad bool, flag string, value any, accepted string) {
		if bad {
			faults = append(faults, cli.Refuse(flag, value, accepted))
		}
	}
	fault(f.N < 3, "n", f.N, "a whole number from 3 on")
	fault(f.M != 0 && f.M < 3, "m", f.M, "a whole number from 3 on")
	fault(f.Iterations < 0, "iterations", f.Iterations, "a whole number from 0 on")
	fault(!(f.Omega > 0 && f.Omega < 2), "omega", f.Omega, "a number above 0 and below 2")
	fault(!(f.Tolerance >= 0) || math.IsInf(f.Tolerance, 0), "tolerance", f.Tolerance, "a number from 0 on")
	fault(f.Movement == "direct", "movement", f.Movement, "auto or adjacent: the rows of sor stay in blocks")
	return errors.Join(faults...)
}

// nextLook is after how many sweeps the largest change is looked at, if it was after so many. A look costs what some three sweeps do, since the pipeline drains; on the average half of the
// sweeps from one look to the next are too many. Both together are least where these are as many as 2.5 times the root of all: 16, 32, 48, ... 736, 800, ... 2976, 3104.
func nextLook(sweeps int) int {
	const unit = 16
	return sweeps + unit*max(1, int(math.Sqrt(float64(sweeps)/40)))
}

func main() {
	var f flags
	frame.Main("sor", "Successive over-relaxation on a plate, balanced over the ranks.", &f, &f.Shared, func(c comm.Comm) error {
		return run(c, &f)
	})
}

func run(c comm.Comm, f *flags) error {
	began := c.Now()
	cfg, err := frame.Config(c.Size(), &f.Shared)
	if err := frame.Refused(c, err); err != nil {
		return err
	}
	grid, err := open(f)
	if err := frame.Refused(c, err); err != nil {
		return err
	}
	defer grid.close()
	if err := frame.CheckFiles(c, &f.Shared, f.Output, frame.File{Flag: "input", Path: f.Input}); err != nil {
		return err
	}
	if err := frame.CheckFolders(c, &f.Shared); err != nil {
		return err
	}
	n, m := grid.rows, grid.cols
	interior := loops.Span(1, n-1)
	first := withBoundary(loops.Initial(c, interior, cfg), n)
	grids := []frame.Grid{{Rows: n, Cols: m, Used: first.Len()}}
	if f.Verify && c.Rank() == 0 {
		grids = append(grids, frame.Grid{Rows: n, Cols: m, Used: n}) // the serial run's, beside the other
	}
	if err := frame.CheckMemory(c, &f.Shared, grids...); err != nil {
		return err
	}
	u := loops.NewMatrixAt(n, m, 1)
	if err := frame.Agree(c, grid.read(first, u.Data())); err != nil {
		return err
	}
	recorder, done, err := frame.Recorder(c, &f.Shared, frame.Work{
		App: "sor", Step: "sweep", Steps: f.Iterations, Early: f.Tolerance > 0, Points: float64(n-2) * float64(m-2), Unit: "points",
	})
	if err != nil {
		return err
	}
	relax, track := kernel.NewSOR(f.Omega, false), kernel.NewSOR(f.Omega, true)
	program, err := identity(f, grid, u)
	if err := frame.Agree(c, err); err != nil {
		return err
	}
	change := 0.0       // largest change of a point of this rank in the sweep that is looked at
	look := nextLook(0) // after so many sweeps
	var blocks []kernel.Block
	sweep := loops.DOACROSS{
		Name: "sor", Outer: f.Iterations, Rows: interior, Strip: loops.Span(1, m-1), Block: f.Block.Value, Reach: reach,
		Arrays: []loops.Array{u}, Record: recorder,
		Bodies: func(parts []loops.Part) {
			blocks = blocks[:0]
			for _, p := range parts {
				for look <= p.Sweep {
					look = nextLook(look)
				}
				block := kernel.Block{Rows: kernel.Span(p.Rows), Cols: kernel.Span(p.Strip)}
				if f.Tolerance > 0 && p.Sweep == look-1 {
					relax.RelaxAll(u.Data(), m, blocks)
					blocks = blocks[:0]
					change = max(change, track.Relax(u.Data(), m, block.Rows, block.Cols))
					continue
				}
				blocks = append(blocks, block)
			}
			relax.RelaxAll(u.Data(), m, blocks)
		},
	}
	sweep.Checkpoint = frame.Checkpoint("sor", &f.Shared, program)
	if f.Tolerance > 0 {
		sweep.NextAfter = nextLook
		sweep.After = func(int) (bool, error) {
			largest, err := comm.AllreduceMax(c, change)
			change = 0
			return largest < f.Tolerance, err
		}
	}
	setup := c.Now() - began
	rep, err := sweep.Run(c, cfg)
	ended := c.Now()
	unsaved, err := frame.Unsaved(rep, err)
	unwritten := errors.Join(done(err), unsaved)
	if err != nil {
		return frame.Ran(err)
	}
	var own []frame.Rows
	for _, r := range rep.Own {
		r = withBoundary(r, n)
		own = append(own, frame.Rows{Range: r, Values: u.Rows(r)})
	}
	line := frame.Line("sor", c, &f.Shared, rep)
	line.N, line.M, line.Iterations, line.Setup, line.Stopped = n, m, rep.Steps, setup, rep.Stopped
	if rep.Time > 0 {
		line.Rate = float64(n-2) * float64(m-2) * float64(rep.Steps-rep.Resumed) / rep.Time
	}
	if line.Checksum, err = frame.Checksum(c, n, own); err != nil {
		return err
	}
	if f.Output != "" {
		if err := frame.Write(c, f.Output, n, m, own); err != nil {
			return err
		}
	}
	if f.Verify {
		same, err := frame.Verify(c, own, func() (func(int) []float64, error) { return serial(f, grid, rep.Steps) })
		if err != nil {
			return err
		}
		line.Verified = &same
	}
	line.Finish = c.Now() - ended
	return frame.Finish(c, &f.Shared, line, rep, unwritten)
}

// identity says which problem a checkpoint belongs to. The fixed rows are no part of it: a restart must have the same ones.
func identity(f *flags, g *source, u *loops.Matrix) (string, error) {
	if f.Checkpoint == "" && f.Restart == "" {
		return "", nil
	}
	var sums []uint64
	for _, row := range []int{0, g.rows - 1} {
		if err := g.read(loops.Span(row, row+1), u.Data()); err != nil {
			return "", err
		}
		sums = append(sums, checksum.Row(u.Row(row)))
	}
	return fmt.Sprintf("%d x %d points, omega %v, fixed rows %v", g.rows, g.cols, f.Omega, checksum.Of(sums)), nil
}

// withBoundary extends a block of interior rows by the boundary row next to it, where there is one.
func withBoundary(r loops.Range, n int) loops.Range {
	if r.Empty() {
		return r
	}
	if r.Lo == 1 {
		r.Lo = 0
	}
	if r.Hi == n-1 {
		r.Hi = n
	}
	return r
}

// serial relaxes the whole grid in one piece, with the plain loop, and returns its rows.
func serial(f *flags, g *source, sweeps int) (func(int) []float64, error) {
	u := make([]float64, g.rows*g.cols)
	if err := g.read(loops.Span(0, g.rows), u); err != nil {
		return nil, err
	}
	plain := kernel.NewSOR(f.Omega, false)
	for range sweeps {
		plain.RelaxPlain(u, g.cols, kernel.Span{Lo: 1, Hi: g.rows - 1}, kernel.Span{Lo: 1, Hi: g.cols - 1})
	}
	return func(i int) []float64 { return u[i*g.cols : (i+1)*g.cols] }, nil
}

// source is where the initial grid comes from: a file, or the heated plate.
type source struct {
	rows, cols int
	file       *gridfile.File
}

func open(f *flags) (*source, error) {
	if f.Input == "" {
		cols := f.M
		if cols == 0 {
			cols = f.N
		}
		return &source{rows: f.N, cols: cols}, nil
	}
	file, err := gridfile.Open(f.Input, 3, 3)
	if err != nil {
		return nil, err
	}
	return &source{rows: file.Rows(), cols: file.Cols(), file: file}, nil
}

func (s *source) close() {
	if s.file != nil {
		_ = s.file.Close() // read only
	}
}

// read puts the given rows in their places in u, which holds the whole grid.
func (s *source) read(rows loops.Range, u []float64) error {
	if rows.Empty() {
		return nil
	}
	if s.file != nil {
		return s.file.ReadRows(rows.Lo, rows.Hi, u[rows.Lo*s.cols:rows.Hi*s.cols])
	}
	plate := problem.Plate{Rows: s.rows, Cols: s.cols}
	for j := rows.Lo; j < rows.Hi; j++ {
		for i := range s.cols {
			u[j*s.cols+i] = plate.Initial(j, i)
		}
	}
	return nil
}
