package hooks_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/comm"
	"shiftwork/comm/local"
	"shiftwork/comm/sim"
	"shiftwork/dist"
	"shiftwork/hooks"
	"shiftwork/lb"
)

// Ranks that differ in anything that decides who talks to whom: each gets an error, and none hangs.
func TestRanksWithDifferentArgumentsAllGetAnError(t *testing.T) {
	span := dist.Span(0, 20)
	one := []hooks.Array{newPlain(span, 1)}
	var nothing dist.Weights
	for name, k := range map[string]func(rank int) (hooks.Loop, lb.Config){
		"iterations": func(r int) (hooks.Loop, lb.Config) { return hooks.Loop{Iterations: dist.Span(0, 20+r/2)}, lb.Auto() },
		"name": func(r int) (hooks.Loop, lb.Config) {
			return hooks.Loop{Iterations: span, Name: fmt.Sprint(r / 2)}, lb.Auto()
		},
		"arrays":   func(r int) (hooks.Loop, lb.Config) { return hooks.Loop{Iterations: span, Arrays: one[:r/2]}, lb.Auto() },
		"adjacent": func(r int) (hooks.Loop, lb.Config) { return hooks.Loop{Iterations: span, Adjacent: r == 1}, lb.Auto() },
		"phases":   func(r int) (hooks.Loop, lb.Config) { return hooks.Loop{Iterations: span, Phases: r / 2}, lb.Auto() },
		"agreed": func(r int) (hooks.Loop, lb.Config) {
			return hooks.Loop{Iterations: span, Agreed: fmt.Sprint(r / 2)}, lb.Auto()
		},
		"weights": func(r int) (hooks.Loop, lb.Config) {
			return hooks.Loop{Iterations: span, Weights: []dist.Weights{nothing, nothing, weights(t, span)}[r]}, lb.Auto()
		},
		"policy": func(r int) (hooks.Loop, lb.Config) {
			return hooks.Loop{Iterations: span}, lb.Config{Policy: lb.Policy(r / 2)}
		},
		"interaction": func(r int) (hooks.Loop, lb.Config) {
			return hooks.Loop{Iterations: span}, lb.Config{Interaction: lb.Interaction(r / 2)}
		},
		"master": func(r int) (hooks.Loop, lb.Config) {
			return hooks.Loop{Iterations: span}, lb.Config{DedicatedMaster: r == 0}
		},
		"period": func(r int) (hooks.Loop, lb.Config) {
			return hooks.Loop{Iterations: span}, lb.Config{Period: float64(r)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			messages := make([]string, 3)
			simulate(t, machine(1, 3), func(c *sim.Comm) error {
				loop, cfg := k(c.Rank())
				h, err := hooks.New(c, loop, cfg)
				if err == nil || h != nil {
					return errors.New("no error")
				}
				messages[c.Rank()] = err.Error()
				return nil
			})
			for _, m := range messages {
				assert.Equal(t, messages[0], m)
				assert.Contains(t, m, "has another configuration than rank 0")
			}
		})
	}
	simulate(t, machine(1, 3), func(c *sim.Comm) error {
		_, err := hooks.NewFree(c, hooks.FreeLoop{Iterations: span, Repeat: 1 + c.Rank()/2}, lb.Auto())
		if err == nil {
			return errors.New("no error where one rank repeats the loop more often")
		}
		return nil
	})
}

func TestFaultyArguments(t *testing.T) {
	span := dist.Span(0, 20)
	for _, k := range []struct {
		want  string
		ranks int
		loop  hooks.Loop
		cfg   lb.Config
	}{
		{"the end lies before the beginning", 2, hooks.Loop{Iterations: dist.Span(3, 2)}, lb.Auto()},
		{"a dedicated master needs at least 2 ranks, there is 1", 1, hooks.Loop{Iterations: span}, lb.Config{DedicatedMaster: true}},
		{"threshold", 2, hooks.Loop{Iterations: span}, lb.Config{Threshold: 2}},
		{"there are weights of 10 iterations", 2, hooks.Loop{Iterations: span, Weights: weights(t, dist.Span(0, 10))}, lb.Auto()},
		{"there are weights of 20 iterations", 2, hooks.Loop{Iterations: span, Weights: weights(t, dist.Span(1, 21))}, lb.Auto()},
		{"quantum", 2, hooks.Loop{Iterations: span, Quantum: math.NaN()}, lb.Auto()},
		{"quantum", 2, hooks.Loop{Iterations: span, Quantum: math.Inf(1)}, lb.Auto()},
		{"quantum", 2, hooks.Loop{Iterations: span, Quantum: -1}, lb.Auto()},
		{"array 1 is nil", 2, hooks.Loop{Iterations: span, Arrays: []hooks.Array{newPlain(span, 1), nil}}, lb.Auto()},
	} {
		simulate(t, machine(0, k.ranks), func(c *sim.Comm) error {
			_, err := hooks.New(c, k.loop, k.cfg)
			_, free := hooks.NewFree(c, hooks.FreeLoop{Iterations: k.loop.Iterations, Weights: k.loop.Weights, Arrays: k.loop.Arrays, Quantum: k.loop.Quantum}, k.cfg)
			for _, err := range []error{err, free} {
				if err == nil || !strings.Contains(err.Error(), k.want) {
					return fmt.Errorf("%q expected, got %v", k.want, err)
				}
			}
			return nil
		})
	}
	// A fault on one rank only is everybody's.
	simulate(t, machine(1, 4), func(c *sim.Comm) error {
		cfg := lb.Auto()
		if c.Rank() == 2 {
			cfg.Filter = "nonsense"
		}
		if _, err := hooks.New(c, hooks.Loop{Iterations: span}, cfg); err == nil {
			return errors.New("no error")
		}
		return nil
	})
}

// A period that no clock can hold means never.
func TestAnEnormousPeriod(t *testing.T) {
	span := dist.Span(0, 60)
	l := newLedger(span, 2)
	simulate(t, machine(0, 3), func(c *sim.Comm) error {
		rep, err := once(c, hooks.FreeLoop{Iterations: span, Repeat: 2}, lb.Config{Period: 1e300}, l, 0.01)
		if rep != nil && rep.Interactions > 20 {
			return fmt.Errorf("%d interactions", rep.Interactions)
		}
		return err
	})
	l.requireOnce(t)
}

func TestAPanicSaysWhere(t *testing.T) {
	for _, adjacent := range []bool{true, false} {
		err := local.Run(3, func(c comm.Comm) error {
			h, err := hooks.New(c, hooks.Loop{Name: "heat", Iterations: dist.Span(0, 9), Adjacent: adjacent, Quantum: 0.004}, lb.Config{Policy: lb.Off})
			if err != nil {
				return err
			}
			for step := range 8 {
				h.Compute(func() {
					if c.Rank() == 2 && step == 5 {
						panic("out of coal")
					}
				})
				if _, err := h.Hook(); err != nil {
					return err
				}
			}
			return comm.Barrier(c)
		})
		requirePanic(t, err, "heat", 2, 5)
	}
	err := local.Run(3, func(c comm.Comm) error {
		f, err := hooks.NewFree(c, hooks.FreeLoop{Name: "tiles", Iterations: dist.Span(0, 9), Repeat: 6}, lb.Config{Policy: lb.Off})
		if err != nil {
			return err
		}
		defer f.Annotate()
		for {
			rep, _, ok, err := f.Next()
			if err != nil || !ok {
				return errors.Join(err, comm.Barrier(c))
			}
			if c.Rank() == 1 && rep == 4 {
				panic("out of coal")
			}
		}
	})
	requirePanic(t, err, "tiles", 1, 4)
}

func requirePanic(t *testing.T, err error, loop string, rank, phase int) {
	t.Helper()
	var p *hooks.PanicError
	require.ErrorAs(t, err, &p)
	assert.Equal(t, loop, p.Loop)
	assert.Equal(t, rank, p.Rank)
	assert.Equal(t, phase, p.Phase)
	assert.Equal(t, "out of coal", p.Value)
	assert.Contains(t, string(p.Stack), "errors_test.go")
	assert.Contains(t, p.Error(), fmt.Sprintf("rank %d: panic in loop %q, phase %d: out of coal", rank, loop, phase))
}

// A panic outside the program's part of a loop is not the loop's.
func TestAnnotateLeavesOtherPanicsAlone(t *testing.T) {
	err := local.Run(1, func(c comm.Comm) error {
		h, err := hooks.New(c, hooks.Loop{Iterations: dist.Span(0, 9)}, lb.Auto())
		if err != nil {
			return err
		}
		defer h.Annotate()
		h.Compute(func() {})
		panic("elsewhere")
	})
	var p *hooks.PanicError
	require.False(t, errors.As(err, &p))
	require.ErrorContains(t, err, "elsewhere")
}

// refusing is an Array that cannot take what it is given.
type refusing struct{}

func (refusing) Pack(r dist.Range, buf []byte) []byte { return append(buf, byte(r.Len())) }

func (refusing) Unpack(dist.Range, []byte) error { return errors.New("no room") }

func TestAnArrayThatRefusesItsDataEndsTheLoop(t *testing.T) {
	cfg := lb.Config{Policy: lb.Rotate, Period: 1e-9}
	for _, adjacent := range []bool{true, false} {
		_, err := sim.Run(machine(0, 3), func(c *sim.Comm) error {
			h, err := hooks.New(c, hooks.Loop{Iterations: dist.Span(0, 30), Adjacent: adjacent, Quantum: 0.004, Arrays: []hooks.Array{refusing{}}}, cfg)
			for err == nil {
				h.Compute(func() { c.Work(0.01) })
				_, err = h.Hook()
			}
			return err
		})
		require.ErrorContains(t, err, "no room")
		require.ErrorContains(t, err, "array 0, iterations")
	}
}

// Arrays of different widths cannot be exchanged in place, which is an error and not rows half filled.
func TestArraysOfDifferentWidths(t *testing.T) {
	for _, adjacent := range []bool{true, false} {
		_, err := sim.Run(machine(0, 2), func(c *sim.Comm) error {
			span := dist.Span(0, 30)
			h, err := hooks.New(c, hooks.Loop{Iterations: span, Adjacent: adjacent, Quantum: 0.004, Arrays: []hooks.Array{newPlain(span, 3-c.Rank())}},
				lb.Config{Policy: lb.Rotate, Period: 1e-9})
			for err == nil {
				h.Compute(func() { c.Work(0.01) })
				_, err = h.Hook()
			}
			return err
		})
		require.Error(t, err)
		var deadlock *sim.DeadlockError
		require.False(t, errors.As(err, &deadlock), "%v", err)
	}
	_, err := sim.Run(machine(0, 2), func(c *sim.Comm) error {
		span := dist.Span(0, 300)
		f, err := hooks.NewFree(c, hooks.FreeLoop{Iterations: span, Quantum: 0.004, Arrays: []hooks.Array{newPlain(span, 1+c.Rank())}},
			lb.Config{Policy: lb.Rotate, Period: 1e-9})
		for ok := true; err == nil && ok; {
			if _, _, ok, err = f.Next(); ok {
				c.Work(0.1)
			}
		}
		return err
	})
	require.Error(t, err)
}

// A rank that executes the hook once more than the others is told so, or the simulation finds that it waits for ever.
func TestRanksThatExecuteTheHookAtDifferentTimes(t *testing.T) {
	_, err := sim.Run(machine(0, 3), func(c *sim.Comm) error {
		h, err := hooks.New(c, hooks.Loop{Iterations: dist.Span(0, 30), Adjacent: true, Quantum: 0.004}, lb.Config{Policy: lb.Rotate, Period: 1e-9})
		if err != nil {
			return err
		}
		for range 10 + c.Rank()%2 {
			h.Compute(func() { c.Work(0.01) })
			if _, err := h.Hook(); err != nil {
				return err
			}
		}
		_, err = h.Finish()
		return err
	})
	require.Error(t, err)
}

func TestARecordedRunIsReadable(t *testing.T) {
	for _, free := range []bool{false, true} {
		var out bytes.Buffer
		j := hooks.NewJSONL(&out)
		var log memory
		record := hooks.Tee(j, &log)
		cfg := lb.Config{Policy: lb.Random, Period: 1e-3, Seed: 1}
		span := dist.Span(0, 200)
		var rep *hooks.Report
		simulate(t, machine(0, 4), func(c *sim.Comm) (err error) {
			var r *hooks.Report
			if free {
				r, err = once(c, hooks.FreeLoop{Name: "tiles", Iterations: span, Repeat: 2, Record: record}, cfg, newLedger(span, 2), 0.01)
			} else {
				r, err = phases(c, hooks.Loop{Name: "heat", Iterations: span, Adjacent: true, Record: record}, cfg, newRows(span), newLedger(span, 50), 50)
			}
			if r != nil {
				rep = r
			}
			return err
		})
		require.NoError(t, j.Err())

		lines := bufio.NewScanner(&out)
		lines.Buffer(nil, 1<<20)
		require.True(t, lines.Scan())
		require.JSONEq(t, `{"schema":"shiftwork","version":2}`, lines.Text())
		var events []hooks.Event
		for lines.Scan() {
			var e hooks.Event
			d := json.NewDecoder(strings.NewReader(lines.Text()))
			d.DisallowUnknownFields()
			require.NoError(t, d.Decode(&e), lines.Text())
			events = append(events, e)
		}
		require.NoError(t, lines.Err())
		require.Len(t, events, len(log.events))

		first, last := events[0], events[len(events)-1]
		assert.Equal(t, "start", first.Kind)
		assert.Equal(t, &cfg, first.Config)
		assert.Equal(t, 4, first.Setup.Ranks)
		assert.Equal(t, free, first.Setup.Free)
		assert.Equal(t, "end", last.Kind)
		assert.Equal(t, rep, last.Report)
		decisions, moved := 0, 0
		time := first.Time
		for _, e := range events[1 : len(events)-1] {
			require.Equal(t, "decision", e.Kind)
			require.Equal(t, decisions, e.Decision.Interaction)
			require.Len(t, e.Statuses, 4)
			for r, s := range e.Statuses {
				require.Equal(t, r, s.Rank)
				require.Equal(t, decisions, s.Interaction)
			}
			require.GreaterOrEqual(t, e.Time, time)
			time = e.Time
			decisions++
			if e.Decision.Moved() {
				moved++
			}
		}
		assert.Equal(t, rep.Interactions, decisions)
		assert.Equal(t, rep.Shifts, moved)

		// The same statuses give the same decisions: what was recorded can be replayed.
		b, err := lb.New(*first.Config, *first.Setup)
		require.NoError(t, err)
		for _, e := range events[1 : len(events)-1] {
			d := b.Decide(e.Statuses)
			require.Equal(t, e.Decision.NextHook, d.NextHook)
			require.Equal(t, e.Decision.Reason, d.Reason)
			require.Len(t, d.Transfers, len(e.Decision.Transfers))
			for i, tr := range d.Transfers {
				require.Equal(t, e.Decision.Transfers[i], tr)
			}
		}
	}
}

// What a rank moves is counted on the way in and on the way out, also where the two cancel.
func TestMovementsThatCancelAreCounted(t *testing.T) {
	span := dist.Span(0, 90)
	var log memory
	var rep *hooks.Report
	simulate(t, machine(0, 3), func(c *sim.Comm) error {
		r, err := phases(c, hooks.Loop{Iterations: span, Adjacent: true, Record: &log},
			lb.Config{Policy: lb.Rotate, Period: 1e-9}, newRows(span), newLedger(span, 6), 6)
		if r != nil {
			rep = r
		}
		return err
	})
	// Instructions 0 to 3 are obeyed at the hooks 2 to 5; each moves 3 iterations over both boundaries.
	assert.Equal(t, []int{30, 30, 30, 30, 30, 30}, log.owned(1))
	require.Equal(t, 4, lastObeyed(log, 1))
	assert.Equal(t, 2*3*5, rep.IterationsMoved)
	for _, e := range log.events {
		if e.Kind == "decision" && e.Decision.Interaction >= 2 {
			s := e.Statuses[1]
			assert.Equal(t, 2, s.MoveTransfers)
			assert.Equal(t, 6.0, s.MoveUnits)
		}
	}
}

func lastObeyed(log memory, rank int) int {
	last := -1
	for _, e := range log.events {
		if e.Kind == "decision" {
			last = max(last, e.Statuses[rank].Obeyed)
		}
	}
	return last + 1 // the status says what was obeyed before it
}

// A rank whose neighbour comes late to the hook waits, and does not count that as time spent on moving: nothing would
// ever pay again beside a slow rank.
func TestWaitingForANeighbourIsNotMoving(t *testing.T) {
	span := dist.Span(0, 40)
	for network := range networks {
		for _, adjacent := range []bool{true, false} {
			var log memory
			simulate(t, machine(network, 2), func(c *sim.Comm) error {
				h, err := hooks.New(c, hooks.Loop{Iterations: span, Adjacent: adjacent, Quantum: 0.004, Record: &log, Arrays: []hooks.Array{newPlain(span, 2)}},
					lb.Config{Policy: lb.Rotate, Period: 1e-9})
				if err != nil {
					return err
				}
				for range 40 {
					h.Compute(func() { c.Work(float64(1 + 9*c.Rank())) })
					if _, err := h.Hook(); err != nil {
						return err
					}
				}
				_, err = h.Finish()
				return err
			})
			moved := 0
			for _, e := range log.events {
				for _, s := range e.Statuses {
					if s.MoveTransfers > 0 {
						moved++
					}
					assert.Less(t, s.MoveTime, 0.01, "network %d, adjacent %v, rank %d, interaction %d", network, adjacent, s.Rank, s.Interaction)
				}
			}
			assert.Greater(t, moved, 50)
		}
	}
}
