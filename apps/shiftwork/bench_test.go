package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"shiftwork/comm"
	"shiftwork/comm/local"
	"shiftwork/dist"
	"shiftwork/hooks"
	"shiftwork/lb"
)

// BenchmarkEmptyHook is where advisor.DefaultHookCost comes from: a hook that only counts, with the timing of the
// computing before it. Both ranks execute it, so that the machine is as busy as it will be.
func BenchmarkEmptyHook(b *testing.B) {
	const ranks = 2
	cfg := lb.Auto()
	cfg.Period = 3600 // s: after the first ones, no hook interacts
	require.NoError(b, local.Run(ranks, func(c comm.Comm) error {
		h, err := hooks.New(c, hooks.Loop{Iterations: dist.Span(0, ranks), Adjacent: true, Quantum: 4e-3}, cfg)
		if err != nil {
			return err
		}
		if c.Rank() == 0 {
			b.ResetTimer()
		}
		for range b.N {
			h.Begin()
			h.End()
			if _, err := h.Hook(); err != nil {
				return err
			}
		}
		_, err = h.Finish()
		return err
	}))
}
