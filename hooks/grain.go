package hooks

import "math"

// grain finds out how many iterations the body wants at once. Some bodies do not care; a matrix product reads all of B for
// each call, so a call for one row takes as long as one for many. The first chunk has 1, 4, 16 ... iterations, about a 256th of
// the rank's: so little that fewer need not be tried if more turn out to be cheaper. Then four times more are tried, or two where that
// takes a balancing period, as long as that makes an iteration at least grainGain cheaper, or by more than the delay costs, or, where it does not,
// four times fewer as long as that does not make it dearer. Each length is tried twice and the faster one counts, by CPU time where that can be had, so
// that being descheduled is not taken for a property of the body; once will do where much is gained.
type grain struct {
	size              int     // iterations of the next chunk, or, once settled, of the shortest chunk that is as fast as any
	earlier, previous trial   // what was tried last, in the order in which it was
	best              float64 // work units/s at size
	samples           int
	down              bool // shorter lengths are tried
	settled           bool
	pieces            bool // there are hooks within a chunk, so that it need not be short

	first, firstRate float64 // length of the first trial, and its rate
	call             float64 // iterations that take as long as a call for none, by the trials
	quanta           float64 // scheduling quanta that an iteration keeps news and work waiting, by the latest chunk

	binding       bool    // the next chunk would be shorter but for size
	doubt         doubt   // where in a comparison with a chunk of another length
	before, other float64 // work units/s: of the chunk before the shorter or longer one, and of that one
	halving       bool    // the shorter chunk is half of the chosen length, not a quarter
	again         bool    // the next comparison is with a longer chunk
	agreed        int     // comparisons in a row that found the shorter chunk as fast
	rest, resting int     // chunks between comparisons, and those left before the next
}

// trial is a length in iterations and its rate in work units/s; 0, 0: none.
type trial struct {
	length int
	rate   float64
}

// doubt says which chunk of a comparison comes next.
type doubt int

const (
	doubtNone  doubt = iota
	doubtOther       // half of the chosen length, or a quarter; or four times as long
	doubtAfter       // the chosen length, to be compared with that and the one before
)

const (
	grainStep, grainHalfStep = 4, 2
	grainGain                = 1.05
	// grainPeriod is the usual balancing period in quanta, (15).
	grainPeriod = 10
	// grainClear is a gain that one trial proves.
	grainClear = 1.5
	// grainDelay is the part of the time that balancing loses for each quantum that a chunk takes: news of a load, and work that is to
	// move, wait until it is done.
	grainDelay   = 0.002
	grainSamples = 2
	// longTrial is how many quanta a trial may take before one of its length will do, longChunk how many a chunk may take before its length
	// is held to be a mistake on weaker evidence.
	longTrial, longChunk = 4, 4 * grainPeriod
	// grainFirst is the part of a rank's iterations that the first trial takes, or down to a quarter of that.
	grainFirst = 1.0 / 256
	// grainFirstPieces is the same where news and work do not wait for the end of a chunk.
	grainFirstPieces = 1.0 / 64
	// grainShare bounds a trial: no chunk takes more than this part of what the rank still has to do, so that a wrong guess
	// cannot spoil the balance.
	grainShare = 1.0 / 16
	// grainWorthMoving is how many iterations are worth moving, in those that a call costs.
	grainWorthMoving = 1.5
	// grainWait is how many chunks the choice is trusted before the first comparison: the trials have just compared.
	grainWait = 4
	// grainDoubt is the part of the time that comparisons may cost, as far as it is known what a call costs.
	grainDoubt = 0.01
	// grainRest is the most chunks from one comparison to the next, which costs a body that does like long chunks one
	// short one: about 1 % of the time at a chunk in 64 of a body that is twice as slow.
	grainRest = 64
)

// learn takes in the rate of a chunk of n iterations, how many scheduling quanta it took, and into how many parts hooks within cut it.
func (g *grain) learn(n int, rate, quanta float64, parts int) {
	g.quanta = quanta / float64(n*parts)
	if g.settled {
		g.reconsider(n, rate, quanta > longChunk)
		return
	}
	if n != g.size {
		return
	}
	g.best = max(g.best, rate)
	first := g.previous.length == 0 && g.size > 1 // nothing to compare with, and a trial too many costs as much as it is long
	g.learnCall(float64(n), rate)
	clear := first || !g.down && g.previous.length > 0 && g.best > grainClear*g.previous.rate
	if g.samples++; g.samples < grainSamples && quanta < longTrial && !clear {
		return
	}
	switch {
	case g.down && g.best*grainGain < g.previous.rate:
		g.settle(g.size * grainStep)
	case g.down:
		g.shorter()
	case g.previous.length > 0 && g.best < g.worth(g.previous.length, g.size)*g.previous.rate:
		if g.earlier.length > 0 {
			g.settle(g.previous.length)
			// One trial, perhaps while others read all of B for a few rows each, is weak evidence, and another costs little if it is no longer
			// than a balancing period.
			if g.step() == grainStep {
				g.again, g.resting = true, grainWait
			}
			return
		}
		g.size, g.best, g.down = g.previous.length, g.previous.rate, true // longer ones are no better, from the first length on
		g.shorter()
	default:
		g.earlier, g.previous = g.previous, trial{g.size, g.best}
		g.best, g.samples = 0, 0
		g.size *= g.step()
	}
}

// step is how many times longer than the last one the next trial is.
func (g *grain) step() int {
	if float64(grainStep*g.size)*g.quanta > grainPeriod {
		return grainHalfStep
	}
	return grainStep
}

// worth is how many times faster than a shorter chunk a longer one must be. A chunk that is too short cannot be made up for
// later, one that is too long is found out.
func (g *grain) worth(shorter, longer int) float64 {
	later := 1 + grainDelay*float64(longer-shorter)*g.quanta
	if longer < grainStep*shorter {
		return later
	}
	return max(grainGain, later)
}

// learnCall makes of two trials what a call costs: a chunk of n iterations takes as long as n + call. Iterations cannot be told
// from the call where both trials took as long.
func (g *grain) learnCall(n, rate float64) {
	if g.firstRate == 0 {
		g.first = n
	}
	if n == g.first {
		g.firstRate = max(g.firstRate, rate)
	}
	if few, many := g.first/g.firstRate, n/g.best; n > g.first {
		g.call = min(max(0, (few*n-many*g.first)/max(many-few, 1e-9*few)), n)
	}
}

// shorter goes on to a quarter of a length that is good enough.
func (g *grain) shorter() {
	if g.size == 1 {
		g.settle(1)
		return
	}
	g.previous = trial{g.size, max(g.previous.rate, g.best)}
	g.best, g.samples = 0, 0
	g.size = max(1, g.size/grainStep)
}

// reconsider takes in the rate of a chunk of n iterations once the length is chosen. long says that it took so much time
// that an error is dear.
func (g *grain) reconsider(n int, rate float64, long bool) {
	if !g.binding || n != g.length() {
		g.doubt = doubtNone // the end is near, or the period asks for longer chunks
		return
	}
	switch g.doubt {
	case doubtNone:
		if g.resting--; g.resting <= 0 {
			g.before, g.doubt = rate, doubtOther
		}
	case doubtOther:
		g.other, g.doubt = rate, doubtAfter
	case doubtAfter:
		mean := (g.before + rate) / 2
		if g.again {
			if g.again, g.doubt = false, doubtNone; g.other > mean*g.worth(g.size, grainStep*g.size) {
				g.size *= grainStep
			}
			g.rest = max(grainWait, g.restByCost())
			g.resting = g.rest
			return
		}
		g.before, g.doubt = rate, doubtOther
		if g.other*grainGain < mean {
			g.agreed, g.doubt, g.halving = 0, doubtNone, !g.halving
			g.rest = min(max(2*max(1, g.rest), g.restByCost()), grainRest)
			g.resting = g.rest
		} else if g.agreed++; g.agreed == grainSamples || long {
			g.size = g.shortened()
			g.agreed, g.doubt, g.halving = 0, doubtNone, false
			g.rest = g.restByCost()
			g.resting = g.rest
		}
	}
}

// length is that of the next chunk, where the choice and not the period sets it.
func (g *grain) length() int {
	switch {
	case g.doubt != doubtOther:
		return g.size
	case g.again:
		return grainStep * g.size
	}
	return g.shortened()
}

// shortened is the length that is compared with the chosen one. The trials have missed by half of their step at most; once that has turned
// out to be as good, there is more wrong.
func (g *grain) shortened() int {
	if g.halving {
		return max(1, g.size/grainHalfStep)
	}
	return max(1, g.size/grainStep)
}

// settle stops trying.
func (g *grain) settle(size int) {
	g.settled, g.halving = true, true
	g.size = max(1, size)
	g.rest = max(grainWait, g.restByCost())
	g.resting = g.rest
}

// restByCost is after how many chunks a comparison, which costs a call more, takes a part of their time that is small enough.
func (g *grain) restByCost() int {
	return int(min(g.call/(grainDoubt*float64(g.size)), grainRest))
}

// extrapolate settles where a longer trial would take too much of the work. An iteration takes a + b/length by the last two
// trials. Taken is the length n at which that and what its delay costs are least, b/(a n) + grainDelay quanta n, unheard: from that of
// the last trial but one up to that of the next one and to most.
func (g *grain) extrapolate(most int) {
	longest := min(g.size, most)
	last, before := g.previous, g.earlier
	g.settle(max(last.length, g.size/grainStep))
	if !(before.rate > 0 && last.rate > before.rate) {
		return
	}
	b := (1/before.rate - 1/last.rate) / (1/float64(before.length) - 1/float64(last.length))
	a := 1/last.rate - b/float64(last.length)
	g.size = max(g.size, longest)
	if n := math.Sqrt(b / (a * grainDelay * g.quanta)); a > 0 && n < float64(g.size) {
		g.size = max(int(n), before.length)
	}
	g.rest, g.resting = grainWait, grainWait // a length that nobody has tried
}

// next is the length of the next chunk, in iterations, of a rank that would do `regular` of them between two hooks and
// has `left` to do, each repetition counted, `front` of them at once at most. As the end comes near, no chunk takes more
// than half of what is left, or what a call costs.
func (g *grain) next(regular, left, front int) int {
	if g.size == 0 {
		first := grainFirst * float64(front)
		if g.pieces {
			first = grainFirstPieces * float64(front)
		}
		for g.size = 1; !g.settled && float64(grainStep*g.size) <= first; g.size *= grainStep {
		}
	}
	if !g.settled && !g.down && g.size > 1 && (g.size > front || float64(g.size) > grainShare*float64(left)) {
		g.extrapolate(min(front, int(2*grainShare*float64(left))))
	}
	n := g.size
	if g.settled {
		g.binding = g.size > max(1, regular)
		n = max(g.length(), regular)
	}
	n = min(n, max(left/2, int(g.call)), front)
	if float64(left-n) < g.call && left <= front {
		n = left
	}
	return max(1, n)
}

// least is how many iterations are worth moving: the taker needs a call more for them.
func (g *grain) least() int { return int(grainWorthMoving * g.call) }
