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
	// trialBytes is how long a message is that tells what data takes to travel. Loops whose ranks have less are not measured: nothing that they move takes long.
	trialBytes = 128 << 10
	// Trials end after leastTrials of them and trialTime, the last one included, or after mostTrials. The first is only for what a network takes at once that is slow on
	// average (a token bucket of some milliseconds), and for connections; the shortest of the others is free of competing loads.
	leastTrials, mostTrials = 2, 12
	trialTime               = 20 * time.Millisecond
	// Under CPU quotas messages are quotaTrials times as long, and trials that take less than keptAway quota periods say nothing of the network: ranks were kept from
	// their messages. Beside a load most of them were; by these a grid of 4000 x 4000 seemed to be as dear to move as over 200 Mbit/s, and was not moved.
	quotaTrials = 2
	keptAway    = 1.5
	// Such trials are followed by ones of longerTrials times as many bytes, until one takes tellingTrial quota periods, and as long as it is no more than one of trialPart of a rank's
	// data; what the last one takes longer is the network. Over 1 Gbit/s 256 KiB take 2 ms, or nothing where a token bucket holds them: a grid of 8000 x 8000, of which a load makes
	// a third of a second's worth move, seemed to be free. Over 100 Mbit/s they take 20 ms, and as long again because of the quota: moving seemed twice as dear as it is.
	longerTrials, tellingTrial, trialPart = 4, 10, 16
)

// perByte is what a byte of a long message takes, once that has been measured.
type perByte struct {
	known bool
	s     float64
}

// PerByte is what a byte of a long message takes to travel between two neighbours where it takes longest, in s, all ranks sending to the one above at the same time, as when
// work moves. It is measured once and the same on every rank; every rank must call it. 0 where no rank has as much data as a trial sends, or where how much is not known, for it
// must be packed; where all neighbours read each other's memory (comm.Lend); and where CPU quotas hide it.
func (h *Hooks) PerByte() (float64, error) {
	if h.perByte.known {
		return h.perByte.s, nil
	}
	h.perByte.known = true
	far := 0.0 // bytes to or from a neighbour whose memory is not read
	for _, r := range []int{h.left, h.right} {
		if r >= 0 && !comm.CanRead(h.c, r) {
			far = float64(h.bytes())
		}
	}
	most, err := comm.AllreduceMax(h.c, far)
	if err != nil || most < trialBytes {
		return 0, err
	}
	period, err := comm.AllreduceMax(h.c, h.quota.period())
	if err != nil {
		return 0, err
	}
	before, last := timedTrial{}, timedTrial{bytes: trialBytes}
	if period > 0 {
		last.bytes *= quotaTrials
	}
	for {
		if last.s, err = h.trials(last.bytes); err != nil {
			return 0, err
		}
		h.perByte.s = byteOf(before, last, period)
		longer := longerTrials * last.bytes
		if last.s >= tellingTrial*period || float64(longer) > most/trialPart {
			return h.perByte.s, nil
		}
		before, last.bytes = last, longer
	}
}

// timedTrial is what a trial of so many bytes took.
type timedTrial struct {
	bytes int
	s     float64
}

// byteOf is what a byte takes, in s, by a trial under quotas of the given period and one of fewer bytes before it, zero if there was none; 0 where ranks may have been kept from
// their messages.
func byteOf(before, last timedTrial, period float64) float64 {
	if last.s < keptAway*period {
		return 0
	}
	return max(0, last.s-before.s) / float64(last.bytes-before.bytes)
}

// trials is the shortest of some trials of so many bytes, in s, of the rank that takes longest. Every rank calls it.
func (h *Hooks) trials(size int) (float64, error) {
	out, in := make([]byte, size), make([]byte, size)
	shortest, began := math.Inf(1), h.c.Now()
	for n := 1; ; n++ {
		if err := comm.Barrier(h.c); err != nil {
			return 0, err
		}
		took, err := h.trial(out, in)
		if err != nil {
			return 0, err
		}
		if n > 1 {
			shortest = min(shortest, took.Seconds())
		}
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
	return comm.AllreduceMax(h.c, shortest)
}

// bytes is how much data this rank's block has, as far as it need not be packed to know.
func (h *Hooks) bytes() (n int) {
	for _, a := range h.loop.Arrays {
		if p, ok := a.(InPlace); ok && !h.block.Empty() {
			n += len(p.Bytes(h.block))
		}
	}
	return n
}

// moveUnit is what the data of a work unit takes to travel, in s: at least, for packing and waiting come to that. The same on every rank.
func (h *Hooks) moveUnit() (float64, error) {
	perByte, err := h.PerByte()
	if err != nil || perByte == 0 {
		return 0, err
	}
	perUnit := 0.0
	if t := perByte * float64(h.bytes()) / h.units; t < math.MaxFloat64 { // or units are next to nothing, and so is what they tell
		perUnit = t
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
		if r, virtual := c.(comm.Rationed); virtual {
			_, period := r.Quota()
			q = max(machine.DefaultQuantum, period)
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
