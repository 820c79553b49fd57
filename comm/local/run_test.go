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
				deferred := make([]bool, 4)
				err := local.Run(4, func(c comm.Comm) error {
					defer func() {
						assert.Nil(t, recover(), "a release is no panic")
						deferred[c.Rank()] = true
					}()
					if c.Rank() == 1 {
						time.Sleep(time.Millisecond) // let the others block; right without it too
						if how == "panic" {
							deferred[1] = true
							return nil
						}
						return failure.fail(c)
					}
					return block(c, (c.Rank()+1)%4)
				})
				_ = err
			})
		}
	}
}
