package sim_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/comm"
	"shiftwork/comm/sim"
)

// faulty is network(ranks) with faults.
func faulty(ranks int, faults ...sim.Fault) sim.Config {
	cfg := network(ranks)
	cfg.Faults = faults
	return cfg
}

// numbered sends rank 0 a few one-byte messages from each other rank; rank 0 receives them from anybody and returns, in order,
// "source:byte@time".
func numbered(t *testing.T, cfg sim.Config, each int) []string {
	t.Helper()
	var order []string
	res, err := sim.Run(cfg, func(c *sim.Comm) error {
		if c.Rank() > 0 {
			for k := range each {
				c.Sleep(time.Duration(c.Rank()) * ms)
				if err := c.Send(0, 1, []byte{byte(k)}); err != nil {
					return err
				}
			}
			return nil
		}
		for range each * (c.Size() - 1) {
			b := make([]byte, 1)
			st, err := c.Recv(comm.Any, 1, b)
			if err != nil {
				return err
			}
			order = append(order, fmt.Sprintf("%d:%d@%v", st.Source, b[0], c.Now().Round(ms)))
		}
		return nil
	})
	require.NoError(t, err)
	require.Empty(t, res.Leaks)
	require.Equal(t, len(cfg.Faults), res.Struck)
	return order
}

func TestADelayedMessageIsOvertakenByOtherSourcesOnly(t *testing.T) {
	require.Equal(t, []string{"1:0@2ms", "1:1@3ms", "2:0@3ms", "1:2@4ms", "2:1@5ms", "2:2@7ms"}, numbered(t, network(3), 3))
	require.Equal(t, []string{"1:0@2ms", "2:0@3ms", "2:1@5ms", "1:1@6ms", "1:2@6ms", "2:2@7ms"},
		numbered(t, faulty(3, sim.Fault{Kind: sim.Delay, Rank: 1, At: 1, By: 3e-3}), 3))
	require.Equal(t, []string{"2:0@3ms", "2:1@5ms", "2:2@7ms", "1:0@8ms", "1:1@8ms", "1:2@8ms"},
		numbered(t, faulty(3, sim.Fault{Kind: sim.Late, Rank: 1, At: 0}), 3), "as late as it can, and those behind it too")
	require.Equal(t, []string{"1:0@7ms", "1:1@7ms", "1:2@7ms", "2:0@8ms", "2:1@8ms", "2:2@8ms"},
		numbered(t, faulty(3, sim.Fault{Kind: sim.Late, Rank: 1, At: 0}, sim.Fault{Kind: sim.Late, Rank: 2, At: 0}), 3), "two of them")
}

// A message that was held back, released, and sent again on the same way: still in order.
func TestLateMessagesStayInOrder(t *testing.T) {
	for at := range 6 {
		_, err := sim.Run(faulty(2, sim.Fault{Kind: sim.Late, Rank: 0, At: at}), func(c *sim.Comm) error {
			for round := range 3 {
				if c.Rank() == 0 {
					a, err := c.Isend(1, 1, []byte{byte(2 * round)})
					if err != nil {
						return err
					}
					b, err := c.Isend(1, 1, make([]byte, 2000+round)) // waits for its receive
					if err != nil {
						return err
					}
					if _, err := a.Wait(); err != nil {
						return err
					}
					if _, err := b.Wait(); err != nil {
						return err
					}
					continue
				}
				for _, want := range []int{1, 2000 + round} {
					st, err := c.Probe(0, 1)
					if err != nil {
						return err
					}
					if st.Len != want {
						return fmt.Errorf("round %d: %d bytes where %d belong", round, st.Len, want)
					}
					if _, err := c.Recv(0, 1, make([]byte, want)); err != nil {
						return err
					}
				}
			}
			return nil
		})
		require.NoError(t, err, "send %d", at)
	}
}

func TestAStoppedRankGoesOnLater(t *testing.T) {
	ping := func(c *sim.Comm) error {
		if c.Rank() == 0 {
			return errors.Join(c.Send(1, 1, nil), c.Send(1, 1, nil))
		}
		_, err := c.Recv(0, 1, nil)
		_, err2 := c.Recv(0, 1, nil)
		return errors.Join(err, err2)
	}
	res, err := sim.Run(faulty(2, sim.Fault{Kind: sim.Stop, Rank: 0, At: 1, By: 10}), ping)
	require.NoError(t, err)
	require.Equal(t, []time.Duration{10 * time.Second, 10*time.Second + ms}, ends(res))
	require.Equal(t, 10*time.Second, res.Ranks[0].Waited)
	require.Equal(t, []int{2, 2}, []int{res.Ranks[0].Ops, res.Ranks[1].Ops})
	require.Empty(t, res.Leaks)

	res, err = sim.Run(faulty(2, sim.Fault{Kind: sim.Stop, Rank: 1, At: 2, By: 10}), ping)
	require.NoError(t, err)
	require.Zero(t, res.Struck, "it has no operation 2")
}

func TestASlowRankIsSlowFromThereOn(t *testing.T) {
	res, err := sim.Run(faulty(1, sim.Fault{Kind: sim.Slow, At: 1, By: 0.25}), func(c *sim.Comm) error {
		for range 3 {
			if _, _, err := c.Iprobe(0, 1); err != nil {
				return err
			}
			c.Work(1)
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 9*time.Second, res.Ranks[0].Worked)
}

func TestARefusedSendIsToldToAll(t *testing.T) {
	res, err := sim.Run(faulty(3, sim.Fault{Kind: sim.Refuse, Rank: 1, At: 1}), func(c *sim.Comm) error {
		for range 3 {
			if err := comm.Barrier(c); err != nil {
				return err
			}
		}
		return nil
	})
	require.ErrorIs(t, err, sim.ErrRefused)
	var lost *sim.LostError
	require.ErrorAs(t, err, &lost)
	assert.Equal(t, 1, lost.Rank)
	assert.Len(t, lost.Places, 3)
	for r, k := range res.Ranks {
		require.ErrorIs(t, k.Err, sim.ErrRefused, "rank %d", r)
		if r != 1 {
			require.ErrorAs(t, k.Err, &lost, "rank %d", r)
		}
	}
}

// A rank that dies while the others wait in each of the blocking operations, poll, or compute.
func TestADeadRankIsNamedByEveryOperationOfTheOthers(t *testing.T) {
	ways := []func(c *sim.Comm) error{
		func(c *sim.Comm) error { _, err := c.Recv(1, 7, make([]byte, 8)); return err },
		func(c *sim.Comm) error { _, err := c.Recv(comm.Any, 7, make([]byte, 8)); return err },
		func(c *sim.Comm) error { _, err := c.Probe(1, 7); return err },
		func(c *sim.Comm) error { return c.Send(1, 7, make([]byte, 5000)) },
		func(c *sim.Comm) error {
			r, err := c.Irecv(1, 7, make([]byte, 8))
			if err == nil {
				_, err = r.Wait()
			}
			return err
		},
		func(c *sim.Comm) error {
			r, err := c.Irecv(1, 7, make([]byte, 8))
			for done := false; err == nil && !done; c.Sleep(ms) {
				_, done, err = r.Test()
			}
			return err
		},
		func(c *sim.Comm) error {
			a, err := c.Irecv(1, 7, make([]byte, 8))
			if err == nil {
				_, _, err = c.WaitAny([]comm.Request{nil, a})
			}
			return err
		},
		func(c *sim.Comm) error {
			for {
				if _, there, err := c.Iprobe(1, 7); err != nil || there {
					return err
				}
				c.Sleep(ms)
			}
		},
		func(c *sim.Comm) error { c.Sleep(5 * time.Second); return c.Send(0, 7, nil) },
		func(c *sim.Comm) error { c.Sleep(5 * time.Second); _, err := c.Isend(1, 7, nil); return err },
		func(c *sim.Comm) error { return comm.Barrier(c) },
	}
	for i, way := range ways {
		res, err := sim.Run(faulty(3, sim.Fault{Kind: sim.Die, Rank: 1, At: 1}), func(c *sim.Comm) error {
			if c.Rank() != 1 {
				return way(c)
			}
			c.Sleep(time.Second)
			_ = c.Send(2, 99, nil)
			_ = c.Send(2, 98, nil) // dies here
			panic("a dead rank goes on")
		})
		require.ErrorIs(t, err, sim.ErrDied, "way %d", i)
		require.Equal(t, 1, res.Struck)
		for _, r := range []int{0, 2} {
			var lost *sim.LostError
			require.ErrorAs(t, res.Ranks[r].Err, &lost, "way %d, rank %d", i, r)
			assert.Equal(t, 1, lost.Rank)
			assert.Equal(t, time.Second, lost.At)
			var op *comm.Error
			require.ErrorAs(t, res.Ranks[r].Err, &op)
			assert.Equal(t, r, op.Rank)
			assert.GreaterOrEqual(t, res.Ranks[r].End, time.Second)
		}
		assert.NoError(t, res.Ranks[1].Err)
	}
}

func TestALostErrorSaysWhereEverybodyWas(t *testing.T) {
	_, err := sim.Run(faulty(5, sim.Fault{Kind: sim.Die, Rank: 1, At: 0}), func(c *sim.Comm) error {
		switch c.Rank() {
		case 0:
			_, err := c.Recv(1, 5, make([]byte, 16))
			return err
		case 1:
			c.Sleep(2 * time.Second)
			return c.Send(0, 5, make([]byte, 16))
		case 2:
			return nil
		case 3:
			if err := c.Send(4, 6, nil); err != nil {
				return err
			}
			c.Sleep(time.Minute)
			return c.Send(4, 6, nil)
		}
		if _, err := c.Recv(3, 6, nil); err != nil {
			return err
		}
		return c.Send(1, 8, make([]byte, 4000))
	})
	require.EqualError(t, err, "rank 1 died at 2s; "+
		"rank 0 at 0s: waits for rank 1 (receive, tag 5, 16 bytes: no message sent); "+
		"rank 1 at 2s: about to send, rank 0, tag 5; "+
		"rank 2 at 0s: has returned; "+
		"rank 3 at 1m0s: computes, last operation send, rank 4, tag 6; "+
		"rank 4 at 1ms: waits for rank 1 (send, tag 8, 4000 bytes: no receive posted)")
}

// A rank that fails by itself in a run with faults is told of like a dead one.
func TestAFailureInARunWithFaults(t *testing.T) {
	later := sim.Fault{Kind: sim.Die, Rank: 0, At: 1000}
	for _, fail := range []func() error{func() error { return errBroken }, func() error { panic(errBroken) }} {
		res, err := sim.Run(faulty(2, later), func(c *sim.Comm) error {
			if c.Rank() == 1 {
				return fail()
			}
			_, err := c.Recv(1, 1, nil)
			return err
		})
		require.ErrorIs(t, err, errBroken)
		require.ErrorIs(t, res.Ranks[0].Err, errBroken)
		require.ErrorContains(t, res.Ranks[0].Err, "rank 1 failed (")
		require.Zero(t, res.Struck)
	}
}

// Barriers with a death at each operation of each rank: nobody hangs, and everybody is told or has passed all barriers.
func TestADeathAtEachOperation(t *testing.T) {
	for _, cfg := range []sim.Config{network(4), {Ranks: 4, Rendezvous: sim.AlwaysRendezvous}} {
		passed := make([]int, 4)
		barriers := func(c *sim.Comm) error {
			for passed[c.Rank()] = 0; passed[c.Rank()] < 5; passed[c.Rank()]++ {
				c.Work(0.01 * float64(c.Rank()))
				if err := comm.Barrier(c); err != nil {
					return err
				}
			}
			return nil
		}
		clean, err := sim.Run(cfg, barriers)
		require.NoError(t, err)
		for r, k := range clean.Ranks {
			require.Positive(t, k.Ops)
			for op := range k.Ops {
				cfg.Faults = []sim.Fault{{Kind: sim.Die, Rank: r, At: op}}
				res, err := sim.Run(cfg, barriers)
				require.ErrorIs(t, err, sim.ErrDied)
				require.Equal(t, 1, res.Struck)
				for o, k := range res.Ranks {
					if o != r && k.Err == nil {
						require.Equal(t, 5, passed[o], "rank %d, which was not told of %v", o, cfg.Faults)
					}
				}
			}
		}
	}
}

func TestFaultsAreValidated(t *testing.T) {
	for _, f := range []sim.Fault{
		{Kind: -1}, {Kind: sim.Die + 1}, {Rank: 2}, {Rank: -1}, {At: -1}, {Kind: sim.Stop, By: -1}, {Kind: sim.Slow}, {Kind: sim.Slow, By: 1.5},
		{Kind: sim.Die, By: 1}, {Kind: sim.Delay, By: 1e7},
	} {
		assert.Error(t, sim.Config{Ranks: 2, Faults: []sim.Fault{f}}.Validate(), "%v", f)
	}
	assert.Equal(t, "stop by 10, rank 1, operation 3", sim.Fault{Kind: sim.Stop, Rank: 1, At: 3, By: 10}.String())
	assert.Equal(t, "late, rank 1, send 3", sim.Fault{Kind: sim.Late, Rank: 1, At: 3}.String())
}
