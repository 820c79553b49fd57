package local

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"shiftwork/comm"
	"shiftwork/comm/internal/ranks"
)

// DefaultRendezvous is the length in bytes above which a send waits for its receive. MPI's transports within
// a node switch between 4 and 64 KiB.
const DefaultRendezvous = 64 << 10

// Option changes how Run behaves.
type Option func(*world)

// Rendezvous sets the length in bytes above which a send waits for its receive; below zero, all do.
func Rendezvous(bytes int) Option {
	return func(w *world) { w.rendezvous = bytes }
}

// Run calls f once on each of n ranks, concurrently, and returns when all have ended. The error is nil if all
// returned nil. Otherwise it joins the first failure and those of ranks that failed before they could be released,
// each a *comm.RankError, or a *comm.AbortError if the job was aborted.
func Run(n int, f func(c comm.Comm) error, options ...Option) error {
	if n < 1 {
		return fmt.Errorf("%d ranks: at least one is needed", n)
	}
	w := &world{
		rendezvous: DefaultRendezvous,
		began:      time.Now(),
		ranks:      make([]*endpoint, n),
		failures:   make([]error, n),
	}
	for _, option := range options {
		option(w)
	}
	for r := range w.ranks {
		w.ranks[r] = newEndpoint(w, r)
	}
	var all sync.WaitGroup
	for _, c := range w.ranks {
		all.Go(func() {
			ranks.Guard(func() error { return f(c) }, func(err error) {
				if err != nil && !c.released.Load() {
					w.fail(c.rank, &comm.RankError{Rank: c.rank, Err: err})
				}
			})
		})
	}
	all.Wait()
	return w.err()
}

// world is what the ranks of one run share.
type world struct {
	rendezvous int
	began      time.Time
	ranks      []*endpoint

	failed atomic.Bool // the run is ending: no rank may wait any more

	mu       sync.Mutex
	first    error   // the failure that ended the run
	failures []error // by rank, the later ones
	shares   []share // in the order of the calls
}

// share is the memory of one call of Share on every rank.
type share struct {
	of    [][]byte
	calls int // so far; after the last one it is the ranks' alone
}

// share is what the call with this number, from 0 on each rank, is for.
func (w *world) share(call, bytes int) [][]byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	if call == len(w.shares) {
		w.shares = append(w.shares, share{of: make([][]byte, len(w.ranks))})
		for r := range w.ranks {
			w.shares[call].of[r] = make([]byte, bytes)
		}
	}
	s := &w.shares[call]
	of := s.of
	if s.calls++; s.calls == len(w.ranks) {
		s.of = nil
	}
	return of
}

// fail records a rank's failure and, if it is the first, releases every rank that waits.
func (w *world) fail(rank int, err error) {
	w.mu.Lock()
	if w.first == nil {
		w.first = err
	} else {
		w.failures[rank] = err
	}
	w.mu.Unlock()
	if w.failed.Swap(true) {
		return
	}
	for _, c := range w.ranks {
		// Under the lock, so that a rank that has just seen failed unset is already asleep when it is woken.
		c.mu.Lock()
		c.wake.Broadcast()
		c.mu.Unlock()
	}
}

func (w *world) err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(append([]error{w.first}, w.failures...)...)
}

// leave ends the calling rank if the run is ending. The caller holds no lock.
func (c *endpoint) leave() {
	if c.w.failed.Load() {
		c.released.Store(true)
		runtime.Goexit()
	}
}
