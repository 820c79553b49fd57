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
//	targets      w'_i = W r'_i / sum r' in whole iterations (dist.Divider)
//	cost         max over ranks of (a transfers + c units), a and c fitted to past movements
//	benefit      what the plan loses less than doing nothing, for as long as rates are known to stay, at most to the loop's end
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
//	rank                                   '-> obey k              the ranks wait and obey at interaction k. Loop.OneByOne: nobody
//	                                                               waits, each boundary moves as soon as it can
//
// # What is ours
//
// Rates. The automatic filter (filter.Levels) remembers the levels between which each rank's rate moves. A sample far off is
// believed at once if acting on it in error would cost less, given how often that has been an error, than to wait for a
// second one (believe).
//
// Ranks whose rates no sample tells apart are taken to be equally fast (pool): to divide work by the rates of a few samples makes an imbalance of what
// was none. The rank that the others wait for keeps its own.
//
// What all ranks share, beyond their noise, is no sample of any one's rate: iterations that have become dearer, caches that are warm, a machine
// that does other things. Levels are those of rates without it (shared).
//
// Threshold. The automatic one starts from the paper's 0.1, but moves work only if the means of the levels, whose error is
// known, show an imbalance
//
//   - that noise does not explain; or
//   - that is likely, for three decisions in a row; or
//   - of more than a standard error, where the other ranks have waited for the slowest one (isAwaited, not while a pipeline fills). Half the
//     threshold is enough there if nothing has moved of late; or
//   - that is probable, below the threshold too, and has cost twice what the move takes by these means (ledger.regret).
//
// So at 5% noise nothing moves in thousands of interactions, for any number of ranks, which no fixed threshold can promise. Where nothing has
// moved for long it falls to that error, to find the recovery of one rank of many, worth only (1-s)/P, that a fixed threshold never sees (the
// paper's "dynamic threshold", section 6.2.1). A configured threshold is the paper's, exactly.
//
// Profitability. The levels also tell how long a rank stays at each: that is the outlook, and plans are weighed by it. To
// follow each change costs two movements a cycle and the wrong distribution for the time of the reaction, which is as long as interactions really
// are apart, and until boundaries that move one by one have come where they should (settling); to stay divided for the slow times costs what the fast times could have brought. What has come n times is expected again with a
// probability of n/(n+1). Changes up to the loop's end are counted one by one: the next is to the other level, and its reaction is lost in full. Which costs less depends on the load:
//
//	cost + loss until the horizon (Outlook)          rate   --.      .------.      .------
//	                                                          '------'      '------'
//	none    stay, or follow from now on              follow   1->2   2->1   1->2   2->1      moves often
//	full    to the perfect distribution, and         stay     1->2                           is never late
//	        stay there, or follow                             Here   There
//	next    to the one that is perfect after the next change, and stay
//	mean    to the one that is perfect for the rank's mean rate, and stay: where neighbours may drift apart for so long (slack)
//	worst   only the slowest rank's surplus moves: where no change is expected and full does not pay; short of time, it may
//
// Slack. Neighbours may be some sweeps apart before one waits for the other (Status.Slack). A rank whose rate falls holds up nobody until it is so much behind, and it catches up while it is faster
// than the others. What a plan loses while a rank comes and goes is weighed with that (outlast): where visits are so short, its mean rate is as good as the right division for each, and costs no
// movements. Where the rank is never the faster one, slack is used up once, and counts for nothing.
//
// How long the loop lasts is known in phases. Until the end of the present stay they take as long as now, after it as long as on average so far, where that is
// less: beside a load they are long, and a movement that comes late in its visit has less time to pay than they say (quicker).
//
// A movement must save twice what it costs: the time that ranks spend on it, and what waiting for them costs the others, which
// shows in the work that was not done meanwhile (stall). The first one, whose cost is unknown, is taken to cost a period, or what its data takes
// where messages tell (Loop.MoveUnit) and that is more. Where the end of the loop is not known the rates are taken to stay as they are for as long as they have been: it waits until it could have paid for itself. Where its data alone takes longer than
// a period the rates are taken to stay for twice as long as those that ask for it have been at most, whatever is left of the loop: it waits until the imbalance has cost as much, and longer where it
// takes more than a sixteenth of the loop.
//
// Messages. Where sweeps stream (Loop.OneByOne) a network that is slower than the processors sets the pace, and no division of the work changes that. It shows where
// also the rank that computes longest waits for more than a third of its time, and a sixteenth of its data would travel for longer than a sweep (Loop.MoveUnit): then a sweep
// takes as long as it does now, whatever the plan, and plans are worth only what they save beyond that (floor). Nor can one be shorter than the data of an iteration takes to
// either neighbour.
//
// Outcome. What a movement did to the measured throughput is compared with its promise; where most of the promise did not
// come true (sweeps shorter than a few quanta) later promises are discounted, and the balancer stays still. And every two
// movements are held, all together, against not having made any (ledger): where that would have been better, the next ones must
// promise twice as much, until movements pay again.
//
// Quantum. Where rates vary by more than 1/quantumscale over quantumscale quanta, the quantum is longer than measured, and
// the period grows with it, by up to 8 times.
//
// Beginning. The first phases of a loop are not like the later ones: pipelines fill. Until half of (15) has passed, period_compute
// is the mean over all phases so far, and a rank has no rate. In a
// Free loop that ends soon, a quarter of what is left must do. A rate over n quanta may be off by 1/n, and an imbalance below that is none yet.
//
// Answer. Ranks that share a core are the faster the less work they have, and would swing to and fro if each were given what
// it looks worth. The balancer learns from its movements how rates answer to work, and makes its steps as much
// shorter as that asks for (answer), unless the others wait for a rank that would be right by it. Decision.Filtered are the rates as they are, Imbalance, Targets and Plans go by what they will be.
//
// # Free loops
//
// Where ranks do not wait for each other (Loop.Free, a DOALL done once) the work is what remains. The period shrinks to
// half of the projected time to the end, so that the ranks end together, but not below (13). Final ends the interactions
// when less than that is left.
//
// A rank that is behind holds nobody up until another one has nothing left to do, and what moves early may have to move back. So
// work moves when it is needed: when the shortest time for which a rank has work comes down to 4 periods and 1.5 times what the
// movement takes on its way, as far as those before tell (Status.Transit). An eighth moves at the first sight of an imbalance, to
// learn that. A transfer that the taker could not do with profit (Status.Least) is not made.
//
// # Learned weights
//
// Where the program gives no weights and ranks time their iterations in parts (Loop.Learn, Status.Timings), the balancer
// learns what iterations cost: a profile of at most 256 cells (Grid) over the span, one weight each. For cell c on rank r
// in status k
//
//	ln(seconds per iteration) = x_c - v_rk + noise
//
// x_c is the logarithm of the weight, v_rk that of the rank's speed. Each status has its own v_rk, so loads that come and
// go do not matter, and what is identified is:
//
//   - within a rank, the ratios of weights: from one status, whatever the speeds;
//   - between ranks, the ratio of weights, and with it that of speeds: where cells have changed their owner, so that two
//     ranks have measured the same cell, each together with cells of its own;
//   - before any cell has moved, nothing tells a slow rank from heavy iterations. Then weights are taken to change as
//     little from the last cell of one rank to the first of the next as they do within ranks, and, where they change wildly
//     there, ranks are taken to have the same mean weight. That decides where work goes first, and its going corrects it.
//
// It is least squares over all statuses, in which older ones fade, and costs O(cells^2) for the statuses of one interaction
// that bring timings, O(cells^3) where weights within ranks do differ. A profile is used only if (a) the shape within ranks
// repeats from status to status, by four standard errors and at least 5 %: noise does not repeat; and (b) more than 5 % of
// a rank's mean work lies elsewhere than by the weights in force. A uniform loop therefore decides as if nothing were
// measured. One heavy cell among many equal ones takes some sixteen measurements to be believed.
//
// The Decision that announces weights (Profile, with their version in Weights) moves no work, nor does the next one until all
// statuses count in them. Sums of weights are the number of iterations. Rates are then converted by what each rank
// owns in old and in new units; levels and promises of before are forgotten.
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
// yet (index > Status.Obeyed) are counted as if it had, so nothing is ordered twice. A decision costs O(P log P), and
// while nothing moves it allocates nothing per rank.
//
// # What it does not do
//
// It sends nothing and measures nothing (hooks). It expects the next change of one rank only, the one whose work is in
// question. It does not know which iterations move where the movement is Direct: senders choose.
package lb
