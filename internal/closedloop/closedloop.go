package closedloop

import (
	"fmt"
	"math"
	"math/rand/v2"

	"shiftwork/dist"
	"shiftwork/lb"
)

// Model is the paper's experiment with one oscillating competitor, in virtual time.
type Model struct {
	Ranks     int
	Cycle     float64 // s; the load is on for half of it; 0: no load; +Inf: always on
	Dips      float64 // probability that a rank's true rate is halved for one period
	Noise     float64 // relative standard deviation of a measured rate
	MoveFixed float64 // s, of a move
	MoveAll   float64 // s, of moving all work once
	Duration  float64 // s of virtual time
	Period    float64
}

var Debug bool

const perRank = 10_000

// Decider answers statuses with transfers.
type Decider interface {
	Decide([]lb.Status) lb.Decision
}

// Result of one run.
type Result struct {
	Rate  float64 // work done a second, as a fraction of all ranks' speed without load
	None  float64
	Ideal float64
	Moves int
}

// Removed is the share of the interference penalty removed.
func (r Result) Removed() float64 { return (1/r.None - 1/r.Rate) / (1/r.None - 1/r.Ideal) }

func (m Model) loaded(t, phase float64) bool {
	if m.Cycle == 0 {
		return false
	}
	if math.IsInf(m.Cycle, 1) {
		return true
	}
	return math.Mod(t+phase, m.Cycle) < m.Cycle/2
}

// Run runs it.
func (m Model) Run(d Decider, seed uint64) Result {
	rng := rand.New(rand.NewPCG(seed, 99))
	phase := math.Floor(rng.Float64() * m.Cycle)
	if math.IsInf(m.Cycle, 1) {
		phase = 0
	}
	p := m.Ranks
	owned := make([]float64, p)
	for r := range owned {
		owned[r] = perRank
	}
	total := float64(p) * perRank
	speed := make([]float64, p)
	sts := make([]lb.Status, p)
	var pending []dist.Transfer
	var res Result
	t, debt := 0.0, 0.0
	period := m.Period
	if period == 0 {
		period = 0.1
	}
	obeyed := -1
	var none, ideal, done, time, moveTime float64
	moveTransfers := make([]int, p)
	moveUnits := make([]float64, p)
	for k := 0; t < m.Duration; k++ {
		// one period of computing
		for r := range speed {
			speed[r] = 1
		}
		for r := range speed {
			if rng.Float64() < m.Dips*period {
				speed[r] = 0.5
			}
		}
		on := 0.0
		if m.Cycle > 0 {
			const parts = 64
			for i := range parts {
				if m.loaded(t+(float64(i)+.5)/parts*period, phase) {
					on += 1.0 / parts
				}
			}
		}
		// two parts: loaded and not
		meanSum, cur, eq := 0.0, 0.0, 0.0
		for part := range 2 {
			f := on
			if part == 1 {
				f = 1 - on
			}
			if f == 0 {
				continue
			}
			slow, slowEq, sum := math.Inf(1), math.Inf(1), 0.0
			for r := range speed {
				s := speed[r]
				if part == 0 && r == 0 {
					s /= 2
				}
				slow = min(slow, s*total/owned[r]/float64(p))
				slowEq = min(slowEq, s)
				sum += s
			}
			cur += f * slow
			eq += f * slowEq
			meanSum += f * sum / float64(p)
		}
		speed[0] *= on/2 + (1 - on)
		t += period
		time += period
		lost := min(debt, period)
		debt -= lost
		done -= cur * lost
		done += cur * period
		none += eq * period
		ideal += meanSum * period
		for r := range sts {
			units := cur * period * owned[r]
			rate := speed[r] * perRank * max(0.05, 1+m.Noise*rng.NormFloat64())
			sts[r] = lb.Status{Rank: r, Interaction: k, Obeyed: obeyed, Units: units, Compute: units / rate,
				Elapsed: period, Wait: max(0, period-units/rate), Phases: 1, PhasesLeft: -1, Owned: owned[r], OwnedIterations: int(math.Round(owned[r])),
				MoveTime: moveTime, MoveTransfers: moveTransfers[r], MoveUnits: moveUnits[r]}
			if moveTransfers[r] == 0 {
				sts[r].MoveTime = 0
			}
		}
		if tr, ok := d.(interface{ Truth([]float64) }); ok {
			now := append([]float64(nil), speed...)
			now[0] = 1
			if m.loaded(t-1e-9, phase) {
				now[0] = .5
			}
			tr.Truth(now)
		}
		dec := d.Decide(sts)
		if dec.Period > 0 && m.Period == 0 {
			period = dec.Period
		}
		// the pending instruction is obeyed
		moveTime = 0
		for r := range moveTransfers {
			moveTransfers[r], moveUnits[r] = 0, 0
		}
		obeyed = k - 1
		if len(pending) > 0 {
			moved := 0.0
			for _, x := range pending {
				owned[x.From] -= x.Units
				owned[x.To] += x.Units
				moved += x.Units
				for _, r := range [2]int{x.From, x.To} {
					moveTransfers[r]++
					moveUnits[r] += x.Units
				}
			}
			moveTime = m.MoveFixed + m.MoveAll*moved/total
			debt += moveTime
			res.Moves++
			if Debug {
				fmt.Println(k, pending, dec.Reason, speed)
			}
		}
		if Debug && len(dec.Transfers) > 0 {
			fmt.Println(k, dec.Reason, dec.Imbalance, dec.Threshold, dec.Raw, dec.Filtered)
		}
		pending = append(pending[:0], dec.Transfers...)
	}
	res.Rate, res.None, res.Ideal = done/time, none/time, ideal/time
	return res
}
