package lb

// outcome compares what movements brought with what they promised. The promise is a rise of the efficiency T_bal/T_cur by
// the rates; the outcome is the rise of the measured one,
//
//	efficiency = work done / (elapsed time x sum of the rates),
//
// from the period before the movement to the best of the first whole ones after it: a pipeline fills anew behind a movement.
// Where a sweep is shorter than a few scheduling quanta, ranks wait for each other however well the work fits their rates, and
// most of what is promised does not come.
type outcome struct {
	promised, brought float64 // sums over movements in which older ones fade
	latest            float64 // efficiency measured in the latest period

	pending     bool    // a movement is being judged
	interaction int     // whose instruction it was
	before      float64 // efficiency measured before it
	rise        float64 // promised
	periods     int     // since the movement, the one that holds it included
	after       float64 // the best efficiency of those that began after it
}

const (
	// outcomeFade is how much weight the past keeps at each new movement, outcomePrior with how much promised rise kept
	// one starts.
	outcomeFade  = 0.95
	outcomePrior = 0.2
	// outcomeFull is the part of the promises kept that is as good as all: the samples are noisy.
	outcomeFull = 0.8
	// outcomePeriods is how many periods that began after a movement may show what it has brought.
	outcomePeriods = 3
	// outcomeForget is how much is forgotten with each interaction: after some hundreds a movement is tried again.
	outcomeForget = 0.995
	// distrust is the part of the promise below which a refusal says that movements have not paid.
	distrust = 0.5
)

// trust is the part of a promised gain that is expected to come true, 0..1.
func (o *outcome) trust() float64 {
	return min(1, max(0, (o.brought+outcomePrior)/(o.promised+outcomePrior))/outcomeFull)
}

// observe takes in the efficiency of the period that has just ended. obeyed is the index of the last instruction that all
// ranks have obeyed, changed says whether the rates have changed since the movement: then it cannot be judged.
func (o *outcome) observe(efficiency float64, obeyed int, changed bool) {
	o.latest = efficiency
	o.promised, o.brought = o.promised*outcomeForget, o.brought*outcomeForget
	switch {
	case !o.pending:
	case changed:
		o.pending = false
	case obeyed < o.interaction:
		o.before = efficiency
	case o.periods == 0:
		o.periods = 1 // it holds the movement itself
	default:
		o.after = max(o.after, efficiency)
		if o.periods++; o.periods > outcomePeriods || o.after >= o.before+o.rise {
			o.judge()
		}
	}
}

func (o *outcome) judge() {
	o.promised = outcomeFade*o.promised + o.rise
	// A fall counts as nothing brought, not as less: or a few would silence the balancer for ever. The ledger counts it.
	o.brought = outcomeFade*o.brought + min(o.rise, max(0, o.after-o.before))
	o.pending = false
}

// promise notes a movement that was ordered.
func (o *outcome) promise(interaction int, rise float64) {
	if o.pending && o.periods > 1 {
		o.judge() // by what has been seen
	}
	if rise > 0 {
		o.pending, o.periods, o.after = true, 0, 0
		o.interaction, o.before, o.rise = interaction, o.latest, rise
	}
}

// ledger compares what movements have brought together with not having made any of them: the efficiency measured since, the
// time of the movements included, with the one that the distribution before the first of them would have had by the
// rates. Outcome finds promises that do not come true; the ledger finds movements that keep their promise for so short a time
// that it does not pay, whatever the outlook expected: two loads that come and go, one that comes and goes as it likes.
type ledger struct {
	before []float64 // units per rank, before the first of the movements
	moves  int
	gained float64 // s
	kept   float64 // measured efficiency over that by the rates, of periods without movements; 0 unknown

	caution float64 // 1..mostCaution
	regret  float64 // s that a movement would have saved since the imbalance is there that caution lets stand
}

const (
	// ledgerMoves is the number of movements that are judged together.
	ledgerMoves = 2
	// mostCaution bounds how much more than usual a movement must promise; cautionFade is what is left of the excess after
	// an interaction.
	mostCaution = 64
	cautionFade = 0.999
	// cautious is the caution from which on a refusal names it.
	cautious = 1.5
	// keptRecent is the weight of the latest period in kept.
	keptRecent = 0.1
)

// forget judges no movement of before any more.
func (l *ledger) forget() { l.moves, l.gained, l.regret = 0, 0, 0 }

// observe takes in the period that has just ended: its measured efficiency, its length in s, and what the efficiency by the
// rates is of the distribution before the movements.
func (l *ledger) observe(efficiency, elapsed, before float64) {
	l.caution = 1 + cautionFade*(l.caution-1)
	if l.moves > 0 {
		l.gained += (efficiency - l.kept*before) * elapsed
	}
}

// calm takes in the efficiency of a period in which nothing moved and no rate changed, measured and by the rates.
func (l *ledger) calm(measured, byRates float64) {
	switch {
	case !(byRates > 0):
	case l.kept == 0:
		l.kept = measured / byRates
	default:
		l.kept += keptRecent * (measured/byRates - l.kept)
	}
}

// judge is called before a movement is considered: were the ones before it worth their while?
func (l *ledger) judge() {
	if l.moves < ledgerMoves {
		return
	}
	if l.gained < 0 {
		l.caution = min(mostCaution, 2*l.caution)
	} else {
		l.caution = max(1, l.caution/2)
	}
	l.moves = 0
}

// careful is how many times more than usual a movement that costs so much, in s, must promise. Caution may let an imbalance stand no
// longer than until that has cost as much: nothing says that it will go, then.
func (l *ledger) careful(cost float64) float64 {
	if l.regret > l.caution*cost {
		return 1
	}
	return l.caution
}

// stands takes in that there is such an imbalance, as a part of the time, above the threshold or not, at the end of a period of so many s.
func (l *ledger) stands(imbalance, elapsed float64, above bool) {
	if !above {
		l.regret = 0
		return
	}
	l.regret += imbalance * elapsed
}

// moved notes a movement away from the given distribution.
func (l *ledger) moved(work []float64) {
	l.regret = 0
	if l.moves == 0 {
		l.before = append(l.before[:0], work...)
		l.gained = 0
	}
	l.moves++
}

// account lets the outcome and the ledger see the period that has just ended. It is called when the rates to go by
// are known, and with what they say of the present distribution.
func (b *Balancer) account(now balance) {
	rates := 0.0
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		rates += b.level[r]
	}
	if b.loop.Free || !(b.heard.elapsed > 0) || !(rates > 0) {
		return
	}
	efficiency := b.heard.units / (b.heard.elapsed * rates)
	b.outcome.observe(efficiency, b.heard.obeyed, b.changed)
	b.stall.observe(efficiency, b.heard.elapsed, b.heard.moving, b.period.target, b.heard.obeyed, b.changed)
	if !b.changed && b.heard.mover < 0 && b.heard.obeyed >= b.lastMove {
		b.ledger.calm(efficiency, 1-now.fraction())
	}
	before := 0.0
	if b.ledger.moves > 0 {
		before = 1 - b.measure(b.ledger.before, b.level).fraction()
	}
	b.ledger.observe(efficiency, b.heard.elapsed, before)
}
