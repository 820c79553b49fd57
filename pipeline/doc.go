// Package pipeline chooses the grain of a pipelined (DOACROSS) loop: costs in, block size out. The numbers in
// parentheses are the equations of Siegell & Steenkiste 1997 (S&S 1997), section 4.
//
// # Model
//
// P ranks each own a part of the distributed loop; the pipelined loop has m iterations, cut into M strips of b = m/M
// iterations (the block size). A strip takes t_block, handing its boundary to the next rank t_shift:
//
//	rank 0  |1 |2 |3 |4 |                     (M+P-1) t_block + (M+P-2) t_shift      (7)
//	rank 1     |1 |2 |3 |4 |                  here M = 4, P = 3
//	rank 2        |1 |2 |3 |4 |
//	        fill          drain
//
//	(3)  b = t_grain / t_iteration                        a fixed grain
//	(4)  b = m / M
//	(5)  t_sequential = P m t_iteration
//	(6)  efficiency <= M / (M+P-1)                        if messages cost nothing
//	(8)  t_shift = t_fixed + t_incr b
//	(9)  t_total = (M+P-1) t_sequential/(P M) + (M+P-2) (t_fixed + t_incr m/M)
//	(10) M = sqrt( (t_sequential (1-1/P) + t_incr m (P-2)) / t_fixed )   where (9) is smallest
//	(11) t_total = t_barrier m + (n/P) t_iteration m      a loop with m barriers instead of a pipeline
//	(12) efficiency = n t_iteration / (P t_barrier + n t_iteration)
//
// (9) = c + t_fixed M + A/M is convex, so (10) is its only minimum, and flat: at half or twice the best M the time
// exceeds the minimum by a quarter of its variable part 2 sqrt(A t_fixed). (Equations (9) and (10) are rebuilt from the
// paper's text.)
//
// # Streaming
//
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
// nothing ever varies; the chain back from the last rank to the first is P strips long. M >= 4P strips leave every rank
// three quarters of a sweep to live on while a neighbour is late; with a competing load beside one of two ranks that was 4%
// faster than 2P, and without any load not slower. Both formulas assume equal strips and equal ranks; measure around
// them where it matters.
//
// # Units
//
// Times are seconds; m, M, b, P, n count. Careful: the paper gives t_iteration two meanings. In (3)-(10) it is the time
// of the slowest rank for its own part of the distributed loop, per iteration of the pipelined loop; in (11) and (12)
// it is one iteration of the distributed loop on one rank. Costs.Iteration is the first; the barrier functions take the
// second as an argument.
//
// # Invariants
//
// Choose and ChooseStreaming return 1 <= BlockSize <= m, Blocks = ceil(m/BlockSize), for every input with m >= 1: costs
// that are zero, negative (measured as such out of noise) or NaN included. Pure functions: no clock, no randomness.
//
// # What it does not do
//
// It measures nothing: who measures takes the smallest of several samples of t_iteration, because a competing load only
// adds to it (sound while t_iteration is shorter than the scheduling quantum), and t_fixed from empty messages. It knows
// one cost for all ranks: the slowest rank's. It does not know the scheduling quantum.
package pipeline
