package lb

import "math"

// believe decides, for each rank whose latest sample was far off its level, whether to take it for the rank's new rate.
// If that is an error it costs a movement there and one back, and a period with a wrong distribution; to wait for a second
// sample, if it is none, costs a period with the old one. How probable an error is, filter.Levels has learned.
//
//	believe  <=>  p gain period > (1-p) (2 move + loss period)
//
// It leaves the rates that the decision goes by in filtered and level.
func (b *Balancer) believe(target float64) {
	if len(b.suspects) == 0 {
		return
	}
	base := b.measure(b.work, b.level)
	if base.slowest < 0 {
		return
	}
	sumWork, sumRates := 0.0, 0.0
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		sumWork += b.work[r]
		sumRates += b.level[r]
	}
	for _, r := range b.suspects {
		levels := &b.ranks[r].levels
		rate, probability := levels.Suspect()
		rate *= b.common
		old := levels.Level() * b.common
		after := sumWork / (sumRates - old + rate) // time of the perfect distribution, if it is true
		gain := 1 - after/max(base.current, b.work[r]/rate)
		wrong := after * max(1, rate/old) // time with that distribution, if it is not
		loss := max(0, base.balanced/base.current-base.balanced/wrong)
		move := unknownCost * target
		perTransfer, perUnit := b.cost.fit()
		if data := perUnit * math.Abs(b.work[r]-after*rate); b.cost.seen {
			move = max(perTransfer, b.message()) + data + b.stall.mean
		} else {
			move = max(move, data)
		}
		if probability*gain*target > (1-probability)*(2*move+loss*target) {
			b.filtered[r], b.level[r] = rate, rate
			b.ranks[r].believed = true
		}
	}
}

// believed reports whether the decision takes the latest sample of a rank, far off its level, for its new rate.
func (b *Balancer) believed(r int) bool { return b.ranks[r].believed }
