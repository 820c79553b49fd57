package hooks

import (
	"math"

	"shiftwork/comm"
	"shiftwork/internal/machine"
	"shiftwork/lb"
)

// measureInteraction times dummy interactions, statuses to the master and instructions back (S&S 1997, section 5.2.1),
// and returns the shortest of five in seconds, the same on every rank.
func measureInteraction(c comm.Comm) (float64, error) {
	const rounds = 5
	status := encodeStatus(&lb.Status{})
	shortest := math.Inf(1)
	for range rounds {
		if err := comm.Barrier(c); err != nil {
			return 0, err
		}
		began := c.Now()
		if _, err := comm.Gather(c, 0, status); err != nil {
			return 0, err
		}
		if err := comm.Bcast(c, 0, make([]byte, len((&instruction{}).encode()))); err != nil {
			return 0, err
		}
		shortest = min(shortest, (c.Now() - began).Seconds())
	}
	return comm.AllreduceMax(c, shortest)
}

// agreeQuantum returns the largest scheduling quantum of all ranks in seconds; given, if positive, is taken as it is.
func agreeQuantum(c comm.Comm, given float64) (float64, error) {
	q := given
	if q <= 0 {
		if _, virtual := c.(comm.Worker); virtual {
			q = machine.DefaultQuantum
		} else {
			q = machine.Quantum()
		}
	}
	return comm.AllreduceMax(c, q)
}
