// Package dist is the index space: who owns which iterations, what they weigh, what shares are worth in whole
// iterations, and which transfers lead from one distribution to another.
//
// # Model
//
// A distributed loop runs over a Range of global indices; every iteration is owned by exactly one rank. A Block gives
// each rank one contiguous range, in rank order; Intervals hold what one rank owns when work moves between any two.
// Weights give the work units of an iteration.
//
//	targets   w'_i = W r'_i / sum r'              Apportion, Cut               O(P), O(P log P) where minima bind
//	adjacent  F_i = sum_{k<=i} (w_k - w'_k)       Adjacent: over boundary i|i+1, rightwards when positive     O(P)
//	direct    match surpluses and deficits in the order of ranks          Direct: at most P-1 transfers   O(P)
//
// as in Siegell & Steenkiste 1997, section 2.1 and Figure 2. A shift may be longer than a block: the ranks between pass
// rows through. Moves says what one rank does, and in which order, so that it never sends what it does not have yet:
//
//	from   0000|11|2222|33      rank 0 sends [1,4); rank 1 owns [4,6) and must send [2,6): more than it has,
//	to     0|1|22|33333333      so it receives [1,4) first, keeps [1,2), sends [2,6); rank 2 the same, rank 3 receives.
//
// # Units
//
// Iterations are counted, work units are the program's own measure. Indices are global.
//
// # Invariants
//
// Every iteration of a Block's span has exactly one owner. Integer divisions and transfers conserve the sum exactly.
// Ties go to the lowest index, so every rank computes the same from the same input; nothing depends on a map's order.
//
// # What it does not do
//
// It moves no data (hooks), decides nothing (lb) and knows no time.
package dist
