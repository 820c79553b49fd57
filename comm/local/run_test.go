package local_test

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/comm"
	"shiftwork/comm/local"
)

var errBroken = errors.New("broken")

// blockers are all the ways of waiting for ever: for a message with a tag that nobody sends, or for a receive that nobody posts.
var blockers = map[string]func(c comm.Comm, peer int) error{
	"Recv": func(c comm.Comm, peer int) error {
		_, err := c.Recv(peer, 1, nil)
		return err
	},
	"Recv any": func(c comm.Comm, _ int) error {
		_, err := c.Recv(comm.Any, 1, nil)
		return err
	},
	"Send": func(c comm.Comm, peer int) error {
		return c.Send(peer, 2, make([]byte, local.DefaultRendezvous+1))
	},
	"Probe": func(c comm.Comm, peer int) error {
		_, err := c.Probe(peer, 1)
		return err
	},
	"Wait": func(c comm.Comm, peer int) error {
		r, err := c.Irecv(peer, 1, nil)
		if err != nil {
			return err
		}
		_, err = r.Wait()
		return err
	},
	"WaitAny": func(c comm.Comm, peer int) error {
		r, err := c.Irecv(peer, 1, nil)
		if err != nil {
			return err
		}
		_, _, err = c.WaitAny([]comm.Request{nil, r})
		return err
	},
	"Barrier": func(c comm.Comm, _ int) error { return comm.Barrier(c) },
	"Iprobe in a loop": func(c comm.Comm, peer int) error {
		for {
			if _, found, err := c.Iprobe(peer, 1); found || err != nil {
				return err
			}
			runtime.Gosched()
		}
	},
	"Test in a loop": func(c comm.Comm, peer int) error {
		r, err := c.Irecv(peer, 1, nil)
		for err == nil {
			var done bool
			if _, done, err = r.Test(); done {
				break
			}
			runtime.Gosched()
		}
		return err
	},
}

// Whatever the ranks wait in, and however rank 1 fails, all are released and the failure is reported once.
func TestFailureReleasesAllRanks(t *testing.T) {
	failures := map[string]struct {
		fail  func(c comm.Comm) error
		check func(t *testing.T, err error)
	}{
		"error": {
			func(comm.Comm) error { return errBroken },
			func(t *testing.T, err error) { assert.EqualError(t, err, "rank 1: broken") },
		},
		"panic": {
			func(comm.Comm) error { panic(errBroken) },
			func(t *testing.T, err error) {
				var p *comm.PanicError
				require.ErrorAs(t, err, &p)
				assert.ErrorIs(t, err, errBroken)
				assert.Contains(t, string(p.Stack), "TestFailureReleasesAllRanks", "the stack shows who panicked")
			},
		},
		"exit": {
			func(comm.Comm) error { runtime.Goexit(); return nil },
			func(t *testing.T, err error) { assert.ErrorContains(t, err, "runtime.Goexit") },
		},
		"abort": {
			func(c comm.Comm) error { c.Abort(3); return errors.New("Abort returned") },
			func(t *testing.T, err error) {
				var a *comm.AbortError
				require.ErrorAs(t, err, &a)
				assert.Equal(t, comm.AbortError{Rank: 1, Code: 3}, *a)
				assert.NotContains(t, err.Error(), "Abort returned")
			},
		},
	}
	for how, failure := range failures {
		for in, block := range blockers {
			t.Run(fmt.Sprintf("%s/%s", how, in), func(t *testing.T) {
				var left [4]bool
				err := local.Run(4, func(c comm.Comm) error {
					if c.Rank() == 1 {
						time.Sleep(time.Millisecond) // let the others block; right without it too
						return failure.fail(c)
					}
					defer func() {
						left[c.Rank()] = recover() == nil // a release is no panic
					}()
					return block(c, (c.Rank()+1)%4)
				})
				failure.check(t, err)
				assert.Equal(t, [4]bool{0: true, 2: true, 3: true}, left, "ranks that ran their deferred functions")
				var first *comm.RankError
				if errors.As(err, &first) {
					assert.Equal(t, 1, first.Rank)
				}
			})
		}
	}
}

func TestOperationsAfterAFailureRelease(t *testing.T) {
	after := map[string]func(c comm.Comm){
		"Send":    func(c comm.Comm) { _ = c.Send(0, 1, nil) },
		"Isend":   func(c comm.Comm) { _, _ = c.Isend(0, 1, nil) },
		"Irecv":   func(c comm.Comm) { _, _ = c.Irecv(0, 1, nil) },
		"WaitAny": func(c comm.Comm) { _, _, _ = c.WaitAny(nil) },
	}
	for name, call := range after {
		t.Run(name, func(t *testing.T) {
			failed := make(chan struct{})
			reached := false
			err := local.Run(2, func(c comm.Comm) error {
				if c.Rank() == 0 {
					defer close(failed)
					return errBroken
				}
				<-failed
				for range 1000 { // the other rank's error is reported a moment after its deferred functions
					call(c)
					time.Sleep(time.Millisecond)
				}
				reached = true
				return nil
			})
			require.EqualError(t, err, "rank 0: broken")
			require.False(t, reached, "the rank went on after the failure")
		})
	}
}

func TestRunJoinsTheFailuresOfSeveralRanks(t *testing.T) {
	all := make(chan struct{}, 3)
	err := local.Run(3, func(c comm.Comm) error {
		all <- struct{}{}
		for len(all) < cap(all) {
			time.Sleep(100 * time.Microsecond)
		}
		return fmt.Errorf("failure of %d: %w", c.Rank(), errBroken)
	})
	for r := range 3 {
		require.ErrorContains(t, err, fmt.Sprintf("rank %d: failure of %d", r, r))
	}
	require.ErrorIs(t, err, errBroken)
}

func TestRunNeedsARank(t *testing.T) {
	for _, n := range []int{0, -1} {
		require.Error(t, local.Run(n, func(comm.Comm) error { return nil }))
	}
}

func TestSendsAboveTheRendezvousLengthWaitForTheirReceive(t *testing.T) {
	const limit = 100
	for n, waits := range map[int]bool{0: false, limit: false, limit + 1: true} {
		require.NoError(t, local.Run(2, func(c comm.Comm) error {
			if c.Rank() == 1 {
				if _, err := c.Recv(0, 2, nil); err != nil {
					return err
				}
				_, err := c.Recv(0, 1, make([]byte, n))
				return err
			}
			r, err := c.Isend(1, 1, make([]byte, n))
			if err != nil {
				return err
			}
			_, done, err := r.Test()
			if err != nil {
				return err
			}
			if done == waits {
				return fmt.Errorf("a send of %d bytes: done is %v before there is a receive", n, done)
			}
			if err := c.Send(1, 2, nil); err != nil || done {
				return err
			}
			_, err = r.Wait()
			return err
		}, local.Rendezvous(limit)))
	}
}

func TestBufferedSendsCopy(t *testing.T) {
	require.NoError(t, local.Run(2, func(c comm.Comm) error {
		b := []byte{1}
		if c.Rank() == 0 {
			if err := c.Send(1, 1, b); err != nil {
				return err
			}
			b[0] = 2
			return c.Send(1, 2, nil)
		}
		if _, err := c.Recv(0, 2, nil); err != nil {
			return err
		}
		if _, err := c.Recv(0, 1, b); err != nil {
			return err
		}
		if b[0] != 1 {
			return fmt.Errorf("received %d, want 1, what was sent", b[0])
		}
		return nil
	}))
}

func TestRequestsAreReused(t *testing.T) {
	require.NoError(t, local.Run(1, func(c comm.Comm) error {
		seen := map[comm.Request]bool{}
		for range 100 {
			in, err := c.Irecv(0, 1, nil)
			if err != nil {
				return err
			}
			out, err := c.Isend(0, 1, nil)
			if err != nil {
				return err
			}
			seen[in], seen[out] = true, true
			for _, r := range []comm.Request{in, out} {
				if _, err := r.Wait(); err != nil {
					return err
				}
			}
		}
		if len(seen) != 2 {
			return fmt.Errorf("%d requests for 100 rounds with 2 under way", len(seen))
		}
		return nil
	}))
}

func TestMoreRanksThanProcessorsAreCrowded(t *testing.T) {
	for ranks, want := range map[int]bool{1: false, runtime.GOMAXPROCS(0): false, runtime.GOMAXPROCS(0) + 1: true} {
		require.NoError(t, local.Run(ranks, func(c comm.Comm) error {
			if got := comm.IsCrowded(c); got != want {
				return fmt.Errorf("%d ranks: %v", ranks, got)
			}
			return nil
		}))
	}
}

func TestIdentity(t *testing.T) {
	require.NoError(t, local.Run(3, func(c comm.Comm) error {
		if c.Size() != 3 || c.Transport() != "local" || c.Now() < 0 || c.Now() > time.Minute {
			return fmt.Errorf("%d ranks, transport %q, clock at %v", c.Size(), c.Transport(), c.Now())
		}
		all, err := comm.AllGather(c, []byte{byte(c.Rank())})
		for r := range all {
			if all[r][0] != byte(r) {
				return fmt.Errorf("rank %d says that it is rank %d", r, all[r][0])
			}
		}
		return err
	}))
}
