package lb

import (
	"cmp"
	"math"
	"slices"
)

// pool takes ranks for equally fast whose rates no sample tells apart. Of four equal ranks the rates of a few samples differ by a tenth or two, and
// to divide work in proportion to these is to make an imbalance of what was none, which then stands until it is certain. Machines are bought by the
// dozen: where nothing is known to the contrary, ranks are as fast as each other. One that is not stands out the sooner the more it differs.
type pool struct {
	order []int     // workers by rate; scratch
	rates []float64 // units/s per rank
}

// distinct is by how many standard errors a rate must be above the mean of the slower ones to be another one.
const distinct = 3

// pool fills b.pooled.rates. The rank that the others wait for, and those whose latest sample has been believed to be a new rate, keep theirs.
func (b *Balancer) pool(slowest int, statuses []Status) {
	p := &b.pooled
	copy(p.rates, b.level)
	if !b.isAwaited(slowest, statuses) {
		slowest = -1
	}
	p.order = p.order[:0]
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		if r != slowest && b.ranks[r].heard && !b.believed(r) && b.level[r] > 0 {
			p.order = append(p.order, r)
		}
	}
	slices.SortFunc(p.order, func(r, s int) int { return cmp.Compare(b.level[r], b.level[s]) })
	common := b.commonNoise()
	mean, certainty := 0.0, 0.0 // of the group so far; the inverse of the mean's relative variance
	first := 0                  // where it begins
	settle := func(end int) {
		for _, r := range p.order[first:end] {
			p.rates[r] = mean
		}
	}
	for i, r := range p.order {
		variance := b.variance(r, common)
		if i > first && b.level[r]/mean-1 > distinct*math.Sqrt(variance+1/certainty) {
			settle(i)
			first, mean, certainty = i, 0, 0
		}
		certainty += 1 / variance
		mean += (b.level[r] - mean) / (variance * certainty)
	}
	settle(len(p.order))
}

// variance is that of a rank's level, relative: of its samples, and because a rate over n quanta is off by up to 1/n, which few samples may not show.
func (b *Balancer) variance(r int, common float64) float64 {
	off := b.quantumError(r)
	return b.sampleVariance(r, common) + off*off/3
}

// quantumError is 1/n, by which the level of a rank is off at most that has been measured over n quanta: some began before or ended after.
func (b *Balancer) quantumError(r int) float64 {
	if r < 0 {
		return 0
	}
	return b.period.disturbance() / b.ranks[r].levels.Seconds()
}
