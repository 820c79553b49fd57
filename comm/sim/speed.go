package sim

import (
	"math"
	"time"
)

const picoseconds = 1e12 // per second

// instant is a virtual time, or a difference of two, in picoseconds.
type instant int64

// never is when a message arrives that is held back until nothing else can happen.
const never = instant(math.MaxInt64)

// instantOf returns the seconds s, which the caller has checked to be in range, as an instant.
func instantOf(s float64) instant { return instant(math.Round(s * picoseconds)) }

func (t instant) seconds() float64 { return float64(t) / picoseconds }

func (t instant) duration() time.Duration { return time.Duration((t + 500) / 1000) }

// profile is a rank's speed: piece i holds from from[i] until from[i+1].
type profile struct {
	from  []instant
	speed []float64 // work units per second
	piece int       // the one that held when work was last asked for: clocks do not go back
}

func newProfile(steps []Step) *profile {
	if len(steps) == 0 {
		steps = Constant(1)
	}
	p := &profile{}
	for _, s := range steps {
		p.from = append(p.from, instantOf(s.From))
		p.speed = append(p.speed, s.Speed)
	}
	return p
}

// work returns the time in picoseconds, as a float because it may be infinite, that `units` need from t on:
// the least d with units = ∫ speed from t to t+d.
func (p *profile) work(t instant, units float64) float64 {
	p.turnTo(t)
	last := len(p.from) - 1
	begin := t
	for i := p.piece; units > 0; i++ {
		need := units / p.speed[i] * picoseconds // +Inf where the rank is stopped
		if i == last || need <= float64(p.from[i+1]-t) {
			return float64(t-begin) + need
		}
		units -= p.speed[i] * (p.from[i+1] - t).seconds()
		t = p.from[i+1]
	}
	return float64(t - begin)
}

// turnTo makes the piece that holds at t the present one.
func (p *profile) turnTo(t instant) {
	for p.piece < len(p.from)-1 && p.from[p.piece+1] <= t {
		p.piece++
	}
}

// at is the speed at t, and when it changes.
func (p *profile) at(t instant) (speed float64, until instant) {
	p.turnTo(t)
	if p.piece == len(p.from)-1 {
		return p.speed[p.piece], never
	}
	return p.speed[p.piece], p.from[p.piece+1]
}
