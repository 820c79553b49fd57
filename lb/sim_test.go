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
// (Pipelined) or at once (Synchronous, and Loop.OneByOne). Free: each rank works on its own until its work is done; interactions come every Decision.Period.
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
	reply              float64      // s that ranks wait for an instruction where they obey it at once (Synchronous)
	slack              float64      // sweeps: Status.Slack
	stall              float64      // s that a sweep lasts at least, however work is divided
	competitors        []competitor // of ranks, beside speed
	silent             func(rank int, t float64) bool

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

	// What there was to use and what became of it, in units that the ranks could have done in the time.
	available, moving float64
	moved             float64   // units
	moveTimes         []float64 // s, when each movement ended
	moveCosts         []float64 // s that it took

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
		speed: func(int, float64) float64 { return 1 }, silent: func(int, float64) bool { return false },
		block: loop.Start.Clone()}
	for r := range loop.Ranks {
		own := loop.Start.Range(r)
		s.owned = append(s.owned, loop.Weights.Units(own))
		s.iterations = append(s.iterations, own.Len())
		s.statuses = append(s.statuses, Status{Rank: r, Obeyed: -1, PhasesLeft: -1})
	}
	s.period = b.period.target
	return s
}

// competitor shares the core of a rank with count processes by round robin: after each quantum of the rank come theirs.
type competitor struct {
	rank, count int
	quantum     float64 // s
	from        float64 // s
	on, cycle   float64 // s: there for so long of each cycle; 0: always
}

func (c competitor) there(rank int, t float64) bool {
	return c.rank == rank && t >= c.from && (c.cycle == 0 || math.Mod(t-c.from, c.cycle) < c.on)
}

// computing returns how long a rank that starts at time t takes for cpu seconds of computing.
func (s *sim) computing(r int, t, cpu float64) float64 {
	for _, c := range s.competitors {
		if !c.there(r, t) {
			continue
		}
		turn := float64(c.count+1) * c.quantum
		into := math.Mod(t-c.from, turn)
		delay := 0.0
		if into >= c.quantum { // it is not the rank's turn
			delay, into = turn-into, 0
		}
		full := math.Ceil((into+cpu)/c.quantum) - 1 // quanta that end before the work does
		return delay + cpu + max(0, full)*float64(c.count)*c.quantum
	}
	return cpu
}

// spend lets t seconds pass, in which the ranks could have done work, and returns how much.
func (s *sim) spend(t float64) (units float64) {
	for r := s.loop.FirstWorker; r < s.loop.Ranks; r++ {
		speed := s.speed(r, s.t)
		for _, c := range s.competitors {
			if c.there(r, s.t) {
				speed /= float64(c.count + 1)
			}
		}
		units += speed * t
	}
	s.available += units
	s.t += t
	return units
}

// efficiency is equation (2'): the part of the available computing time that was used.
func (s *sim) efficiency() float64 { return s.done / s.available }

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
		longest := s.stall
		for r := s.loop.FirstWorker; r < s.loop.Ranks; r++ {
			longest = max(longest, s.computing(r, s.t, s.owned[r]/s.speed(r, s.t)))
		}
		for r := s.loop.FirstWorker; r < s.loop.Ranks; r++ {
			st := &s.statuses[r]
			took := s.computing(r, s.t, s.owned[r]/s.speed(r, s.t))
			st.Units += s.owned[r]
			st.Compute += took
			st.Elapsed += longest
			st.Wait += longest - took
			st.Phases++
			s.done += s.owned[r]
		}
		s.spend(longest)
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
	s.spend(s.period)
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
	if s.loop.Free {
		for _, t := range d.Transfers {
			s.statuses[t.To].Transit += s.moveFixed + s.moveAll*t.Units/total
			s.statuses[t.To].TransitUnits += t.Units
		}
	}
	s.nextHook, s.final = d.NextHook, d.Final
	if s.loop.Free {
		s.period = d.Period
	}
	if len(d.Transfers) > 0 {
		cost := s.moveFixed + s.moveAll*moved/total
		s.moving += s.spend(cost)
		s.moves++
		s.moved += moved
		s.moveTimes, s.moveCosts = append(s.moveTimes, s.t), append(s.moveCosts, cost)
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
		if s.silent(r, s.t) {
			st.Units, st.Compute = 0, 0
		}
	}
	s.statuses[0].Slack = s.slack
	s.seen = append(s.seen[:0], s.statuses...)
	d := s.b.Decide(s.statuses)
	d.To = d.To.Clone()
	d.Transfers = append([]dist.Transfer(nil), d.Transfers...)
	s.decided = d
	for r := range s.statuses {
		s.statuses[r] = Status{Rank: r, Obeyed: s.statuses[r].Obeyed}
	}
	if s.b.pipelined() {
		if s.pending != nil {
			s.obey(s.pending)
		}
		s.pending = &d
	} else {
		s.spend(s.reply)
		for r := range s.statuses {
			s.statuses[r].Elapsed += s.reply
			s.statuses[r].Wait += s.reply
		}
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
