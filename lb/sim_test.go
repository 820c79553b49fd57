package lb

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"shiftwork/dist"
)

// sim runs a loop in virtual time against a Balancer. Not Free: a sequence of sweeps, each as long as the slowest rank needs.
// The statuses of interaction k describe the time since interaction k-1; the instruction is obeyed at interaction k+1
// (Pipelined) or at once. Free: each rank works on its own until its work is done; interactions come every Decision.Period.
type sim struct {
	b      *Balancer
	cfg    Config
	loop   Loop
	speed  func(rank int, t float64) float64 // units/s
	noise  float64                           // relative standard deviation of a measured rate
	rng    *rand.Rand
	sweeps int // until the end, -1 unknown
	// What a move costs: all ranks stand still for moveFixed + moveAll * (fraction of all work moved), s.
	moveFixed, moveAll float64

	t          float64
	k          int
	owned      []float64
	iterations []int
	block      dist.Block
	pending    *Decision
	statuses   []Status
	nextHook   int
	period     float64
	moves      int
	done       float64
	final      bool

	seen    []Status // the statuses of the latest interaction
	decided Decision // and the decision, its slices copied
}

func newSim(t testing.TB, cfg Config, loop Loop, iterations int) *sim {
	if loop.Start.Ranks() == 0 {
		loop.Start = dist.Even(dist.Span(0, iterations), loop.Ranks, loop.FirstWorker)
	}
	b, err := New(cfg, loop)
	require.NoError(t, err)
	s := &sim{b: b, cfg: cfg, loop: loop, rng: rand.New(rand.NewPCG(7, 7)), sweeps: -1, nextHook: 1,
		speed: func(int, float64) float64 { return 1 }, block: loop.Start.Clone()}
	for r := range loop.Ranks {
		own := loop.Start.Range(r)
		s.owned = append(s.owned, loop.Weights.Units(own))
		s.iterations = append(s.iterations, own.Len())
		s.statuses = append(s.statuses, Status{Rank: r, Obeyed: -1, PhasesLeft: -1})
	}
	s.period = b.period.target
	return s
}

// work lets time pass until the next interaction.
func (s *sim) work() {
	if s.loop.Free {
		s.workFree()
		return
	}
	for range s.nextHook {
		if s.sweeps == 0 {
			return
		}
		s.sweeps = max(-1, s.sweeps-1)
		longest := 0.0
		for r := s.loop.FirstWorker; r < s.loop.Ranks; r++ {
			longest = max(longest, s.owned[r]/s.speed(r, s.t))
		}
		for r := s.loop.FirstWorker; r < s.loop.Ranks; r++ {
			st := &s.statuses[r]
			took := s.owned[r] / s.speed(r, s.t)
			st.Units += s.owned[r]
			st.Compute += took
			st.Elapsed += longest
			st.Wait += longest - took
			st.Phases++
			s.done += s.owned[r]
		}
		s.t += longest
	}
}

func (s *sim) workFree() {
	for r := s.loop.FirstWorker; r < s.loop.Ranks; r++ {
		st := &s.statuses[r]
		rate := s.speed(r, s.t)
		units := min(s.owned[r], rate*s.period)
		s.owned[r] -= units
		if s.owned[r] < 1e-9 {
			s.owned[r] = 0
		}
		s.iterations[r] = int(math.Ceil(s.owned[r]))
		st.Units += units
		st.Compute += units / rate
		st.Elapsed += s.period
		st.Phases++
		s.done += units
	}
	s.t += s.period
}

// obey moves work as d says.
func (s *sim) obey(d *Decision) {
	moved, total := 0.0, 0.0
	for r := range s.owned {
		total += s.owned[r]
	}
	for i := range d.Transfers {
		t := &d.Transfers[i]
		if s.loop.Free {
			t.Units = min(t.Units, s.owned[t.From])
		}
		s.owned[t.From] -= t.Units
		s.owned[t.To] += t.Units
		s.iterations[t.From] -= t.Iterations
		s.iterations[t.To] += t.Iterations
		moved += t.Units
		for _, r := range [2]int{t.From, t.To} {
			s.statuses[r].MoveTransfers++
			s.statuses[r].MoveUnits += t.Units
		}
	}
	if s.loop.blocks() {
		s.block = d.To
		for r := range s.owned { // exact
			own := d.To.Range(r)
			s.owned[r], s.iterations[r] = s.loop.Weights.Units(own), own.Len()
		}
	}
	for r := range s.statuses {
		s.statuses[r].Obeyed = d.Interaction
	}
	s.nextHook, s.final = d.NextHook, d.Final
	if s.loop.Free {
		s.period = d.Period
	}
	if len(d.Transfers) > 0 {
		cost := s.moveFixed + s.moveAll*moved/total
		s.t += cost
		s.moves++
		for r := range s.statuses {
			if s.statuses[r].MoveTransfers > 0 {
				s.statuses[r].MoveTime += cost
			}
			s.statuses[r].Elapsed += cost
		}
	}
}

// step runs to the next interaction and through it, and returns the decision made there.
func (s *sim) step() Decision {
	s.work()
	for r := range s.statuses {
		st := &s.statuses[r]
		st.Interaction, st.PhasesLeft = s.k, s.sweeps
		st.Owned, st.OwnedIterations = s.owned[r], s.iterations[r]
		st.Compute /= max(0.1, 1+s.noise*s.rng.NormFloat64())
	}
	s.seen = append(s.seen[:0], s.statuses...)
	d := s.b.Decide(s.statuses)
	d.To = d.To.Clone()
	d.Transfers = append([]dist.Transfer(nil), d.Transfers...)
	s.decided = d
	for r := range s.statuses {
		s.statuses[r] = Status{Rank: r, Obeyed: s.statuses[r].Obeyed}
	}
	if s.cfg.Interaction == Pipelined {
		if s.pending != nil {
			s.obey(s.pending)
		}
		s.pending = &d
	} else {
		s.obey(&d)
	}
	s.k++
	return d
}

// rate returns the fraction of the machine that the present distribution uses at time t, by the slowest rank.
func (s *sim) rate() float64 {
	longest, work, speed := 0.0, 0.0, 0.0
	for r := s.loop.FirstWorker; r < s.loop.Ranks; r++ {
		longest = max(longest, s.owned[r]/s.speed(r, s.t))
		work += s.owned[r]
		speed += s.speed(r, s.t)
	}
	return work / longest / speed
}
