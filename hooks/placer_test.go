package hooks_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/comm"
	"shiftwork/comm/local"
	"shiftwork/comm/sim"
	"shiftwork/dist"
	"shiftwork/hooks"
	"shiftwork/lb"
	"shiftwork/placement"
)

// emptyHook is what the run time reckons with in virtual time, in s.
const emptyHook = 60e-9

// twoLevels is a nest of steps, each of substeps, each of which does all iterations and synchronises the ranks.
type twoLevels struct {
	steps, substeps int
	operations      float64 // of an iteration, as the source would be read
	takes           float64 // s for a substep of a rank of speed 1, in truth
	told            bool    // the trip counts of both loops
}

const nestRows = 40

func (x twoLevels) nest() placement.Nest {
	n := placement.Nest{
		Levels:      []placement.Level{{Name: "step"}, {Name: "substep"}, {Name: "row", Operations: x.operations}},
		Distributed: 2, Order: placement.Synchronous,
	}
	if x.told {
		n.Levels[0].Trips, n.Levels[1].Trips = float64(x.steps), float64(x.substeps)
	}
	return n
}

// placedRun is what one rank saw of a run.
type placedRun struct {
	choice placement.Choice
	hooks  []int         // substeps done when Hook was called
	gap    time.Duration // the shortest time between two hooks of the second half
	reads  int           // of the clock by the last substep that had no hook in it
	report *hooks.Report
	total  int // hooks that were expected at the last interaction; 0: unknown
}

// clocked counts how often the clock is read.
type clocked struct {
	*sim.Comm
	reads int
}

func (c *clocked) Now() time.Duration {
	c.reads++
	return c.Comm.Now()
}

func (x twoLevels) run(t *testing.T, cfg sim.Config, balance lb.Config) []placedRun {
	t.Helper()
	runs := make([]placedRun, cfg.Ranks)
	span := dist.Span(0, nestRows)
	simulate(t, cfg, func(sc *sim.Comm) error {
		c := &clocked{Comm: sc}
		run := &runs[c.Rank()]
		d := newRows(span, dist.Even(span, c.Size(), 0).Range(c.Rank()))
		var log memory
		h, err := hooks.New(c, hooks.Loop{
			Iterations: span, Arrays: d.arrays(), Adjacent: true, Quantum: 0.004, Record: &log,
		}, balance)
		if err != nil {
			return err
		}
		p, err := h.Place(x.nest())
		if err != nil {
			return err
		}
		done, total := 0, x.steps*x.substeps
		var last time.Duration
		end := func(level int) error {
			before, reads := h.PhasesDone(), c.reads
			if _, err := p.End(level); err != nil {
				return err
			}
			if h.PhasesDone() == before {
				run.reads = c.reads - reads
				return nil
			}
			run.hooks = append(run.hooks, done)
			if now := sc.Now(); done > total/2 {
				if run.gap == 0 && last == 0 {
					run.gap = math.MaxInt64
				} else {
					run.gap = min(run.gap, now-last)
				}
				last = now
			}
			return nil
		}
		for range x.steps {
			for range x.substeps {
				own := h.Range()
				h.Compute(func() {
					for i := own.Lo; i < own.Hi; i++ {
						if err := d.check(i, done); err != nil {
							panic(err)
						}
						d.set(i, done+1)
					}
					c.Work(x.takes * float64(own.Len()) / (nestRows / float64(cfg.Ranks)))
				})
				done++
				if err := comm.Barrier(c); err != nil {
					return err
				}
				if err := end(1); err != nil {
					return err
				}
			}
			if err := end(0); err != nil {
				return err
			}
		}
		run.choice = p.Choice()
		own := h.Range()
		for i := own.Lo; i < own.Hi; i++ {
			if err := d.check(i, total); err != nil {
				return err
			}
		}
		run.report, err = h.Finish()
		phases := 0
		for _, e := range log.events {
			if e.Kind == "decision" {
				phases += e.Statuses[0].Phases
				run.total = max(0, phases+e.Statuses[0].PhasesLeft)
			}
		}
		return err
	})
	return runs
}

// Claim 4.7 and section 5.1.2 at run time: operation counts are the first guess, what is measured decides, alike on all
// ranks, and a hook that does nothing costs at most 1 % of the code between hooks.
func TestTheHookGoesWhereMeasuredCostsPutIt(t *testing.T) {
	const cheap, dear = 100, 1e6 // operations of a row: 0.2 us and 2 ms a substep of ten rows
	for name, k := range map[string]struct {
		nest        twoLevels
		guess, name string
		every       int // substeps between hooks, at last
	}{
		"dearer than guessed":     {twoLevels{20, 50, cheap, 1e-4, true}, "lbhook2", "lbhook1", 1},
		"cheaper than guessed":    {twoLevels{20, 50, dear, 1e-6, true}, "lbhook1", "lbhook2", 50},
		"as guessed":              {twoLevels{20, 50, dear, 2e-3, true}, "lbhook1", "lbhook1", 1},
		"not even once a step":    {twoLevels{60, 20, dear, 5e-8, true}, "lbhook1", "lbhook2a", 120},
		"unknown trips, dearer":   {twoLevels{20, 50, cheap, 1e-4, false}, "lbhook2", "lbhook1", 1},
		"unknown trips, cheaper":  {twoLevels{20, 50, dear, 1e-6, false}, "lbhook1", "lbhook2", 50},
		"unknown, few substeps":   {twoLevels{90, 2, dear, 1e-6, false}, "lbhook1", "lbhook2a", 6},
		"nobody counted, cheap":   {twoLevels{20, 50, 0, 1e-6, true}, "", "lbhook2", 50},
		"nobody counted anything": {twoLevels{20, 50, 0, 1e-4, false}, "", "lbhook1", 1},
		"steps that are too long": {twoLevels{3, 20000, dear, 5.5e-6, true}, "lbhook1", "lbhook1a", 2},
	} {
		for _, ranks := range []int{2, 4} {
			t.Run(fmt.Sprintf("%s/%d", name, ranks), func(t *testing.T) {
				cfg := machine(2, ranks)
				cfg.MaxOps = 1e7
				runs := k.nest.run(t, cfg, lb.Auto())
				first := runs[0]
				at, ok := first.choice.Position()
				require.True(t, ok, "%+v", first.choice)
				assert.Equal(t, k.name, at.Name, "%s", first.choice.Reason)
				for r, run := range runs {
					assert.Equal(t, first.choice, run.choice, "rank %d", r)
					assert.Equal(t, first.hooks, run.hooks, "rank %d", r)
				}
				n := len(first.hooks)
				require.Greater(t, n, 4)
				for i := n / 2; i+1 < n; i++ {
					assert.Equal(t, k.every, first.hooks[i+1]-first.hooks[i])
				}
				assert.LessOrEqual(t, emptyHook, placement.MaxShare*first.gap.Seconds()*(1+1e-3), "%v between hooks", first.gap)
				if k.nest.told {
					assert.InDelta(t, n, first.total, 1, "hooks in all, as expected at last")
				}
				assert.Zero(t, first.reads, "readings of the clock once all is measured")

				p := first.report.Placement
				require.NotNil(t, p)
				assert.Equal(t, k.guess, p.Guess)
				assert.Equal(t, k.name, p.Position)
				assert.InEpsilon(t, emptyHook, p.Hook, 1e-9)
				assert.LessOrEqual(t, p.Share, placement.MaxShare)
				assert.InEpsilon(t, p.Hook/p.Share, p.Between, 1e-6)
				assert.InDelta(t, first.gap.Seconds(), p.Between, 1.1e-6+0.02*p.Between, "a status that is looked for costs 1 us")
				assert.NotEmpty(t, p.Reason)
			})
		}
	}
}

// The whole nest is not worth one hook.
func TestNoHookWhereNoneFits(t *testing.T) {
	runs := twoLevels{3, 4, 1e6, 1e-8, true}.run(t, machine(2, 3), lb.Auto())
	for _, run := range runs {
		_, ok := run.choice.Position()
		assert.False(t, ok)
		assert.Less(t, len(run.hooks), 4, "only before anything was measured")
	}
	p := runs[0].report.Placement
	assert.Empty(t, p.Position)
	assert.Zero(t, p.Strip)
	assert.Contains(t, p.Reason, "nothing fits")
}

// The rows arrive wherever the hook is and whatever moves them (the run checks each of them): with costs of messages, and
// with ranks that do not agree on how long a substep takes.
func TestWorkMovesAtPlacedHooks(t *testing.T) {
	for network := range networks {
		for _, m := range mechanisms() {
			if m.dedicated {
				continue
			}
			for _, takes := range []float64{1e-4, 1e-8} {
				cfg := machine(network, 4)
				cfg.Speed = [][]sim.Step{sim.Constant(1), sim.Constant(3), sim.Constant(0.5), sim.Constant(1)}
				balance := m.config()
				runs := twoLevels{8, 30, 100, takes, takes > 1e-6}.run(t, cfg, balance)
				for r, run := range runs {
					assert.Equal(t, runs[0].choice, run.choice, "rank %d", r)
					assert.Equal(t, runs[0].hooks, run.hooks, "rank %d", r)
				}
				if takes > 1e-6 {
					assert.Positive(t, runs[0].report.IterationsMoved, "network %d, %v", network, m)
				}
			}
		}
	}
}

// Without balancing Hook only counts, so there is nothing to measure, to agree on or to report.
func TestNothingIsPlacedWithoutBalancing(t *testing.T) {
	runs := twoLevels{5, 4, 1e6, 1e-4, true}.run(t, machine(0, 2), lb.Config{Policy: lb.Off})
	for _, run := range runs {
		assert.Empty(t, run.choice.Positions)
		assert.Len(t, run.hooks, 20)
		assert.Zero(t, run.reads)
	}
	assert.Nil(t, runs[0].report.Placement)
	text, err := json.Marshal(runs[0].report)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "placement")
}

// A pipeline calls End after each strip: the grain has set its length, and the hook goes further out if that is short.
func TestTheHookOfAPipelineRespectsTheGrain(t *testing.T) {
	const sweeps, columns, strip = 20, 70, 8 // the last strip has six
	for takes, want := range map[float64]string{1e-4: "lbhook1a", 1e-6: "lbhook2"} {
		simulate(t, machine(2, 3), func(c *sim.Comm) error {
			h, err := hooks.New(c, hooks.Loop{Iterations: dist.Span(0, 30), Adjacent: true, Quantum: 0.004}, lb.Auto())
			if err != nil {
				return err
			}
			p, err := h.Place(placement.Nest{
				Levels:      []placement.Level{{Name: "sweep", Trips: sweeps}, {Name: "column", Trips: columns, Strip: strip}, {Name: "row"}},
				Distributed: 2, Order: placement.Pipelined,
			})
			if err != nil {
				return err
			}
			for range sweeps {
				for from := 0; from < columns; from += strip {
					length := float64(min(strip, columns-from))
					h.Begin()
					c.Work(takes / strip * length)
					h.EndPart(length / columns)
					if _, err := p.End(1); err != nil {
						return err
					}
				}
				if _, err := p.End(0); err != nil {
					return err
				}
			}
			rep, err := h.Finish()
			if rep != nil {
				assert.Equal(t, want, rep.Placement.Position, rep.Placement.Reason)
				assert.Equal(t, map[string]int{"lbhook1a": strip, "lbhook2": 1}[want], rep.Placement.Strip)
			}
			return err
		})
	}
}

func TestNestsThatCannotBePlaced(t *testing.T) {
	good := twoLevels{5, 4, 1, 1, true}.nest()
	for says, change := range map[string]func(rank int, n *placement.Nest){
		"use NewFree":                      func(_ int, n *placement.Nest) { n.Order = placement.Free },
		"a loop around":                    func(_ int, n *placement.Nest) { n.Distributed = 0 },
		"level 9 of 3":                     func(_ int, n *placement.Nest) { n.Distributed = 9 },
		"loop row has NaN trips":           func(_ int, n *placement.Nest) { n.Levels[2].Trips = math.NaN() },
		"strips of loop step":              func(_ int, n *placement.Nest) { n.Levels[0].Strip = 4 },
		"rank 1 has another configuration": func(rank int, n *placement.Nest) { n.Levels[1].Operations = float64(rank) },
	} {
		require.NoError(t, local.Run(2, func(c comm.Comm) error {
			h, err := hooks.New(c, hooks.Loop{Iterations: dist.Span(0, 20), Quantum: 0.004}, lb.Auto())
			if err != nil {
				return err
			}
			n := good
			n.Levels = append([]placement.Level(nil), good.Levels...)
			change(c.Rank(), &n)
			if _, err := h.Place(n); assert.Error(t, err) {
				assert.ErrorContains(t, err, says)
			}
			_, err = h.Finish()
			return err
		}))
	}
}

// In real time the empty hook is measured: it takes some ten nanoseconds, under the race detector more.
func TestTheEmptyHookIsMeasured(t *testing.T) {
	require.NoError(t, local.Run(2, func(c comm.Comm) error {
		h, err := hooks.New(c, hooks.Loop{Iterations: dist.Span(0, 20), Quantum: 0.004}, lb.Auto())
		if err != nil {
			return err
		}
		p, err := h.Place(twoLevels{3, 3, 1e7, 0, true}.nest())
		if err != nil {
			return err
		}
		for range 3 {
			for range 3 {
				h.Compute(func() { time.Sleep(time.Millisecond) })
				if _, err := p.End(1); err != nil {
					return err
				}
			}
			if _, err := p.End(0); err != nil {
				return err
			}
		}
		rep, err := h.Finish()
		if rep != nil {
			assert.Equal(t, "lbhook1", rep.Placement.Position)
			assert.Greater(t, rep.Placement.Hook, 5e-9)
			assert.Less(t, rep.Placement.Hook, 5e-6)
			assert.GreaterOrEqual(t, rep.Placement.Between, 1e-3)
		}
		return err
	}))
}

// The paper's MM: the loop itself is strip mined, and a hook between strips costs less than 1 % of them, even with a
// microsecond for looking for messages.
func TestAFreeLoopReportsItsStrips(t *testing.T) {
	const rows = 20000
	for _, unit := range []float64{1e3, 1e5} { // work units/s: 1 ms and 10 us for an iteration
		cfg := machine(0, 4)
		for range cfg.Ranks {
			cfg.Speed = append(cfg.Speed, sim.Constant(unit))
		}
		_, rep := freeRun(t, cfg, hooks.FreeLoop{Iterations: dist.Span(0, rows), Name: "i"}, lb.Auto())
		p := rep.Placement
		require.NotNil(t, p)
		assert.Equal(t, "lbhook0a", p.Position)
		assert.Equal(t, "i", p.Loop)
		assert.InDelta(t, p.Between*unit, p.Strip, 1)
		assert.Positive(t, p.Hook)
		assert.Less(t, p.Hook, 5e-6)
		assert.Less(t, p.Share, placement.MaxShare)
	}
}
