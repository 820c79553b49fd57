//go:build cgo && !nompi

package mpi_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"shiftwork/comm"
	"shiftwork/comm/mpi"
)

// Once requests and their pins are pooled, messages take nothing from the heap: neither those of a strip, small or longer
// than the eager limit, nor a hook's look for statuses.
func TestMessagesAllocateNothing(t *testing.T) {
	r := job(t, time.Minute, 2, "allocate")
	require.Equal(t, 0, r.Code, r.Stderr)
	for rank := range 2 {
		require.Contains(t, r.Stdout, fmt.Sprintf("rank %d allocates nothing", rank))
	}
}

func allocate(c *mpi.Comm) error {
	const warmUp, rounds = 200, 2000
	peer := 1 - c.Rank()
	small, large := make([]byte, 8<<10), make([]byte, 256<<10)
	in, inLarge := make([]byte, len(small)), make([]byte, len(large))
	reqs := make([]comm.Request, 4)
	round := func() error {
		var err error
		for i, start := range []func() (comm.Request, error){
			func() (comm.Request, error) { return c.Irecv(peer, 1, in) },
			func() (comm.Request, error) { return c.Irecv(peer, 2, inLarge) },
			func() (comm.Request, error) { return c.Isend(peer, 1, small) },
			func() (comm.Request, error) { return c.Isend(peer, 2, large) },
		} {
			if reqs[i], err = start(); err != nil {
				return err
			}
		}
		if _, err := reqs[2].Wait(); err != nil { // an eager one: nobody need receive it first
			return err
		}
		if reqs[2], err = c.Isend(peer, 3, small); err != nil {
			return err
		}
		for {
			i, _, err := c.WaitAny(reqs)
			if err != nil {
				return err
			}
			if i < 0 {
				break
			}
			reqs[i] = nil
		}
		if _, err := c.Probe(peer, 3); err != nil {
			return err
		}
		if _, _, err := c.Iprobe(peer, 4); err != nil {
			return err
		}
		if _, err := c.Recv(peer, 3, in); err != nil {
			return err
		}
		q, err := c.Isend(peer, 5, small)
		if err != nil {
			return err
		}
		if _, err := c.Recv(peer, 5, in); err != nil {
			return err
		}
		_, err = q.Wait()
		return err
	}
	var before, after runtime.MemStats
	for i := range warmUp + rounds {
		if i == warmUp {
			runtime.ReadMemStats(&before)
		}
		if err := round(); err != nil {
			return err
		}
	}
	runtime.ReadMemStats(&after)
	// The run time allocates now and then by itself: a timer, a thread.
	if n := after.Mallocs - before.Mallocs; n > rounds/20 {
		return fmt.Errorf("rank %d: %d allocations in %d rounds of messages", c.Rank(), n, rounds)
	}
	fmt.Printf("rank %d allocates nothing: %d in %d rounds\n", c.Rank(), after.Mallocs-before.Mallocs, rounds)
	return nil
}
