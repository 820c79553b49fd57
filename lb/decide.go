package lb

import (
	"fmt"
	"math"

	"shiftwork/dist"
)

// The constants of the decision (S&S 1997, sections 6.2 and 6.3).
const (
	// defaultThreshold is tfract, the paper's 0.1.
	defaultThreshold = 0.1
	// quietThreshold is the lowest value to which an automatic threshold falls where nothing has moved for
	// quietInteractions: it lets an imbalance through that stays under tfract for ever, such as a recovery on one of many
	// ranks, which is worth only (1-s)/P.
	quietThreshold    = 0.03
	quietInteractions = 8
	// falseAlarms is the number of decisions per rank in which noise may look like an imbalance once.
	falseAlarms = 100000
	// An imbalance that is likely, by so many standard errors, moves work when it was so for more than lastingDecisions in a row: then
	// waiting to be sure costs more than a move in error. Where moves are dear the profitability test says so.
	likely           = 3
	lastingDecisions = 2
	// One that noise shows in one of probable decisions moves work once it has cost, by the mean rates, worthDoubt times what the move takes:
	// whoever waits for certainty beside a load that makes rates vary by a third waits for seconds.
	probable   = 4
	worthDoubt = 2
	// coarse is the part of the threshold that whole iterations must still reach: a plan that saves less is not worth
	// its messages.
	coarse = 0.5
)

// threshold returns tfract as configured, or where the automatic one starts.
func (b *Balancer) threshold() float64 {
	switch {
	case b.cfg.NoThreshold:
		return 0
	case b.cfg.Threshold > 0:
		return b.cfg.Threshold
	}
	return defaultThreshold
}

// decideOn is the paper's Figure 21: imbalance, threshold, plan, profitability. It fills b.transfers if work moves.
func (b *Balancer) decideOn(d *Decision, m, level balance, statuses []Status, target float64) {
	if why := b.immovable(); why != "" {
		d.Reason = why
		return
	}
	if m.slowest < 0 {
		d.Reason = "no rates yet, or no work"
		return
	}
	rates, passed := b.imbalanced(d, level, statuses)
	if !passed {
		return
	}
	if &rates[0] != &b.filtered[0] {
		m = b.measure(b.work, rates)
		b.divide(b.targets, rates)
	}
	if b.loop.Free || b.cfg.NoCostBenefit {
		copy(b.want, rates)
	} else if !b.profitable(d, rates, target) {
		return
	}
	b.plan(b.want, rates, statuses)
	if len(b.transfers) == 0 {
		d.Reason = fmt.Sprintf("imbalance %.3f, but whole iterations cannot be divided better", d.Imbalance)
		return
	}
	after := b.measure(b.want, rates)
	if b.shortened && after.current > 0 {
		b.promised = min(b.promised, m.balanced/after.current-m.balanced/m.current)
	}
	if d.Plan > 0 && d.Plans[d.Plan].Name != "full" {
		return
	}
	saved := 0.0
	switch {
	case math.IsInf(m.current, 1):
		saved = 1
	case m.current > 0:
		saved = 1 - after.current/m.current
	}
	enough := coarse * d.Threshold
	if b.shortened && (b.cfg.NoCostBenefit || saved*d.Outlook.Stay > (1+prudence)*b.moveCost(b.work, b.want)) {
		enough = 0 // the rest of the way follows
	}
	if saved <= max(1e-9, enough) {
		b.transfers = b.transfers[:0]
		d.Reason = fmt.Sprintf("imbalance %.3f, but whole iterations save only %.3f", d.Imbalance, max(0, saved))
		return
	}
	switch {
	case b.loop.Free:
		b.judge(d, m, saved, rates, statuses)
	case b.cfg.NoCostBenefit:
		d.Reason = fmt.Sprintf("imbalance %.3f", d.Imbalance)
	}
}

// profitable is the profitability test: it weighs the plans, leaves the best one in b.want and reports whether it moves work.
func (b *Balancer) profitable(d *Decision, rates []float64, target float64) bool {
	b.ledger.judge()
	d.Plan = b.choose(rates, target)
	d.Plans, d.Outlook = b.plans, b.foreseen
	best := b.plans[d.Plan]
	if d.Plan == 0 {
		best = b.plans[1] // "full", to explain why not
	}
	d.Cost, d.Benefit = best.Cost, b.plans[0].Loss-best.Loss
	floor := b.leastSweep()
	dear := b.firstIsDear(d.Cost)
	switch seen := b.cost.seen; {
	case d.Plan > 0 && dear:
		d.Reason = fmt.Sprintf("imbalance %.3f; the first move, its data alone takes %.3g s, and it brings %.3g s", d.Imbalance, d.Cost, d.Benefit)
	case d.Plan > 0 && !seen:
		d.Reason = fmt.Sprintf("imbalance %.3f; the first move, its cost is unknown", d.Imbalance)
	case d.Plan > 0:
		d.Reason = fmt.Sprintf("imbalance %.3f; moving costs %.3g s and brings %.3g s", d.Imbalance, d.Cost, d.Benefit)
	case b.remaining(target) == 0:
		d.Reason = fmt.Sprintf("imbalance %.3f, but the loop ends before a move is made", d.Imbalance)
	case floor > b.measure(b.work, rates).balanced:
		d.Reason = fmt.Sprintf("imbalance %.3f, but ranks wait for messages, and a sweep takes %.3g s however it is divided: moving costs %.3g s and brings %.3g s",
			d.Imbalance, floor, d.Cost, d.Benefit)
	case b.outcome.trust() < distrust:
		d.Reason = fmt.Sprintf("imbalance %.3f, but moves have brought only %.0f%% of what they promised", d.Imbalance, 100*b.outcome.trust())
	case d.Outlook.Rank >= 0 && d.Benefit < 0:
		d.Reason = fmt.Sprintf("imbalance %.3f, but rank %d changes every %.3g s", d.Imbalance, d.Outlook.Rank, (d.Outlook.Here+d.Outlook.There)/2)
		if time, _ := b.outlast(b.work, rates, d.Outlook); time > 0 {
			d.Reason += fmt.Sprintf(", and its neighbours need not wait for %.3g s of that", time)
		} else {
			d.Reason += ": it pays to stay divided for its slow times"
		}
	case dear:
		d.Reason = fmt.Sprintf("imbalance %.3f, but the data of a first move alone takes %.3g s, and it brings %.3g s", d.Imbalance, d.Cost, d.Benefit)
	case !seen:
		d.Reason = fmt.Sprintf("imbalance %.3f; it must last a little for a first move, whose cost is unknown", d.Imbalance)
	case d.Benefit > d.Cost && b.ledger.caution > cautious:
		d.Reason = fmt.Sprintf("imbalance %.3f, but moving costs %.3g s and brings %.3g s, and the moves of late have cost more than they brought", d.Imbalance, d.Cost, d.Benefit)
	case d.Benefit > (1+prudence)*d.Cost:
		d.Reason = fmt.Sprintf("imbalance %.3f; moving costs %.3g s and would bring %.3g s, but that may be noise", d.Imbalance, d.Cost, d.Benefit)
	case d.Benefit > d.Cost:
		d.Reason = fmt.Sprintf("imbalance %.3f, but moving costs %.3g s and brings %.3g s, less than twice that", d.Imbalance, d.Cost, d.Benefit)
	default:
		d.Reason = fmt.Sprintf("imbalance %.3f, but moving costs %.3g s and brings %.3g s", d.Imbalance, d.Cost, d.Benefit)
	}
	if d.Plan > 0 && d.Plans[d.Plan].Name != "full" {
		d.Reason += fmt.Sprintf(" (plan %q)", best.Name)
	}
	return d.Plan > 0
}

// immovable returns why nothing can move, empty if something can.
func (b *Balancer) immovable() string {
	workers := b.loop.Ranks - b.loop.FirstWorker
	if workers < 2 {
		return "one worker: nowhere to move work to"
	}
	if b.loop.Free {
		return ""
	}
	total := 0
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		total += b.iterations[r]
	}
	if total <= workers {
		return fmt.Sprintf("%d iterations for %d workers: nothing to divide", total, workers)
	}
	return ""
}

// imbalanced is the threshold test. It returns the rates that the plan must follow.
//
// A fixed threshold is the paper's: rfract >= tfract. The automatic one looks at two estimates. The filtered rates react
// fast, but their noise is large and, one rank in many being unlucky, passes any fixed threshold at times. The levels, means
// since the last change, have a known error. So the fast test needs both; and where all has been quiet the levels alone may
// show a small but certain imbalance. Where the others have waited for the slowest rank a standard error is enough.
func (b *Balancer) imbalanced(d *Decision, level balance, statuses []Status) (rates []float64, passed bool) {
	auto := !b.cfg.NoThreshold && b.cfg.Threshold == 0
	certain := level.fraction()
	// The slowest of P ranks in falseAlarms decisions, by the union bound. Decisions that rest on the mean of n samples
	// are independent of each other only every n.
	noise := b.uncertainty(level)
	enough, doubt, seen := likely*noise, b.doubt(noise), noise
	if level.slowest >= 0 {
		draws := falseAlarms * float64(b.loop.Ranks-b.loop.FirstWorker) / b.samples[level.slowest]
		noise *= math.Sqrt(2 * math.Log(draws))
	}
	b.tolerated = max(quietThreshold, noise)
	if !auto {
		b.tolerated = min(b.tolerated, d.Threshold)
		if d.Imbalance < d.Threshold || d.Imbalance <= 1e-9 {
			d.Reason = fmt.Sprintf("balanced: imbalance %.3f, threshold %.3f", d.Imbalance, d.Threshold)
			return b.filtered, false
		}
		return b.filtered, true
	}
	if d.Imbalance >= d.Threshold {
		off := b.quantumError(level.slowest)
		least := max(coarse*d.Threshold, off)
		if certain >= max(least, enough) {
			b.lasting++
		} else {
			b.lasting = 0
		}
		switch {
		case b.lasting > 0 && certain >= noise:
			return b.filtered, true
		case b.lasting > lastingDecisions:
			b.tolerated = max(quietThreshold, enough)
			return b.filtered, true
		case certain >= max(least, seen) && b.isAwaited(level.slowest, statuses):
			b.tolerated = max(quietThreshold, seen)
			return b.filtered, true
		case certain >= max(least, doubt) && b.ledger.regret > worthDoubt*b.moveCost(b.work, b.targets):
			b.tolerated = max(quietThreshold, doubt)
			return b.level, true
		}
		d.Reason = fmt.Sprintf("imbalance %.3f may be noise: %.3f in the mean rates, of which %.3f is uncertain", d.Imbalance, certain, max(noise, off))
		return b.filtered, false
	}
	b.lasting = 0
	quiet := d.Interaction-b.lastMove >= quietInteractions
	if low := max(coarse*d.Threshold, seen); quiet && certain >= low && b.isAwaited(level.slowest, statuses) {
		d.Imbalance, d.Threshold, b.tolerated = certain, low, low
		return b.level, true
	}
	if low := max(quietThreshold, noise); quiet && low < d.Threshold {
		d.Threshold = low
		if certain >= low {
			d.Imbalance = certain
			return b.level, true
		}
	}
	if low := max(quietThreshold, doubt); certain >= low && b.ledger.regret > worthDoubt*b.moveCost(b.work, b.targets) {
		d.Imbalance, d.Threshold, b.tolerated = certain, low, low
		return b.level, true
	}
	d.Reason = fmt.Sprintf("balanced: imbalance %.3f, threshold %.3f", d.Imbalance, d.Threshold)
	return b.filtered, false
}

// doubt is up to which imbalance noise, of such a standard error, shows in one of probable decisions.
func (b *Balancer) doubt(noise float64) float64 {
	return noise * math.Sqrt(2*math.Log(probable*float64(b.loop.Ranks-b.loop.FirstWorker)))
}

// stands reports whether there is an imbalance that counts as regret: above the threshold, or, where that is automatic, probable by the mean rates.
func (b *Balancer) stands(d *Decision, level balance) bool {
	if d.Imbalance >= d.Threshold {
		return true
	}
	auto := !b.cfg.NoThreshold && b.cfg.Threshold == 0
	return auto && level.fraction() >= max(quietThreshold, b.doubt(b.uncertainty(level)))
}

// judge is the profitability test of a Free loop, which ends when the slowest rank has done what it owns: it cancels the
// planned transfers, which save a fraction of that time, or leaves what must be made now, and states why.
func (b *Balancer) judge(d *Decision, m balance, saved float64, rates []float64, statuses []Status) {
	d.Cost = b.cost.predict(b.transfers, b.loop.Ranks, b.message())
	d.Benefit = saved * min(m.current, forever) // as good as forever if a rank has work and no rate
	switch {
	case b.cfg.NoCostBenefit:
		d.Reason = fmt.Sprintf("imbalance %.3f", d.Imbalance)
	case d.Cost > d.Benefit:
		b.transfers = b.transfers[:0]
		d.Reason = fmt.Sprintf("imbalance %.3f, but moving costs %.3g s and brings %.3g s", d.Imbalance, d.Cost, d.Benefit)
		return
	case !b.cost.seen:
		d.Reason = fmt.Sprintf("imbalance %.3f; the first move, its cost is unknown", d.Imbalance)
	default:
		d.Reason = fmt.Sprintf("imbalance %.3f; moving costs %.3g s and brings %.3g s", d.Imbalance, d.Cost, d.Benefit)
	}
	if b.cfg.NoCostBenefit {
		return
	}
	if busy := b.later(rates, statuses); len(b.transfers) == 0 {
		d.Reason = fmt.Sprintf("imbalance %.3f, but all ranks have work for %.3g s: there is time", d.Imbalance, busy)
	}
}

// plan fills transfers so that the work comes to be divided in proportion to shares, and want with the units of each rank
// after them.
func (b *Balancer) plan(shares, rates []float64, statuses []Status) {
	first := b.loop.FirstWorker
	switch {
	case b.loop.blocks():
		b.spare = b.divider.Cut(b.spare, b.block.Span(), first, shares, b.loop.Weights)
		b.planBlocks()
	case !b.loop.Free && b.loop.Weights.Uniform():
		b.planIterations(shares)
	default:
		b.planUnits(shares, rates, statuses)
	}
}

// planBlocks plans the way from block to spare.
func (b *Balancer) planBlocks() {
	b.shortened = b.loop.OneByOne && b.keepOrder()
	b.transfers = dist.AppendAdjacent(b.transfers[:0], b.block, b.spare, b.loop.Weights)
	for r := range b.want {
		b.want[r] = b.loop.Weights.Units(b.spare.Range(r))
	}
}

// planIterations divides whole iterations of 1 unit; every worker keeps at least one.
func (b *Balancer) planIterations(shares []float64) {
	first := b.loop.FirstWorker
	total := 0
	for r := first; r < b.loop.Ranks; r++ {
		total += b.iterations[r]
	}
	b.divider.Divide(b.parts[first:], total, shares[first:], b.least[first:])
	b.transfers = dist.AppendDirect(b.transfers[:0], b.iterations[first:], b.parts[first:])
	for i := range b.transfers {
		b.transfers[i].From += first
		b.transfers[i].To += first
	}
	for r := first; r < b.loop.Ranks; r++ {
		b.want[r] = float64(b.parts[r])
	}
}

// planUnits divides work units; the senders make whole iterations of them. A transfer of less than half an iteration
// would come to nothing, and one that takes longer than the work it saves the sender, or is less than the taker does with profit, is left out.
func (b *Balancer) planUnits(shares, rates []float64, statuses []Status) {
	first := b.loop.FirstWorker
	b.divide(b.want, shares)
	if !b.loop.Free {
		for r := first; r < b.loop.Ranks; r++ { // at least one iteration each
			b.want[r] = max(b.want[r], min(b.work[r], unitsPerIteration(&statuses[r])))
		}
	}
	perTransfer, perUnit := b.cost.fit()
	b.transfers = dist.AppendDirect(b.transfers[:0], b.work[first:], b.want[first:])
	kept := b.transfers[:0]
	copy(b.want, b.work)
	for _, t := range b.transfers {
		t.From, t.To = t.From+first, t.To+first
		each := unitsPerIteration(&statuses[t.From])
		if t.Units < each/2 || b.loop.Free && t.Units < each*float64(statuses[t.To].Least) {
			continue
		}
		pays := t.Units/rates[t.From] > perTransfer+perUnit*t.Units // a rate of 0: always
		if b.loop.Free && !b.cfg.NoCostBenefit && !pays {
			continue
		}
		kept = append(kept, t)
		b.want[t.From] -= t.Units
		b.want[t.To] += t.Units
	}
	b.transfers = kept
}
