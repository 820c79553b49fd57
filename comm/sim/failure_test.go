package sim_test

import (
	"errors"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/comm"
	"shiftwork/comm/sim"
)

var errBroken = errors.New("broken")

func requireDeadlock(t *testing.T, cfg sim.Config, f func(c *sim.Comm) error) *sim.DeadlockError {
	t.Helper()
	_, err := sim.Run(cfg, f)
	var d *sim.DeadlockError
	require.ErrorAs(t, err, &d)
	return d
}

// The classic: both send before they receive. It works as long as the messages are short.
func TestDeadlockOfTwoLongSends(t *testing.T) {
	exchange := func(n int) func(c *sim.Comm) error {
		return func(c *sim.Comm) error {
			c.Sleep(time.Duration(c.Rank()+1) * time.Second)
			other := 1 - c.Rank()
			if err := c.Send(other, 3, make([]byte, n)); err != nil {
				return err
			}
			_, err := c.Recv(other, 3, make([]byte, n))
			return err
		}
	}
	_, err := sim.Run(network(2), exchange(1000))
	require.NoError(t, err)

	d := requireDeadlock(t, network(2), exchange(65536))
	require.Equal(t, []int{0, 1}, d.Cycle)
	require.Equal(t, 2*time.Second, d.At)
	require.Equal(t, []sim.Wait{
		{Rank: 0, Op: "send", Peer: 1, Tag: 3, Bytes: 65536, Why: "no receive posted"},
		{Rank: 1, Op: "send", Peer: 0, Tag: 3, Bytes: 65536, Why: "no receive posted"},
	}, d.Waits)
	require.EqualError(t, d, "deadlock at 2s: rank 0 waits for rank 1 (send, tag 3, 65536 bytes: no receive posted); "+
		"rank 1 waits for rank 0 (send, tag 3, 65536 bytes: no receive posted)")

	always := network(2)
	always.Rendezvous = sim.AlwaysRendezvous
	require.Equal(t, []int{0, 1}, requireDeadlock(t, always, exchange(0)).Cycle)
}

func TestDeadlockOfThreeRanksInACycleAndOneBeside(t *testing.T) {
	d := requireDeadlock(t, network(5), func(c *sim.Comm) error {
		from := []int{1, 2, 3, 1, -1}[c.Rank()] // 0 waits for the cycle 1 -> 2 -> 3 -> 1; 4 returns
		if from < 0 {
			return nil
		}
		_, err := c.Recv(from, 10+c.Rank(), make([]byte, 8))
		return err
	})
	require.Equal(t, []int{1, 2, 3}, d.Cycle)
	require.EqualError(t, d, "deadlock at 0s: rank 1 waits for rank 2 (receive, tag 11, 8 bytes: no message sent); "+
		"rank 2 waits for rank 3 (receive, tag 12, 8 bytes: no message sent); "+
		"rank 3 waits for rank 1 (receive, tag 13, 8 bytes: no message sent); "+
		"rank 0 waits for rank 1 (receive, tag 10, 8 bytes: no message sent)")
}

func TestDeadlockErrorsSayWhatIsMissing(t *testing.T) {
	for name, k := range map[string]struct {
		f    func(c *sim.Comm) error
		want string
	}{
		"the other has returned": {
			func(c *sim.Comm) error {
				if c.Rank() == 0 {
					return nil
				}
				_, err := c.Probe(0, 1)
				return err
			},
			"deadlock at 0s: rank 1 waits for rank 0 (probe, tag 1: no message sent, and rank 0 has returned)",
		},
		"the message has another tag": {
			func(c *sim.Comm) error {
				if c.Rank() == 0 {
					return errors.Join(c.Send(1, 9, nil), c.Send(1, 8, nil), c.Send(1, 9, nil))
				}
				_, err := c.Recv(0, 7, nil)
				return err
			},
			"deadlock at 0s: rank 1 waits for rank 0 (receive, tag 7, 0 bytes: " +
				"no message sent, and rank 0 has returned, but messages with other tags: 8 9)",
		},
		"the receive has another tag": {
			func(c *sim.Comm) error {
				if c.Rank() == 0 {
					return c.Send(1, 5, make([]byte, 2000))
				}
				_, err := c.Recv(comm.Any, 6, nil)
				return err
			},
			"deadlock at 0s: rank 0 waits for rank 1 (send, tag 5, 2000 bytes: no receive posted, but receives with other tags: 6); " +
				"rank 1 waits for any rank (receive, tag 6, 0 bytes: no message sent, but messages with other tags: 5)",
		},
		"a send to itself": {
			func(c *sim.Comm) error {
				if c.Rank() == 0 {
					return nil
				}
				return c.Send(1, 5, make([]byte, 2000))
			},
			"deadlock at 0s: rank 1 waits for rank 1 (send, tag 5, 2000 bytes: no receive posted)",
		},
		"several requests": {
			func(c *sim.Comm) error {
				if c.Rank() == 0 {
					c.Sleep(time.Minute)
					return nil
				}
				a, _ := c.Irecv(comm.Any, 1, make([]byte, 4))
				b, _ := c.Isend(0, 2, make([]byte, 3000))
				_, _, err := c.WaitAny([]comm.Request{a, nil, b})
				return err
			},
			"deadlock at 0s: rank 1 waits for any rank (receive, tag 1, 4 bytes: no message sent); " +
				"rank 1 waits for rank 0 (send, tag 2, 3000 bytes: no receive posted, and rank 0 has returned)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.EqualError(t, requireDeadlock(t, sim.Config{Ranks: 2, Rendezvous: 1000}, k.f), k.want)
		})
	}
}

func TestFailureReleasesAllRanks(t *testing.T) {
	for name, k := range map[string]struct {
		fail  func(c *sim.Comm) error
		check func(t *testing.T, err error)
	}{
		"error": {
			func(*sim.Comm) error { return errBroken },
			func(t *testing.T, err error) { assert.EqualError(t, err, "rank 1: broken") },
		},
		"panic": {
			func(*sim.Comm) error { panic(errBroken) },
			func(t *testing.T, err error) {
				var rank *comm.RankError
				require.ErrorAs(t, err, &rank)
				assert.Equal(t, 1, rank.Rank)
				var p *comm.PanicError
				require.ErrorAs(t, err, &p)
				assert.ErrorIs(t, err, errBroken)
				assert.Contains(t, string(p.Stack), "TestFailureReleasesAllRanks")
			},
		},
		"exit": {
			func(*sim.Comm) error { runtime.Goexit(); return nil },
			func(t *testing.T, err error) { assert.ErrorContains(t, err, "runtime.Goexit") },
		},
		"abort": {
			func(c *sim.Comm) error { c.Abort(3); return errBroken },
			func(t *testing.T, err error) { assert.Equal(t, &comm.AbortError{Rank: 1, Code: 3}, err) },
		},
		"bad work": {
			func(c *sim.Comm) error { c.Work(math.NaN()); return nil },
			func(t *testing.T, err error) { assert.ErrorContains(t, err, "Work(NaN)") },
		},
		"bad sleep": {
			func(c *sim.Comm) error { c.Sleep(-1); return nil },
			func(t *testing.T, err error) { assert.ErrorContains(t, err, "Sleep(-1ns)") },
		},
		"request used again": {
			func(c *sim.Comm) error {
				r, err := c.Isend(1, 5, nil)
				if err != nil {
					return err
				}
				if _, err = r.Wait(); err != nil {
					return err
				}
				_, err = r.Wait()
				return err
			},
			func(t *testing.T, err error) {
				assert.ErrorContains(t, err, "rank 1 uses a request after it was finished: send, rank 1, tag 5")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var left []int
			res, err := sim.Run(network(4), func(c *sim.Comm) error {
				switch c.Rank() {
				case 1:
					c.Work(1)
					return k.fail(c)
				case 2:
					c.Work(2) // not blocked when it is released
				}
				defer func() {
					if recover() == nil { // a release is no panic
						left = append(left, c.Rank())
					}
				}()
				_, err := c.Recv(comm.Any, 1, nil)
				return err
			})
			k.check(t, err)
			require.Equal(t, []int{0, 2, 3}, left, "ranks that ran their deferred functions, one after the other")
			require.Equal(t, time.Second, res.Ranks[1].End)
		})
	}
}

// Work lets a rank run ahead of the others, but not fail ahead of them.
func TestTheFirstFailureInVirtualTimeIsReported(t *testing.T) {
	stops := [][]sim.Step{{{From: 0, Speed: 1}, {From: 1, Speed: 0}}}
	for name, late := range map[string]func(c *sim.Comm) error{
		"error":   func(c *sim.Comm) error { c.Sleep(time.Second); return errors.New("late") },
		"panic":   func(c *sim.Comm) error { c.Sleep(time.Second); panic("late") },
		"abort":   func(c *sim.Comm) error { c.Sleep(time.Second); c.Abort(1); return nil },
		"stopped": func(c *sim.Comm) error { c.Work(1); c.Work(1); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			_, err := sim.Run(sim.Config{Ranks: 2, Speed: stops}, func(c *sim.Comm) error {
				if c.Rank() == 0 {
					return late(c)
				}
				c.Sleep(500 * ms)
				return errBroken
			})
			require.EqualError(t, err, "rank 1: broken")
		})
	}
}

// A failure at the very start releases ranks that have not begun.
func TestFailureBeforeOthersBegin(t *testing.T) {
	began := 0
	_, err := sim.Run(network(3), func(*sim.Comm) error {
		began++
		return errBroken
	})
	require.EqualError(t, err, "rank 0: broken")
	require.Equal(t, 1, began)
}

func TestLimitsEndALivelock(t *testing.T) {
	poll := func(c *sim.Comm) error {
		if c.Rank() == 1 {
			_, err := c.Recv(0, 4, make([]byte, 8))
			return err
		}
		for {
			if _, found, err := c.Iprobe(1, 3); found || err != nil {
				return err
			}
		}
	}
	cfg := network(3)
	cfg.MaxOps = 1000
	cfg.PollCost = 1e-3
	_, err := sim.Run(cfg, func(c *sim.Comm) error {
		if c.Rank() == 2 {
			return nil
		}
		return poll(c)
	})
	require.ErrorIs(t, err, sim.ErrLimit)
	require.EqualError(t, err, "the simulation passed its limit: 1000 operations (Config.MaxOps); rank 0 at 999ms: last operation probe; "+
		"rank 1 at 0s: rank 1 waits for rank 0 (receive, tag 4, 8 bytes: no message sent); rank 2 at 0s: has returned")

	cfg = network(2)
	cfg.MaxTime = 0.5
	cfg.PollCost = 1e-3
	_, err = sim.Run(cfg, poll)
	require.ErrorIs(t, err, sim.ErrLimit)
	require.ErrorContains(t, err, "0.5 s of virtual time (Config.MaxTime): rank 0, at 500ms, would go on for 0.001 s")
}

func TestWorkOnARankThatStaysStoppedEndsTheRun(t *testing.T) {
	cfg := sim.Config{Ranks: 1, Speed: [][]sim.Step{{{From: 0, Speed: 1}, {From: 2, Speed: 0}}}}
	res, err := sim.Run(cfg, func(c *sim.Comm) error {
		c.Work(1)
		c.Work(2)
		return nil
	})
	require.ErrorIs(t, err, sim.ErrLimit)
	require.ErrorContains(t, err, "rank 0, at 1s, would go on for +Inf s")
	require.Equal(t, time.Second, res.Elapsed)
}

func TestWaitingPastMaxTimeEndsTheRun(t *testing.T) {
	_, err := sim.Run(sim.Config{Ranks: 2, Alpha: 1e6}, func(c *sim.Comm) error {
		for range 10 {
			if err := comm.Barrier(c); err != nil {
				return err
			}
		}
		return nil
	})
	require.ErrorIs(t, err, sim.ErrLimit)
}

func TestLeaksAreListed(t *testing.T) {
	res, err := sim.Run(network(2), func(c *sim.Comm) error {
		if c.Rank() == 1 {
			_, err := c.Irecv(0, 9, make([]byte, 3))
			return err
		}
		if err := c.Send(1, 1, make([]byte, 10)); err != nil {
			return err
		}
		_, err := c.Isend(1, 2, make([]byte, 5000))
		return err
	})
	require.NoError(t, err)
	require.Equal(t, []string{
		"rank 0 never finished a request: send, rank 1, tag 2, 5000 bytes",
		"rank 1 never received a message from rank 0, tag 2, 5000 bytes",
		"rank 1 never received a message from rank 0, tag 1, 10 bytes",
		"rank 1 never finished a request: receive, rank 0, tag 9, 3 bytes",
	}, res.Leaks)
}

// A long message is read when it has been transferred: whoever changes the buffer before sees it.
func TestABufferChangedTooEarlyShows(t *testing.T) {
	for n, want := range map[int]byte{1000: 1, 1001: 2} {
		_, err := sim.Run(network(2), func(c *sim.Comm) error {
			b := make([]byte, n)
			if c.Rank() == 1 {
				_, err := c.Recv(0, 1, b)
				assert.Equal(t, want, b[0], "%d bytes", n)
				return err
			}
			b[0] = 1
			r, err := c.Isend(1, 1, b)
			b[0] = 2
			if err == nil {
				_, err = r.Wait()
			}
			return err
		})
		require.NoError(t, err)
	}
}

func TestValidateReportsAllFaults(t *testing.T) {
	require.NoError(t, sim.Config{Ranks: 1}.Validate())
	require.NoError(t, sim.Config{Ranks: 2, Rendezvous: -1, MaxTime: 4e6, Speed: [][]sim.Step{nil, {{0, 1}, {2, 0}}}}.Validate())
	bad := sim.Config{
		Ranks: 0, Alpha: -1, Beta: math.NaN(), SendOverhead: math.Inf(1), PollCost: -1, MaxTime: 5e6, MaxOps: -1,
		Speed:       [][]sim.Step{{{From: 1, Speed: 1}}, {{From: 0, Speed: -1}}, {{From: 0}, {From: 2}, {From: 2}}},
		ClockOffset: make([]time.Duration, 1),
	}
	err := bad.Validate()
	for _, part := range []string{
		"Ranks is 0", "Alpha is -1", "Beta is NaN", "SendOverhead is +Inf", "PollCost is -1", "MaxTime is 5e+06", "MaxOps is -1",
		"Speed has 3 entries for 0 ranks", "ClockOffset has 1 entries for 0 ranks", "rank 0: the first step is from 1 s",
		"rank 1, step 0: speed is -1", "rank 2, step 2: from 2 s does not come after the step from 2 s",
	} {
		assert.ErrorContains(t, err, part)
	}
	_, runErr := sim.Run(bad, func(*sim.Comm) error { return nil })
	require.EqualError(t, runErr, err.Error())
}
