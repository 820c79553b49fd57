package local_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"shiftwork/comm"
	"shiftwork/comm/commtest"
	"shiftwork/comm/local"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	for name, option := range map[string]local.Option{
		"default":           local.Rendezvous(local.DefaultRendezvous),
		"always rendezvous": local.Rendezvous(-1),
		"never rendezvous":  local.Rendezvous(1 << 30),
	} {
		commtest.Run(t, name, func(t *testing.T, ranks int, body func(comm.Comm) error) {
			require.NoError(t, local.Run(ranks, body, option))
		})
	}
}
