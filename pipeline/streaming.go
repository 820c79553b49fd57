package pipeline

// StreamingSlack is the least number of strips per sweep and rank in a streaming pipeline; see the package documentation.
const StreamingSlack = 4

// Streaming predicts the time in s of the given number of sweeps in M blocks each, without barriers between them.
func Streaming(c Costs, m, ranks, sweeps int, blocks float64) float64 {
	c = c.clean()
	n := float64(m)
	if ranks <= 1 {
		return float64(sweeps) * n * c.Iteration
	}
	return (float64(sweeps)*blocks + float64(ranks) - 1) * (n/blocks*c.Iteration + Shift(c, n/blocks))
}

// StreamingOptimum is the M for which Streaming is smallest, not rounded; 1 for one rank, +Inf when t_fixed is 0 and
// there is work.
func StreamingOptimum(c Costs, m, ranks, sweeps int) float64 {
	if ranks <= 1 {
		return 1
	}
	c = c.clean()
	return ratioRoot(float64(ranks-1)*float64(m)*(c.Iteration+c.Incr), float64(max(1, sweeps))*c.Fixed)
}

// ChooseStreaming returns the block size for which Streaming predicts the smallest time, with at least
// min(m, StreamingSlack * ranks) strips per sweep.
func ChooseStreaming(c Costs, m, ranks, sweeps int) Choice {
	sweeps = max(1, sweeps)
	serial := float64(sweeps) * Sequential(c, m, max(1, ranks))
	return choose(m, ranks, StreamingSlack*ranks, StreamingOptimum(c, m, ranks, sweeps), serial,
		func(blocks float64) float64 { return Streaming(c, m, ranks, sweeps, blocks) })
}
