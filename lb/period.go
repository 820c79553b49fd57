package lb

import "math"

// The constants of the period (S&S 1997, section 5.2).
const (
	// interactFraction is f_interact: interactions may take this part of the time.
	interactFraction = 0.05
	// quantumScale is quantumscale: with one competitor the rate measured over n quanta is off by at most 1/n.
	quantumScale = 10
)

// period finds the time between interactions.
type period struct {
	interact, quantum float64 // s: equations (13) and (15)
	fixed             float64 // s, 0: automatic

	moveTime, moveInterval float64 // s: t_movement and the mean time between movements; 0 before the first
	lastMove               float64 // s, the balancer's time of the last movement
	between                float64 // s between the statuses of late; 0 before the first
	target                 float64 // s, the latest
	phase                  float64 // s, period_compute: mean time between two hook executions; 0 unknown
	phases                 float64 // hook executions behind it, where it is the mean over all so far; then infinite

	stretch float64 // how many times the measured quantum rates are really disturbed by, 1..mostStretch
	steady  int     // decisions since stretch was last looked at
}

func newPeriod(cfg Config, loop Loop) period {
	interact, quantum := loop.Interact, loop.Quantum
	if interact == 0 {
		interact = DefaultInteract
	}
	if quantum == 0 {
		quantum = DefaultQuantum
	}
	p := period{interact: interact / interactFraction, quantum: quantum * quantumScale, fixed: cfg.Period, stretch: 1}
	p.target, _ = p.choose()
	return p
}

const (
	// mostStretch bounds how much longer than measured the quantum is taken to be, stretchEvery is the number of
	// decisions between two looks, in which a longer period has to show its effect.
	mostStretch  = 8
	stretchEvery = 16
)

// disturbed takes in the relative noise of the slowest rank's rate. A quantum is measured when the loop starts; a
// competitor that comes later, or a quota, may run in longer pieces. Over quantumScale quanta a rate is off by at most
// 1/quantumScale, so where it varies by more than that, the quantum is longer than it was taken for, and the period follows it;
// where it varies by less than half of that, the period comes back.
func (p *period) disturbed(noise float64) {
	if p.steady++; p.steady < stretchEvery {
		return
	}
	p.steady = 0
	switch {
	case noise > 1.0/quantumScale:
		p.stretch = min(mostStretch, p.stretch*math.Sqrt2)
	case noise < 0.5/quantumScale:
		p.stretch = max(1, p.stretch/math.Sqrt2)
	}
}

// disturbance is the quantum in s that the rates are really disturbed by.
func (p *period) disturbance() float64 { return p.quantum * p.stretch / quantumScale }

// interacted takes in what an interaction cost the rank that it cost least, in s: that is the interaction. What it cost
// others more is waiting for each other.
func (p *period) interacted(t float64) {
	p.interact += interactRecent * (t/interactFraction - p.interact)
}

// interactRecent is the weight of the newest interaction in the mean that (13) goes by.
const interactRecent = 0.1

// recent is the weight of the newest movement in the means over recent ones.
const recent = 0.5

// moved takes in a movement that ended at time now and took t seconds.
func (p *period) moved(now, t float64) {
	interval := now - p.lastMove
	p.lastMove = now
	if p.moveInterval == 0 {
		p.moveTime, p.moveInterval = t, interval
		return
	}
	p.moveTime += recent * (t - p.moveTime)
	p.moveInterval += recent * (interval - p.moveInterval)
}

// reported takes in that the latest statuses are of so many s.
func (p *period) reported(elapsed float64) {
	if p.between == 0 {
		p.between = elapsed
	}
	p.between += recent * (elapsed - p.between)
}

// interval is the time between interactions in s, as it is: work that can move at some places only, far apart where ranks are slow,
// has them less often than the target says.
func (p *period) interval(target float64) float64 { return max(target, p.between) }

// choose returns the target period and the limit that sets it: the largest of (13), (14) and (15).
func (p *period) choose() (target float64, limit string) {
	if p.fixed > 0 {
		p.target = p.fixed
		return p.fixed, "fixed"
	}
	movement := 0.0
	if p.moveInterval > 0 {
		// (14) period_movement = t_movement/workscale, workscale = (time between movements)/(current period) >= 1
		movement = p.moveTime / max(1, p.moveInterval/p.target)
	}
	target, limit = p.interact, "interaction"
	if movement > target {
		target, limit = movement, "movement"
	}
	if quantum := p.quantum * p.stretch; quantum > target {
		target, limit = quantum, "quantum"
	}
	p.target = target
	return target, limit
}

// computed takes in that phases took so long, in s, of which there have been so many since the statuses before: their mean is the length
// to go by, and at first, until some quanta have passed, that of all phases so far. While a pipeline fills, a rank computes a
// strip or two without waiting for anybody; by these alone the next interaction would come a dozen times as late as it is meant to.
func (p *period) computed(phase, phases float64) {
	if p.phases*p.phase < p.sample() {
		p.phases += phases
		p.phase += (phase - p.phase) * phases / p.phases
		return
	}
	p.phase, p.phases = phase, math.Inf(1)
}

// hooks returns nexthook = period_target/period_compute, at least 1.
func (p *period) hooks(target float64) int {
	if !(p.phase > 0) {
		return 1
	}
	return int(min(max(1, math.Round(target/p.phase)), math.MaxInt32))
}

const (
	// measuredShare is the part of (15) that the first samples of a loop must cover, computedShare that of it that each rank must have
	// computed, but not if that takes patience times as long.
	measuredShare = 0.5
	computedShare = 0.4
	patience      = 4
	// leftShare is the part of the rest of a Free loop that may pass before its first samples.
	leftShare = 0.25
)

// sample returns for how long, in s, a loop must have been measured before the work and the computing time of a rank make a first rate: in
// less than some quanta chance decides whether it was on its core (15). Who sets a shorter period has chosen to believe that.
func (p *period) sample() float64 {
	if p.fixed > 0 {
		return measuredShare * min(p.fixed, p.quantum)
	}
	return measuredShare * p.quantum
}
