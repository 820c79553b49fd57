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

const (
	// trialBytes is how long a message is that tells what data takes to travel: several times what a network takes at once that is slow only on average (a token
	// bucket of some milliseconds). Loops whose ranks have less are not measured: nothing that they move takes long.
	trialBytes = 256 << 10
	// Trials end after leastTrials of them and trialTime, the last one included, or after mostTrials: the shortest is free of competing loads.
	leastTrials, mostTrials = 2, 12
	trialTime               = 20 * time.Millisecond
)

// measureMoving times messages along the line of ranks, from each rank to the next at the same time, as when work moves, and returns what the data of a work unit takes to
// travel between the two where it takes longest, in s: at least, for packing and waiting come to that. The same on every rank; 0 where there is little data, or where it
// is not known how much, for it must be packed.
func (h *Hooks) measureMoving() (float64, error) {
	bytes := 0
	for _, a := range h.loop.Arrays {
		if p, ok := a.(InPlace); ok && !h.block.Empty() {
			bytes += len(p.Bytes(h.block))
		}
	}
	most, err := comm.AllreduceMax(h.c, float64(bytes))
	if err != nil || most < trialBytes {
		return 0, err
	}
	out, in := make([]byte, trialBytes), make([]byte, trialBytes)
	shortest, began := math.Inf(1), h.c.Now()
	for n := 1; ; n++ {
		if err := comm.Barrier(h.c); err != nil {
			return 0, err
		}
		took, err := h.trial(out, in)
		if err != nil {
			return 0, err
		}
		shortest = min(shortest, took.Seconds())
		enough := []byte{0}
		if n >= mostTrials || n >= leastTrials && h.c.Now()-began > trialTime {
			enough[0] = 1
		}
		if err := comm.Bcast(h.c, 0, enough); err != nil {
			return 0, err
		}
		if enough[0] == 1 {
			break
		}
	}
	perUnit := 0.0
	if h.units > 0 {
		perUnit = shortest / trialBytes * float64(bytes) / h.units
	}
	return comm.AllreduceMax(h.c, perUnit)
}

// trial sends a message to the rank above, while one comes from the rank below, and returns how long it took until both were over; 0 beside nobody.
func (h *Hooks) trial(out, in []byte) (time.Duration, error) {
	began := h.c.Now()
	var under [2]comm.Request
	var err error
	if h.left >= 0 {
		if under[0], err = h.c.Irecv(h.left, tagTrial, in); err != nil {
			return 0, err
		}
	}
	if h.right >= 0 {
		if under[1], err = h.c.Isend(h.right, tagTrial, out); err != nil {
			return 0, err
		}
	}
	for _, q := range under {
		if q != nil {
			if _, err := q.Wait(); err != nil {
				return 0, err
			}
		}
	}
	return h.c.Now() - began, nil
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
