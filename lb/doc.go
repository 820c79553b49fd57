// Package lb is the decision of the load balancer: statuses in, instructions out.
//
// # Model
//
// Siegell & Steenkiste 1997 (S&S 1997), sections 5.2 and 6. The master collects one Status per rank at interaction k and
// answers with one Decision:
//
//	statuses --> rates --> filter (16) --> imbalance >= threshold? --> plan --> profitable? --> transfers
//	                                            | no                     | no gain  | no
//	                                            '------------------------'----------'--> nothing moves
//
//	raw rate     r_i  = work units done / computing time; a rank that has not computed keeps its filtered rate
//	imbalance    rfract = 1 - T_bal/T_cur,  T_cur = max_i w_i/r'_i,  T_bal = sum w / sum r'
//	targets      w'_i = W r'_i / sum r' in whole iterations (dist.Cut, dist.LargestRemainder)
//	cost         max over ranks of (a transfers + c units), a and c fitted to past movements
//	benefit      rfract times how long the rates will stay as they are, at most until the loop ends
//	period       max of (13) t_interact/f_interact   "interaction"
//	                    (14) t_movement/workscale    "movement", workscale = time between movements / period >= 1
//	                    (15) t_quantum quantumscale  "quantum"
//	             nexthook = period/period_compute, at least 1
//
// with f_interact = 0.05, quantumscale = 10. Doing nothing is always one of the choices.
//
//	interaction        k             k+1            k+2
//	rank         --status k--.   status k+1--.   status k+2        Pipelined: instruction k, decided while the ranks
//	master                    '-> decide -.   '-> decide           compute, is obeyed at interaction k+1. Synchronous:
//	rank                                   '-> obey k              the ranks wait and obey at interaction k
//
// # What is ours
//
// The automatic threshold starts from the paper's 0.1, but moves work only if the mean rates since each rank's last
// change (filter.Steps), whose error is known, show an imbalance that noise does not explain: at 5% noise of the rates
// nothing moves in thousands of interactions, for any number of ranks, which no fixed threshold can promise. Where
// nothing has moved for long it falls, to find the recovery of one rank of many, worth only (1-s)/P, that a fixed
// threshold never sees (the paper's "dynamic threshold", section 6.2.1). A configured threshold is the paper's, exactly.
//
// # Free loops
//
// Where ranks do not wait for each other (Loop.Free, a DOALL done once) the work is what remains. The period shrinks to
// half of the projected time to the end, so that the ranks end together, but not below (13). Final ends the interactions
// when less than that is left.
//
// # Units
//
// Times are seconds, work is in work units, rates are work units per second of computing time.
//
// # Invariants
//
// A Balancer is a state machine: no I/O, clock, goroutine or global randomness; the same statuses give the same decisions.
// Transfers conserve work. Where the Movement is Adjacent, Decision.To is a valid block distribution of the whole span and
// differs from the previous one only if Transfers is not empty. Where it is Direct no rank gives and takes in one
// instruction. In a loop that is not Free each worker keeps at least one iteration. Orders that a rank has not obeyed
// yet (index > Status.Obeyed) are counted as if it had, so nothing is ordered twice. While nothing moves a decision costs
// O(P) and allocates nothing per rank; a plan costs O(P log P).
//
// # What it does not do
//
// It sends nothing and measures nothing (hooks). It does not learn the weights of iterations. It does not compare the
// throughput after a move with the prediction. It does not know which iterations move where the movement is Direct:
// senders choose.
package lb
