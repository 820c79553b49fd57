// Package heatloop is a loop for tests of what is told of a run: 90 iterations in blocks whose ranks meet after each step, in virtual time
// and with the real run time. Recordings of it are the same each time.
package heatloop

import (
	"testing"

	"github.com/stretchr/testify/require"

	"shiftwork/comm"
	"shiftwork/comm/sim"
	"shiftwork/dist"
	"shiftwork/hooks"
	"shiftwork/lb"
)

// Run runs the loop, "heat", for so many steps and returns its report. An iteration takes a millisecond at speed 1.
func Run(t testing.TB, machine sim.Config, steps int, to hooks.Recorder, cfg lb.Config) *hooks.Report {
	t.Helper()
	var report *hooks.Report
	_, err := sim.Run(machine, func(c *sim.Comm) error {
		h, err := hooks.New(c, hooks.Loop{Name: "heat", Iterations: dist.Span(0, 90), Adjacent: true, Quantum: 4e-3, Record: to}, cfg)
		if err != nil {
			return err
		}
		for range steps {
			h.Compute(func() { c.Work(1e-3 * float64(h.Range().Len())) })
			if err := comm.Barrier(c); err != nil {
				return err
			}
			if _, err := h.Hook(); err != nil {
				return err
			}
		}
		r, err := h.Finish()
		if r != nil {
			report = r
		}
		return err
	})
	require.NoError(t, err)
	return report
}
