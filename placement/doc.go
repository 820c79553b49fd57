// Package placement decides where in a loop nest the hook goes: levels with their trip counts and costs in, a position
// and its strip length out. It follows Siegell & Steenkiste 1997 (S&S 1997), section 5.1 and Figures 15 and 16.
//
// # Model
//
// A nest is a list of loops from the outside in; one of them is distributed over the ranks. Positions are counted from
// the distributed loop outwards. In the SOR of the paper, whose loop i is pipelined, and in its MM:
//
//	for sweep {                               for i {          // distributed
//	    for i {                                   for j {
//	        for j {      // distributed               for k {
//	            ...                                       ...
//	            // lbhook0                            }
//	        }                                     }
//	        // lbhook1                            // lbhook0
//	        // lbhook1a after each strip of i     // lbhook0a after each strip of i
//	    }                                     }
//	    // lbhook2                            // lbhook1
//	}
//	// lbhook3
//
// lbhookK stands at the end of each iteration of the K-th loop around the distributed one; lbhookKa, which strip
// mining adds, after each strip of that loop. The last one, after the whole nest, is of no use: nothing is left to
// balance.
//
// The code between two hooks at lbhookK is one iteration of its loop, of which the rank does its share:
//
//	t(K) = operations t_operation + trips t(K-1)        trips of the distributed loop: trips/ranks
//
// The hook goes to the deepest position where a hook that does nothing costs at most MaxShare, 1 %, of that code
// (section 5.1.2): there it is executed as often as it may be. Where no position fits, because the next one out is
// never reached or reached too seldom, the loop between the two is strip mined; the shortest strip that will do is
//
//	b = ceil(t_hook / (0.01 t_iteration))
//
// How the ranks wait for each other decides what else is allowed (type [Order]):
//
//   - Free: they never do. The distributed loop itself is strip mined (lbhook0a): the paper's MM, type hooks.Free
//     here.
//   - Pipelined: once a strip of the loop just around the distributed one. That loop is strip mined already, for the
//     grain, so lbhook1a is there, but its block size must not be used to set how often the hook comes: the strip
//     length of the choice is then a lower limit. Where a strip is given that is too short, the hook goes further out.
//   - Synchronous: by the program's own messages. Every rank must execute the hook equally often.
//
// No hook is ever put inside the body of the distributed loop: its iterations are atomic, and ranks that own different
// numbers of them would execute different numbers of hooks.
//
// # Costs and unknowns
//
// A level's cost is a count of operations, the first guess from the source, or seconds measured at run time. One
// measured level prices the operations of all the others. Where a trip count is unknown, a guess is reckoned with and
// the position says so, with the count from which on it is right: "the compiler can make assumptions about the number
// of iterations" or choose at run time among versions of the nest (section 5.1.2). Only orders of magnitude matter.
//
// # Units
//
// Times are seconds of one rank; trips, strips and operations count. A share is a part of 1.
//
// # Invariants
//
// The chosen position's hook costs at most MaxShare, and every deeper position costs more or is refused. A dearer hook
// never makes the code between hooks shorter. Pure functions: no clock, no randomness.
//
// # What it does not do
//
// It reads no source (apps/shiftwork does), measures nothing and knows no dependences: the Order is given. It does not
// choose the grain of a pipeline (package pipeline does) nor how often the hook interacts (package lb).
package placement
