package pipeline

// A DOACROSS loop that is swept many times need not drain between sweeps: a rank starts strip s of sweep t+1 as soon as
// its right neighbour has finished strip s of sweep t. With S sweeps of M strips each a rank does S M strips, and fill and
// drain are paid once a run:
//
//	T(M) = (S M + P-1) (t_block + t_shift),  t_block = (m/M) t_iteration,  t_shift = t_fixed + t_incr m/M
//	     = constant + S t_fixed M + (P-1) m (t_iteration + t_incr) / M
//	M*   = sqrt( (P-1) m (t_iteration + t_incr) / (S t_fixed) )
//
// Sending and receiving cost the rank that does it CPU time, so t_shift adds to every strip and is not hidden behind the
// computing. For many sweeps M* falls below 1: fill and drain no longer matter and only messages cost. What then keeps M
// up is the dependence on the right neighbour: strip s of sweep t+1 needs the neighbour's strip s of sweep t, and the
// neighbour is one strip behind. With M = 1 every other rank waits while its neighbours compute; M = 2 just fits when
// nothing ever varies; the chain back from the last rank to the first is P strips long. M >= 2P strips leave every rank
// half a sweep to live on while a neighbour is late. Both formulas assume equal strips and equal ranks; measure around
// them where it matters.

// StreamingSlack is the least number of strips per sweep and rank in a streaming pipeline.
const StreamingSlack = 2

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
