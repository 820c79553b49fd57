package lb

import (
	"math"
	"slices"
)

// answer learns how the rates of ranks answer to their own work. A rank with a core of its own computes as fast whatever it
// owns. Ranks that share one do not: one that has little work runs in bursts too short to be interrupted and looks fast, one
// that has much is descheduled in the midst of it and looks slow,
//
//	r(w') = r(w) (w'/w)^-e
//
// and to give each what it looks worth makes the slow one fast and the fast one slow, for ever, where e is near 1 or above. The
// answer to that is a shorter step. Where all ranks end together if rates answer like this,
//
//	w'_i ~ (r_i w_i^e)^(1/(1+e))
//
// e is the median over ranks and movements of what each shows, -ln(r(w')/r(w)) / ln(w'/w), where r(w) is what the plan took the rate to
// be; it counts only where two thirds of them show one. A load that comes or goes concerns one rank or a few, and not
// because work has moved.
type answer struct {
	shown  []float64 // the latest ones, in no order
	oldest int       // place of the oldest once there are answerSamples
	sorted []float64 // scratch

	pending     bool // a movement that rates will answer
	interaction int  // whose instruction it was
	x, assumed  []float64
}

const (
	// answerLeast is the smallest change of a rank's work, as |ln(w'/w)|, that shows anything, aboveNoise how many times the relative
	// noise of its rate it must be: what work moved for may have been that noise, which does not last.
	answerLeast, aboveNoise = 0.25, 2.5
	// answerSamples is how many are kept, answerFew how many it takes.
	answerSamples, answerFew = 32, 6
	// answerFloor is what two thirds of them must show.
	answerFloor = 0.2
	// answerMost bounds e: steps become no shorter than a third.
	answerMost = 2
)

// moved notes a movement to the given work, planned for these rates.
func (a *answer) moved(interaction int, from, to, rates, noise []float64) {
	a.pending, a.interaction = true, interaction
	a.assumed = append(a.assumed[:0], rates...)
	a.x = a.x[:0]
	for r := range from {
		x := 0.0
		if from[r] > 0 && to[r] > 0 {
			x = math.Log(to[r] / from[r])
		}
		if math.Abs(x) < max(answerLeast, aboveNoise*noise[r]) {
			x = 0
		}
		a.x = append(a.x, x)
	}
}

// observe takes in the samples of the first period after the movement; obeyed is the latest instruction that all ranks have obeyed.
func (a *answer) observe(obeyed int, raw []float64) {
	if !a.pending || obeyed < a.interaction {
		return
	}
	a.pending = false
	for r := 0; r < len(a.x); r += (len(a.x) + answerSamples - 1) / answerSamples { // of many ranks some are enough
		if x := a.x[r]; x != 0 && raw[r] > 0 && a.assumed[r] > 0 {
			a.show(-math.Log(raw[r]/a.assumed[r]) / x)
		}
	}
}

func (a *answer) show(e float64) {
	if len(a.shown) < answerSamples {
		a.shown = append(a.shown, e)
		return
	}
	a.shown[a.oldest] = e
	a.oldest = (a.oldest + 1) % answerSamples
}

// exponent is e, 0 where nothing certain is known.
func (a *answer) exponent() float64 {
	n := len(a.shown)
	if n < answerFew {
		return 0
	}
	a.sorted = append(a.sorted[:0], a.shown...)
	slices.Sort(a.sorted)
	if a.sorted[n/3] < answerFloor {
		return 0
	}
	return min(answerMost, a.sorted[n/2])
}

// temper fills to with the rates that ranks will have once each owns its part by them, work being what they own now, and returns
// whether they differ from the present ones.
func (a *answer) temper(to, rates, work []float64) bool {
	e := a.exponent()
	if e == 0 {
		return false
	}
	sum, parts := 0.0, 0.0
	for r := range rates {
		if to[r] = 0; rates[r] > 0 && work[r] > 0 {
			to[r] = math.Pow(rates[r]*math.Pow(work[r], e), 1/(1+e))
			sum += work[r]
			parts += to[r]
		}
	}
	// Parts of the work so far. The time c^(1+e) in which all end, c being work by part, makes rates of them. One that has no work does
	// not answer.
	c := math.Pow(sum/parts, -e)
	for r := range rates {
		if to[r] *= c; to[r] == 0 {
			to[r] = rates[r]
		}
	}
	return true
}

// predict makes the decision go by the rates that ranks will have after it, as far as they are known: pooled and, by their answer, tempered. Where
// iterations are timed, rates may change with the work because it is other work, which the profile answers for. It returns whether these
// rates are others than those that were measured.
func (b *Balancer) predict(slowest int, statuses []Status) bool {
	b.measures = [2][]float64{b.filtered, b.level}
	if !b.auto || b.loop.Free || slowest < 0 {
		return false
	}
	b.pool(slowest, statuses)
	b.filtered, b.level = b.pooled.rates, b.pooled.rates // with the automatic filter both are the same
	slowest = b.measure(b.work, b.filtered).slowest      // the others wait for it: then it has too much to do, whatever its rate will be
	if !b.profile.timed() && !b.isAwaited(slowest, statuses) && b.answer.temper(b.tempered, b.filtered, b.work) {
		b.filtered, b.level = b.tempered, b.tempered
	}
	return true
}

// tempering is how many times a rate that a rank's levels remember the one is that the decision goes by.
func (b *Balancer) tempering(r int) float64 {
	if was := b.measures[0]; len(was) > 0 && was[r] > 0 {
		return b.common * (b.filtered[r] / was[r])
	}
	return b.common
}
