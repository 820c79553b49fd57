package sim

import (
	"math"
	"time"

	"shiftwork/comm"
)

// Quota is a limit on the CPU time of a rank and the loads that share it, like that of a control group: in each period they may compute for Share of it,
// as soon as they like, and then not before the next one. While a load wants to compute, too, they have the processor in turns.
type Quota struct {
	Share  float64 // of a processor, (0, 1)
	Period float64 // s, [1e-6, 1e6]
	Phase  float64 // s, [0, Period): when the first whole period begins

	// Slice is how long a turn is, in s, [0, 1e6]. The rank's begins at once when it has waited for something else and had no more than the load;
	// otherwise it waits for the end of the load's. 0: either of them has half of the processor.
	Slice float64

	Loads []Span // when a load wants to compute: one at a time, in order
}

// Span is a time.
type Span struct{ From, Until float64 } // s

// shortestPeriod, in s, keeps a run from looking at more periods than it has operations.
const shortestPeriod = 1e-6

// faults are what is wrong with a quota.
func (q Quota) faults() (wrong []string) {
	if q.Share == 0 && q.Period == 0 && q.Phase == 0 && q.Slice == 0 && q.Loads == nil {
		return nil // none
	}
	if !(q.Share > 0 && q.Share < 1) {
		wrong = append(wrong, "its share must be above 0 and below 1")
	}
	if !(q.Period >= shortestPeriod && q.Period <= longestCost) {
		wrong = append(wrong, "its period must be in [1e-6, 1e6] s")
	}
	if !(q.Slice == 0 || q.Slice >= shortestPeriod && q.Slice <= longestCost) {
		wrong = append(wrong, "its slice must be 0 or in [1e-6, 1e6] s")
	}
	if !(q.Phase >= 0 && q.Phase < q.Period) {
		wrong = append(wrong, "its phase must be in [0, period)")
	}
	last := 0.0
	for _, l := range q.Loads {
		if !(l.From >= last && l.Until > l.From && l.Until <= longestTime) {
			wrong = append(wrong, "its loads must come one after the other")
			break
		}
		last = l.Until
	}
	return wrong
}

// ration is what is left of a quota.
type ration struct {
	period, budget instant
	loads          *profile // 1 while a load wants to compute, 0 while none does

	at     instant // until when all is accounted for
	next   instant // when the next period begins
	left   instant // of this one's budget
	used   instant // by the rank
	usedUp instant // by all, in periods in which the budget ran out

	slice instant
	mine  bool    // the rank has its turn, or the load
	turn  instant // what is left of that
	owed  instant // what the load has had while both wanted to compute, less what the rank has
}

func newRation(q Quota) *ration {
	if q.Share == 0 {
		return nil
	}
	r := &ration{period: instantOf(q.Period), budget: instantOf(q.Share * q.Period), slice: instantOf(q.Slice)}
	if r.next = instantOf(q.Phase); r.next == 0 {
		r.next = r.period
	}
	r.left = r.budget
	r.loads = &profile{from: []instant{0}, speed: []float64{0}}
	for _, l := range q.Loads {
		r.loads.from = append(r.loads.from, instantOf(l.From), instantOf(l.Until))
		r.loads.speed = append(r.loads.speed, 1, 0)
	}
	return r
}

// wait goes on to t: the rank computes nothing.
func (r *ration) wait(t instant) {
	for r.at < t {
		length := min(t, r.next) - r.at
		if r.left > 0 {
			load, change := r.loads.at(r.at)
			length = min(length, change-r.at)
			if load > 0 {
				length = r.run(false, min(length, r.left))
			}
		}
		r.pass(length)
	}
}

// work returns the time in picoseconds that the units need from t on, infinite if that is beyond limit.
func (r *ration) work(t instant, units float64, speed *profile, limit instant) float64 {
	slept := r.at < t
	r.wait(t)
	if slept && r.owed >= 0 {
		r.mine, r.turn = true, r.slice
	}
	for units > 0 && r.at <= limit {
		if r.left == 0 {
			r.pass(r.next - r.at)
			continue
		}
		now, change := speed.at(r.at)
		load, ends := r.loads.at(r.at)
		length := min(r.left, min(r.next, change, ends)-r.at)
		need := instant(math.Ceil(min(units/now*picoseconds, float64(limit))))
		did := instant(0)
		switch {
		case load == 0:
			length = r.run(true, min(length, need))
			did = length
		case r.slice == 0:
			length = min(length, 2*need)
			r.spend(length)
			did = length / 2
		case r.mine == (r.turn == 0): // the rank's turn is over, or the load's is not
			length = r.run(false, length)
			r.owed += length
		default:
			length = r.run(true, min(length, need))
			r.owed -= length
			did = length
		}
		r.used += did
		if units -= now * did.seconds(); units < negligible*now {
			units = 0
		}
		r.pass(length)
	}
	if units > 0 {
		return math.Inf(1)
	}
	return float64(r.at - t)
}

// negligible, in s, is what rounding leaves of work that is done.
const negligible = 1e-12

// run lets the rank or the load compute for so long, or to the end of its turn, and returns how long that is.
func (r *ration) run(mine bool, length instant) instant {
	if r.slice > 0 {
		if r.mine != mine || r.turn == 0 {
			r.mine, r.turn = mine, r.slice
		}
		length = min(length, r.turn)
		r.turn -= length
	}
	r.spend(length)
	return length
}

// spend takes CPU time from the budget.
func (r *ration) spend(d instant) {
	if r.left -= d; r.left == 0 {
		r.usedUp += r.budget
	}
}

// pass goes on by so much, no farther than to the next period.
func (r *ration) pass(length instant) {
	if r.at += length; r.at == r.next {
		r.next += r.period
		r.left = r.budget
	}
}

var _ comm.Rationed = (*Comm)(nil)

// Quota is that of this rank's Config.Quotas.
func (c *Comm) Quota() (share, period float64) {
	if c.ration == nil {
		return 0, 0
	}
	q := c.s.cfg.Quotas[c.rank]
	return q.Share, q.Period
}

// CPUTime is how long this rank has computed, which under a quota it does not whenever it works.
func (c *Comm) CPUTime() time.Duration {
	if c.ration == nil {
		return c.worked.duration()
	}
	return c.ration.used.duration()
}

// QuotaUsedUp is what this rank and its loads have used, in s, in all periods in which their quota ran out.
func (c *Comm) QuotaUsedUp() float64 {
	if c.ration == nil {
		return 0
	}
	c.ration.wait(c.clock)
	return c.ration.usedUp.seconds()
}
