// Package pipeline chooses the grain of a pipelined (DOACROSS) loop: costs in, block size out. The numbers in
// parentheses are the equations of Siegell & Steenkiste 1997 (S&S 1997), section 4. Package loops chooses by Loop and Leaning; FixedGrain, Total, Optimum,
// Choose and their like are the paper's formulas, which these are held against.
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
// exceeds the minimum by a quarter of its variable part 2 sqrt(A t_fixed). (Equations (9) and (10) are rebuilt from
// the paper's text.)
//
// # Streaming
//
// A DOACROSS loop that is swept many times need not drain between sweeps: a rank starts strip s of sweep t+1 as soon
// as its right neighbour has finished strip s of sweep t. Two sweeps of 4 strips, per sweep and streaming:
//
//	rank 0  |1 |2 |3 |4 |     |1 |2 |3 |4 |             |1 |2 |3 |4 |1 |2 |3 |4 |
//	rank 1     |1 |2 |3 |4 |     |1 |2 |3 |4 |             |1 |2 |3 |4 |1 |2 |3 |4 |
//	rank 2        |1 |2 |3 |4 |     |1 |2 |3 |4 |             |1 |2 |3 |4 |1 |2 |3 |4 |
//
// Sending and receiving cost the rank that does it CPU time, so t_shift adds to every strip and is not hidden behind
// the computing: a strip costs rank p the time c_p = t_block,p + t_shift. The run takes as long as the longest chain
// of strips of which each waits for the one before:
//
//	                  same rank, next strip          a chain may stay on a rank: c_p a strip,
//	(p, t, s)  waits  left neighbour, same strip     step right: the same strip again, one rank on,
//	           for    right neighbour, sweep before  step left: a whole sweep of M strips forward
//
// It begins on rank 0 and ends on rank P-1, so it makes P-1 steps to the right, and one more for each step to the
// left. A step to the left and one back cost c_p + c_p+1 and lead M strips on; staying costs M c_p for as many. Hence
// with S sweeps
//
//	per sweep   max( M max_p c_p,  max_p (c_p + c_p+1) )        the slowest rank, or a neighbour's round trip
//	T(M)      = first sweep with fill and drain + (S-1) times that
//	          = (S M + P-1) t_block + (S M + P-2) t_shift       equal ranks and strips, M >= 2; for S = 1 this is (9)
//	          = constant + S t_fixed M + ((P-1) m t_iteration + (P-2) m t_incr) / M
//	M*        = sqrt( ((P-1) m t_iteration + (P-2) m t_incr) / (S t_fixed) )       for S = 1 this is (10)
//
// With M >= 2 strips the round trip is hidden; with one, every other rank waits. Without communication the efficiency
// is S M / (S M + P-1), where (6) has M / (M + P-1). Loop.Predict is the longest chain in closed form, for ranks of
// different work and speed and with a short last strip; where no process competes it equals Simulate to rounding.
//
// For many sweeps M* falls below 1: fill and drain no longer matter and only messages cost. What then keeps M up is
// slack. A rank can be M-1 strips ahead of its right neighbour, and lives on them while that one is late. M >= 4P
// strips leave every rank three quarters of a sweep to live on, however long the chain from the last rank back to the
// first; with a competing load beside one of two ranks that was 4% faster than 2P, and without any load not slower.
// So Choose takes as many strips up to 4P as cost at most 1.5% of the predicted time, and no more where messages are
// dear; without competing processes its choice is thus within 1.5% of the best block size in Simulate, and the best
// itself where the loop drains. What slack is worth under a load depends on the sweep: one that takes several quanta
// needs hardly any, one that is shorter than a quantum and a half loses about 1/M more for each stall, and with two
// strips up to half as much again as with 4P. A caller who knows the load and the quantum says so in Loop, and Choose
// tries block sizes in turns.
//
// Where ranks may be any number of sweeps ahead of their right neighbours (Ahead), nothing comes back from the right: there is no
// round trip, slack is not a matter of strips, and as few of them are best as M* says.
//
// Where blocks lean besides, and strips are swept several times in a row, another model holds: Leaning.
//
// What keeps a processor busy with a message is t_fixed and t_incr. What it takes on its way is Delay and DelayIncr: it makes
// the fill longer, and the round trip between two neighbours, but a sweep of many strips hides it.
//
// A message must also fit where it goes: Longest bounds the strip by what a receiver can buffer (bytes of a message
// over bytes per iteration). Buffer bounds the strips between two neighbours in Simulate only: without turns one is
// enough; with a competing process a neighbour must be able to store what it is sent in the turns of the others (S&S
// 1997, section 4.2.6), or the claim that loads do not hurt a pipeline fails.
//
// # Simulation
//
// Simulate runs a loop in virtual time, on CPUs that ranks share with competing processes, round robin in turns of
// one quantum (S&S 1997, sections 4.2.6 and 4.3.2). Rank 0 has a competing process and, balanced, half the work:
//
//	pipelined, Fig. 10(a)                          barriers, Fig. 10(b)      0-9 computing, by strip
//	rank 0 |1122    3344    5566    ....    ..|    |1.2.    34.5    6|       .   its turn, but waiting
//	rank 1 |..111122223333444455556666........|    |112233...445566..|       blank: turn of a competing process
//	rank 2 |......111122223333444455556666....|    |112233...445566..|
//	rank 3 |..........111122223333444455556666|    |112233...445566..|
//
// A rank that waits in its turn wastes it. In the pipeline rank 0 does in its turn what keeps the others busy until
// the next, so that loads cost nothing beyond fill and drain, whatever the grain. With barriers, whoever is behind
// holds up all: far below a quantum half of the CPUs is wasted here, beyond a scheduling period little, and at its
// multiples nothing.
//
// # Units
//
// Times are seconds; m, M, b, P, n count. Careful: the paper gives t_iteration two meanings. In (3)-(10) it is the
// time of the slowest rank for its own part of the distributed loop, per iteration of the pipelined loop; in (11) and
// (12) it is one iteration of the distributed loop on one rank. Costs.Iteration and, for each rank by itself,
// Rank.Work are the first; the barrier functions take the second as an argument.
//
// # Invariants
//
// Every choice has 1 <= BlockSize <= m, Blocks = ceil(m/BlockSize), for every input with m >= 1 and a rank: costs
// that are zero, negative (measured as such out of noise) or NaN included. In a Run each rank's four times add up to
// Elapsed. Pure functions: no clock, no randomness.
//
// # What it does not do
//
// It measures nothing: who measures takes the smallest of several samples of t_iteration, because a competing load
// only adds to it (sound while t_iteration is shorter than the scheduling quantum), and t_fixed from empty messages.
// Where the Loop names no competing processes, its choice knows no quantum. Competing processes of a simulation never
// pause, a waiting rank does not give up its turn, strips of a sweep differ in nothing but length, and work does not
// move.
package pipeline
