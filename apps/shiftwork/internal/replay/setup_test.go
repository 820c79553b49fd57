package replay_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"shiftwork/comm"
	"shiftwork/comm/sim"
	"shiftwork/dist"
	"shiftwork/hooks"
	"shiftwork/lb"
)

// Kinds of loops.
const (
	blocks = "blocks" // adjacent
	direct = "direct"
	free   = "free"
)

// scene is a run in virtual time.
type scene struct {
	kind     string
	weighted bool // iterations differ, and the loop says how much
	hidden   bool // they differ, and it does not
	cfg      lb.Config
	steps    int // phases; repetitions of a free loop
}

func (s scene) String() string {
	return fmt.Sprintf("%s,weighted=%v,hidden=%v,%v,%v,dedicated=%v,filter=%s,threshold=%v,costBenefit=%v",
		s.kind, s.weighted, s.hidden, s.cfg.Policy, s.cfg.Interaction, s.cfg.DedicatedMaster, s.cfg.Filter, s.cfg.Threshold, !s.cfg.NoCostBenefit)
}

const (
	ranks      = 4
	iterations = 120
	second     = 1e-3 // s that an iteration of one unit takes at full speed
)

// machine has four ranks, one of which is twice as fast as the others. Another program comes and goes on two of them.
// Messages take equally long whatever their length, so that runs that differ in what they say of their settings do not
// differ in their times.
func machine() sim.Config {
	cfg := sim.Config{Ranks: ranks, Alpha: 2e-5, SendOverhead: 2e-6, MaxOps: 3e6, Speed: make([][]sim.Step, ranks)}
	cfg.Speed[1] = []sim.Step{{Speed: 2}, {From: 1, Speed: 0.5}, {From: 3, Speed: 2}}
	cfg.Speed[2] = []sim.Step{{Speed: 1}}
	for t := 0.5; t < 10; t++ {
		cfg.Speed[2] = append(cfg.Speed[2], sim.Step{From: t, Speed: 0.6}, sim.Step{From: t + 0.5, Speed: 1})
	}
	return cfg
}

// play runs the scene with real hooks and returns its recording and the report.
func play(t testing.TB, s scene) ([]byte, *hooks.Report) {
	t.Helper()
	var weights, cost dist.Weights
	if s.weighted || s.hidden {
		units := make([]float64, iterations)
		for i := range units {
			units[i] = 0.3 + float64(i*i)/2500
		}
		var err error
		cost, err = dist.NewWeights(dist.Span(0, iterations), units)
		require.NoError(t, err)
	}
	if s.weighted {
		weights = cost
	}
	var out bytes.Buffer
	var report *hooks.Report
	lines := hooks.NewJSONL(&out)
	res, err := sim.Run(machine(), func(c *sim.Comm) error {
		var r *hooks.Report
		var err error
		if s.kind == free {
			r, err = s.free(c, weights, cost, lines)
		} else {
			r, err = s.phases(c, weights, cost, lines)
		}
		if r != nil {
			report = r
		}
		return err
	})
	require.NoError(t, err)
	require.Empty(t, res.Leaks)
	require.NoError(t, lines.Err())
	return out.Bytes(), report
}

func (s scene) phases(c *sim.Comm, weights, cost dist.Weights, record hooks.Recorder) (*hooks.Report, error) {
	h, err := hooks.New(c, hooks.Loop{
		Name: s.kind, Iterations: dist.Span(0, iterations), Weights: weights, Adjacent: s.kind == blocks, Phases: s.steps, Quantum: 0.004, Record: record,
	}, s.cfg)
	if err != nil {
		return nil, err
	}
	for range s.steps {
		h.Compute(func() {
			for _, own := range h.Ranges() {
				c.Work(second * cost.Units(own))
			}
		})
		if err := comm.Barrier(c); err != nil {
			return nil, err
		}
		if _, err := h.Hook(); err != nil {
			return nil, err
		}
	}
	return h.Finish()
}

func (s scene) free(c *sim.Comm, weights, cost dist.Weights, record hooks.Recorder) (*hooks.Report, error) {
	f, err := hooks.NewFree(c, hooks.FreeLoop{
		Name: s.kind, Iterations: dist.Span(0, iterations), Repeat: s.steps, Weights: weights, Quantum: 0.004, Record: record,
	}, s.cfg)
	if err != nil {
		return nil, err
	}
	for {
		_, r, ok, err := f.Next()
		if err != nil {
			return nil, err
		}
		if !ok {
			return f.Finish()
		}
		c.Work(second * cost.Units(r))
	}
}
