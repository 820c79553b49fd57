package pipeline

import "math"

// turns is the CPU of one rank under round robin: the rank has it for one quantum, then each competing process for one,
// and so on. A rank that waits in its turn wastes it, as in S&S 1997, sections 4.2.6 and 4.3.2.
type turns struct {
	quantum, period float64 // s; period 0: the rank has the CPU for itself
	phase           float64 // s, where one of the rank's turns begins
}

func turnsOf(r Rank, quantum float64) turns {
	if r.Competing == 0 {
		return turns{}
	}
	return turns{quantum: quantum, period: float64(r.Competing+1) * quantum, phase: r.Phase}
}

// overrun is the part of a quantum by which a rank may overrun its turn. Work that fits exactly must not wait for
// another turn because of rounding.
const overrun = 1e-6

// at returns how many periods lie between the phase and t, and how far into its period t is: 0 <= x < period.
func (u turns) at(t float64) (periods, x float64) {
	d := t - u.phase
	periods = math.Floor(d / u.period)
	x = d - periods*u.period
	// The quotient may have been rounded to the other side of a whole number.
	if x < 0 {
		periods, x = periods-1, x+u.period
	}
	if x >= u.period {
		periods, x = periods+1, x-u.period
	}
	return periods, x
}

// finish returns when the rank has had so many seconds of CPU, not before t. Closed form: a strip of a thousand quanta
// costs what a short one does.
func (u turns) finish(t, cpu float64) float64 {
	if u.period == 0 || cpu == 0 {
		return t + cpu
	}
	_, x := u.at(t)
	next := t + u.period - x // turn
	if x < u.quantum {
		left := u.quantum - x
		if cpu <= left+overrun*u.quantum {
			return t + cpu
		}
		cpu -= left
	}
	whole := max(0, math.Ceil(cpu/u.quantum-overrun)-1) // turns used up before the last one
	return next + whole*u.period + (cpu - whole*u.quantum)
}

// own returns how many of the first t seconds are the rank's turns.
func (u turns) own(t float64) float64 {
	if u.period == 0 {
		return t
	}
	since := func(t float64) float64 {
		periods, x := u.at(t)
		return periods*u.quantum + min(x, u.quantum)
	}
	return since(t) - since(0)
}

// next returns whether t lies in a turn of the rank, and when that changes.
func (u turns) next(t float64) (mine bool, until float64) {
	if u.period == 0 {
		return true, math.Inf(1)
	}
	_, x := u.at(t)
	// Within rounding of a border, t is behind it.
	if tiny := overrun * u.quantum; x < u.quantum-tiny {
		return true, t + u.quantum - x
	} else if x < u.period-tiny {
		return false, t + u.period - x
	}
	return true, t + u.period - x + u.quantum
}
