package lb

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"shiftwork/dist"
	"shiftwork/filter"
)

// Values that stand for a zero in Loop, in seconds.
const (
	DefaultQuantum  = 4e-3   // the scheduling slice of a common desktop or server kernel
	DefaultInteract = 100e-6 // a few small messages
)

// Balancer is the decision as a state machine: see the package documentation.
type Balancer struct {
	cfg  Config
	loop Loop

	ranks                []rank
	raw, filtered, level []float64 // units/s per rank: samples (0 none), filtered, mean since the last change
	work, targets, want  []float64 // units per rank: owned when all orders are obeyed, perfect, planned
	iterations, parts    []int     // owned in iterations, planned

	block, spare dist.Block // the distribution when all orders are obeyed; room for the next
	orders       []order    // Direct: not yet obeyed by all
	transfers    []dist.Transfer
	divider      dist.Divider

	now       float64 // s since the start, mean over the workers
	lastMove  int     // interaction of the last instruction that moved work, or before the first
	period    period
	cost      costModel
	outcome   outcome
	promised  float64 // part of the time that the chosen plan saves
	tolerated float64 // part of the time: an imbalance that may be noise

	plans              []Plan
	foreseen           Outlook
	next, part, chosen []float64  // units per rank of plans: perfect after the next change, partial ones, the best
	turn               int        // of the policy Rotate
	random             *rand.Rand // of the policy Random; seeded
}

// order is an instruction that some rank may not have obeyed yet.
type order struct {
	interaction int
	transfers   []dist.Transfer
}

// New returns a balancer for one loop, or all that is wrong with the configuration and the loop.
func New(cfg Config, loop Loop) (*Balancer, error) {
	if err := errors.Join(cfg.Validate(), loop.validate()); err != nil {
		return nil, err
	}
	spec, err := filter.Parse(cfg.Filter)
	if err != nil {
		return nil, err
	}
	n := loop.Ranks
	b := &Balancer{
		cfg: cfg, loop: loop,
		ranks: make([]rank, n),
		raw:   make([]float64, n), filtered: make([]float64, n), level: make([]float64, n),
		next: make([]float64, n), part: make([]float64, n), chosen: make([]float64, n),
		work: make([]float64, n), targets: make([]float64, n), want: make([]float64, n),
		iterations: make([]int, n), parts: make([]int, n),
		period: newPeriod(cfg, loop),
		random: rand.New(rand.NewPCG(cfg.Seed, 0)),
	}
	for r := loop.FirstWorker; r < n; r++ {
		if spec.String() != "auto" {
			b.ranks[r].filter = spec.New()
		}
	}
	if loop.blocks() {
		b.block, b.spare = loop.Start.Clone(), loop.Start.Clone()
	}
	return b, nil
}

// Decide answers the statuses of one interaction with one instruction. There must be one status per rank, index = rank;
// those of ranks before the first worker are ignored. It panics if their number is wrong.
func (b *Balancer) Decide(statuses []Status) Decision {
	if len(statuses) != b.loop.Ranks {
		panic(fmt.Sprintf("lb: %d statuses of %d ranks", len(statuses), b.loop.Ranks))
	}
	b.learn(statuses)
	b.takeStock(statuses)

	d := Decision{
		Interaction: statuses[b.loop.FirstWorker].Interaction,
		Raw:         b.raw, Filtered: b.filtered, Targets: b.targets,
	}
	target, limit := b.period.choose()
	b.believe(target)
	m := b.measure(b.work, b.filtered)
	d.Imbalance, d.Threshold = m.fraction(), b.threshold()
	b.divide(b.targets, b.filtered)

	b.transfers, b.promised = b.transfers[:0], 0
	switch {
	case b.cfg.Policy == On:
		b.decideOn(&d, m, statuses, target)
	case b.cfg.Policy == Off:
		d.Reason = "balancing is off"
	case b.loop.Free && m.slowest >= 0 && m.balanced < b.shortest():
		// Or the last iterations would be handed round instead of done.
		d.Reason = "the loop ends before another interaction pays"
	case b.cfg.Policy == Rotate:
		b.rotate(statuses)
		d.Reason = "rotating, whatever the rates"
	default: // Random
		b.randomise(statuses)
		d.Reason = "a random distribution, whatever the rates"
	}
	if len(b.transfers) > 0 {
		b.commit(d.Interaction)
		b.outcome.promise(d.Interaction, b.promised)
	}
	d.Transfers = b.transfers
	if b.loop.blocks() {
		d.To = b.block
	}
	d.Period, d.Limit = target, limit
	b.finish(&d, m, statuses)
	return d
}

// learn updates what is known of rates, phases, movements and stability.
func (b *Balancer) learn(statuses []Status) {
	first := b.loop.FirstWorker
	elapsed := 0.0
	slowest := first // in moving
	for r := first; r < b.loop.Ranks; r++ {
		s := &statuses[r]
		if isAmount(s.Elapsed) {
			elapsed += s.Elapsed / float64(b.loop.Ranks-first)
		}
		if s.MoveTransfers > 0 && (statuses[slowest].MoveTransfers == 0 || s.MoveTime > statuses[slowest].MoveTime) {
			slowest = r
		}
	}
	b.now += elapsed
	b.period.phases(statuses, first)
	if s := &statuses[slowest]; s.MoveTransfers > 0 && isAmount(s.MoveTime) && isAmount(s.MoveUnits) {
		b.cost.learn(s.MoveTransfers, s.MoveUnits, s.MoveTime)
		b.period.moved(b.now, s.MoveTime)
	}
	changed := b.rates(statuses)
	b.outcome.observe(b.efficiency(statuses), b.obeyed(statuses), changed)
}

// takeStock fills work and iterations: what every rank owns once all orders are obeyed.
func (b *Balancer) takeStock(statuses []Status) {
	if b.loop.blocks() {
		for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
			own := b.block.Range(r)
			b.work[r], b.iterations[r] = b.loop.Weights.Units(own), own.Len()
		}
		return
	}
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		s := &statuses[r]
		b.work[r], b.iterations[r] = 0, max(0, s.OwnedIterations)
		if isAmount(s.Owned) {
			b.work[r] = s.Owned
		}
		if b.loop.Free && isAmount(s.Age) {
			b.work[r] -= b.filtered[r] * s.Age
		}
	}
	all := b.obeyed(statuses)
	keep := b.orders[:0]
	for i := range b.orders {
		o := &b.orders[i]
		if o.interaction <= all {
			continue
		}
		for _, t := range o.transfers {
			if statuses[t.From].Obeyed < o.interaction {
				b.work[t.From] -= t.Units
				b.iterations[t.From] -= t.Iterations
			}
			if statuses[t.To].Obeyed < o.interaction {
				b.work[t.To] += t.Units
				b.iterations[t.To] += t.Iterations
			}
		}
		keep = append(keep, *o)
	}
	b.orders = keep
	for r := range b.work {
		b.work[r], b.iterations[r] = max(0, b.work[r]), max(0, b.iterations[r])
	}
}

// obeyed returns the index of the last instruction that all workers have obeyed.
func (b *Balancer) obeyed(statuses []Status) int {
	all := math.MaxInt
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		all = min(all, statuses[r].Obeyed)
	}
	return all
}

// commit makes the planned transfers an order.
func (b *Balancer) commit(interaction int) {
	b.lastMove = interaction
	if b.loop.blocks() {
		b.block, b.spare = b.spare, b.block
		return
	}
	b.orders = append(b.orders, order{interaction, append([]dist.Transfer(nil), b.transfers...)})
}

// finish sets when the next interaction is, and whether there is one.
func (b *Balancer) finish(d *Decision, m balance, statuses []Status) {
	if b.loop.Free {
		b.finishFree(d, m)
		d.NextHook = b.period.hooks(d.Period)
		return
	}
	d.NextHook = b.period.hooks(d.Period)
	if left := b.phasesLeft(statuses); left >= 0 && d.NextHook > left {
		d.NextHook, d.Limit = max(1, left), "end"
	}
}

// shortest is the time to the end of a Free loop, in s, below which nothing more is decided: where interactions would take
// more than their share of it; for the policies that move work for no reason, where it would be over before the answer.
func (b *Balancer) shortest() float64 {
	if b.cfg.Policy == On {
		return b.period.interact
	}
	return b.period.interact * interactFraction
}

// finishFree halves the way to the projected end, T_bal, with each interaction, so that the ranks end together, until
// an interaction costs more than it can bring.
func (b *Balancer) finishFree(d *Decision, m balance) {
	left := 0.0
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		left += b.work[r]
	}
	known := m.slowest >= 0 // there are rates and there is work
	switch {
	case b.cfg.Policy == Off || left == 0 || b.loop.Ranks-b.loop.FirstWorker < 2:
		d.Final = true
	case known && m.balanced < b.shortest() && len(d.Transfers) == 0:
		d.Final = true
		if b.cfg.Policy == On {
			d.Reason += "; the loop ends before another interaction pays"
		}
	case known && m.balanced/2 < d.Period:
		d.Period, d.Limit = max(m.balanced/2, b.period.interact), "end"
	}
}

// phasesLeft returns the hook executions that are left, -1 if unknown.
func (b *Balancer) phasesLeft(statuses []Status) int {
	left := -1
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		left = max(left, statuses[r].PhasesLeft)
	}
	return left
}

// remaining returns how many seconds of the loop are left once an instruction of now is obeyed; forever if unknown.
func (b *Balancer) remaining(statuses []Status, target float64) float64 {
	left := b.phasesLeft(statuses)
	if left < 0 {
		return forever
	}
	time := float64(left) * b.period.phase
	if b.cfg.Interaction == Pipelined {
		time -= float64(b.period.hooks(target)) * b.period.phase // obeyed one interaction later
	}
	return min(max(0, time), forever)
}
