// Package closedloop runs a balancer against a model of a machine, in virtual time: thousands of periods in milliseconds,
// the same every time. Its tests hold the figures that the decision is judged by.
//
// # Model
//
// P ranks wait for each other, so the slowest one paces all. One of them, rank 0, shares its machine with a competitor
// (S&S 1997, section 7.3) that takes half of it for half of each cycle, from a random phase on.
//
//	period          k-1        k          k+1         k+2
//	load       ______|---------------------------------------
//	rates of             k: status -> decision
//	instruction                             '-> obeyed: two periods after the load came
//
// At the end of each period the balancer is told what each rank has done and how long it computed; a measured rate has
// Gaussian noise. The instruction is obeyed when the next period has ended too (pipelined). A move costs
// MoveFixed + MoveAll x (fraction of all work that changes its owner), during which nobody computes. A dip halves the true
// rate of a rank for one period.
//
// # Figure of merit
//
// The share of the interference penalty that is removed,
//
//	(T_none - T) / (T_none - T_ideal),
//
// T_none the time for the same work without balancing, T_ideal that of a distribution that uses every available cycle at
// once and for nothing. Nobody can reach 1: Oracle, who knows the true rates of the period just ended, shows how far
// following every change goes. It is no bound for those who look further: where the load comes and goes fast, to
// stay divided for the slow times removes more.
//
// # What it does not do
//
// It has no scheduling quantum, no communication and no whole iterations worth mentioning: see package lb's own tests, and
// comm/sim with hooks and loops, for those.
package closedloop
