package lb

import (
	"math"
	"slices"

	"shiftwork/filter"
)

// rank is what the balancer knows about the speed of one rank.
type rank struct {
	filter filter.Filter
	levels filter.Levels // the levels between which the rate moves

	// Work and computing time that no sample has been made of yet: a rank that did not finish an iteration since the
	// previous status, whose clock was too coarse to time what it did, or whose loop has only just begun, is measured over
	// several statuses.
	units, compute float64
	elapsed        float64 // s since the last sample

	heard    bool // there has been a sample
	believed bool // the latest sample is far off the level and taken for a new one
	fickle   bool // its rate is known to come and go
}

// rates takes the samples out of the statuses, and what the ranks own where only they know, and returns whether the rate of any rank has changed by more than its noise.
func (b *Balancer) rates(statuses []Status) (changed bool) {
	b.suspects = b.suspects[:0]
	begun := b.now == 0 || b.wellMeasured(statuses)
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		k := &b.ranks[r]
		if isAmount(statuses[r].Elapsed) {
			k.elapsed += statuses[r].Elapsed
		}
		b.raw[r], b.computed[r] = k.sample(&statuses[r], b.filtered[r], begun)
	}
	b.common = b.shared()
	heard := 0
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		k, s := &b.ranks[r], &statuses[r]
		if raw := b.raw[r]; raw > 0 {
			changes, believed := k.levels.Changes(), b.believed(r)
			k.believed = false
			k.levels.Observe(raw/b.common, b.computed[r], k.elapsed)
			k.elapsed = 0
			b.level[r] = k.levels.Level() * b.common
			b.noise[r], b.samples[r] = k.levels.Noise(), float64(k.levels.Samples())
			if _, p := k.levels.Suspect(); p > 0 {
				b.samples[r] = 1
				if k.filter == nil {
					b.suspects = append(b.suspects, r)
				}
			}
			b.filtered[r] = b.level[r]
			if k.filter != nil {
				b.filtered[r] = k.filter.Next(raw)
			}
			k.heard = true
			// A change that the last decision went by already is no news.
			if now := k.levels.Changes(); now > changes {
				changed = changed || !believed
				if !k.fickle && k.levels.Visits() >= 2 {
					k.fickle = true
					b.fickle = append(b.fickle, r)
				}
			}
		}
		if !b.loop.blocks() {
			b.work[r], b.iterations[r] = 0, max(0, s.OwnedIterations)
			if isAmount(s.Owned) {
				b.work[r] = s.Owned
			}
			if b.loop.Free && isAmount(s.Age) {
				b.work[r] -= b.filtered[r] * s.Age
			}
		}
		if k.heard {
			heard++
		}
	}
	if heard == 0 {
		return false
	}
	if heard < b.loop.Ranks-b.loop.FirstWorker {
		b.suppose(b.filtered)
		b.suppose(b.level)
	}
	return changed
}

// suppose fills in the rates of ranks that have never been measured: they are taken to be like most of the others, the middle one of these, or the faster
// one of two in the middle. Most ranks have no load, and the mean of all would hand work from those to others that may do as much.
func (b *Balancer) suppose(rates []float64) {
	b.ratios = b.ratios[:0]
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		if b.ranks[r].heard {
			b.ratios = append(b.ratios, rates[r])
		}
	}
	slices.Sort(b.ratios)
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		if !b.ranks[r].heard {
			rates[r] = b.ratios[len(b.ratios)/2]
		}
	}
}

// shared is how many times faster than at their levels most ranks are by their latest samples: the middle one of those that have one, as before
// where few have, 1 where noise explains it. What all share says nothing of balance: iterations that have become cheaper or dearer, or a machine
// that does other things. Of two ranks nobody can tell which has changed, and ranks of a Free loop tell of different times.
func (b *Balancer) shared() float64 {
	workers := b.loop.Ranks - b.loop.FirstWorker
	if !b.auto || b.loop.Free || workers < 3 {
		return 1
	}
	noise := 0.0
	b.ratios = b.ratios[:0]
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		if level := b.ranks[r].levels.Level(); b.raw[r] > 0 && level > 0 {
			b.ratios, noise = append(b.ratios, b.raw[r]/level), max(noise, b.noise[r])
		}
	}
	n := len(b.ratios)
	if n < 3 || n <= workers/2 {
		return b.common
	}
	slices.Sort(b.ratios)
	common := min(max(1, b.ratios[(n-1)/2]), b.ratios[n/2]) // of two in the middle the one that is nearer to 1
	if common > 0 && isAmount(common) && math.Abs(common-1) > noise {
		return common
	}
	return 1
}

// wellMeasured reports whether the loop has been measured for so long that these statuses can make first rates: some quanta, in which
// also ranks that wait most of the time have computed for one or two, or, where they do not, several times as long. In a Free loop
// that ends soon it is a part of what is left.
func (b *Balancer) wellMeasured(statuses []Status) bool {
	least := b.period.sample()
	if b.loop.Free {
		least = min(least, leftShare*b.timeLeft())
	}
	switch {
	case b.measured < least:
		return false
	case b.measured >= patience*least:
		return true
	}
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		if k, c := &b.ranks[r], statuses[r].Compute; !k.heard && (!isAmount(c) || k.compute+c < computedShare*least) {
			return false
		}
	}
	return true
}

// timeLeft is the time in s until a Free loop ends if all ranks are as fast as they were together since the statuses before; forever if
// nothing has been done.
func (b *Balancer) timeLeft() float64 {
	workers := float64(b.loop.Ranks - b.loop.FirstWorker)
	if t := b.heard.owned * b.heard.compute / (b.heard.units * workers); t < forever {
		return t
	}
	return forever
}

// sample returns the raw rate that status s gives, in units/s of computing time, and the s of it; 0 if it gives none. filtered is
// the rate assumed so far, begun whether it has been measured for long enough for a first sample; until then work and time add up.
func (k *rank) sample(s *Status, filtered float64, begun bool) (raw, computed float64) {
	if !isAmount(s.Units) || !isAmount(s.Compute) {
		return 0, 0
	}
	k.units += s.Units
	k.compute += s.Compute
	computed = k.compute
	switch {
	case computed == 0, !begun:
		return 0, computed
	case k.units > 0:
		if raw = k.units / computed; !isAmount(raw) {
			raw = 0
		}
		k.units, k.compute = 0, 0
		return raw, computed
	}
	// It has computed and not finished one iteration: the rate is at most this, which says something if it is below
	// what was assumed.
	if atMost := unitsPerIteration(s) / computed; k.heard && atMost < filtered {
		return atMost, computed
	}
	return 0, computed
}

// unitsPerIteration is the mean weight of the iterations that a rank owns, 1 if it owns none.
func unitsPerIteration(s *Status) float64 {
	if s.OwnedIterations < 1 || !(s.Owned > 0) || !isAmount(s.Owned) {
		return 1
	}
	return s.Owned / float64(s.OwnedIterations)
}

// isAmount reports whether x can be an amount of work or time: not negative, not NaN, and so far from the largest number
// that products of two stay finite.
func isAmount(x float64) bool { return x >= 0 && x <= 1e100 }

// balance is how well work fits to rates (S&S 1997, section 6.2).
type balance struct {
	current  float64 // T_cur = max_i w_i/r'_i, s; +Inf if a rank has work and no rate
	balanced float64 // T_bal = sum w / sum r', s
	slowest  int     // the rank that sets T_cur, -1 if there is no work
}

// fraction is rfract = 1 - T_bal/T_cur, the part of the time that a perfect distribution saves.
func (m balance) fraction() float64 {
	switch {
	case !(m.current > 0):
		return 0
	case math.IsInf(m.current, 1):
		return 1
	}
	return max(0, 1-m.balanced/m.current)
}

// measure compares work with rates over the workers. Without any rate there is nothing to compare: it returns zero.
func (b *Balancer) measure(work, rates []float64) balance {
	m := balance{slowest: -1}
	sumWork, sumRates := 0.0, 0.0
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		sumWork += work[r]
		sumRates += rates[r]
		if work[r] <= 0 {
			continue
		}
		if t := work[r] / rates[r]; t > m.current { // +Inf for a rate of 0
			m.current, m.slowest = t, r
		}
	}
	if !(sumRates > 0) {
		return balance{slowest: -1}
	}
	m.balanced = sumWork / sumRates
	return m
}

// uncertainty is the standard error of the fraction that measure finds in the levels: that of the slowest rank's rate,
// and that of the sum of all rates. A rank's noise is measured from a few samples and may come out low by chance, so that
// of all ranks together is its floor.
func (b *Balancer) uncertainty(m balance) float64 {
	if m.slowest < 0 {
		return math.Inf(1)
	}
	common := b.commonNoise()
	sum, all := 0.0, 0.0
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		sum += b.level[r]
		all += b.level[r] * b.level[r] * b.sampleVariance(r, common)
	}
	return math.Sqrt(b.sampleVariance(m.slowest, common) + all/(sum*sum))
}

// commonNoise is the mean over the workers of the relative variance of a sample.
func (b *Balancer) commonNoise() float64 {
	sum := 0.0
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		sum += b.noise[r] * b.noise[r]
	}
	return sum / float64(b.loop.Ranks-b.loop.FirstWorker)
}

// sampleVariance is the relative variance of a rank's level by its samples, common being that of all ranks' together.
func (b *Balancer) sampleVariance(r int, common float64) float64 {
	return max(common, b.noise[r]*b.noise[r]) / b.samples[r]
}
