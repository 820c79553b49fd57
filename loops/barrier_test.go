package loops_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/comm"
	"shiftwork/comm/sim"
	"shiftwork/lb"
	"shiftwork/loops"
)

// redBlack relaxes the points of one colour in place, from those of the other one.
func redBlack(u *loops.Matrix, repetition int, rows loops.Range) {
	for i := rows.Lo; i < rows.Hi; i++ {
		above, row, below := u.Row(i-1), u.Row(i), u.Row(i+1)
		for j := 1 + (i+repetition)%2; j < len(row)-1; j += 2 {
			row[j] = 0.3*row[j-1] + 0.2*row[j+1] + 0.3*above[j] + 0.1*below[j]
		}
	}
}

// In place, with boundary rows under way while Body runs, and work that moves without a reason.
func TestOverlapInPlaceIsTheSerialLoop(t *testing.T) {
	const rows, cols, repeat = 40, 9, 25
	span := loops.Span(1, 1+rows)
	fixed := []loops.Range{loops.Span(0, 1), loops.Span(1+rows, 2+rows)}
	serial := newMatrix(0, rows+2, cols, loops.Span(0, rows+2))
	for k := range repeat {
		redBlack(serial, k, span)
	}
	for network := -2; network < len(networks); network++ {
		for _, policy := range []lb.Policy{lb.Rotate, lb.Random, lb.On} {
			for _, ranks := range []int{1, 2, 5} {
				cfg := lb.Config{Policy: policy, Period: 1e-9, Seed: 3}
				require.NoError(t, everywhere(network, ranks, func(c comm.Comm) error {
					u := newMatrix(0, rows+2, cols, append(fixed, loops.Initial(c, span, cfg))...)
					j := newJitter(c)
					rep, err := loops.DOALL{
						Repeat: repeat, Rows: span, Arrays: []loops.Array{u}, Halo: true, Overlap: true, Quantum: 0.004,
						Body: func(k int, rows loops.Range) {
							redBlack(u, k, rows)
							work(c, 1e-3*float64(rows.Len())*j.factor())
						},
					}.Run(c, cfg)
					if err != nil {
						return err
					}
					if policy != lb.On && ranks > 1 && rep.Report != nil && rep.IterationsMoved == 0 {
						return fmt.Errorf("nothing moved")
					}
					for _, own := range rep.Own {
						if err := sameRows(u, serial, own); err != nil {
							return err
						}
					}
					return nil
				}), "network %d, %v, %d ranks", network, policy, ranks)
			}
		}
	}
}

// A stencil of equal ranks whose messages take as long as half of its computing. Without overlap a repetition is both, one
// after the other; with overlap it is the computing alone, and nothing is left of the barrier.
func TestOverlapHidesTheExchange(t *testing.T) {
	const ranks, rows, repeat, alpha, unit = 4, 40, 50, 5e-4, 1e-4
	for _, network := range []sim.Config{{Alpha: alpha}, {Alpha: alpha, Rendezvous: sim.AlwaysRendezvous}} {
		run := func(overlap bool) *loops.Report {
			cfg := network
			cfg.Ranks = ranks
			var all *loops.Report
			_, err := sim.Run(cfg, func(c *sim.Comm) error {
				rep, err := loops.DOALL{
					Repeat: repeat, Halo: true, Overlap: overlap, Rows: loops.Span(1, 1+rows), Quantum: 0.004,
					Arrays: []loops.Array{loops.NewMatrix(rows+2, 4)},
					Body:   func(_ int, rows loops.Range) { c.Work(unit * float64(rows.Len())) },
				}.Run(c, lb.Config{Policy: lb.Off})
				if err == nil && rep.Report != nil {
					all = rep
				}
				return err
			})
			require.NoError(t, err)
			return all
		}
		compute := unit * rows / ranks * repeat
		plain, overlapped := run(false), run(true)
		last := 2 * alpha // the barrier behind the loop: two rounds
		assert.InDelta(t, compute+alpha*repeat+last, plain.Time, 1e-6)
		assert.InDelta(t, compute+last, overlapped.Time, 0.02*alpha*repeat, "but for what polling costs")
		assert.InDelta(t, alpha, plain.Barrier.Mean, 1e-9)
		assert.InDelta(t, alpha, plain.Barrier.Smallest, 1e-9)
		assert.Less(t, overlapped.Barrier.Mean, 0.02*alpha)
		assert.Greater(t, overlapped.Barrier.Efficiency, 0.99)
	}
}

// Equation (12) with the measured barrier is the efficiency of the run: sequential time over P times the parallel time.
func TestEquation12(t *testing.T) {
	const ranks, rows, repeat, unit = 4, 60, 40, 1e-5
	for _, speed := range []float64{1, 0.5} {
		cfg := machine(0, ranks)
		cfg.Speed = [][]sim.Step{sim.Constant(1), sim.Constant(1), sim.Constant(speed), sim.Constant(1)}
		var rep *loops.Report
		_, err := sim.Run(cfg, func(c *sim.Comm) error {
			r, err := loops.DOALL{
				Repeat: repeat, Rows: loops.Span(0, rows), Arrays: []loops.Array{loops.NewMatrix(rows, 4)}, Quantum: 0.004,
				Body: func(_ int, rows loops.Range) { c.Work(unit * float64(rows.Len())) },
				After: func(int) (bool, error) {
					_, err := comm.AllreduceMax(c, 1)
					return false, err
				},
			}.Run(c, lb.Config{Policy: lb.Off})
			if err == nil && r.Report != nil {
				rep = r
			}
			return err
		})
		require.NoError(t, err)
		sequential := 0.0
		for _, r := range rep.Ranks {
			sequential += r.Compute
		}
		reduction := 2 * (cfg.SendOverhead + cfg.Alpha + 8*cfg.Beta)
		last := 2 * (cfg.SendOverhead + cfg.Alpha)
		assert.InEpsilon(t, sequential/ranks/(rep.Time-last), rep.Barrier.Efficiency, 2e-3, "speed %g", speed)
		if speed == 1 {
			assert.InDelta(t, reduction, rep.Barrier.Smallest, 1e-9)
			assert.InDelta(t, reduction, rep.Barrier.Mean, 1e-9)
			assert.InDelta(t, rep.Barrier.Bound, rep.Barrier.Efficiency, 1e-9)
		} else {
			// The slow rank takes as long again, and three ranks wait for it. It finds their messages there.
			assert.InDelta(t, 0.75*unit*rows/ranks+reduction, rep.Barrier.Mean, reduction)
			assert.Less(t, rep.Barrier.Smallest, reduction)
			assert.Greater(t, rep.Barrier.Bound, 1.2*rep.Barrier.Efficiency)
		}
		text, err := json.Marshal(rep.Barrier)
		require.NoError(t, err)
		assert.Regexp(t, `^{"smallest_s":\S+,"mean_s":\S+,"bound":0\.\d+,"efficiency":0\.\d+}$`, string(text))
	}
}

func TestOverlapNeedsAHalo(t *testing.T) {
	require.ErrorContains(t, everywhere(0, 2, func(c comm.Comm) error {
		_, err := loops.DOALL{Overlap: true, Rows: loops.Span(0, 4), Body: nothingToDo}.Run(c, lb.Auto())
		return err
	}), "Overlap without Halo")
}

func TestOverlapIsAgreed(t *testing.T) {
	_, err := sim.Run(machine(0, 2), func(c *sim.Comm) error {
		_, err := loops.DOALL{
			Halo: true, Overlap: c.Rank() == 0, Rows: loops.Span(0, 4), Quantum: 0.004, Body: nothingToDo,
		}.Run(c, lb.Auto())
		if err == nil {
			return fmt.Errorf("rank %d has no error", c.Rank())
		}
		assert.ErrorContains(t, err, "overlap false")
		return nil
	})
	require.NoError(t, err)
}
