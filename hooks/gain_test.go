package hooks_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/comm"
	"shiftwork/comm/sim"
	"shiftwork/dist"
	"shiftwork/hooks"
	"shiftwork/lb"
)

// slow is rank 1 of three, at a third of its speed in these times (from, until, from, ...).
func slow(times ...float64) [][]sim.Step {
	steps := []sim.Step{{Speed: 1}}
	if times[0] == 0 {
		steps = nil
	}
	for i, t := range times {
		speed := 1.0 / 3
		if i%2 == 1 {
			speed = 1
		}
		steps = append(steps, sim.Step{From: t, Speed: speed})
	}
	return [][]sim.Step{{{Speed: 1}}, steps, {{Speed: 1}}}
}

// relaxed runs a loop whose ranks wait for each other in each of its steps; an iteration costs cost(i) ms.
func relaxed(t *testing.T, speed [][]sim.Step, cfg lb.Config, steps int, cost func(i int) float64) *hooks.Report {
	return simulated(t, speed, func(c *sim.Comm) (*hooks.Report, error) {
		h, err := hooks.New(c, hooks.Loop{Iterations: dist.Span(0, 90), Adjacent: true, Phases: steps, Quantum: 4e-3}, cfg)
		if err != nil {
			return nil, err
		}
		for range steps {
			h.Begin()
			for _, part := range h.Parts() {
				for i := part.Lo; i < part.Hi; i++ {
					c.Work(1e-3 * cost(i))
				}
				h.Lap(part)
			}
			h.End()
			if err := comm.Barrier(c); err != nil {
				return nil, err
			}
			if _, err := h.Hook(); err != nil {
				return nil, err
			}
		}
		return h.Finish()
	})
}

func simulated(t *testing.T, speed [][]sim.Step, body func(c *sim.Comm) (*hooks.Report, error)) *hooks.Report {
	t.Helper()
	var report *hooks.Report
	_, err := sim.Run(sim.Config{Ranks: len(speed), Alpha: 1e-5, SendOverhead: 1e-6, Speed: speed}, func(c *sim.Comm) error {
		r, err := body(c)
		if r != nil {
			report = r
		}
		return err
	})
	require.NoError(t, err)
	return report
}

func alike(int) float64 { return 1 }

func longest(r *hooks.Report) (s float64) {
	for _, rank := range r.Ranks {
		s = max(s, rank.Elapsed)
	}
	return s
}

// The claim: Start is the time that the same run takes where nothing is balanced, which virtual time can run twice.
func TestGainForetellsTheRunWithoutBalancing(t *testing.T) {
	for name, speed := range map[string][][]sim.Step{
		"from the start": slow(0), "from the middle": slow(2), "for a while": slow(1, 3), "again and again": slow(1, 2, 3, 4, 5, 6, 7, 8),
	} {
		t.Run(name, func(t *testing.T) {
			on := relaxed(t, speed, lb.Auto(), 200, alike)
			off := relaxed(t, speed, lb.Config{Policy: lb.Off}, 200, alike)
			require.NotNil(t, on.Gain)
			assert.Nil(t, off.Gain, "nothing was measured")
			t.Logf("on %.3f s, off %.3f s, %+v", longest(on), longest(off), *on.Gain)
			assert.InEpsilon(t, longest(off), on.Gain.Start, 0.1, "start")
			assert.InEpsilon(t, longest(on), on.Gain.Compute+on.Gain.Overhead, 0.05, "compute")
			assert.Positive(t, on.Gain.Removed())
			assert.InDelta(t, 1, on.Gain.Slowed[1], 1e-9, "rank 1 is to blame")
		})
	}
}

// The same where iterations differ in cost: shares are shares of what they were learned to cost.
func TestGainGoesByLearnedWeights(t *testing.T) {
	rising := func(i int) float64 { return 0.2 + float64(i)/45 }
	speed := [][]sim.Step{{{Speed: 1}}, {{Speed: 1}}, {{Speed: 1}}}
	on := relaxed(t, speed, lb.Auto(), 200, rising)
	off := relaxed(t, speed, lb.Config{Policy: lb.Off}, 200, rising)
	t.Logf("on %.3f s, off %.3f s, %+v", longest(on), longest(off), *on.Gain)
	assert.Less(t, longest(on), 0.8*longest(off))
	assert.InEpsilon(t, longest(off), on.Gain.Start, 0.1)
	assert.Greater(t, on.Gain.Removed(), 0.7)
}

// A free loop ends with its last rank, and nobody waits before.
func TestGainOfAFreeLoop(t *testing.T) {
	run := func(cfg lb.Config) *hooks.Report {
		return simulated(t, slow(0.5), func(c *sim.Comm) (*hooks.Report, error) {
			f, err := hooks.NewFree(c, hooks.FreeLoop{Iterations: dist.Span(0, 9000), Quantum: 4e-3}, cfg)
			if err != nil {
				return nil, err
			}
			return doChunks(c, f, 1e-3)
		})
	}
	on, off := run(lb.Auto()), run(lb.Config{Policy: lb.Off})
	t.Logf("on %.3f s, off %.3f s, %+v", longest(on), longest(off), *on.Gain)
	assert.InEpsilon(t, longest(off), on.Gain.Start, 0.1)
	assert.Greater(t, on.Gain.Removed(), 0.8)
	assert.Equal(t, 9000, on.Iterations)
}

// Without a load there is next to nothing to remove, and what balancing took is counted.
func TestGainOfNothing(t *testing.T) {
	speed := [][]sim.Step{{{Speed: 1}}, {{Speed: 1}}, {{Speed: 1}}}
	g := relaxed(t, speed, lb.Auto(), 200, alike).Gain
	require.NotNil(t, g)
	assert.InDelta(t, 0, g.Would(), 1e-6)
	assert.InDelta(t, g.Compute, g.Start, 1e-6)
	moving := relaxed(t, speed, lb.Config{Policy: lb.Rotate}, 200, alike).Gain
	assert.Greater(t, moving.Did(), moving.Would(), "it moves for no reason")
}

// What the report says of ranks, settings and build.
func TestReportTellsWhoRanAndHow(t *testing.T) {
	r := relaxed(t, slow(1), lb.Config{Threshold: 0.2, Filter: "state"}, 100, alike)
	for i, rank := range r.Ranks {
		assert.Equal(t, i, rank.Rank)
		assert.NotEmpty(t, rank.Host)
		assert.Positive(t, rank.Interact)
		assert.LessOrEqual(t, rank.RateMin, rank.Rate())
		assert.GreaterOrEqual(t, rank.RateMax, rank.Rate())
		assert.InDelta(t, rank.Elapsed, rank.Compute+rank.Move+rank.Wait(), 1e-9)
		assert.LessOrEqual(t, rank.Interact, rank.Wait()+1e-9, "interacting is waiting, in a rank's books")
	}
	assert.InEpsilon(t, 1000/3.0, r.Ranks[1].RateMin, 0.02)
	assert.InEpsilon(t, 1000.0, r.Ranks[1].RateMax, 0.02)
	s := r.Settings
	assert.Equal(t, hooks.Settings{
		Balance: "on", Filter: "state", Interaction: "pipelined", Movement: "adjacent", CostBenefit: true,
		Limit: s.Limit, Threshold: 0.2, Quantum: 4e-3,
	}, s)
	assert.Contains(t, []string{"interaction", "movement", "quantum"}, s.Limit)
	assert.Equal(t, "sim", r.Build.Transport)
	assert.Contains(t, r.Build.Go, "go1.")
	assert.Empty(t, r.Build.MPI)
	assert.Equal(t, 90, r.Iterations)

	off := relaxed(t, slow(1), lb.Config{Policy: lb.Off}, 10, alike)
	assert.Equal(t, "off", off.Settings.Balance)
	assert.Zero(t, off.Ranks[0].RateMax, fmt.Sprint(off.Ranks[0]))
}
