// Package summary says what a loop's run came to: how well the ranks were used, where the rest of the time went, who was
// slowest, which parameters were chosen and why, and what balancing brought. It is printed at the end of every run, written by
// --report as text or JSON, and stands in the page of shiftwork report.
//
// # Definitions
//
// Those of the POP centre of excellence, over all ranks, with computing in wall-clock time, time without a processor included:
//
//	load balance              mean compute / longest compute
//	communication efficiency  longest compute / elapsed
//	parallel efficiency       = load balance * communication efficiency = mean compute / elapsed
//
// A dedicated master counts as a rank that does not compute. The time that is lost is elapsed - mean compute, and it is the
// sum of
//
//	imbalance   longest compute - mean compute
//	moving      the time that the rank with the longest computing spent moving work
//	balancing   the time that it spent in interactions with the master
//	waiting     the rest: for its neighbours, for messages, at the end
//
// What a load would have cost is hooks.Gain: an estimate from measured rates.
//
// # Units
//
// Times are seconds, wall-clock; rates are work units a second of computing. Efficiencies are from 0 to 1.
//
// # What it does not do
//
// It measures nothing: all numbers come from the hooks' report.
package summary
