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
	raw, filtered, level []float64 // units/s per rank: samples (0 none), filtered, of the level between changes
	computed, ratios     []float64 // s per rank, behind raw; room for shared
	common               float64   // how many times faster than at the levels that they remember all ranks are
	noise, samples       []float64 // per rank: relative deviation of a sample from the level, and how many stand behind it
	suspects             []int     // ranks whose latest sample is far off their level
	fickle               []int     // ranks whose rate is known to come and go
	work, targets, want  []float64 // units per rank: owned when all orders are obeyed, perfect, planned
	iterations, parts    []int     // owned in iterations, planned
	unit                 float64   // what a mean iteration weighs: the program's own measure
	least                []int     // iterations that a rank must keep: 1

	block, spare dist.Block // the distribution when all orders are obeyed; room for the next
	orders       []order    // Direct: not yet obeyed by all
	transfers    []dist.Transfer
	spent        bool              // transfers has become an order
	unused       [][]dist.Transfer // of orders that all have obeyed
	divider      dist.Divider

	auto      bool    // the filter is the automatic one
	heard     survey  // of the present statuses
	now       float64 // s since the start, mean over the workers
	phases    float64 // hook executions since the start, mean over the workers; 0 unknown
	measured  float64 // s of which statuses tell what was computed
	lasting   int     // decisions in a row that found an imbalance that is likely, but not certain
	rated     int     // decisions that had rates
	lastMove  int     // interaction of the last instruction that moved work, or before the first
	period    period
	cost      costModel
	transit   transit
	stall     stall
	settling  settling
	floor     floor
	outcome   outcome
	ledger    ledger
	answer    answer
	changed   bool     // a rate has changed since the last decision, and that did not expect it
	profile   *profile // nil: the weights are given
	promised  float64  // part of the time that the chosen plan saves
	shortened bool     // it goes a part of its way: keepOrder
	tolerated float64  // part of the time: an imbalance that may be noise

	pooled   pool
	tempered []float64    // rates as they will be by the answer
	measures [2][]float64 // filtered and level as they are measured, while decisions go by others

	plans              []Plan
	foreseen           Outlook
	slack              float64    // sweeps: Status.Slack
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
		raw:   make([]float64, n), computed: make([]float64, n), common: 1, filtered: make([]float64, n), level: make([]float64, n), noise: make([]float64, n), samples: make([]float64, n),
		next: make([]float64, n), part: make([]float64, n), chosen: make([]float64, n),
		work: make([]float64, n), targets: make([]float64, n), want: make([]float64, n),
		iterations: make([]int, n), parts: make([]int, n), least: make([]int, n),
		unit: 1, period: newPeriod(cfg, loop), cost: costModel{known: loop.MoveUnit}, ledger: ledger{caution: 1}, lastMove: -1,
		random:  rand.New(rand.NewPCG(cfg.Seed, 0)),
		profile: newProfile(loop),
	}
	b.tempered, b.pooled.rates = make([]float64, n), make([]float64, n)
	b.auto = spec.String() == "auto"
	for r := loop.FirstWorker; r < n; r++ {
		b.noise[r], b.samples[r] = b.ranks[r].levels.Noise(), 1
		b.least[r] = 1
		if !b.auto {
			b.ranks[r].filter = spec.New()
		}
	}
	if loop.blocks() {
		b.block, b.spare = loop.Start.Clone(), loop.Start.Clone()
	}
	return b, nil
}

// Decide answers the statuses of one interaction with one instruction. There must be one status per rank, index = rank;
// those of ranks before the first worker do no work. It panics if their number is wrong.
func (b *Balancer) Decide(statuses []Status) Decision {
	if len(statuses) != b.loop.Ranks {
		panic(fmt.Sprintf("lb: %d statuses of %d ranks", len(statuses), b.loop.Ranks))
	}
	b.divider.Least = statuses[0].Least
	if b.slack = 0; b.loop.OneByOne && isAmount(statuses[0].Slack) {
		b.slack = statuses[0].Slack
	}
	if b.loop.blocks() {
		b.divider.Least = min(b.divider.Least, b.block.Span().Len()/(b.loop.Ranks-b.loop.FirstWorker)) // as many as there are
	}
	b.adopt(statuses)
	b.learn(statuses)
	b.takeStock(statuses)
	b.weighMean()
	b.watchFloor(statuses)

	d := Decision{
		Interaction: statuses[b.loop.FirstWorker].Interaction,
		Raw:         b.raw, Filtered: b.filtered, Targets: b.targets,
	}
	target, limit := b.period.choose()
	b.believe(target)
	m := b.measure(b.work, b.filtered)
	level := m // of the levels: with the automatic filter these are the filtered rates
	if !b.auto {
		level = b.measure(b.work, b.level)
	}
	b.account(level)
	if m.slowest >= 0 {
		b.rated++
		b.period.disturbed(b.noise[m.slowest])
	}
	if b.predict(m.slowest, statuses) {
		m = b.measure(b.work, b.filtered)
		level = m
	}
	d.Imbalance, d.Threshold = m.fraction(), b.threshold()
	b.ledger.stands(d.Imbalance, b.heard.elapsed, b.stands(&d, level))
	b.divide(b.targets, b.filtered)

	b.transfers, b.promised = b.room(), 0
	waits := b.weigh(&d, statuses)
	switch {
	case waits != "":
		d.Reason = waits
	case b.cfg.Policy == On:
		b.decideOn(&d, m, level, statuses, target)
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
		b.ledger.moved(b.work)
		if b.cfg.Policy == On {
			b.answer.moved(d.Interaction, b.work, b.want, d.Filtered, b.noise)
		}
		b.commit(d.Interaction)
		b.outcome.promise(d.Interaction, b.promised)
		b.stall.ordered(d.Interaction, b.outcome.latest)
		b.settling.ordered(d.Interaction, b.now)
	}
	d.Transfers = b.transfers
	if b.loop.blocks() {
		d.To = b.block
	}
	d.Period, d.Limit = target, limit
	b.finish(&d, m)
	b.filtered, b.level = b.measures[0], b.measures[1]
	return d
}

// survey is what the statuses of one interaction say together.
type survey struct {
	elapsed    float64 // s, mean over the workers
	phase      float64 // s, mean time between two hook executions; 0 unknown
	phases     float64 // hook executions since the statuses before, mean over the workers that tell
	units      float64 // work done, sum
	owned      float64 // units, sum; in a Free loop what is left
	compute    float64 // s, computing time, sum
	interact   float64 // s, the least that a rank has lost to the interaction before, the others wait for each other; 0 unknown
	phasesLeft int     // hook executions until the loop ends, -1 if unknown
	obeyed     int     // index of the last instruction that all workers have obeyed
	mover      int     // the rank that has spent most time moving work, -1: nothing moved
	moving     float64 // s that it has spent so; below 0: nothing moved
}

func (b *Balancer) look(statuses []Status) survey {
	v := survey{phasesLeft: -1, obeyed: math.MaxInt, mover: -1, moving: -1}
	phases := 0
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		s := &statuses[r]
		if isAmount(s.Elapsed) {
			v.elapsed += s.Elapsed
			if s.Phases > 0 {
				v.phase += s.Elapsed / float64(s.Phases)
				v.phases += float64(s.Phases)
				phases++
			}
			if isAmount(s.Units) {
				v.units += s.Units
			}
			if isAmount(s.Compute) {
				v.compute += s.Compute
			}
		}
		if isAmount(s.Owned) {
			v.owned += s.Owned
		}
		if isAmount(s.Interact) && s.Interact > 0 && (v.interact == 0 || s.Interact < v.interact) {
			v.interact = s.Interact
		}
		v.phasesLeft = max(v.phasesLeft, s.PhasesLeft)
		v.obeyed = min(v.obeyed, s.Obeyed)
		if s.MoveTransfers > 0 && (v.mover < 0 || longerMove(s, &statuses[v.mover])) {
			v.mover = r
		}
	}
	if v.mover >= 0 && isAmount(statuses[v.mover].MoveTime) {
		v.moving = statuses[v.mover].MoveTime
	}
	v.elapsed /= float64(b.loop.Ranks - b.loop.FirstWorker)
	if phases > 0 {
		v.phase /= float64(phases)
		v.phases /= float64(phases)
	}
	return v
}

// longerMove reports whether s tells of a longer movement than t, or of a larger one in the same time.
func longerMove(s, t *Status) bool {
	return s.MoveTime > t.MoveTime || s.MoveTime == t.MoveTime && s.MoveUnits > t.MoveUnits
}

// learn updates what is known of rates, phases, movements and their outcome.
func (b *Balancer) learn(statuses []Status) {
	b.heard = b.look(statuses)
	b.now += b.heard.elapsed
	b.phases += b.heard.phases
	if b.heard.compute > 0 {
		b.measured += b.heard.elapsed
		b.period.reported(b.heard.elapsed)
	}
	if b.heard.phase > 0 {
		b.period.computed(b.heard.phase, b.heard.phases)
	}
	if b.heard.interact > 0 {
		b.period.interacted(b.heard.interact)
	}
	if b.heard.mover >= 0 {
		if s := &statuses[b.heard.mover]; isAmount(s.MoveTime) && isAmount(s.MoveUnits) {
			b.cost.learn(s.MoveTransfers, s.MoveUnits, s.MoveTime)
			b.period.moved(b.now, s.MoveTime)
		}
	}
	for r := range statuses {
		if s := &statuses[r]; isAmount(s.Transit) && isAmount(s.TransitUnits) && s.TransitUnits > 0 {
			b.transit.learn(s.Transit, s.TransitUnits)
		}
	}
	b.settling.observe(b.heard.obeyed, b.now, b.period.target)
	b.changed = b.rates(statuses)
	obeyed := b.heard.obeyed
	if b.loop.OneByOne {
		obeyed-- // the period in which boundaries settle says of neither distribution how fast ranks are
	}
	b.answer.observe(obeyed, b.raw)
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
	keep := b.orders[:0]
	for i := range b.orders {
		o := &b.orders[i]
		if o.interaction <= b.heard.obeyed {
			b.unused = append(b.unused, o.transfers[:0])
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

// weighMean finds unit.
func (b *Balancer) weighMean() {
	units, iterations := 0.0, 0
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		units, iterations = units+b.work[r], iterations+b.iterations[r]
	}
	if iterations > 0 {
		b.unit = units / float64(iterations)
	}
}

// room returns an empty slice for transfers.
func (b *Balancer) room() []dist.Transfer {
	if !b.spent {
		return b.transfers[:0]
	}
	b.spent = false
	n := len(b.unused)
	if n == 0 {
		return nil
	}
	free := b.unused[n-1]
	b.unused = b.unused[:n-1]
	return free
}

// commit makes the planned transfers an order.
func (b *Balancer) commit(interaction int) {
	b.lastMove = interaction
	if b.loop.blocks() {
		b.block, b.spare = b.spare, b.block
		return
	}
	// The order keeps the slice until all have obeyed it; the next plan is made in one that is free again.
	b.orders = append(b.orders, order{interaction, b.transfers})
	b.spent = true
}

// finish sets when the next interaction is, and whether there is one.
func (b *Balancer) finish(d *Decision, m balance) {
	if b.loop.Free {
		b.finishFree(d, m)
		d.NextHook = b.period.hooks(d.Period)
		return
	}
	d.NextHook = b.period.hooks(d.Period)
	if left := b.heard.phasesLeft; left >= 0 && d.NextHook > left {
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
// an interaction costs more than it can bring. That is final, so it goes by what ranks have told: what they may have done since is a guess.
func (b *Balancer) finishFree(d *Decision, m balance) {
	known := m.slowest >= 0 // there are rates and there is work
	end := m.balanced
	if !known {
		end = b.timeLeft()
	}
	switch {
	case b.cfg.Policy == Off || b.heard.owned == 0 || b.loop.Ranks-b.loop.FirstWorker < 2:
		d.Final = true
	case known && b.told(m) < b.shortest() && len(d.Transfers) == 0:
		d.Final = true
		if b.cfg.Policy == On {
			d.Reason += "; the loop ends before another interaction pays"
		}
	case end/2 < d.Period:
		d.Period, d.Limit = max(end/2, b.period.interact), "end"
	}
}

// told is T_bal in s of the work that is left by the statuses, of which m holds what was not yet done at their age.
func (b *Balancer) told(m balance) float64 {
	left := 0.0
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		left += b.work[r]
	}
	return m.balanced * b.heard.owned / left
}

// pipelined reports whether an instruction is obeyed one interaction after the one that it answers.
func (b *Balancer) pipelined() bool { return b.cfg.Interaction == Pipelined && !b.loop.OneByOne }

// remaining returns how many seconds of the loop are left once an instruction of now is obeyed; forever if unknown.
func (b *Balancer) remaining(target float64) float64 {
	left := b.heard.phasesLeft
	if left < 0 {
		return forever
	}
	time := float64(left) * b.period.phase
	switch {
	case b.pipelined():
		time -= float64(b.period.hooks(target)) * b.period.phase // obeyed one interaction later
	case b.loop.OneByOne:
		time -= b.settling.mean // 0 before the first movement: a period, which delay takes then, would leave short loops alone
	}
	return min(max(0, time), forever)
}
