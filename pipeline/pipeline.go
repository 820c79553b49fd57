package pipeline

import "math"

// Costs are the measured costs of a pipelined loop in seconds. A cost that is negative or NaN counts as 0.
type Costs struct {
	Iteration float64 // t_iteration: the slowest rank's time for its part of the distributed loop, per pipelined iteration
	Fixed     float64 // t_fixed: cost of handing over a boundary of no elements
	Incr      float64 // t_incr: additional cost per element, that is per iteration of the strip
}

func (c Costs) clean() Costs {
	notNegative := func(t float64) float64 {
		if !(t > 0) {
			return 0
		}
		return min(t, math.MaxFloat64)
	}
	return Costs{Iteration: notNegative(c.Iteration), Fixed: notNegative(c.Fixed), Incr: notNegative(c.Incr)}
}

// Choice is a block size and why.
type Choice struct {
	BlockSize int     // b, iterations of the pipelined loop per strip; the last strip may be shorter
	Blocks    int     // ceil(m / BlockSize) strips
	Ideal     float64 // the M of the formula before rounding and clipping, +Inf when messages cost nothing
	Time      float64 // predicted time in s: of Choose (9), for one sweep; of Loop.Choose Predict, for all sweeps
	Serial    float64 // predicted time in s of the same work on one rank, without messages: (5)
	Reason    string  // what decided
}

// Worthwhile reports whether the pipeline is predicted to beat one rank alone. It is not where a strip costs less than
// its message: then fewer ranks would do better.
func (c Choice) Worthwhile() bool { return c.Time < c.Serial }

// Reasons of a Choice.
const (
	ReasonMinimum   = "minimum of the predicted time"
	ReasonOneRank   = "one rank: no pipeline"
	ReasonEmpty     = "no iterations"
	ReasonFree      = "messages cost nothing: strips of one iteration"
	ReasonAllStrips = "clipped: strips of one iteration"
	ReasonOneStrip  = "clipped: one strip, no parallelism"
	ReasonStall     = "more strips than the minimum: slack for a late neighbour, at next to no cost"
	ReasonTurns     = "best in simulated turns of competing processes"
	ReasonLongest   = "clipped: the longest strip that the receiver can buffer"
)

// FixedGrain is equation (3): the block size whose strip takes t_grain, rounded and clipped to 1..m. The paper uses
// grain = 1.5 scheduling quanta. An iteration that takes no time gives m.
func FixedGrain(grain, iteration float64, m int) int {
	b := grain / iteration
	switch {
	case m < 1:
		return 0
	case !(iteration > 0) || b >= float64(m):
		return m
	case !(b > 1):
		return 1
	}
	return min(m, int(math.Round(b)))
}

// Sequential is equation (5): the time in s of m pipelined iterations on one rank, t_iteration being what one of P
// ranks needs for its part.
func Sequential(c Costs, m, ranks int) float64 {
	return float64(ranks) * float64(m) * c.clean().Iteration
}

// MaxEfficiency is equation (6): the bound M/(M+P-1) that filling and draining set, whatever the grain's length.
func MaxEfficiency(blocks, ranks int) float64 {
	return float64(blocks) / float64(blocks+ranks-1)
}

// Shift is equation (8): the time in s to hand over a boundary of the given number of elements.
func Shift(c Costs, elements float64) float64 {
	c = c.clean()
	return c.Fixed + c.Incr*elements
}

// Total is equation (9): the predicted time in s of one pipelined loop in M blocks. One rank sends no messages.
func Total(c Costs, m, ranks int, blocks float64) float64 {
	c = c.clean()
	n, p := float64(m), float64(ranks)
	if ranks <= 1 {
		return n * c.Iteration
	}
	block := n / blocks * c.Iteration // t_sequential/(P M)
	return (blocks+p-1)*block + (blocks+p-2)*Shift(c, n/blocks)
}

// Optimum is equation (10): the M for which (9) is smallest, not rounded; 1 for one rank, +Inf when t_fixed is 0 and
// there is work.
func Optimum(c Costs, m, ranks int) float64 {
	if ranks <= 1 {
		return 1 // (10) would take the root of a negative number
	}
	c = c.clean()
	p := float64(ranks)
	return ratioRoot(Sequential(c, m, ranks)*(1-1/p)+c.Incr*float64(m)*(p-2), c.Fixed)
}

// ratioRoot is sqrt(a/b) for a, b >= 0: 0 for a = 0, +Inf for b = 0 < a.
func ratioRoot(a, b float64) float64 {
	if a == 0 {
		return 0
	}
	return math.Sqrt(a / b)
}

// Choose returns the block size for which (9) predicts the smallest time, for one pipelined loop of m iterations over
// the given number of ranks: the integer on either side of (10) that is better, clipped to 1..m.
func Choose(c Costs, m, ranks int) Choice {
	time := func(blocks int) float64 { return Total(c, m, ranks, float64(blocks)) }
	ideal, serial := Optimum(c, m, ranks), Sequential(c, m, max(1, ranks))
	switch {
	case m < 1:
		return Choice{Reason: ReasonEmpty}
	case ranks <= 1:
		return Choice{BlockSize: m, Blocks: 1, Ideal: 1, Time: time(1), Serial: serial, Reason: ReasonOneRank}
	}
	blocks, reason := 0, ReasonMinimum
	switch {
	case math.IsInf(ideal, 1):
		blocks, reason = m, ReasonFree
	case ideal >= float64(m):
		blocks, reason = m, ReasonAllStrips
	default:
		blocks = max(1, int(ideal))
		if next := blocks + 1; next <= m && time(next) < time(blocks) { // (9) is convex
			blocks = next
		}
		if blocks == 1 {
			reason = ReasonOneStrip
		}
	}
	size := ceilDiv(m, blocks)
	blocks = ceilDiv(m, size) // fewer than asked for at times; harmless, the time is flat
	return Choice{BlockSize: size, Blocks: blocks, Ideal: ideal, Time: time(blocks), Serial: serial, Reason: reason}
}

// BarrierTotal is equation (11): the time in s of m iterations of an outer loop, each of which ends in a barrier and
// contains n iterations of the distributed loop of the given time each, over P ranks.
func BarrierTotal(barrier, iteration float64, n, m, ranks int) float64 {
	return barrier*float64(m) + float64(n)/float64(ranks)*iteration*float64(m)
}

// BarrierEfficiency is equation (12): t_sequential/(P t_total) of (11), in which m cancels. It is 0 when nothing takes
// any time.
func BarrierEfficiency(barrier, iteration float64, n, ranks int) float64 {
	work := float64(n) * iteration
	if !(work > 0) {
		return 0
	}
	return work / (float64(ranks)*barrier + work)
}
