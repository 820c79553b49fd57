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
	target                 float64 // s, the latest
	phase                  float64 // s, period_compute: mean time between two hook executions; 0 unknown
}

func newPeriod(cfg Config, loop Loop) period {
	interact, quantum := loop.Interact, loop.Quantum
	if interact == 0 {
		interact = DefaultInteract
	}
	if quantum == 0 {
		quantum = DefaultQuantum
	}
	p := period{interact: interact / interactFraction, quantum: quantum * quantumScale, fixed: cfg.Period}
	p.target, _ = p.choose()
	return p
}

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

// phases takes in the mean time between two hook executions.
func (p *period) phases(statuses []Status, first int) {
	sum, n := 0.0, 0
	for r := first; r < len(statuses); r++ {
		if s := &statuses[r]; s.Phases > 0 && isAmount(s.Elapsed) {
			sum += s.Elapsed / float64(s.Phases)
			n++
		}
	}
	if n > 0 {
		p.phase = sum / float64(n)
	}
}

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
	if p.quantum > target {
		target, limit = p.quantum, "quantum"
	}
	p.target = target
	return target, limit
}

// hooks returns nexthook = period_target/period_compute, at least 1.
func (p *period) hooks(target float64) int {
	if !(p.phase > 0) {
		return 1
	}
	return int(min(max(1, math.Round(target/p.phase)), math.MaxInt32))
}
