package hooks

import (
	"math"
	"time"

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

// masterClock translates this rank's clock to the master's. Each message from the master that says when it was sent gives
// an upper bound of the difference; the smallest one, from the fastest message, is right to within that message's delay.
type masterClock struct {
	ahead time.Duration // this rank's clock minus the master's
	known time.Duration // when that was learnt, this rank's clock
	any   bool
}

// clockDrift is how fast two clocks may drift apart: twice what is usual for quartz. An old bound is worth less by as much.
const clockDrift = 1e-4

// learn takes in a message sent at one time of the master's clock and received at another of this rank's.
func (m *masterClock) learn(sent, received time.Duration) {
	age := time.Duration(clockDrift * float64(received-m.known))
	if d := received - sent; !m.any || d < m.ahead+age {
		m.ahead, m.known, m.any = d, received, true
	}
}

// time is the master's clock at time t of this rank's.
func (m *masterClock) time(t time.Duration) time.Duration { return t - m.ahead }

// synchronise learns the master's clock from a few messages; every rank must call it.
func (m *masterClock) synchronise(c comm.Comm) error {
	for range 5 {
		if err := comm.Barrier(c); err != nil {
			return err
		}
		now := []float64{c.Now().Seconds()}
		if err := comm.Bcast(c, 0, comm.BytesOf(now)); err != nil {
			return err
		}
		m.learn(seconds(now[0]), c.Now())
	}
	return nil
}

// agreeQuantum returns the longest scheduling quantum of all ranks in s; given, if positive, is taken as it is.
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

// ownProcess reports whether no other rank is in this rank's process: its CPU time is then that of the rank.
func ownProcess(c comm.Comm) bool { return c.Transport() == "mpi" }

// cpuTime is the CPU time that this process has used; 0 where it is not known.
func cpuTime() time.Duration {
	t, _ := machine.CPUTime() // 0 with an error
	return t
}
