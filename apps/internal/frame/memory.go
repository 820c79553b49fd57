package frame

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"shiftwork/apps/internal/cli"
	"shiftwork/comm"
	"shiftwork/internal/machine"
)

// Grid is a matrix that a rank will allocate whole, of which it will write Used rows for sure.
type Grid struct{ Rows, Cols, Used int }

// mostBytes is what Go's runtime can address, on any system.
const mostBytes = min(math.MaxInt, 1<<48)

// bytesOf is how many bytes so many rows take; false: more than mostBytes.
func (g Grid) bytesOf(rows int) (int, bool) {
	if g.Cols > 0 && rows > mostBytes/8/g.Cols {
		return 0, false
	}
	return 8 * rows * g.Cols, true
}

// CheckMemory finds out, before anything is allocated, whether all ranks can have their grids. Where they cannot, Go's runtime
// would end each process with pages of text.
//
// It refuses only what is sure to fail. Addresses are cheap, and most of a grid is never written on a rank: all may take far
// more of them than the machine has memory. So it asks the system for the addresses, on all ranks at once, and counts only what
// the ranks of a machine will write together against all that the machine has.
func CheckMemory(c comm.Comm, s *cli.Shared, grids ...Grid) error {
	need, used, err := sizes(grids)
	here, failed := onThisMachine(c, need, used)
	if failed != nil {
		return failed
	}
	release := func() {}
	if err == nil {
		if release, err = reserve(grids); err != nil {
			err = fmt.Errorf("%s, %s", takes(c, s.Verify, grids, need), lacking(c, need, here, err))
		} else if total := totalMemory(); total > 0 && here.used > total {
			err = fmt.Errorf("%s, the ranks of this machine together write %s, and it has %s",
				takes(c, s.Verify, grids, need), amount(here.used), amount(total))
		}
	}
	if err != nil {
		accepted := "accepted are fewer rows or columns"
		if s.Verify {
			accepted += ", or no --verify, which takes more on rank 0"
		}
		err = fmt.Errorf("%w; %s", err, accepted)
	}
	err = Refused(c, err)
	release() // when all ranks have had theirs
	return err
}

// sizes is how many bytes the grids take, and how many of them are used.
func sizes(grids []Grid) (need, used float64, err error) {
	for _, g := range grids {
		whole, fits := g.bytesOf(g.Rows)
		if !fits {
			return 0, 0, fmt.Errorf("a grid of %d x %d numbers takes %s, more than can be addressed",
				g.Rows, g.Cols, amount(8*float64(g.Rows)*float64(g.Cols)))
		}
		part, _ := g.bytesOf(g.Used)
		need, used = need+float64(whole), used+float64(part)
	}
	return need, used, nil
}

// demand is how many bytes ranks take together, and write.
type demand struct{ need, used float64 }

// onThisMachine is what the ranks take together that run on this rank's machine: itself alone, where machines cannot be told apart.
func onThisMachine(c comm.Comm, need, used float64) (here demand, err error) {
	number := machine.Number()
	var e comm.Encoder
	e.Int(number)
	e.Float64(need)
	e.Float64(used)
	all, err := comm.AllGather(c, e.Message())
	if err != nil {
		return here, err
	}
	for r, b := range all {
		d := comm.NewDecoder(b)
		its, need, used := d.Int(), d.Float64(), d.Float64()
		if err := d.Finish(); err != nil {
			return here, err
		}
		if r == c.Rank() || number >= 0 && its == number {
			here.need, here.used = here.need+need, here.used+used
		}
	}
	return here, nil
}

// takes says what the grids take.
func takes(c comm.Comm, verify bool, grids []Grid, need float64) string {
	largest := slices.MaxFunc(grids, func(a, b Grid) int { return cmp.Compare(a.Rows*a.Cols, b.Rows*b.Cols) })
	what := fmt.Sprintf("a grid of %d x %d numbers takes", largest.Rows, largest.Cols)
	if len(grids) > 1 {
		what = fmt.Sprintf("%d grids of up to %d x %d numbers take", len(grids), largest.Rows, largest.Cols)
	}
	where := "each rank"
	if verify {
		where = fmt.Sprintf("rank %d", c.Rank()) // rank 0 has more
	}
	return fmt.Sprintf("%s %s on %s", what, amount(need), where)
}

// lacking says why the system has refused addresses: for a limit that is too low, as far as that is known.
func lacking(c comm.Comm, need float64, here demand, refused error) string {
	process := ""
	if c.Transport() == "local" && c.Size() > 1 {
		need, process = here.need, amount(here.need)+" in this process, "
	}
	limit, flag := addressLimit()
	total := totalMemory()
	switch {
	case limit > 0 && (total == 0 || limit < total):
		return fmt.Sprintf("%sand %s is what a process may have here in all (ulimit %s)", process, amount(limit), flag)
	case total > 0 && need > total:
		return fmt.Sprintf("%sand %s is what this machine has", process, amount(total))
	}
	return fmt.Sprintf("%sand the system refuses that: %v", process, refused)
}

// amount is a number of bytes for people.
func amount(bytes float64) string {
	units := []string{"MB", "GB", "TB", "PB", "EB"}
	x, i := bytes/1e6, 0
	for x >= 1000 && i < len(units)-1 {
		x, i = x/1000, i+1
	}
	return fmt.Sprintf("%.1f %s", x, units[i])
}
