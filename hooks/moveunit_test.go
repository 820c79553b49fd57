package hooks_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/comm/sim"
	"shiftwork/dist"
	"shiftwork/hooks"
	"shiftwork/lb"
)

// setupOf is what rank 0 tells the balancer of a loop over 300 iterations in a network where a byte takes beta s, and when it begins.
func setupOf(t *testing.T, ranks int, beta float64, cfg lb.Config, arrays ...hooks.Array) (setup *lb.Loop, began time.Duration) {
	var events memory
	res, err := sim.Run(sim.Config{Ranks: ranks, Alpha: 1e-5, Beta: beta}, func(c *sim.Comm) error {
		h, err := hooks.New(c, hooks.Loop{Iterations: dist.Span(0, 300), Arrays: arrays, Adjacent: true, Phases: 1, Quantum: 0.01, Record: &events}, cfg)
		if err != nil {
			return err
		}
		began = max(began, c.Now())
		_, err = h.Finish()
		return err
	})
	require.NoError(t, err)
	require.Empty(t, res.Leaks)
	for _, e := range events.events {
		if e.Setup != nil {
			setup = e.Setup
		}
	}
	return setup, began
}

// An iteration of 32 kB takes 2.6 ms at 100 Mbit/s; what trials take is little, and where there is little data there are none.
func TestItIsKnownHowLongDataTravels(t *testing.T) {
	const beta = 8e-8 // s a byte
	span, cells := dist.Span(0, 300), 4000
	large, small := newPlain(span, cells), newPlain(span, 8)
	for _, ranks := range []int{2, 3, 5} {
		setup, began := setupOf(t, ranks, beta, lb.Auto(), large)
		assert.InEpsilon(t, 8*float64(cells)*beta, setup.MoveUnit, 0.01, "%d ranks", ranks)
		assert.Less(t, began, 100*time.Millisecond)
		setup, _ = setupOf(t, ranks, beta, lb.Auto(), large, large)
		assert.InEpsilon(t, 16*float64(cells)*beta, setup.MoveUnit, 0.01, "two arrays")
		setup, fast := setupOf(t, ranks, beta, lb.Auto(), small)
		assert.Zero(t, setup.MoveUnit)
		assert.Less(t, fast, began/2)
		setup, _ = setupOf(t, ranks, beta, lb.Auto(), newRagged())
		assert.Zero(t, setup.MoveUnit, "it must be packed")
	}
	setup, _ := setupOf(t, 3, beta, lb.Config{DedicatedMaster: true}, large)
	assert.InEpsilon(t, 8*float64(cells)*beta, setup.MoveUnit, 0.01, "beside a dedicated master")
	setup, _ = setupOf(t, 3, beta, lb.Config{Policy: lb.Off}, large)
	assert.Nil(t, setup, "nothing is measured")
}
