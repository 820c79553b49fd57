package pipeline

import "slices"

// StreamingSlack is how many strips per sweep and rank a streaming pipeline has where messages are cheap enough; see
// the package documentation.
const StreamingSlack = 4

// Uniform is the streaming loop on equal ranks that the given costs describe.
func Uniform(c Costs, m, ranks, sweeps int) Loop {
	c = c.clean()
	return Loop{Ranks: slices.Repeat([]Rank{{Work: c.Iteration}}, max(1, ranks)), Iterations: m, Sweeps: sweeps,
		Fixed: c.Fixed, Incr: c.Incr}
}

// Streaming predicts the time in s of the given number of sweeps in M blocks each, without barriers between them. For
// one sweep it is (9).
func Streaming(c Costs, m, ranks, sweeps int, blocks float64) float64 {
	c = c.clean()
	n, p, s := float64(m), float64(ranks), float64(sweeps)
	if ranks <= 1 {
		return s * n * c.Iteration
	}
	steps := s*blocks + p - 1
	if blocks < 2 {
		steps += max(0, s-1) * (2 - blocks) // a neighbour's round trip is two steps
	}
	return steps*(n/blocks*c.Iteration) + (steps-1)*Shift(c, n/blocks)
}

// StreamingOptimum is the M for which Streaming is smallest, not rounded; 1 for one rank, +Inf when t_fixed is 0 and
// there is work. For one sweep it is (10).
func StreamingOptimum(c Costs, m, ranks, sweeps int) float64 {
	return Uniform(c, m, ranks, sweeps).optimum()
}

// ChooseStreaming is Loop.Choose for the loop that Uniform describes.
func ChooseStreaming(c Costs, m, ranks, sweeps int) Choice {
	return Uniform(c, m, ranks, sweeps).Choose()
}
