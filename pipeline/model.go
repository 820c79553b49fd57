package pipeline

import (
	"iter"
	"math"
	"sort"
)

// slackCost is the part of the predicted time that StreamingSlack may cost.
const slackCost = 0.015

// pace is how much elapsed time things take on a rank, in the mean over turns: a competing process doubles it.
type pace struct {
	work, incr float64 // s per iteration of the pipelined loop
	fixed      float64 // s per strip
}

func (a pace) strip(b float64) float64 { return (a.work+a.incr)*b + a.fixed }

// paces takes costs that make no sense as Costs does, as 0.
func (l Loop) paces() []pace {
	paces := make([]pace, len(l.Ranks))
	for i, r := range l.Ranks {
		k := float64(max(0, r.Competing)) + 1
		c := Costs{Iteration: k * r.Work / r.speed(), Fixed: k * l.Fixed, Incr: k * l.Incr}.clean()
		paces[i] = pace{work: c.Iteration, fixed: c.Fixed, incr: c.Incr}
	}
	return paces
}

// Predict predicts the time in s of all sweeps with strips of the given number of iterations, 1..m. It knows competing
// processes only in the mean, and no Buffer. With equal ranks it is exact: Simulate's time.
func (l Loop) Predict(block int) float64 {
	return l.predict(l.paces(), block)
}

func (l Loop) predict(paces []pace, block int) float64 {
	if l.Iterations < 1 || len(paces) == 0 {
		return 0
	}
	block = max(1, min(block, l.Iterations))
	m, b, sweeps := float64(l.Iterations), float64(block), float64(max(1, l.Sweeps))
	blocks := math.Ceil(m / b)
	switch {
	case l.Sync == Barrier:
		slowest := 0.0
		for _, a := range paces {
			slowest = max(slowest, m*a.work+blocks*a.fixed)
		}
		return sweeps * slowest
	case len(paces) == 1:
		return sweeps * m * paces[0].work
	case l.Sync == Drain:
		return sweeps * l.longestPath(paces, m, b, blocks, 1)
	}
	return l.longestPath(paces, m, b, blocks, sweeps)
}

// longestPath is the time in s of a pipeline of two ranks or more: the longest chain of strips of which each waits for
// the one before. It starts on the first rank and ends on the last, and spends its time where that takes longest: on
// the slowest rank, or, unless ranks are ahead, to and fro between two neighbours. See the package documentation.
func (l Loop) longestPath(paces []pace, m, b, blocks, sweeps float64) float64 {
	final := m - (blocks-1)*b // iterations in the last strip, which alone may be shorter
	delay, finalDelay := l.delay(b), l.delay(final)
	slowest, cycle := 0.0, 0.0 // s for a strip, for a sweep
	full := 0.0                // longest chain up to this rank's last strip but one
	once, path := 0.0, 0.0     // longest chains up to its last: in one sweep, and in all
	for p, a := range paces {
		last := a.strip(final)
		if p > 0 {
			full += delay
			once += finalDelay
			path += finalDelay
		}
		sweep := m*(a.work+a.incr) + blocks*a.fixed
		finalSweep := sweep // where the chain has come to last strips
		switch {
		case p == len(paces)-1:
			last = final * a.work // nobody waits for its message
		case l.Sync == Stream:
			next := paces[p+1]
			sweep = max(sweep, a.strip(b)+next.strip(b)+2*delay)
			finalSweep = max(finalSweep, a.strip(final)+next.strip(final)+2*finalDelay)
		}
		cycle = max(cycle, sweep)
		slowest = max(slowest, a.strip(b))
		if blocks > 1 {
			full += a.strip(b)
			so := full + times(blocks-2, slowest)
			once = max(once, so)
			path = max(path, so+times(sweeps-1, cycle))
		}
		once += last
		path = max(path+last, once+times(sweeps-1, finalSweep))
	}
	return path
}

// delay is the time in s that the boundary of so many iterations is under way.
func (l Loop) delay(iterations float64) float64 {
	c := Costs{Fixed: l.Delay, Incr: l.DelayIncr}.clean()
	return c.Fixed + c.Incr*iterations
}

// times is n t, and 0 for n = 0 even if t has overflowed.
func times(n, t float64) float64 {
	if n == 0 {
		return 0
	}
	return n * t
}

// optimum is the M for which the prediction is smallest if M may be any number, neglecting the round trip.
func (l Loop) optimum() float64 {
	paces := l.paces()
	if len(paces) <= 1 || l.Sync == Barrier {
		return 1
	}
	sweeps, slowest := 1.0, pace{}
	if l.Sync == Stream || l.Sync == Ahead {
		sweeps = float64(max(1, l.Sweeps))
	}
	others := 0.0 // s per iteration of a strip, on all ranks but the slowest, without one message
	for _, a := range paces {
		if a.work+a.incr >= slowest.work+slowest.incr {
			a, slowest = slowest, a
		}
		others += a.work + a.incr
	}
	return ratioRoot(float64(l.Iterations)*max(0, others-slowest.incr), sweeps*slowest.fixed)
}

// blockSizes are the block sizes that are the smallest of their numbers of strips, in ascending order, and the largest
// of the same number. There are at most 2 sqrt(m).
func blockSizes(m int) iter.Seq2[int, int] {
	return func(yield func(smallest, largest int) bool) {
		for b := 1; b <= m; {
			next := m + 1
			if blocks := ceilDiv(m, b); blocks > 1 {
				next = ceilDiv(m, blocks-1)
			}
			if !yield(b, next-1) {
				return
			}
			b = next
		}
	}
}

// Choose returns the block size, of those up to Longest, for which Predict is smallest. A loop of Sync Stream gets more
// strips than that, up to StreamingSlack per rank, as far as they cost at most 1.5% more time. Where a process
// competes, Simulate looks among the block sizes of Curve for a better one. Costs that are negative or NaN count as 0.
func (l Loop) Choose() Choice {
	c := l.chooseInMean()
	for _, r := range l.Ranks {
		if r.Competing > 0 && 0 < c.Blocks && c.Blocks <= l.mostInTurns() {
			return l.chooseInTurns(c)
		}
	}
	return c
}

// mostInTurns is the most strips that chooseInTurns tries: more give no slack that is worth having.
func (l Loop) mostInTurns() int { return 16 * StreamingSlack * len(l.Ranks) }

func (l Loop) chooseInMean() Choice {
	paces := l.paces()
	m, longest := l.Iterations, l.Iterations
	if l.Longest > 0 {
		longest = min(longest, l.Longest)
	}
	switch {
	case m < 1 || len(paces) == 0:
		return Choice{Reason: ReasonEmpty}
	case len(paces) == 1 && l.Sync != Barrier:
		t := l.predict(paces, m)
		return Choice{BlockSize: m, Blocks: 1, Ideal: 1, Time: t, Serial: t, Reason: ReasonOneRank}
	}
	// Of equal times the fewest strips. For a given number of strips the time is convex in the block size: among unequal
	// ranks a short last strip may drain faster than equal strips fill.
	block, time := 0, math.Inf(1)
	for lo, hi := range blockSizes(m) {
		if lo > longest {
			break
		}
		b := lo + sort.Search(min(hi, longest)-lo, func(i int) bool {
			return l.predict(paces, lo+i) <= l.predict(paces, lo+i+1)
		})
		if t := l.predict(paces, b); t <= time {
			block, time = b, t
		}
	}
	c := Choice{Ideal: l.optimum(), Serial: l.serial(), Reason: ReasonMinimum}
	switch blocks := ceilDiv(m, block); {
	case blocks == m && math.IsInf(c.Ideal, 1):
		c.Reason = ReasonFree
	case blocks == m && c.Ideal >= float64(m):
		c.Reason = ReasonAllStrips
	case blocks == ceilDiv(m, longest) && longest < m && c.Ideal < float64(blocks):
		c.Reason = ReasonLongest
	case blocks == 1:
		c.Reason = ReasonOneStrip
	}
	if l.Sync == Stream {
		limit := time * (1 + slackCost)
		for b := range blockSizes(m) {
			if b < block && ceilDiv(m, b) <= StreamingSlack*len(paces) && l.predict(paces, b) <= limit {
				block, c.Reason = b, ReasonStall
				break
			}
		}
	}
	c.BlockSize, c.Blocks, c.Time = block, ceilDiv(m, block), l.predict(paces, block)
	return c
}

// chooseInTurns improves on c if turns say so. It simulates at most 64 sweeps: milliseconds.
func (l Loop) chooseInTurns(c Choice) Choice {
	sweeps := float64(max(1, l.Sweeps))
	l.Sweeps, l.Trace = max(1, min(l.Sweeps, 64)), false
	best := math.Inf(1)
	try := func(block int) {
		l.Block = block
		run, err := Simulate(l)
		if err != nil || run.Elapsed >= best {
			return // costs that make no sense: the means must do
		}
		best = run.Elapsed
		if block != c.BlockSize {
			c.BlockSize, c.Blocks, c.Reason = block, ceilDiv(l.Iterations, block), ReasonTurns
		}
		c.Time = best * sweeps / float64(l.Sweeps)
	}
	try(c.BlockSize)
	for _, p := range l.Curve() {
		if p.Blocks <= l.mostInTurns() && (l.Longest == 0 || p.BlockSize <= l.Longest) {
			try(p.BlockSize)
		}
	}
	return c
}

// serial is the time in s of the same work on the fastest rank alone.
func (l Loop) serial() float64 {
	work, fastest := 0.0, math.Inf(1) // s of CPU at speed 1; s of elapsed time for one of them
	for _, r := range l.Ranks {
		work += Costs{Iteration: r.Work}.clean().Iteration
		fastest = min(fastest, float64(max(0, r.Competing)+1)/r.speed())
	}
	return float64(max(1, l.Sweeps)) * float64(l.Iterations) * work * fastest
}

// Point is a point of a Curve.
type Point struct {
	BlockSize, Blocks int
	Time              float64 // s per sweep, in the mean
}

// Curve predicts the time of a sweep for the block sizes 1, sqrt(2), 2, ... and m, rounded: what S&S 1997, Fig. 8,
// plots. The model of the paper is that of Sync Drain, and nil is the curve of a loop without iterations.
func (l Loop) Curve() []Point {
	return curve(l.Iterations, func(b int) float64 { return l.Predict(b) / float64(max(1, l.Sweeps)) })
}

func curve(m int, predict func(block int) float64) []Point {
	var points []Point
	for k, last := 0, 0; last < m; k++ {
		b := min(m, int(math.Round(math.Pow(2, float64(k)/2))))
		if b == last {
			continue
		}
		last = b
		points = append(points, Point{b, ceilDiv(m, b), predict(b)})
	}
	return points
}
