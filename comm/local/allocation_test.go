package local_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"shiftwork/comm"
	"shiftwork/comm/local"
)

// Messages of both kinds, buffered and handed over, take nothing from the heap once requests and copies are pooled.
func TestMessagesAllocateNothing(t *testing.T) {
	const warmUp, rounds = 200, 2000
	require.NoError(t, local.Run(2, func(c comm.Comm) error {
		peer := 1 - c.Rank()
		small, large := make([]byte, 8<<10), make([]byte, 2*local.DefaultRendezvous)
		in, inLarge := make([]byte, len(small)), make([]byte, len(large))
		reqs := make([]comm.Request, 2)
		var before, after runtime.MemStats
		for i := range warmUp + rounds {
			if i == warmUp {
				runtime.ReadMemStats(&before)
			}
			var err error
			if reqs[0], err = c.Isend(peer, 1, small); err != nil {
				return err
			}
			if reqs[1], err = c.Isend(peer, 2, large); err != nil {
				return err
			}
			if _, err := c.Recv(peer, 1, in); err != nil {
				return err
			}
			if _, err := c.Recv(peer, 2, inLarge); err != nil {
				return err
			}
			for range reqs {
				i, _, err := c.WaitAny(reqs)
				if err != nil {
					return err
				}
				reqs[i] = nil
			}
		}
		runtime.ReadMemStats(&after)
		require.Less(t, after.Mallocs-before.Mallocs, uint64(rounds/20), "in %d rounds of both ranks", rounds)
		return nil
	}))
}
