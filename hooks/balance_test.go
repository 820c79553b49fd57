package hooks_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/comm"
	"shiftwork/comm/sim"
	"shiftwork/dist"
	"shiftwork/hooks"
	"shiftwork/lb"
)

// A rank that becomes 1000 times slower and recovers: its work leaves, but for the last iteration, by which its
// rate is still measured, and comes back.
func TestWorkLeavesARankThatIsSlowForAWhileAndComesBack(t *testing.T) {
	const (
		ranks, slow = 4, 2
		iterations  = 200
		work        = 1e-4 // units an iteration; s on a rank of speed 1
		// The first interaction after the change comes some 8 hooks later, which take 5 s each.
		from, until, steps = 5.0, 155.0, 4000
	)
	for _, adjacent := range []bool{true, false} {
		for _, interaction := range []lb.Interaction{lb.Pipelined, lb.Synchronous} {
			t.Run(fmt.Sprintf("adjacent=%v,%v", adjacent, interaction), func(t *testing.T) {
				cfg := machine(0, ranks)
				cfg.Speed = make([][]sim.Step, ranks)
				cfg.Speed[slow] = []sim.Step{{Speed: 1}, {From: from, Speed: 1e-3}, {From: until, Speed: 1}}
				var log memory
				simulate(t, cfg, func(c *sim.Comm) error {
					d := newPlain(dist.Span(0, iterations), 1)
					h, err := hooks.New(c, hooks.Loop{
						Iterations: dist.Span(0, iterations), Arrays: []hooks.Array{d}, Adjacent: adjacent, Quantum: 0.004, Record: &log,
					}, lb.Config{Interaction: interaction})
					if err != nil {
						return err
					}
					for range steps {
						h.Compute(func() {
							for _, own := range h.Ranges() {
								c.Work(work * float64(own.Len()))
							}
						})
						if err := comm.Barrier(c); err != nil {
							return err
						}
						if _, err := h.Hook(); err != nil {
							return err
						}
					}
					_, err = h.Finish()
					return err
				})
				during, after := []int{}, []int{}
				for _, e := range log.events {
					if e.Kind != "decision" {
						continue
					}
					switch n := e.Statuses[slow].OwnedIterations; {
					case e.Time < from:
						require.Equal(t, iterations/ranks, n, "nothing has happened yet")
					case e.Time > from+(until-from)/2 && e.Time < until:
						during = append(during, n)
					case e.Time >= until:
						after = append(after, n)
					}
				}
				require.NotEmpty(t, during)
				require.NotEmpty(t, after)
				// It could do 0.07 iterations in the time of the others' 66.6: the minimum of one is more than enough.
				assert.Equal(t, 1, slices.Max(during), "of the work while the rank is slow")
				assert.InDelta(t, iterations/ranks, after[len(after)-1], 3, "after it has recovered: %v", after)
			})
		}
	}
}

// freeRun does each iteration of a free loop at a cost of one work unit and returns how long it took, in s, the number of
// iterations done by rank, and the report.
func freeRun(t *testing.T, cfg sim.Config, loop hooks.FreeLoop, balance lb.Config) (float64, *hooks.Report) {
	t.Helper()
	var rep *hooks.Report
	ended := make([]float64, cfg.Ranks)
	l := newLedger(loop.Iterations, max(1, loop.Repeat))
	simulate(t, cfg, func(c *sim.Comm) error {
		loop := loop
		loop.Quantum, loop.Arrays = 0.004, []hooks.Array{newPlain(loop.Iterations, 4)}
		f, err := hooks.NewFree(c, loop, balance)
		if err != nil {
			return err
		}
		began := c.Now()
		for {
			repetition, r, ok, err := f.Next()
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			l.enter(repetition, r)
			c.Work(loop.Weights.Units(r))
		}
		ended[c.Rank()] = (c.Now() - began).Seconds()
		r, err := f.Finish()
		if r != nil {
			rep = r
		}
		return err
	})
	l.requireOnce(t)
	return slices.Max(ended), rep
}

// Speeds of 1:2:4:8 from equal shares. The bound: 3 % of the ideal time, and one iteration on the slowest rank, which may
// have been begun when the others ran dry. Synchronous interactions wait for the longest iteration under way each
// time, so for them only short ones are tried.
func TestAFreeLoopEndsTogetherOnUnequalRanks(t *testing.T) {
	const unit = 100 // units/s
	for network := range networks {
		for _, interaction := range []lb.Interaction{lb.Pipelined, lb.Synchronous} {
			for _, repeat := range []int{1, 10} {
				for _, weighted := range []bool{false, true} {
					if weighted && interaction == lb.Synchronous {
						continue
					}
					n := 6000 / repeat
					loop := hooks.FreeLoop{Iterations: dist.Span(0, n), Repeat: repeat}
					longest := 1.0
					if weighted {
						loop.Weights = weights(t, loop.Iterations)
						longest = 4.2
					}
					cfg := machine(network, 4)
					for r := range 4 {
						cfg.Speed = append(cfg.Speed, sim.Constant(float64(unit*int(1)<<r)))
					}
					took, rep := freeRun(t, cfg, loop, lb.Config{Interaction: interaction})
					ideal := loop.Weights.Units(loop.Iterations) * float64(repeat) / (15 * unit)
					assert.Positive(t, rep.IterationsMoved)
					assert.Less(t, took, 1.03*ideal+longest/unit, "network %d, %v, repeat %d, weights %v: %.4f of ideal", network, interaction, repeat, weighted, took/ideal)
					assert.GreaterOrEqual(t, took, ideal)
				}
			}
		}
	}
}

// A free loop in which a rank stops almost entirely in the middle and comes back: what it has not begun is done elsewhere.
func TestAFreeLoopDoesNotWaitForARankThatStops(t *testing.T) {
	cfg := machine(0, 4)
	cfg.Speed = [][]sim.Step{nil, nil, {{Speed: 100}, {From: 1, Speed: 0.1}, {From: 6, Speed: 100}}, nil}
	for _, r := range []int{0, 1, 3} {
		cfg.Speed[r] = sim.Constant(100)
	}
	took, _ := freeRun(t, cfg, hooks.FreeLoop{Iterations: dist.Span(0, 2000)}, lb.Auto())
	// 400 units in the first second, then 300 a second for 5 s, and 100 more with the help of the fourth.
	ideal := 6 + (2000.0-400-1500)/400
	// A rank reports between chunks; the one under way when the rank stopped takes until it has come back, and the
	// rest of its queue is fetched only then.
	assert.Less(t, took, 1.05*ideal+1)
}

func TestAFreeLoopWithoutBalancing(t *testing.T) {
	cfg := machine(0, 3)
	took, rep := freeRun(t, cfg, hooks.FreeLoop{Iterations: dist.Span(0, 30), Repeat: 2}, lb.Config{Policy: lb.Off})
	assert.InDelta(t, 20.0, took, 1e-3)
	assert.Zero(t, rep.Interactions)
	assert.Zero(t, rep.IterationsMoved)
}
