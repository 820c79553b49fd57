package hooks

import "math"

// grain finds out how many iterations the body wants at once. Some bodies do not care; a matrix product reads all of B for
// each call, so a call for one row takes as long as one for many. The first chunk has 1, 4, 16 ... iterations, about a 256th of
// the rank's: so little that fewer need not be tried if more turn out to be cheaper. Then four times more are tried, or two where that
// takes a balancing period, as long as that makes an iteration at least grainGain cheaper, or by more than the delay costs, or, where it does not,
// four times fewer as long as that does not make it dearer. Each length is tried twice and the faster one counts, by CPU time where that can be had, so
// that being descheduled is not taken for a property of the body; once will do where much is gained. The trials also tell what a call costs,
// and so which length is cheapest.
type grain struct {
	size              int     // iterations of the next chunk, or, once settled, of the shortest chunk that is as fast as any
	earlier, previous trial   // what was tried last, in the order in which it was
	best              float64 // work units/s at size
	samples           int
	down              bool // shorter lengths are tried
	settled           bool
	pieces            int // of a chunk, between which there are hooks: with several it need not be short

	each       int     // iterations that the rank has of a repetition
	shortest   int     // length that was tried
	longest    int     // the same
	putOff     int     // trials in a row that did not fit into what was at the front
	call       float64 // iterations that take as long as a call for none, by all that counts
	told       float64 // the same by the last two trials
	toldBefore float64 // by the two before
	quanta     float64 // scheduling quanta that an iteration keeps news and work waiting, by the latest chunk

	binding       bool  // the next chunk would be shorter but for size
	chosen        bool  // it is as long as it should be, but for cutting a repetition evenly
	doubt         doubt // where in a comparison with a chunk of another length
	before, other trial // the chunk before the shorter or longer one, and that one
	halving       bool  // the shorter chunk is half of the chosen length, not a quarter
	again         bool  // the next comparison is with a longer chunk
	agreed        int   // comparisons in a row that found the shorter chunk as fast
	rest, resting int   // chunks between comparisons, and those left before the next
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
	// grainSame is how much faster a longer chunk may be and count as equally fast.
	grainSame = 1.01
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
	grainFirstPieces = 1.0 / 32
	// grainShare bounds a trial: no chunk takes more than this part of what the rank still has to do, so that a wrong guess
	// cannot spoil the balance.
	grainShare = 1.0 / 16
	// grainSharePieces is the same where part of a chunk may be given away.
	grainSharePieces = 1.0 / 8
	// grainWorthMoving is how many iterations are worth moving, in those that a call costs.
	grainWorthMoving = 1.5
	// grainRound divides the length of longer chunks: vectors and tiles of a body that works on many iterations at once.
	grainRound = 8
	// grainWait is how many chunks the choice is trusted before the first comparison: the trials have just compared.
	grainWait = 4
	// grainDoubt is the part of the time that comparisons may cost, as far as it is known what a call costs.
	grainDoubt = 0.01
	// grainPutOff is how often in a row a trial waits for the next repetition.
	grainPutOff = 2
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
	g.best, g.longest = max(g.best, rate), max(g.longest, n)
	if g.shortest == 0 || n < g.shortest {
		g.shortest = n
	}
	first := g.previous.length == 0 && g.size > 1 // nothing to compare with, and a trial too many costs as much as it is long
	g.learnCall()
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
		g.earlier, g.previous, g.toldBefore = g.previous, trial{g.size, g.best}, g.told
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
	if longer < grainStep*shorter {
		return g.later(shorter, longer)
	}
	return max(grainGain, g.later(shorter, longer))
}

// later is how many times as long everything takes for what the longer chunk delays.
func (g *grain) later(shorter, longer int) float64 {
	return 1 + grainDelay*float64(longer-shorter)*g.quanta
}

// learnCall makes of the last two trials what a call costs: a chunk of n iterations takes as long as n + call. Iterations cannot be told from the
// call where both trials took as long. Of this and the two trials before counts what says less: one of them may have been disturbed, or have met
// light iterations, then heavy ones.
func (g *grain) learnCall() {
	if g.previous.length == 0 {
		return
	}
	n := [2]float64{float64(g.previous.length), float64(g.size)}
	rate := [2]float64{g.previous.rate, g.best}
	if g.down {
		n[0], n[1], rate[0], rate[1] = n[1], n[0], rate[1], rate[0]
	}
	few, many := n[0]/rate[0], n[1]/rate[1]
	g.told = min(max(0, few*n[1]-many*n[0])/max(many-few, 1e-9*few), n[1])
	if g.call = g.told; g.earlier.length > 0 {
		g.call = min(g.told, g.toldBefore)
	}
}

// cheapest is the length at which what calls cost, call/n of the time, and what their delay costs, grainDelay quanta n, are least.
func (g *grain) cheapest() int {
	return int(min(math.Sqrt(max(g.call, 1e-9)/(grainDelay*g.quanta)), math.MaxInt32))
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
	if !g.binding && !g.again {
		g.doubt = doubtNone // the period asks for longer chunks
		return
	}
	if !g.chosen {
		return // a repetition's rest, or the end is near
	}
	switch g.doubt {
	case doubtNone:
		if g.resting--; g.resting <= 0 {
			g.before, g.doubt = trial{n, rate}, doubtOther
		}
	case doubtOther:
		g.other, g.doubt = trial{n, rate}, doubtAfter
	case doubtAfter:
		mean := (g.before.rate + rate) / 2
		if g.again {
			if g.again, g.doubt = false, doubtNone; g.other.rate > mean*g.worth(g.before.length, g.other.length) {
				g.size = g.other.length
			}
			g.rest = max(grainWait, g.restByCost())
			g.resting = g.rest
			return
		}
		same := max(grainSame, g.later(g.other.length, n))
		if g.before, g.doubt = (trial{n, rate}), doubtOther; g.other.rate*same < mean {
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

// wanted is the length of the next chunk where the period asks for regular.
func (g *grain) wanted(regular int) int {
	n := g.shortened()
	switch {
	case g.doubt != doubtOther:
		n = g.size
	case g.again:
		n = grainStep * max(g.size, regular)
	}
	return min(max(n, regular), g.each)
}

// shortened is the length that is compared with the chosen one. The trials have missed by half of their step at most; once that has turned
// out to be as good, there is more wrong.
func (g *grain) shortened() int {
	if g.halving {
		return max(1, min(g.size, g.each)/grainHalfStep)
	}
	return max(1, min(g.size, g.each)/grainStep)
}

// settle stops trying. What is cheapest may be longer than size, if that long has been tried.
func (g *grain) settle(size int) {
	g.settled, g.halving = true, true
	g.size = max(1, size)
	if g.quanta > 0 {
		g.size = max(g.size, min(g.cheapest(), g.longest))
	}
	g.rest = max(grainWait, g.restByCost())
	g.resting = g.rest
}

// restByCost is after how many chunks a comparison, which costs a call more, takes a part of their time that is small enough.
func (g *grain) restByCost() int {
	return int(min(g.call/(grainDoubt*float64(g.size)), grainRest))
}

// extrapolate settles where a longer trial would take too much of the work: at what is cheapest, though nobody has tried it, from the length
// of the last trial but one up to that of the next one and to most.
func (g *grain) extrapolate(most int) {
	next, last, before := g.size, g.previous, g.earlier
	g.settle(max(last.length, next/grainStep))
	if before.rate > 0 && last.rate > before.rate {
		g.size = max(before.length, min(g.cheapest(), max(g.size, min(next, most))))
	}
	g.rest, g.resting = grainWait, grainWait
}

// next is the length of the next chunk, in iterations, of a rank that would do `regular` of them between two hooks and
// has `left` to do, each repetition counted, `front` of them at once at most, and `each` in each repetition. As the end
// comes near, no chunk takes more than half of what is left, or the fewest. What is at the front is cut evenly, where
// more follows, and in multiples of grainRound.
func (g *grain) next(regular, left, front, each int) int {
	g.each = each
	if g.size == 0 {
		first := grainFirst * float64(front)
		if g.pieces > 1 {
			first = grainFirstPieces * float64(front)
		}
		for g.size = 1; !g.settled && float64(grainStep*g.size) <= first; g.size *= grainStep {
		}
	}
	if !g.settled && !g.down && g.size > 1 {
		if g.putOff++; g.size <= front {
			g.putOff = 0 // else this is a repetition's rest, or has come from elsewhere
		}
		if g.size > each || g.putOff > grainPutOff || float64(g.size) > g.mostOf(left) {
			whole := each
			if g.pieces > 1 {
				whole *= grainHalfStep // it may come to have more
			}
			g.extrapolate(min(whole, int(2*g.mostOf(left))))
		}
	}
	want := g.size
	if g.settled {
		g.binding = g.size > max(1, regular)
		want = g.wanted(regular)
	}
	last := g.fewest()
	if g.settled && g.pieces > 1 {
		last *= 2 * g.pieces // a piece of so many takes as long as twice the fewest whole ones, which would not be cut
	}
	most := min(max(left/2, last), front)
	n := min(want, most)
	g.chosen = n == want
	if g.settled && left > front && n > 0 {
		if g.doubt != doubtOther {
			n = g.evenly(front, n)
		}
		g.chosen = g.chosen || n == front && grainStep*n >= (grainStep-1)*want
	}
	if n > grainRound {
		n = min((n+grainRound-1)/grainRound*grainRound, most)
	}
	if left <= front && (left <= last || left-n < g.fewest()) {
		n = left
	}
	return max(1, n)
}

// mostOf is how many of those that are left a trial may take.
func (g *grain) mostOf(left int) float64 {
	if g.pieces > 1 {
		return grainSharePieces * float64(left)
	}
	return grainShare * float64(left)
}

// fewest is how many iterations a chunk has at least, the rest of a repetition aside: what a call costs, and no less than has been tried. A body that waits for the memory takes as
// long for a few iterations as for all that it could do meanwhile, which a line through two lengths above that does not show.
func (g *grain) fewest() int { return max(int(math.Ceil(g.call)), g.shortest) }

// evenly cuts so many iterations into chunks of n at most, or one of them into fewer by what a call costs, and returns the length of the
// first: what remains behind chunks of just n would be short, and dear where a call costs much.
func (g *grain) evenly(iterations, n int) int {
	chunks := max(1, (iterations-int(g.call)+n-1)/n)
	return (iterations + chunks - 1) / chunks
}

// least is how many iterations are worth moving: the taker needs a call more for them.
func (g *grain) least() int { return max(int(grainWorthMoving*g.call), g.shortest) }
