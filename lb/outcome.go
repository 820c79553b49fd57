package lb

// outcome compares what movements brought with what they promised. The promise is a rise of the efficiency T_bal/T_cur by
// the rates; the outcome is the rise of the measured one,
//
//	efficiency = work done / (elapsed time x sum of the rates),
//
// from the period before the movement to the first whole one after it. Where a sweep is shorter than a few scheduling
// quanta, ranks wait for each other however well the work fits their rates, and most of what is promised does not come.
type outcome struct {
	promised, brought float64 // sums over movements in which older ones fade
	latest            float64 // efficiency measured in the latest period

	pending     bool    // a movement is being judged
	interaction int     // whose instruction it was
	before      float64 // efficiency measured before it
	rise        float64 // promised
	whole       bool    // the next period is one that began after the movement
}

const (
	// outcomeFade is how much weight the past keeps at each new movement, outcomePrior with how much promised rise kept
	// one starts: three halvings of a rank's rate, or so.
	outcomeFade  = 0.8
	outcomePrior = 0.5
	// outcomeFull is the part of the promises kept that is as good as all: the samples are noisy.
	outcomeFull = 0.8
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
	case !o.whole:
		o.whole = true // this period holds the movement itself
	default:
		o.promised = outcomeFade*o.promised + o.rise
		o.brought = outcomeFade*o.brought + min(o.rise, efficiency-o.before)
		o.pending = false
	}
}

// promise notes a movement that was ordered.
func (o *outcome) promise(interaction int, rise float64) {
	if rise > 0 {
		o.pending, o.whole = true, false
		o.interaction, o.before, o.rise = interaction, o.latest, rise
	}
}
