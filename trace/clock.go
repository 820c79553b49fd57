package trace

import (
	"fmt"
	"time"

	"shiftwork/comm"
)

// Tags of this package: free ones between those of the collectives and of package hooks.
const (
	tagClock = comm.MaxUserTag - 9
	tagFile  = comm.MaxUserTag - 8
)

// reading is how far a rank's clock is ahead of rank 0's.
type reading struct {
	at    time.Duration // the rank's clock
	ahead time.Duration
	error time.Duration // at most so much wrong
}

// readings is how many messages a measurement takes.
const readings = 16

// measureClock compares clocks with rank 0; every rank must call it. Rank 0 answers one rank after the other.
func measureClock(c comm.Comm) (reading, error) {
	if c.Rank() != 0 {
		return askClock(c)
	}
	for r := 1; r < c.Size(); r++ {
		for range readings {
			if _, err := c.Recv(r, tagClock, nil); err != nil {
				return reading{}, err
			}
			if err := c.Send(r, tagClock, encodeTime(c.Now())); err != nil {
				return reading{}, err
			}
		}
	}
	return reading{at: c.Now()}, nil
}

func askClock(c comm.Comm) (best reading, err error) {
	b := make([]byte, 8)
	for i := range readings {
		sent := c.Now()
		if err := c.Send(0, tagClock, nil); err != nil {
			return best, err
		}
		if _, err := c.Recv(0, tagClock, b); err != nil {
			return best, err
		}
		returned := c.Now()
		there, err := decodeTime(b)
		if err != nil {
			return best, fmt.Errorf("rank 0's clock: %w", err)
		}
		middle := sent + (returned-sent)/2
		if i == 0 || returned-sent < 2*best.error {
			best = reading{at: middle, ahead: middle - there, error: (returned - sent + 1) / 2}
		}
	}
	return best, nil
}

// clock translates a rank's times to rank 0's, by what was measured twice.
type clock struct{ first, last reading }

// time is rank 0's clock at time t of this rank's.
func (c clock) time(t time.Duration) time.Duration {
	ahead := c.first.ahead
	if span := c.last.at - c.first.at; span > 0 {
		ahead += time.Duration(float64(c.last.ahead-c.first.ahead) * (float64(t-c.first.at) / float64(span)))
	}
	return t - ahead
}

// drift is how much faster than rank 0's the clock runs; 0 if it was read only once.
func (c clock) drift() float64 {
	if span := c.last.at - c.first.at; span > 0 {
		return float64(c.last.ahead-c.first.ahead) / float64(span)
	}
	return 0
}

func encodeTime(t time.Duration) []byte {
	var e comm.Encoder
	e.Uint64(uint64(t))
	return e.Message()
}

func decodeTime(b []byte) (time.Duration, error) {
	d := comm.NewDecoder(b)
	t := time.Duration(d.Uint64())
	return t, d.Finish()
}
