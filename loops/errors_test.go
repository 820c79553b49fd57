package loops_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/comm"
	"shiftwork/comm/local"
	"shiftwork/comm/sim"
	"shiftwork/hooks"
	"shiftwork/lb"
	"shiftwork/loops"
)

var errTrouble = errors.New("trouble")

func sweepsOf(body func(rows, strip loops.Range)) loops.DOACROSS {
	return loops.DOACROSS{
		Name: "plate", Outer: 4, Rows: loops.Span(0, 12), Strip: loops.Span(0, 8), Block: 2, Quantum: 0.004,
		Arrays: []loops.Array{loops.NewMatrix(12, 8)}, Body: body,
	}
}

func repetitionsOf(body func(repetition int, rows loops.Range)) loops.DOALL {
	return loops.DOALL{
		Name: "tiles", Repeat: 4, Rows: loops.Span(0, 12), Quantum: 0.004, Arrays: []loops.Array{loops.NewMatrix(12, 8)}, Body: body,
	}
}

func nothing(_, _ loops.Range) {}

func nothingToDo(int, loops.Range) {}

func TestFaultyLoops(t *testing.T) {
	across := func(change func(d *loops.DOACROSS)) func(comm.Comm, lb.Config) (*loops.Report, error) {
		d := sweepsOf(nothing)
		change(&d)
		return d.Run
	}
	all := func(change func(d *loops.DOALL)) func(comm.Comm, lb.Config) (*loops.Report, error) {
		d := repetitionsOf(nothingToDo)
		change(&d)
		return d.Run
	}
	for _, k := range []struct {
		want string
		run  func(comm.Comm, lb.Config) (*loops.Report, error)
		cfg  lb.Config
	}{
		{"Body is missing", across(func(d *loops.DOACROSS) { d.Body = nil }), lb.Auto()},
		{"block size -1", across(func(d *loops.DOACROSS) { d.Block = -1 }), lb.Auto()},
		{"-2 sweeps", across(func(d *loops.DOACROSS) { d.Outer = -2 }), lb.Auto()},
		{"every -3 sweeps", across(func(d *loops.DOACROSS) { d.Every = -3 }), lb.Auto()},
		{"strip [5,2)", across(func(d *loops.DOACROSS) { d.Strip = loops.Span(5, 2) }), lb.Auto()},
		{"iterations [5,2)", across(func(d *loops.DOACROSS) { d.Rows = loops.Span(5, 2) }), lb.Auto()},
		{"movement direct", across(func(*loops.DOACROSS) {}), lb.Config{Movement: lb.Direct}},
		{"threshold", across(func(*loops.DOACROSS) {}), lb.Config{Threshold: -1}},
		{"array 0: it must have rows [0,99)", across(func(d *loops.DOACROSS) { d.Rows = loops.Span(0, 99) }), lb.Auto()},
		{"array 0: it must have rows", across(func(d *loops.DOACROSS) { d.Strip = loops.Span(0, 99) }), lb.Auto()},
		{"array 1: it is nil", across(func(d *loops.DOACROSS) { d.Arrays = append(d.Arrays, nil) }), lb.Auto()},
		{"array 0: it must have rows [-5,12)", all(func(d *loops.DOALL) { d.Rows = loops.Span(-5, 12) }), lb.Auto()},
		{"array 1: it is nil", all(func(d *loops.DOALL) { d.Results = []loops.Array{nil} }), lb.Auto()},
		{"movement adjacent", all(func(*loops.DOALL) {}), lb.Config{Movement: lb.Adjacent}},
		{"Body is missing", all(func(d *loops.DOALL) { d.Body = nil }), lb.Auto()},
		{"one of them does the iterations", all(func(d *loops.DOALL) { d.Pieces, d.Piece = 2, func(int, loops.Range, int) {} }), lb.Auto()},
		{"0 pieces", all(func(d *loops.DOALL) { d.Body, d.Piece = nil, func(int, loops.Range, int) {} }), lb.Auto()},
		{"2 pieces", all(func(d *loops.DOALL) { d.Pieces = 2 }), lb.Auto()},
		{"Results with Halo", all(func(d *loops.DOALL) { d.Halo, d.Results = true, d.Arrays }), lb.Auto()},
		{"-2 repetitions", all(func(d *loops.DOALL) { d.Repeat = -2 }), lb.Auto()},
		{"iterations [5,2)", all(func(d *loops.DOALL) { d.Rows = loops.Span(5, 2) }), lb.Auto()},
		{"movement direct", all(func(d *loops.DOALL) { d.Halo = true }), lb.Config{Movement: lb.Direct}},
		{"threshold", all(func(*loops.DOALL) {}), lb.Config{Threshold: -1}},
	} {
		res, err := sim.Run(machine(0, 3), func(c *sim.Comm) error {
			rep, err := k.run(c, k.cfg)
			if rep != nil || err == nil || !strings.Contains(err.Error(), k.want) {
				return fmt.Errorf("%q expected, got %v", k.want, err)
			}
			return nil
		})
		require.NoError(t, err)
		require.Empty(t, res.Leaks)
	}
	// All faults at once are named at once.
	err := local.Run(2, func(c comm.Comm) error {
		d := sweepsOf(nil)
		d.Block, d.Outer = -1, -1
		_, err := d.Run(c, lb.Auto())
		return err
	})
	for _, want := range []string{"Body is missing", "block size -1", "-1 sweeps"} {
		require.ErrorContains(t, err, want)
	}
}

// Ranks that differ in anything that decides who talks to whom: each gets an error, and none hangs.
func TestRanksWithDifferentLoopsAllGetAnError(t *testing.T) {
	never := func(int) (bool, error) { return false, nil }
	for name, k := range map[string]func(d *loops.DOACROSS, a *loops.DOALL, cfg *lb.Config){
		"rows":       func(d *loops.DOACROSS, a *loops.DOALL, _ *lb.Config) { d.Rows.Hi--; a.Rows.Hi-- },
		"arrays":     func(d *loops.DOACROSS, a *loops.DOALL, _ *lb.Config) { d.Arrays, a.Arrays = nil, nil },
		"repetition": func(d *loops.DOACROSS, a *loops.DOALL, _ *lb.Config) { d.Outer++; a.Repeat++ },
		"policy":     func(_ *loops.DOACROSS, _ *loops.DOALL, cfg *lb.Config) { cfg.Policy = lb.Off },
		"body":       func(d *loops.DOACROSS, a *loops.DOALL, _ *lb.Config) { d.Body, a.Body = nil, nil },
		"name":       func(d *loops.DOACROSS, a *loops.DOALL, _ *lb.Config) { d.Name, a.Name = "x", "x" },
		"after": func(d *loops.DOACROSS, a *loops.DOALL, _ *lb.Config) {
			d.After, a.After = never, never
		},
		"other": func(d *loops.DOACROSS, a *loops.DOALL, _ *lb.Config) { d.Strip.Hi--; a.Halo = !a.Halo },
		"size":  func(d *loops.DOACROSS, a *loops.DOALL, _ *lb.Config) { d.Block = 0; a.Name = "x" },
		"every": func(d *loops.DOACROSS, a *loops.DOALL, _ *lb.Config) { d.Every = 2; a.Name = "x" },
	} {
		t.Run(name, func(t *testing.T) {
			for _, halo := range []bool{false, true} {
				for odd := range 3 {
					res, err := sim.Run(machine(1, 3), func(c *sim.Comm) error {
						d, a, cfg := sweepsOf(nothing), repetitionsOf(nothingToDo), lb.Auto()
						d.Block, a.Halo = 3, halo
						if c.Rank() == odd {
							k(&d, &a, &cfg)
						}
						_, err := d.Run(c, cfg)
						_, err2 := a.Run(c, cfg)
						if err == nil || err2 == nil {
							return fmt.Errorf("no error: %v, %v", err, err2)
						}
						return nil
					})
					require.NoError(t, err, "rank %d", odd)
					require.Empty(t, res.Leaks)
				}
			}
		})
	}
}

// A panic in a Body ends the run with an error that says where; no rank hangs.
func TestAPanicInABodySaysWhere(t *testing.T) {
	for name, k := range map[string]struct {
		run   func(c comm.Comm) error
		phase int
	}{
		"plate": {func(c comm.Comm) error { // 4 strips a sweep: sweep 1, strip 2
			strips := 0
			_, err := sweepsOf(func(_, strip loops.Range) {
				if c.Rank() == 1 && strips == 6 {
					panic(errTrouble)
				}
				strips++
			}).Run(c, lb.Config{Policy: lb.Off})
			return err
		}, 6},
		"tiles": {func(c comm.Comm) error {
			_, err := repetitionsOf(func(repetition int, _ loops.Range) {
				if c.Rank() == 1 && repetition == 3 {
					panic(errTrouble)
				}
			}).Run(c, lb.Config{Policy: lb.Off})
			return err
		}, 3},
		"jacobi": {func(c comm.Comm) error {
			d := repetitionsOf(func(repetition int, _ loops.Range) {
				if c.Rank() == 1 && repetition == 2 {
					panic(errTrouble)
				}
			})
			d.Name, d.Halo = "jacobi", true
			_, err := d.Run(c, lb.Config{Policy: lb.Off})
			return err
		}, 2},
	} {
		for _, network := range []int{0, 1, 2, -1, -3} {
			err := everywhere(network, 3, k.run)
			var p *hooks.PanicError
			require.ErrorAs(t, err, &p, name)
			assert.Equal(t, 1, p.Rank, name)
			assert.Equal(t, k.phase, p.Phase, name)
			assert.Equal(t, name, p.Loop)
			assert.Equal(t, errTrouble, p.Value, name)
			assert.Contains(t, string(p.Stack), "errors_test.go", name)
			var where *comm.RankError
			require.ErrorAs(t, err, &where, name)
			assert.Equal(t, 1, where.Rank, name)
		}
	}
}

// A panic that is not a Body's passes as it is.
func TestAPanicInAfterIsNotTheLoops(t *testing.T) {
	d := sweepsOf(nothing)
	d.After = func(int) (bool, error) { panic(errTrouble) }
	a := repetitionsOf(nothingToDo)
	a.After = d.After
	for _, run := range []func(comm.Comm, lb.Config) (*loops.Report, error){d.Run, a.Run} {
		err := local.Run(2, func(c comm.Comm) error {
			_, err := run(c, lb.Auto())
			return err
		})
		var p *comm.PanicError
		require.ErrorAs(t, err, &p)
		require.ErrorIs(t, err, errTrouble)
		var h *hooks.PanicError
		require.False(t, errors.As(err, &h))
	}
}

func TestAnErrorInAfterEndsTheLoop(t *testing.T) {
	for _, network := range []int{0, 1, -1} {
		err := everywhere(network, 3, func(c comm.Comm) error {
			d := sweepsOf(nothing)
			d.After = func(sweeps int) (bool, error) {
				if sweeps == 3 {
					return false, errTrouble
				}
				return false, nil
			}
			_, err := d.Run(c, lb.Auto())
			return err
		})
		require.ErrorIs(t, err, errTrouble)
		require.ErrorContains(t, err, "after sweep 3")

		err = everywhere(network, 3, func(c comm.Comm) error {
			a := repetitionsOf(nothingToDo)
			a.After = func(repetition int) (bool, error) { return false, errTrouble }
			_, err := a.Run(c, lb.Auto())
			return err
		})
		require.ErrorIs(t, err, errTrouble)
		require.ErrorContains(t, err, "after repetition 0")
	}
}

// Boundary rows that are longer on one rank than on its neighbour do not go in half.
func TestBoundaryRowsOfDifferentLengthAreAnError(t *testing.T) {
	for _, halo := range []bool{false, true} {
		for _, wide := range []int{0, 1} {
			err := everywhere(0, 2, func(c comm.Comm) (err error) {
				cols := 8
				if c.Rank() == wide {
					cols = 9
				}
				u := []loops.Array{loops.NewMatrix(12, cols)}
				if halo {
					d := repetitionsOf(nothingToDo)
					d.Halo, d.Arrays = true, u
					_, err = d.Run(c, lb.Auto())
				} else {
					d := sweepsOf(nothing)
					d.Arrays = u
					_, err = d.Run(c, lb.Auto())
				}
				return err
			})
			require.Error(t, err, "halo %v, wide rank %d", halo, wide)
		}
	}
}

// After is called when all have finished the sweep, though the sweeps of different ranks overlap.
func TestAfterIsCalledWhenAllHaveFinished(t *testing.T) {
	const ranks = 4
	for network := range networks {
		finished := make([]int, ranks) // strips, by rank: in a simulation one rank runs at a time
		require.NoError(t, everywhere(network, ranks, func(c comm.Comm) error {
			d := sweepsOf(func(_, _ loops.Range) {
				work(c, 0.01*float64(1+c.Rank()))
				finished[c.Rank()]++
			})
			d.Outer, d.Every = 9, 2
			d.After = func(sweeps int) (bool, error) {
				for r, n := range finished {
					if n < 4*sweeps {
						return false, fmt.Errorf("after sweep %d rank %d has done %d strips of %d", sweeps, r, n, 4*sweeps)
					}
				}
				return false, nil
			}
			_, err := d.Run(c, lb.Config{Policy: lb.Off})
			return err
		}))
	}
}

func TestMatrix(t *testing.T) {
	u := loops.NewMatrix(4, 3)
	rows, cols := u.Dims()
	require.Equal(t, []int{4, 3}, []int{rows, cols})
	for i := range u.Data() {
		u.Data()[i] = float64(i)
	}
	assert.Equal(t, []float64{6, 7, 8}, u.Row(2))
	assert.Equal(t, []float64{3, 4, 5, 6, 7, 8}, u.Rows(loops.Span(1, 3)))
	assert.Equal(t, []float64{7, 8}, comm.FloatsOf(u.Part(2, loops.Span(1, 3))))
	assert.Empty(t, u.Rows(loops.Span(2, 2)))

	v := loops.NewMatrix(4, 3)
	packed := u.Pack(loops.Span(1, 3), []byte{42})
	require.Equal(t, byte(42), packed[0])
	require.NoError(t, v.Unpack(loops.Span(1, 3), packed[1:]))
	assert.Equal(t, []float64{0, 0, 0, 3, 4, 5, 6, 7, 8, 0, 0, 0}, v.Data())
	require.ErrorContains(t, v.Unpack(loops.Span(1, 2), packed[1:]), "take 24 bytes, got 48")
	for _, column := range []int{0, 1, 7, 8, 13} {
		at := loops.NewMatrixAt(5, 20, column)
		assert.Zero(t, uintptr(unsafe.Pointer(&at.Data()[column]))%64, "column %d begins a line", column)
		assert.Len(t, at.Data(), 100)
		assert.Equal(t, 100, cap(at.Data()))
	}
	assert.Panics(t, func() { loops.NewMatrix(-1, 2) })
	assert.Panics(t, func() { loops.NewMatrix(1<<32, 1<<32) })
	assert.Panics(t, func() { u.Part(0, loops.Span(1, 4)) }, "columns do not go on in the next row")
	assert.Panics(t, func() { _ = append(u.Rows(loops.Span(0, 1))[:3:3], 1)[4] }, "rows do not grow into the next")
}

func TestInitial(t *testing.T) {
	require.NoError(t, local.Run(3, func(c comm.Comm) error {
		for _, k := range []struct {
			cfg  lb.Config
			want []loops.Range
		}{
			{lb.Auto(), []loops.Range{loops.Span(1, 5), loops.Span(5, 8), loops.Span(8, 11)}},
			{lb.Config{DedicatedMaster: true}, []loops.Range{loops.Span(1, 1), loops.Span(1, 6), loops.Span(6, 11)}},
		} {
			if got := loops.Initial(c, loops.Span(1, 11), k.cfg); got != k.want[c.Rank()] {
				return fmt.Errorf("rank %d: %v, want %v", c.Rank(), got, k.want[c.Rank()])
			}
		}
		return nil
	}))
}

// Numbers that mean "all of them" or "never" are taken at their word.
func TestTheLargestNumbers(t *testing.T) {
	plate := func(c comm.Comm, reach int) (*loops.Matrix, error) {
		u := loops.NewMatrix(42, 32)
		for i := range u.Data() {
			u.Data()[i] = float64(i % 11)
		}
		_, err := loops.DOACROSS{
			Outer: 20, Rows: loops.Span(1, 41), Strip: loops.Span(1, 31), Arrays: []loops.Array{u}, Quantum: 0.004, Reach: reach,
			Body: func(rows, strip loops.Range) {
				for i := rows.Lo; i < rows.Hi; i++ {
					for j := strip.Lo; j < strip.Hi; j++ {
						u.Row(i)[j] = 0.25 * (u.Row(i)[j-1] + u.Row(i - 1)[j] + u.Row(i)[j+1] + u.Row(i + 1)[j])
					}
				}
			},
		}.Run(c, lb.Config{Policy: lb.Off})
		return u, err
	}
	for _, ranks := range []int{1, 3} {
		require.NoError(t, everywhere(0, ranks, func(c comm.Comm) error {
			want, err := plate(c, 1)
			if err != nil {
				return err
			}
			got, err := plate(c, math.MaxInt)
			if err != nil {
				return err
			}
			return sameRows(got, want, loops.Initial(c, loops.Span(1, 41), lb.Config{}))
		}))
	}
	// After ends a loop of any number of sweeps, which is balanced like another.
	ended := func(outer int) *loops.Report {
		return reportIn(t, machine(0, 4), func(c *sim.Comm) (*loops.Report, error) {
			return loops.DOACROSS{
				Outer: outer, Rows: loops.Span(0, 200), Strip: loops.Span(0, 63), Arrays: []loops.Array{loops.NewMatrix(200, 63)}, Every: 100, Quantum: 0.004,
				After: func(sweeps int) (bool, error) { return sweeps >= 300, nil },
				Body: func(rows, strip loops.Range) {
					each := 1e-5
					if c.Rank() == 1 {
						each *= 3
					}
					c.Work(each * float64(rows.Len()*strip.Len()))
				},
			}.Run(c, lb.Auto())
		})
	}
	some, most := ended(10000), ended(math.MaxInt)
	assert.Equal(t, 300, most.Steps)
	assert.Less(t, most.Time, 1.1*some.Time)
	assert.Less(t, most.Interactions, 2*some.Interactions)
	// A checkpoint every 292 years is none.
	dir := t.TempDir()
	err := everywhere(-1, 2, func(c comm.Comm) error {
		d := sweepsOf(nothing)
		d.Outer, d.Checkpoint = 200, loops.Checkpoint{Dir: dir, Every: math.MaxInt64}
		rep, err := d.Run(c, lb.Auto())
		if err == nil && rep.Checkpoints > 0 {
			return fmt.Errorf("%d checkpoints", rep.Checkpoints)
		}
		return err
	})
	require.NoError(t, err)
}

// After a loop in which rows have moved one rank can have them all.
func TestCollect(t *testing.T) {
	for _, network := range []int{0, 1, -1} {
		for _, ranks := range []int{1, 4} {
			require.NoError(t, everywhere(network, ranks, func(c comm.Comm) error {
				const rows = 30
				a, b := loops.NewMatrix(rows, 3), loops.NewMatrix(rows, 1)
				rep, err := loops.DOALL{
					Rows: loops.Span(0, rows), Repeat: 9, Arrays: []loops.Array{a}, Results: []loops.Array{b}, Quantum: 0.004,
					Body: func(_ int, own loops.Range) {
						for i := own.Lo; i < own.Hi; i++ {
							a.Row(i)[2]++
							b.Row(i)[0] = float64(i)
						}
						work(c, 1e-3*float64(own.Len()))
					},
				}.Run(c, lb.Config{Policy: lb.Random})
				if err != nil {
					return err
				}
				to := ranks / 2
				if err := loops.Collect(c, to, rep.Own, a, b); err != nil || c.Rank() != to {
					return err
				}
				for i := range rows {
					if a.Row(i)[2] != 9 || b.Row(i)[0] != float64(i) {
						return fmt.Errorf("row %d: %v, %v", i, a.Row(i), b.Row(i))
					}
				}
				return nil
			}))
		}
	}
	err := everywhere(0, 2, func(c comm.Comm) error {
		return loops.Collect(c, 0, []loops.Range{loops.Initial(c, loops.Span(0, 4), lb.Auto())}, loops.NewMatrix(4, 2-c.Rank()))
	})
	require.ErrorContains(t, err, "rank 1 sent 16 bytes, 32 expected")
}

// Ranks that differ in the kind of loop get an error that says so, and do not take one collective's messages for another's.
func TestRanksThatDifferInTheKindOfLoop(t *testing.T) {
	rows := loops.Span(0, 12)
	doall := func(change func(*loops.DOALL)) func(comm.Comm) error {
		return func(c comm.Comm) error {
			d := loops.DOALL{Rows: rows, Body: func(int, loops.Range) {}}
			change(&d)
			_, err := d.Run(c, lb.Config{})
			return err
		}
	}
	usual := doall(func(*loops.DOALL) {})
	for says, other := range map[string]func(comm.Comm) error{
		"halo true":  doall(func(d *loops.DOALL) { d.Halo = true }),
		"test true":  doall(func(d *loops.DOALL) { d.After = func(int) (bool, error) { return false, nil } }),
		"limit true": doall(func(d *loops.DOALL) { d.Checkpoint.Limit, d.Repeat = time.Hour, 2 }),
		"a DOACROSS": func(c comm.Comm) error {
			_, err := loops.DOACROSS{Outer: 1, Rows: rows, Strip: loops.Span(0, 4), Body: func(loops.Range, loops.Range) {}}.Run(c, lb.Config{})
			return err
		},
	} {
		err := everywhere(1, 3, func(c comm.Comm) error {
			run := usual
			if c.Rank() == 1 {
				run = other
			}
			err := run(c)
			assert.ErrorContains(t, err, "rank 1 has another configuration than rank 0")
			assert.ErrorContains(t, err, says)
			return nil
		})
		assert.NoError(t, err)
	}
}
