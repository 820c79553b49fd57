package lb

import "math"

// Plan is a distribution that was considered, and what it costs and loses by the Outlook.
type Plan struct {
	Name string // "none", "full", "worst", "next" or "mean"
	// Then is what is done about the changes to come: "stay" with the plan, or "follow" each of them with a movement.
	Then string
	Cost float64 // s, of the movement to it
	Loss float64 // s that it loses against the perfect distribution, and by the movements that follow, until Outlook.Horizon
}

// Total is cost and loss in s.
func (p Plan) Total() float64 { return p.Cost + p.Loss }

// Outlook is what the balancer expects after a movement. The rates stay as they are for a while. Then the rank whose
// work is in question goes to another of the levels between which its rate moves, and comes back, and so on.
type Outlook struct {
	Horizon  float64 // s: until the loop ends, or for as long as it has been running where the end is unknown
	Stay     float64 // s that the rates stay as they are, from when the instruction is obeyed
	Rank     int     // whose rate changes then; -1: none is expected to
	Rate     float64 // units/s, to which
	Here     float64 // s, mean length of a visit to the present level
	There    float64 // s, and to the other one
	Reaction float64 // s from a change until an instruction that answers it is obeyed
}

// forever stands for an unknown, long time, in s. It is finite so that every number of a Decision can be recorded.
const forever = 1e9

const (
	// unknownCost is what a movement is taken to cost before the first one, in periods, where its data alone does not take longer.
	unknownCost = 1
	// dearPatience is how many times as long as rates will have been as they are when it moves they are taken to stay so, at most, by a first movement that is dear, and dearPart the part of
	// the loop that it may take for that. With prudence it then waits until the imbalance has cost as much as it will: whatever the load does, it costs twice what would have been best at most. A
	// dearer one is more at stake, and waits longer. Patience of 4 moved half a second's data of a load of a second, which went then, in a loop of 3.9 s: it took 4.5 s.
	dearPatience = 2
	dearPart     = 1. / 16
	// prudence is how many times its cost a movement must save, less one: how long rates stay as they are is a gross
	// estimate, and doing nothing costs nothing.
	prudence = 1
	// inQuestion is which part of the largest change of work a rank's must be for its habits to count.
	inQuestion = 0.9
	// asks is which part of it a rank's must be for a change of its rate to be one of what a movement answers: beside a load on one of four the others' are a third.
	asks = 0.5
	// movedPart is the least part of a mean iteration whose movement counts.
	movedPart = 0.5
)

// outlook returns what is expected where the work wants to go from b.work to b.want, and for how many s the rank whose rate will change will have been at its level when an instruction is obeyed.
func (b *Balancer) outlook(target float64) (o Outlook, age float64) {
	interval := b.period.interval(target)
	delay := b.delay(interval)
	o = Outlook{Rank: -1, Horizon: b.now, Reaction: interval + delay}
	most := b.mostMoved()
	left := b.remaining(target)
	if left < forever {
		o.Horizon = left
		// When a loop begins what is left of it is a guess, by phases that fill a pipeline and caches, and so are rates of some milliseconds.
		if cost := b.moveCost(b.work, b.want); b.firstIsDear(cost) {
			o.Horizon = min(left, dearPatience*min(1, dearPart*(b.now+left)/cost)*(b.steady(most)+delay))
		}
	}
	o.Stay = math.Inf(1)
	blur := 2 * o.Reaction // the balancer sees both ends of a visit up to a reaction late, so that equally long ones seem to differ
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		if math.Abs(b.want[r]-b.work[r]) < inQuestion*most {
			continue
		}
		levels := &b.ranks[r].levels
		been, here := levels.Stay()
		rate, there := levels.Elsewhere()
		if b.believed(r) {
			been, here, rate, there = levels.SuspectAge(), there, levels.Level(), here
		}
		if rate == 0 || here == 0 {
			continue
		}
		rate *= b.tempering(r)
		if stay := stillToStay(been, here, levels.Visits(), blur); stay < o.Stay {
			age = been + delay
			o.Stay, o.Rank, o.Rate, o.Here, o.There = stay, r, rate, here, there
		}
	}
	// Other ranks that come and go, and will be slower than now, end what this one's habits promise.
	for _, r := range b.fickle {
		levels := &b.ranks[r].levels
		if r == o.Rank {
			continue
		}
		been, here := levels.Stay()
		if rate, _ := levels.Elsewhere(); here > 0 && rate*b.tempering(r) < b.level[r] {
			o.Horizon = min(o.Horizon, max(0, stillToStay(been, here, levels.Visits(), blur)-delay))
		}
	}
	o.Stay = max(0, o.Stay-delay)
	if o.Stay < o.Horizon && left < forever {
		o.Horizon = o.Stay + (o.Horizon-o.Stay)*b.quicker()
	}
	if o.Stay >= o.Horizon {
		o.Stay, o.Rank = o.Horizon, -1
	}
	return o, age
}

// steady is for how many s the rates that ask for a movement to b.want, of which most is the largest change, have been what they are: since the latest change of one of them, or since the loop began.
func (b *Balancer) steady(most float64) float64 {
	steady := b.now
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		if math.Abs(b.want[r]-b.work[r]) < asks*most {
			continue
		}
		levels := &b.ranks[r].levels
		if b.believed(r) {
			steady = min(steady, levels.SuspectAge())
		} else if levels.Changes() > 0 {
			age, _ := levels.Stay()
			steady = min(steady, age)
		}
	}
	return steady
}

// mostMoved is the largest change, in units, of a rank's work on the way to b.want.
func (b *Balancer) mostMoved() float64 {
	most := 0.0
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		most = max(most, math.Abs(b.want[r]-b.work[r]))
	}
	return most
}

// quicker is how many s phases take on average so far, that take a second now; at most 1. What is left of the loop is reckoned by the present
// ones, which are long beside a load: once that has gone, others are no longer than they were, and less is left to win.
func (b *Balancer) quicker() float64 {
	if b.phases == 0 || b.period.phase == 0 {
		return 1
	}
	return min(1, b.now/b.phases/b.period.phase)
}

// stillToStay returns in s how long a rate that has been at its level for age will stay there, where visits last mean, give or take blur: what is
// left of the habit; of one that is hardly known, or outstayed, as long again as it has stayed already.
func stillToStay(age, mean, visits, blur float64) float64 {
	left := max(mean-age, (mean+blur-age)/2) // half of what is left at most, from when the visit may end on
	switch {
	case age < mean:
		return max(left, age/visits)
	case age < mean+blur:
		return left
	}
	return age
}

// outlast returns how many s of each visit of the rank in question to the slower of its levels a distribution outlasts on the slack that neighbours have, at the pace of the others, and which part of the
// time it loses against the perfect one meanwhile: less than none where others go on as if that rank were no slower. The rank has to catch up while it is faster than they are.
func (b *Balancer) outlast(plan, rates []float64, o Outlook) (time, lost float64) {
	if b.slack == 0 || o.Rank < 0 {
		return 0, 0
	}
	slow, fast, fastFor := rates[o.Rank], o.Rate, o.There
	if slow > fast {
		slow, fast, fastFor = fast, slow, o.Here
	}
	sumWork, sumRates, pace := 0.0, 0.0, b.leastSweep()
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		sumWork += plan[r]
		if r != o.Rank {
			sumRates += rates[r]
			pace = max(pace, plan[r]/rates[r])
		}
	}
	behind, ahead := plan[o.Rank]/slow, plan[o.Rank]/fast // s a sweep
	if !(ahead < pace && pace < behind) {
		return 0, 0
	}
	lag, caught := 1/pace-1/behind, 1/ahead-1/pace // sweeps/s
	return min(b.slack, caught*fastFor) / lag, 1 - sumWork/(sumRates+slow)/pace
}

// losses returns which part of the time a distribution loses against the perfect one, at the present rates and after the
// change that the outlook expects.
func (b *Balancer) losses(plan, rates []float64, o Outlook) (here, there float64) {
	sumWork, sumRates, others := 0.0, 0.0, 0.0
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		sumWork += plan[r]
		sumRates += rates[r]
		if plan[r] > 0 && r != o.Rank {
			others = max(others, plan[r]/rates[r]) // +Inf for a rate of 0
		}
	}
	floor := b.leastSweep()
	lost := func(sumRates, own float64) float64 {
		m := balance{current: max(others, own, floor), balanced: max(sumWork/sumRates, floor)}
		return m.fraction()
	}
	if o.Rank < 0 {
		return lost(sumRates, 0), 0
	}
	own := plan[o.Rank]
	return lost(sumRates, own/rates[o.Rank]), lost(sumRates-rates[o.Rank]+o.Rate, own/o.Rate)
}

// visits are stays at a level: so many of a length in s, and at last one that the horizon cuts off.
type visits struct{ number, length, rest float64 }

// visits are what an outlook expects after the present stay: the rank in question changes between its two levels, and comes to the other one first. Where the
// loop ends at the horizon, the last visit ends there, too; else the horizon is a guess, and cuts off as much of each.
func (o Outlook) visits(ends bool) (here, there visits) {
	if o.Rank < 0 {
		return
	}
	left, cycle := o.Horizon-o.Stay, o.Here+o.There
	number := left / cycle
	if ends {
		number = math.Floor(number)
	}
	left -= number * cycle
	rest := min(left, o.There)
	return visits{number, o.Here, left - rest}, visits{number, o.There, rest}
}

// first is the time in s in all visits that lies in the first so many s of each.
func (v visits) first(s float64) float64 { return v.number*min(v.length, s) + min(v.rest, s) }

// longer is how many visits last so many s; one that the horizon cuts off before counts in part.
func (v visits) longer(s float64) float64 {
	return v.number + min(1, v.rest/s)
}

// candidate is a plan, which part of the time it loses, now and after the next change, and how many s as long as the rates stay as they are.
type candidate struct {
	Plan
	here, there, present float64
}

// choose weighs the plans and returns the place of the best one among b.plans; its distribution is then in b.want. The
// best is the one that costs and loses least; one that moves work must also save more than prudence asks for.
func (b *Balancer) choose(rates []float64, target float64) int {
	if &rates[0] == &b.filtered[0] {
		copy(b.want, b.targets) // the same
	} else {
		b.divide(b.want, rates)
	}
	o, age := b.outlook(target)
	b.foreseen = o
	here, there := o.visits(b.remaining(target) < forever)
	chance := 0.0 // of them
	if o.Rank >= 0 {
		// A load that has come once may come again, one that has come often will.
		chance = 1 - 1/(1+b.ranks[o.Rank].levels.Visits())
		b.divideAt(b.next, rates, o.Rank, o.Rate)
	}
	trust := b.outcome.trust()
	stay := func(name string, plan []float64) candidate {
		lostHere, lostThere := b.losses(plan, rates, o)
		present, later := lostHere*o.Stay, lostHere*here.first(forever)+lostThere*there.first(forever)
		if time, lost := b.outlast(plan, rates, o); time > 0 && rates[o.Rank] < o.Rate {
			present += (lost - lostHere) * min(o.Stay, max(0, time-age))
			later += (lost - lostHere) * here.first(time)
		} else if time > 0 {
			later += (lost - lostThere) * there.first(time)
		}
		return candidate{Plan{Name: name, Then: "stay", Cost: b.moveCost(b.work, plan), Loss: trust * (present + chance*later)}, lostHere, lostThere, present}
	}
	none, full := stay("none", b.work), stay("full", b.want)
	if o.Rank >= 0 {
		// To follow means: at each change the wrong distribution for the time of the reaction, and a movement.
		rise, _ := b.losses(b.next, rates, o)
		lag := trust * (there.first(o.Reaction)*full.there + here.first(o.Reaction)*rise)
		following := chance * (lag + (there.longer(o.Reaction)+here.longer(o.Reaction))*b.moveCost(b.want, b.next))
		for _, c := range []*candidate{&none, &full} {
			if loss := trust*c.present + following; loss < c.Loss {
				c.Then, c.Loss = "follow", loss
			}
		}
	}
	b.plans = append(b.plans[:0], none.Plan)
	best, bestHere := 0, none.here
	better := func(c candidate) float64 { return max(none.here-c.here, none.there-c.there) }
	certain := func(c candidate) bool { return better(c) >= b.tolerated } // or, given time, noise would be worth a movement
	consider := func(c candidate, certain bool, plan []float64) {
		b.plans = append(b.plans, c.Plan)
		if certain && c.Total()+b.margin(c, none, o) < none.Total() && c.Total() < b.plans[best].Total() {
			best, bestHere = len(b.plans)-1, c.here
			copy(b.chosen, plan)
		}
	}
	consider(full, certain(full), b.want)
	if o.Rank >= 0 {
		next := stay("next", b.next)
		consider(next, certain(next), b.next)
		if b.slack > 0 {
			b.divideAt(b.part, rates, o.Rank, (rates[o.Rank]*o.Here+o.Rate*o.There)/(o.Here+o.There))
			mean := stay("mean", b.part)
			consider(mean, better(mean) >= quietThreshold && (certain(full) || certain(next)), b.part) // it lies between them
		}
	} else if best == 0 {
		// Where rates come and go, moving in part now means moving again soon; short of time it may be all that pays. Half
		// of the way is never the best: both cost and loss are proportional to the way.
		b.shareOut(b.part, rates)
		worst := stay("worst", b.part)
		consider(worst, certain(worst), b.part)
	}
	if best > 0 {
		copy(b.want, b.chosen)
		b.promised = none.here - bestHere
		if floor, m := b.leastSweep(), b.measure(b.work, rates); floor > m.balanced {
			b.promised *= m.balanced / floor // efficiency is by the rates
		}
	}
	return best
}

// margin is what a plan must save beyond its cost, in s: prudence times that, and where movements have not paid of late, more;
// then also some of the times in which the distribution is behind the rates.
func (b *Balancer) margin(c, none candidate, o Outlook) float64 {
	caution := b.ledger.careful(c.Cost)
	return prudence*caution*c.Cost + (caution-1)*none.here*o.Reaction
}

// shareOut fills plan with the present work, but that the slowest rank gives its surplus away: to the ranks that
// want work, in proportion, or where work moves between neighbours only, to these.
func (b *Balancer) shareOut(plan, rates []float64) {
	copy(plan, b.work)
	worst := b.measure(b.work, rates).slowest
	if worst < 0 {
		return
	}
	surplus := b.work[worst] - b.want[worst]
	plan[worst] -= surplus
	from, to := b.loop.FirstWorker, b.loop.Ranks
	if b.loop.blocks() {
		from, to = max(from, worst-1), min(to, worst+2)
	}
	wanted := func(r int) float64 {
		switch {
		case r == worst:
			return 0
		case b.loop.blocks():
			return rates[r]
		}
		return max(0, b.want[r]-b.work[r])
	}
	sum := 0.0
	for r := from; r < to; r++ {
		sum += wanted(r)
	}
	for r := from; r < to && sum > 0; r++ {
		plan[r] += surplus * wanted(r) / sum
	}
}

// divide fills to with the perfect distribution for the rates; both may be the same slice.
func (b *Balancer) divide(to, rates []float64) {
	work, sum := 0.0, 0.0
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		work += b.work[r]
		sum += rates[r]
	}
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		if sum > 0 {
			to[r] = work * (rates[r] / sum)
		} else {
			to[r] = b.work[r]
		}
	}
}

// divideAt is divide with another rate of one rank.
func (b *Balancer) divideAt(to, rates []float64, rank int, rate float64) {
	was := rates[rank]
	rates[rank] = rate
	b.divide(to, rates)
	rates[rank] = was
}

// moveCost predicts in s what the movement from one distribution to another costs.
func (b *Balancer) moveCost(from, to []float64) float64 {
	cost := b.transferCost(from, to)
	if cost > 0 {
		cost += b.stall.mean
	}
	return cost
}

// firstIsDear reports whether nothing has moved yet and what would costs so much, by its data alone, that it takes longer than a movement of unknown cost is taken to.
func (b *Balancer) firstIsDear(cost float64) bool {
	return !b.cost.seen && cost > unknownCost*b.period.target
}

// transferCost is the part of it that ranks spend on moving: costModel.predict, from the work in units alone.
func (b *Balancer) transferCost(from, to []float64) float64 {
	least, moved := 0.0, movedPart*b.unit
	if !b.cost.seen {
		for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
			if math.Abs(from[r]-to[r]) > moved {
				least = unknownCost * b.period.target
			}
		}
		if least == 0 || b.cost.known == 0 {
			return least
		}
	}
	perTransfer, perUnit := b.cost.fit()
	perTransfer = max(perTransfer, b.message())
	if b.loop.blocks() {
		cost, over := least, 0.0 // over: units over the boundary to the left
		for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
			left := math.Abs(over)
			over += from[r] - to[r]
			right := math.Abs(over)
			t := perUnit * (left + right)
			if left > moved {
				t += perTransfer
			}
			if right > moved {
				t += perTransfer
			}
			cost = max(cost, t)
		}
		return cost
	}
	// Surpluses meet deficits: a rank with k times the mean of the other side takes part in about k transfers. The one
	// that moves most sets the cost.
	var sum, count, most [2]float64
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		d, side := from[r]-to[r], 0
		if d < 0 {
			d, side = -d, 1
		}
		if d > moved {
			sum[side] += d
			count[side]++
			most[side] = max(most[side], d)
		}
	}
	cost := least
	for side, d := range most {
		transfers := 1.0
		if other := 1 - side; sum[other] > 0 {
			transfers = max(1, d*count[other]/sum[other])
		}
		if d > 0 {
			cost = max(cost, perUnit*d+perTransfer*transfers)
		}
	}
	return cost
}

// message is the least that a transfer costs, in s.
func (b *Balancer) message() float64 { return b.period.interact * interactFraction }
