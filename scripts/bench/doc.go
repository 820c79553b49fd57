// Command bench measures what docs/performance.md says, each figure against what it is held against, in interleaved runs:
//
//	bench c         sor and mm against plain C and MPI with static blocks, with and without a competing load
//	bench waits     our waits against MPI's blocking calls, where waiting matters
//	bench scaling   two ranks against twice the serial speed, and against two serial copies at once
//	bench blas      mm with OpenBLAS against OpenBLAS's dgemm by itself
//
// Run it in the root of the repository after make build, with . scripts/env.sh before go run; make bench-c does that for the
// first. It needs two cores that nobody else uses, and root and control groups for the quotas and networks of waits
// (scripts/lab).
//
// In every round each way of running comes once, in an order that turns from round to round, so that a drift of the
// machine's speed favours nobody. Ratios are of the two runs of one round; printed are the least, the median and the largest of them.
// Times are the time_s of the result lines, in seconds: from a barrier after set-up to a barrier after the last iteration.
//
// It does not judge: it fails only where a program fails or results differ.
package main
