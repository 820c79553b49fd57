package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"shiftwork/comm"
	"shiftwork/comm/commtest"
	"shiftwork/comm/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	network := sim.Config{Alpha: 50e-6, Beta: 1e-8, SendOverhead: 5e-6}
	always := network
	always.Rendezvous = sim.AlwaysRendezvous
	for name, cfg := range map[string]sim.Config{
		"network":           network,
		"always rendezvous": always,
		"free network":      {},
	} {
		commtest.Run(t, name, func(t *testing.T, ranks int, body func(comm.Comm) error) {
			cfg.Ranks = ranks
			res, err := sim.Run(cfg, func(c *sim.Comm) error { return body(c) })
			require.NoError(t, err)
			require.Empty(t, res.Leaks)
		})
	}
}
