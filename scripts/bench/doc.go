// Command bench measures what docs/performance.md says, each figure against what it is held against, in interleaved runs:
//
//	bench c         sor and mm, also built with OpenBLAS, against plain C and MPI with static blocks, with and without a competing load
//	bench hooks     sor and mm with hooks that never interact against the same loops without any hook
//	bench waits     our waits against MPI's blocking calls, where waiting matters
//	bench scaling   ranks on a core each (--ranks, two) against as many times the serial speed, against as many serial copies at once, and against the serial kernel
//	bench blas      mm with OpenBLAS against OpenBLAS's dgemm by itself
//
// Run it in the root of the repository after make build, with . scripts/env.sh before go run; make bench-c, bench-hooks and bench-waits do that
// for the first three. It needs two cores that nobody else uses, and root and control groups for the quotas and networks of waits
// (scripts/lab).
//
// In every round each way of running comes once, in an order that turns from round to round, so that a drift of the
// machine's speed favours nobody; where some percent decide, a way's time of a round is the mean of several shorter runs that take turns with the others'. Ratios are of the two runs of one round; printed are the least, the median and the largest of them.
// Times are the time_s of the result lines, in seconds: from a barrier after set-up to a barrier after the last iteration.
//
// # Hooks
//
// "Never interact" is not --balance off: there the hook stands where it would, counts and times, but mm takes all rows of a rank at once
// and so has no hook but the one at the end. So three builds are compared, whose tags go doc ./hooks explains, on static halves:
//
//	none    tag nohooks: the loop alone
//	idle    tag idlehooks with --balance on: hooks in the places, and as many, as if work could move. The wanted figure
//	off     the usual build with --balance off: what who does not balance pays
//
// A run's length is found by trying; sor gets the block size that it chooses there, the same for all. Every build is first run with
// --verify, and programs with other tags, or of different commits, are refused. What the loop times for its own choice of a block size is
// in all three.
//
// It does not judge: it fails only where a program fails or results differ. A line a run on standard error tells how far it is.
package main
