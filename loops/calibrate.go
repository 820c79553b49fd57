package loops

import (
	"math"
	"time"

	"shiftwork/comm"
	"shiftwork/hooks"
	"shiftwork/internal/machine"
)

// Tags of calibration and of tuning, far from those of the loops' data.
const (
	tagBurst = hooks.MaxTag - 20 - iota // messages like those of strips
	tagMark                             // the last of a burst
	tagTune                             // costs to rank 0, and its choice back
)

const (
	// calibration is how long messages of strips are measured at most, but for the last round. Long ones (hooks.PerByte) take as long again, at most.
	calibration = 20 * time.Millisecond
	// mostRounds of each kind: the shortest of so many is free of competing loads.
	mostRounds = 12
	// burst is how many strips' messages are timed at once: one message takes hardly longer than reading the clock.
	burst = 4
	// probeElements of 8 bytes each are in a long message: below the eager limit of common networks (4 KiB), like strips.
	probeElements = 256
	// disagree is the factor by which the two shortest samples of one time may differ, if it is to be trusted.
	disagree = 2.0
)

// smallest keeps the two smallest of some samples: a competing load makes samples longer, never shorter.
type smallest struct {
	first, second float64
	count         int
}

func (s *smallest) add(t float64) {
	switch {
	case s.count == 0:
		s.first, s.second = t, math.Inf(1)
	case t < s.first:
		s.first, s.second = t, s.first
	default:
		s.second = min(s.second, t)
	}
	s.count++
}

// doubtful reports whether there is no second sample that is like the first.
func (s *smallest) doubtful() bool { return s.count < 2 || s.second > disagree*s.first }

// spread is by how much the two differ; 0 if there are none.
func (s *smallest) spread() float64 {
	if s.count < 2 {
		return 0
	}
	return s.second - s.first
}

// messages is what handing over boundaries costs, equation (8), for a rank with two neighbours (S&S 1997, section 4.2.4).
// What keeps the processor busy counts in every strip; what a message takes beside that only where somebody waits for it.
type messages struct {
	fixed, incr      float64 // s, and s per 8 bytes: the processor, to send and to receive one strip's messages
	delay, delayIncr float64 // the same: a message on its way, with nobody busy
	doubtful         bool    // samples disagree
}

// carries takes in that a byte of a long message takes so many s to travel (hooks.PerByte). A network that is slow on average only, whose switches or token buckets
// pass a few messages at once, shows that to long ones alone; but strips are not a few messages.
func (m *messages) carries(perByte float64) {
	if perByte == 0 { // not measured
		return
	}
	m.incr = min(m.incr, 8*perByte) // all of which the processor may be busy, but not more
	m.delayIncr = max(m.delayIncr, 8*perByte-m.incr)
}

// measureMessages measures with empty messages and with long ones: the processor's part by bursts between neighbours,
// the whole by a message that travels along all ranks and back. The result is the same on every rank.
func measureMessages(c comm.Comm) (m messages, err error) {
	if c.Size() == 1 {
		return m, nil
	}
	began := c.Now()
	// The first messages between two ranks wait for a connection.
	if _, err := burstRound(c, nil, burst); err != nil {
		return m, err
	}
	if _, err := comm.AllreduceMax(c, 0); err != nil {
		return m, err
	}
	strips := func(c comm.Comm, b []byte) (float64, error) { return burstRound(c, b, burst) }
	kinds := []struct {
		round func(comm.Comm, []byte) (float64, error)
		b     []byte
	}{{strips, nil}, {travelRound, nil}, {strips, make([]byte, 8*probeElements)}, {travelRound, make([]byte, 8*probeElements)}}
	samples := make([]smallest, len(kinds))
	// All ranks do the same rounds, each kind in turn, so that a time in which all are disturbed does not fall upon one of them.
	for first, n := c.Now(), 1; n <= mostRounds; n++ {
		for i, k := range kinds {
			t, err := k.round(c, k.b)
			if err != nil {
				return m, err
			}
			samples[i].add(t)
		}
		enough := []byte{0}
		// As if another round took as long as these did, and agreeing on the result as long as a round.
		if now := c.Now(); now-began+2*(now-first)/time.Duration(n) > calibration {
			enough[0] = 1
		}
		if err := comm.Bcast(c, 0, enough); err != nil {
			return m, err
		}
		if enough[0] == 1 {
			break
		}
	}
	// A difference that the samples of one kind have as well is none; here that is on the way, where whoever must be woken takes a while or not.
	if empty, long := &samples[1], &samples[3]; long.first-empty.first < max(empty.spread(), long.spread()) {
		long.first = empty.first
	}
	// What counts is the rank where it takes longest, and all doubt together. But where ranks share processors, waiting for the turns of others costs processor time, too: it
	// is the rank that had least of it.
	crowded := comm.IsCrowded(c)
	shortest, doubt := make([]float64, len(kinds)), 0.0
	for i := range samples {
		t, agree := samples[i].first, comm.AllreduceMax
		if busy := i%2 == 0; busy && crowded {
			agree = comm.AllreduceMin
			if edge := c.Rank() == 0 || c.Rank() == c.Size()-1; edge && c.Size() > 2 { // with one neighbour
				t *= 2
			}
		}
		if shortest[i], err = agree(c, t); err != nil {
			return m, err
		}
		if samples[i].doubtful() {
			doubt = 1
		}
	}
	if doubt, err = comm.AllreduceMax(c, doubt); err != nil {
		return m, err
	}
	m.doubtful = doubt > 0
	m.fixed, m.incr = shortest[0], max(0, shortest[2]-shortest[0])/probeElements
	// The time for one hop has the work for one message in it: half of a strip's, where there are two neighbours.
	part := 1.0
	if c.Size() > 2 {
		part = 0.5
	}
	m.delay = max(0, shortest[1]-part*m.fixed)
	if !crowded { // there it is the turns of others that a message takes longer by
		m.delayIncr = max(0, (shortest[3]-shortest[1])/probeElements-part*m.incr)
	}
	return m, nil
}

// travelRound is the time in s for b to go from one rank to the next, on its way from rank 0 to the last and back; 0 on
// the other ranks.
func travelRound(c comm.Comm, b []byte) (float64, error) {
	last := c.Size() - 1
	if c.Rank() > 0 {
		if _, err := c.Recv(c.Rank()-1, tagTime, b); err != nil {
			return 0, err
		}
	}
	start := c.Now()
	if c.Rank() < last {
		if err := c.Send(c.Rank()+1, tagTime, b); err != nil {
			return 0, err
		}
		if _, err := c.Recv(c.Rank()+1, tagTime, b); err != nil {
			return 0, err
		}
	}
	if c.Rank() > 0 {
		return 0, c.Send(c.Rank()-1, tagTime, b)
	}
	return (c.Now() - start).Seconds() / float64(2*last), nil
}

// burstRound is the time in s that this rank is busy with the messages of one strip, to and from its neighbours, by so many strips at once: they
// have arrived before they are received, unless the network makes them wait for that.
func burstRound(c comm.Comm, b []byte, strips int) (float64, error) {
	var neighbours []int
	for _, r := range []int{c.Rank() - 1, c.Rank() + 1} {
		if 0 <= r && r < c.Size() {
			neighbours = append(neighbours, r)
		}
	}
	var reqs []comm.Request
	send := func(tag int) error {
		for _, r := range neighbours {
			q, err := c.Isend(r, tag, b)
			if err != nil {
				return err
			}
			reqs = append(reqs, q)
		}
		return nil
	}
	into := make([]byte, len(b))
	receive := func(tag int) error {
		for _, r := range neighbours {
			if _, err := c.Recv(r, tag, into); err != nil {
				return err
			}
		}
		return nil
	}
	start := busyTime(c)
	for range strips {
		if err := send(tagBurst); err != nil {
			return 0, err
		}
	}
	busy := busyTime(c) - start
	if err := send(tagMark); err != nil {
		return 0, err
	}
	if err := receive(tagMark); err != nil { // as long as the others and behind them
		return 0, err
	}
	start = busyTime(c)
	for range strips {
		if err := receive(tagBurst); err != nil {
			return 0, err
		}
	}
	if err := waitAll(reqs); err != nil {
		return 0, err
	}
	return (busy + busyTime(c) - start).Seconds() / float64(strips), nil
}

// busyTime is a clock for what keeps this rank's processor busy. Where ranks share processors it is the CPU time of the process: by any other clock it would be
// the turns of the others that are measured, which also the shortest of some samples has in it.
func busyTime(c comm.Comm) time.Duration {
	if comm.IsCrowded(c) {
		if t, err := machine.CPUTime(); err == nil {
			return t
		}
	}
	return c.Now()
}
