package comm_test

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"shiftwork/comm"
	"shiftwork/comm/commtest"
	"shiftwork/comm/local"
	"shiftwork/comm/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The cases about collectives with other numbers of ranks than the transports' own tests use: one, and both sides of powers
// of two.
func TestCollectivesWithOneToNineRanks(t *testing.T) {
	ran := 0
	for _, k := range commtest.Cases() {
		if !strings.HasPrefix(k.Name, "collectives: ") {
			continue
		}
		ran++
		for ranks := 1; ranks <= 9; ranks++ {
			t.Run(fmt.Sprintf("%s/%d ranks", k.Name, ranks), func(t *testing.T) {
				require.NoError(t, local.Run(ranks, k.Body))
				for _, rendezvous := range []int{sim.AlwaysRendezvous, 0} {
					cfg := sim.Config{Ranks: ranks, Alpha: 1e-4, Beta: 1e-8, Rendezvous: rendezvous}
					res, err := sim.Run(cfg, func(c *sim.Comm) error { return k.Body(c) })
					require.NoError(t, err)
					require.Empty(t, res.Leaks)
				}
			})
		}
	}
	require.NotZero(t, ran, "cases about collectives")
}

// With a latency of 1 s and nothing else, the time of a collective is its number of rounds.
func TestCollectivesTakeAsManyRoundsAsDocumented(t *testing.T) {
	for ranks := 1; ranks <= 17; ranks++ {
		rounds := time.Duration(bits.Len(uint(ranks-1))) * time.Second // ceil(log2 P)
		// In Bcast a rank sends to all its children at once, so what counts is the deepest rank of the tree: the one
		// with most bits set.
		depth := time.Duration(0)
		for v := range uint(ranks) {
			depth = max(depth, time.Duration(bits.OnesCount(v))*time.Second)
		}
		for name, k := range map[string]struct {
			call func(c comm.Comm) error
			want time.Duration
		}{
			"Barrier": {comm.Barrier, rounds},
			"Bcast":   {func(c comm.Comm) error { return comm.Bcast(c, c.Size()/2, []byte{1}) }, depth},
			"AllGather": {func(c comm.Comm) error {
				_, err := comm.AllGather(c, []byte{byte(c.Rank())})
				return err
			}, rounds},
			"AllreduceMax": {func(c comm.Comm) error {
				_, err := comm.AllreduceMax(c, float64(c.Rank()))
				return err
			}, rounds},
			"Gather": {func(c comm.Comm) error {
				_, err := comm.Gather(c, 0, nil)
				return err
			}, min(rounds, time.Second)},
		} {
			res, err := sim.Run(sim.Config{Ranks: ranks, Alpha: 1}, func(c *sim.Comm) error { return k.call(c) })
			require.NoError(t, err)
			require.Equal(t, k.want, res.Elapsed, "%s with %d ranks", name, ranks)
		}
	}
}

func TestBcastNoticesDifferentLengths(t *testing.T) {
	for _, n := range []int{3, 5} {
		err := local.Run(2, func(c comm.Comm) error {
			return comm.Bcast(c, 0, make([]byte, 4+(n-4)*c.Rank()))
		})
		var where *comm.Error
		require.ErrorAs(t, err, &where, "length %d where the root has 4", n)
		require.Equal(t, 1, where.Rank)
	}
}

func TestGatherAndAllGatherReturnTheRanksOwnEntryWithoutACopy(t *testing.T) {
	require.NoError(t, local.Run(3, func(c comm.Comm) error {
		b := []byte{byte(c.Rank())}
		all, err := comm.AllGather(c, b)
		if err != nil {
			return err
		}
		if &all[c.Rank()][0] != &b[0] {
			return errors.New("AllGather copied the rank's own entry")
		}
		if all, err = comm.Gather(c, 1, b); err != nil {
			return err
		}
		if c.Rank() == 1 && &all[1][0] != &b[0] {
			return errors.New("Gather copied the root's own entry")
		}
		return nil
	}))
}

func TestErrorsSayWhere(t *testing.T) {
	cause := errors.New("cause")
	err := error(&comm.Error{Op: "receive", Rank: 2, Peer: comm.Any, Tag: 5, Err: cause})
	require.EqualError(t, err, "rank 2: receive, any rank, tag 5: cause")
	require.ErrorIs(t, err, cause)
	err = &comm.RankError{Rank: 3, Err: &comm.PanicError{Value: cause, Stack: []byte("stack")}}
	require.EqualError(t, err, "rank 3: panic: cause\n\nstack")
	require.ErrorIs(t, err, cause)
	require.NotErrorIs(t, &comm.PanicError{Value: "text"}, cause)
	require.EqualError(t, &comm.AbortError{Rank: 1, Code: 4}, "rank 1 ended the job with code 4")
}
