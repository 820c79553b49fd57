package closedloop

import (
	"math"
	"math/rand/v2"

	"shiftwork/dist"
	"shiftwork/lb"
)

// Model is a machine and a load. Times are in seconds.
type Model struct {
	Ranks    int
	Movement lb.Movement // Adjacent or Direct
	Speeds   []float64   // of the ranks without load, 1 each if nil
	Cycle    float64     // of the load on rank 0: on for half of it. 0: no load; +Inf: always on
	Dips     float64     // probability that a rank runs at half speed in a period of one second
	Noise    float64     // relative standard deviation of a measured rate
	// A move costs MoveFixed + MoveAll x (the fraction of all work that changes its owner).
	MoveFixed, MoveAll float64
	Period             float64 // 0: as the balancer says
	Duration           float64
}

// iterations is how many a rank starts with: so many that whole ones do not matter.
const iterations = 10_000

// Loop returns the loop that the model runs, for lb.New.
func (m Model) Loop() lb.Loop {
	return lb.Loop{Ranks: m.Ranks, Movement: m.Movement, Start: dist.Even(dist.Span(0, iterations*m.Ranks), m.Ranks, 0)}
}

// Decider is a balancer.
type Decider interface {
	Decide([]lb.Status) lb.Decision
}

// Result is what a run came to. Rates are work per second, as a fraction of what all ranks do without load.
type Result struct {
	Rate  float64 // with the balancer
	None  float64 // without
	Ideal float64 // if every available cycle were used
	Moves int
	Final float64 // the part of the machine that the last distribution uses
	// Interactions is how many there were; At lists at which of them a move was obeyed.
	Interactions int
	At           []int
}

// Removed is the share of the interference penalty removed.
func (r Result) Removed() float64 { return (1/r.None - 1/r.Rate) / (1/r.None - 1/r.Ideal) }

// loaded returns which part of the period from t on the load is there.
func (m Model) loaded(t, period, phase float64) float64 {
	switch {
	case m.Cycle == 0:
		return 0
	case math.IsInf(m.Cycle, 1):
		return 1
	}
	until := func(t float64) float64 { // seconds of load until t
		cycles := math.Floor((t + phase) / m.Cycle)
		return cycles*m.Cycle/2 + min(m.Cycle/2, t+phase-cycles*m.Cycle)
	}
	return (until(t+period) - until(t)) / period
}

// Run runs the model against a balancer. Noise, phase and dips come from the seed.
func (m Model) Run(d Decider, seed uint64) Result {
	rng := rand.New(rand.NewPCG(seed, 99))
	phase := 0.0
	if m.Cycle > 0 && !math.IsInf(m.Cycle, 1) {
		phase = math.Floor(rng.Float64() * m.Cycle)
	}
	var (
		res     Result
		period  = m.Period
		free    = make([]float64, m.Ranks) // speeds in this period, but for the load
		owned   = make([]float64, m.Ranks)
		status  = make([]lb.Status, m.Ranks)
		total   = iterations * float64(m.Ranks)
		pending lb.Decision
		owed    float64 // s that the movement just ordered takes
		all     float64 // speeds, sum
	)
	if period == 0 {
		period = 10 * lb.DefaultQuantum
	}
	base := func(r int) float64 {
		if m.Speeds == nil {
			return 1
		}
		return m.Speeds[r]
	}
	for r := range owned {
		owned[r] = iterations
		all += base(r)
	}
	now, work, none, ideal := 0.0, 0.0, 0.0, 0.0
	for k := 0; now < m.Duration; k++ {
		// While work moves nobody computes, and nobody interacts: the period is longer by that.
		length := period * (1 + math.Floor(owed/period))
		on := m.loaded(now, length, phase)
		for r := range free {
			free[r] = base(r)
			if rng.Float64() < m.Dips*period {
				free[r] /= 2
			}
		}
		// The slowest paces all, in the part of the period with the load and in the one without.
		paced := 0.0
		for _, part := range []struct{ time, rank0 float64 }{{on, 0.5}, {1 - on, 1}} {
			if part.time == 0 {
				continue
			}
			balanced, equal, sum := math.Inf(1), math.Inf(1), 0.0
			for r, speed := range free {
				if r == 0 {
					speed *= part.rank0
				}
				balanced = min(balanced, speed*total/owned[r])
				equal = min(equal, speed*float64(m.Ranks))
				sum += speed
			}
			paced += part.time * balanced
			none += part.time * length * equal / all
			ideal += part.time * length * sum / all
		}
		free[0] *= 1 - on/2
		computing := length - owed
		owed = 0
		work += paced * computing / all
		now += length
		for r := range status {
			s := &status[r]
			s.Rank, s.Interaction, s.Phases, s.PhasesLeft = r, k, 1, -1
			s.Units = paced * computing * owned[r] / total * iterations
			s.Compute = s.Units / (free[r] * iterations * max(0.05, 1+m.Noise*rng.NormFloat64()))
			s.Elapsed, s.Wait = length, max(0, computing-s.Compute)
			s.Owned, s.OwnedIterations = owned[r], int(math.Round(owned[r]))
		}
		if o, ok := d.(*Oracle); ok {
			o.truth = free
		}
		decision := d.Decide(status)
		for r := range status {
			status[r] = lb.Status{Obeyed: k - 1}
		}
		if len(pending.Transfers) > 0 {
			res.Moves++
			res.At = append(res.At, k)
			owed += m.obey(pending, owned, status)
		}
		pending = decision
		pending.Transfers = append([]dist.Transfer(nil), decision.Transfers...)
		pending.To = decision.To.Clone()
		if m.Period == 0 {
			period = decision.Period
		}
		res.Interactions++
	}
	res.Rate, res.None, res.Ideal = work/now, none/now, ideal/now
	slowest, sum := math.Inf(1), 0.0
	for r := range owned {
		slowest = min(slowest, free[r]*total/owned[r])
		sum += free[r]
	}
	res.Final = slowest / sum
	return res
}

// obey moves the work and returns what it costs, in s.
func (m Model) obey(d lb.Decision, owned []float64, status []lb.Status) float64 {
	before := append([]float64(nil), owned...)
	for _, t := range d.Transfers {
		owned[t.From] -= t.Units
		owned[t.To] += t.Units
		for _, r := range [2]int{t.From, t.To} {
			status[r].MoveTransfers++
			status[r].MoveUnits += t.Units
		}
	}
	moved := 0.0
	for r := range owned {
		moved += max(0, before[r]-owned[r])
	}
	cost := m.MoveFixed + m.MoveAll*moved/(iterations*float64(m.Ranks))
	for r := range status {
		if status[r].MoveTransfers > 0 {
			status[r].MoveTime = cost
		}
	}
	return cost
}

// Oracle knows the true rates of the period that has just ended, and follows them at once. Its zero value is ready.
type Oracle struct{ truth, owned, want []float64 }

// Decide ignores what the statuses say of rates.
func (o *Oracle) Decide(statuses []lb.Status) lb.Decision {
	if o.owned == nil {
		o.owned, o.want = make([]float64, len(statuses)), make([]float64, len(statuses))
		for r, s := range statuses {
			o.owned[r] = s.Owned
		}
	}
	sum, total := 0.0, 0.0
	for r, rate := range o.truth {
		sum += rate
		total += o.owned[r]
	}
	for r, rate := range o.truth {
		o.want[r] = total * rate / sum
	}
	d := lb.Decision{Transfers: dist.Direct(o.owned, o.want)}
	copy(o.owned, o.want)
	return d
}
