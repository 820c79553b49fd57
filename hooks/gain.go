package hooks

import (
	"math"

	"shiftwork/dist"
	"shiftwork/lb"
)

// Gain is an estimate of what the loads on the ranks would have cost without balancing, and of what was left of that. It
// comes from the rates that were measured in each period k between two interactions, also the last, shorter one:
//
//	C(k)      the longest computing time of a rank in period k; Compute = sum C(k)
//	U(k)      the work units that all ranks did in it
//	start(k)  = min over ranks of rate/share: units/s that the starting shares would have allowed then, where everybody
//	            waits for the slowest
//	even(k)   = sum over ranks of rate: units/s that shares in proportion to the rates would have allowed
//
//	Start     s of computing until sum U is done at the rates start(1), start(2), ..., C(k) s at each
//	Even      the same at the rates even(k): perfect shares, at once and for nothing
//
// A load is taken to be there at its time, not at its place in the work. Start is longer than Compute, so it reaches beyond
// the end of the run, where nothing was measured: there, the rates before the end are taken again, the last one first, and if
// that is not enough, their mean. Where ranks never wait for each other (a free loop), Start is the longest time that a rank
// would have taken for its starting share at its own rates, one after the other, and Even is sum U over the sum of mean rates.
//
// What is not in it: waiting for messages, which is taken to be the same either way; a rank without iterations of its own has
// the rate that it had last. Rates measured over short periods scatter, so that the slowest of many ranks seems slower than
// it is, in Start and in Compute alike.
type Gain struct {
	Free    bool    `json:"free"`      // ranks never waited for each other
	Periods int     `json:"periods"`   // that the estimate comes from; those in which a rank's rate was unknown are left out
	Compute float64 `json:"compute_s"` // the longest computing of a rank, period by period
	Start   float64 `json:"start_s"`
	Even    float64 `json:"even_s"`
	// Overhead is what balancing took: the longest time that a rank spent moving, and the shortest that one spent in
	// interactions (the others wait for each other there).
	Overhead float64 `json:"overhead_s"`
	// Slowed says for each rank which part of Start - Even it would have been the slowest in: from 0 to 1, 1 in all.
	Slowed []float64 `json:"slowed"`
}

// Would is the time in s that uneven shares would have cost without balancing, and Did what they cost with it.
func (g Gain) Would() float64 { return max(0, g.Start-g.Even) }

// Did is the time in s that uneven shares and balancing have cost.
func (g Gain) Did() float64 { return max(0, g.Compute-g.Even) + g.Overhead }

// Removed is the part of Would that balancing saved; negative where it cost more than it brought, 0 where there was nothing
// to save.
func (g Gain) Removed() float64 {
	if g.Would() == 0 {
		return 0
	}
	return 1 - g.Did()/g.Would()
}

// estimate sums up the periods of a run. The zero value of its own makes no sense: see newEstimate.
type estimate struct {
	free   bool
	first  int // the first rank that computes
	shares [][]float64
	rates  []float64 // the last known, units/s; 0: not known yet

	periods        int
	compute, units float64
	start, even    history
	slowed         []float64 // s
	ranks          []history // of a free loop, by rank
}

// newEstimate is for a loop that begins with these shares of these weights.
func newEstimate(setup lb.Loop) *estimate {
	return &estimate{
		free: setup.Free, first: setup.FirstWorker, rates: make([]float64, setup.Ranks),
		shares: [][]float64{sharesOf(setup.Start, setup.Weights)}, slowed: make([]float64, setup.Ranks),
		ranks: make([]history, setup.Ranks),
	}
}

// sharesOf are the parts of the work that ranks own.
func sharesOf(b dist.Block, w dist.Weights) []float64 {
	shares := make([]float64, b.Ranks())
	whole := w.Units(b.Span())
	for r := range shares {
		if whole > 0 {
			shares[r] = w.Units(b.Range(r)) / whole
		}
	}
	return shares
}

// reweighed adds the starting shares by the weights of a new version; versions count from 0, the given ones, by 1.
func (e *estimate) reweighed(start dist.Block, w dist.Weights) {
	e.shares = append(e.shares, sharesOf(start, w))
}

// add takes in the statuses of one interaction.
func (e *estimate) add(statuses []lb.Status) {
	of := func(r int) (units, compute float64) { return statuses[r].Units, statuses[r].Compute }
	e.period(statuses[e.first].Weights, of)
}

// period takes in one period, in which rank r did so many units, by the weights of a version, in so many seconds.
func (e *estimate) period(version int, of func(r int) (units, compute float64)) {
	units, longest := 0.0, 0.0
	for r := e.first; r < len(e.rates); r++ {
		u, c := of(r)
		if u > 0 && c > 0 {
			e.rates[r] = u / c
		}
		units += u
		longest = max(longest, c)
		if e.free {
			e.ranks[r].add(u, c)
		}
	}
	if !(units > 0) || !(longest > 0) {
		return
	}
	if e.free {
		e.periods++
		return
	}
	shares := e.shares[min(max(0, version), len(e.shares)-1)]
	slowest, least, all := -1, math.Inf(1), 0.0
	for r := e.first; r < len(e.rates); r++ {
		all += e.rates[r]
		if shares[r] > 0 && e.rates[r]/shares[r] < least {
			slowest, least = r, e.rates[r]/shares[r]
		}
	}
	if !(least > 0) || math.IsInf(least, 0) {
		return // a rank's rate is not known yet
	}
	e.periods++
	e.compute += longest
	e.units += units
	e.start.add(longest*least, longest)
	e.even.add(longest*all, longest)
	e.slowed[slowest] += longest * (1 - least/all)
}

// gain is the estimate of the whole run: rest is what each rank did after its last status, by the weights of a version.
func (e *estimate) gain(version int, rest []tail, overhead float64) *Gain {
	e.period(version, func(r int) (units, compute float64) { return rest[r].units, rest[r].compute })
	if e.periods == 0 {
		return nil
	}
	g := &Gain{Free: e.free, Periods: e.periods, Compute: e.compute, Overhead: overhead, Slowed: e.slowed}
	if e.free {
		e.whole(g)
	} else {
		g.Start, g.Even = e.start.reach(e.units), e.even.reach(e.units)
	}
	sum := 0.0
	for _, s := range g.Slowed {
		sum += s
	}
	for r := range g.Slowed {
		if sum > 0 {
			g.Slowed[r] /= sum
		}
	}
	return g
}

// whole makes the estimate for a free loop.
func (e *estimate) whole(g *Gain) {
	units, rate := 0.0, 0.0
	for r := e.first; r < len(e.ranks); r++ {
		u, c := e.ranks[r].sums()
		units += u
		if c > 0 {
			rate += u / c
		}
		g.Compute = max(g.Compute, c)
	}
	g.Even = units / rate
	slowest := e.first
	for r := e.first; r < len(e.ranks); r++ {
		if s := e.ranks[r].reach(e.shares[0][r] * units); s > g.Start {
			slowest, g.Start = r, s
		}
	}
	g.Slowed[slowest] = 1
}

// history is how fast work was done, one piece of time after the other.
type history struct {
	pieces []piece
	each   int // periods in a piece: a power of two
	last   int // periods in the last one
}

type piece struct{ units, seconds float64 }

// mostPieces are kept; of more, neighbours are taken together.
const mostPieces = 1024

func (h *history) add(units, seconds float64) {
	if !(seconds > 0) {
		return
	}
	if h.last > 0 && h.last < h.each {
		p := &h.pieces[len(h.pieces)-1]
		p.units += units
		p.seconds += seconds
		h.last++
		return
	}
	if len(h.pieces) == mostPieces {
		for i := range mostPieces / 2 {
			p, q := h.pieces[2*i], h.pieces[2*i+1]
			h.pieces[i] = piece{p.units + q.units, p.seconds + q.seconds}
		}
		h.pieces = h.pieces[:mostPieces/2]
		h.each *= 2
	}
	h.each = max(1, h.each)
	h.pieces, h.last = append(h.pieces, piece{units, seconds}), 1
}

func (h *history) sums() (units, seconds float64) {
	for _, p := range h.pieces {
		units += p.units
		seconds += p.seconds
	}
	return units, seconds
}

// reach is the time in s after which so many units are done: at the rates of the history, then at the same backwards, then at
// their mean.
func (h *history) reach(units float64) float64 {
	time := 0.0
	n := len(h.pieces)
	for i := range 2 * n {
		p := h.pieces[min(i, 2*n-1-i)]
		if p.units >= units {
			if p.units > 0 {
				time += p.seconds * units / p.units
			}
			return time
		}
		units -= p.units
		time += p.seconds
	}
	done, seconds := h.sums()
	if done == 0 {
		return time // nothing is known
	}
	return time + units*seconds/done
}

// tail is what a rank did after its last status.
type tail struct {
	units, compute float64 // by the weights in force; s
	version        int     // of these weights
}

// spread is the smallest and the largest rate between two interactions.
type spread struct{ low, high float64 }

// leastRated is the computing in s below which a rate is not taken for one of the machine: reading the clock, cold caches
// and a scheduling slice would count for too much.
const leastRated = 1e-3

// add takes in a period.
func (s *spread) add(units, compute float64) {
	if compute < leastRated || !(units > 0) {
		return
	}
	rate := units / compute
	if s.high == 0 {
		s.low = rate
	}
	s.low, s.high = min(s.low, rate), max(s.high, rate)
}
