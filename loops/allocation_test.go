package loops_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"shiftwork/comm"
	"shiftwork/comm/local"
	"shiftwork/lb"
	"shiftwork/loops"
)

// meter counts what all ranks of a process allocate between two moments of rank 0.
type meter struct{ before, after runtime.MemStats }

func (m *meter) at(step, from, to int) {
	switch step {
	case from:
		runtime.ReadMemStats(&m.before)
	case to:
		runtime.ReadMemStats(&m.after)
	}
}

// each is how many allocations there were for each of so many.
func (m *meter) each(of int) float64 { return float64(m.after.Mallocs-m.before.Mallocs) / float64(of) }

// Strips, their messages and the hooks between them take nothing from the heap in the steady state; an interaction, a few
// times a second, does.
func TestStripsAndHooksAllocateNothing(t *testing.T) {
	const n, sweeps, block, from, to = 102, 400, 10, 100, 300
	const strips = (n - 2) / block
	for k := range 4 {
		policy, reach := []lb.Policy{lb.Off, lb.On}[k%2], k/2
		t.Run(fmt.Sprintf("%v, reach %d", policy, reach), func(t *testing.T) {
			cfg := lb.Auto()
			cfg.Policy, cfg.Period = policy, 1 // s: longer than the run
			var m meter
			require.NoError(t, local.Run(3, func(c comm.Comm) error {
				u, done := loops.NewMatrix(n, n), 0
				_, err := loops.DOACROSS{
					Outer: sweeps, Rows: loops.Span(1, n-1), Strip: loops.Span(1, n-1), Block: block, Arrays: []loops.Array{u},
					Reach: reach,
					Body: func(rows, strip loops.Range) {
						if c.Rank() == 0 && strip.Lo == 1 {
							m.at(done, from, to)
							done++
						}
						for j := rows.Lo; j < rows.Hi; j++ {
							above, row, below := u.Row(j-1), u.Row(j), u.Row(j+1)
							for i := strip.Lo; i < strip.Hi; i++ {
								row[i] = 0.25 * (row[i-1] + above[i] + row[i+1] + below[i])
							}
						}
					},
				}.Run(c, cfg)
				return err
			}))
			// An interaction or two at the start, and the run time's own; blocks that lean are looked at in one of some 20 sweeps.
			require.Less(t, m.each(3*strips*(to-from)), 0.02+0.03*float64(reach), "allocations for each strip of each rank")
		})
	}
}

// The same for loops that meet once a repetition.
func TestRepetitionsAllocateNothing(t *testing.T) {
	const n, repetitions, from, to = 60, 1000, 200, 800
	for _, overlap := range []bool{false, true} {
		var m meter
		cfg := lb.Auto()
		cfg.Period = 1
		require.NoError(t, local.Run(3, func(c comm.Comm) error {
			u, last := loops.NewMatrix(n, n), -1
			_, err := loops.DOALL{
				Repeat: repetitions, Rows: loops.Span(1, n-1), Arrays: []loops.Array{u}, Halo: true, Overlap: overlap,
				Body: func(repetition int, rows loops.Range) {
					if c.Rank() == 0 && repetition != last {
						m.at(repetition, from, to)
						last = repetition
					}
					for i := rows.Lo; i < rows.Hi; i++ {
						u.Row(i)[0]++
					}
				},
			}.Run(c, cfg)
			return err
		}))
		require.Less(t, m.each(3*(to-from)), 0.1, "allocations for each repetition of each rank, overlap %v", overlap)
	}
}
