// Package loops is what most applications write: distributed DOALL and DOACROSS loops that balance themselves, and arrays
// whose rows follow their iterations.
//
//	DOALL      iterations are independent; done once, or repeated, with or without exchange of boundary rows
//	DOACROSS   iterations depend on their neighbours: ranks form a pipeline, columns are strip mined, sweeps stream
//
// A loop is a struct that says what is distributed and what its body does; Run executes it on every rank. The body gets
// global indices and must only touch rows that it is given (and read the neighbours' rows that the loop's documentation
// names), so it is the code of the sequential program with other bounds.
//
// # The streaming pipeline
//
// A rank computes strip s of sweep t when its left neighbour has finished strip s of sweep t and its right neighbour
// strip s of sweep t-1:
//
//	rank 0   t0s0 t0s1 t0s2 t0s3 t1s0 t1s1 ...
//	rank 1        t0s0 t0s1 t0s2 t0s3 t1s0 ...
//	rank 2             t0s0 t0s1 t0s2 t0s3 ...
//
// The pipeline fills once a run, not once a sweep. README.md shows what happens when rows move in the midst of it, and
// how the block size follows the costs: it is chosen after three sweeps (two under CPU quotas) and looked at again every 8 or more, without stopping
// anybody. Report.Tunings tells each choice.
//
// # Loops that meet once a repetition
//
// The ranks of a DOALL with Halo or After meet at each repetition: they wait for boundary rows, or in a reduction. The hook comes
// once a repetition, the largest grain that such a loop allows, and Report.Barrier says what meeting costs and what
// efficiency equation (12) of the paper makes of it:
//
//	efficiency = n t_iteration / (P t_barrier + n t_iteration)
//
// Measured by each rank as the time from when it has nothing more to compute to when it may compute again. The smallest such time
// is a lower limit of t_barrier; the mean has waiting for slower ranks in it, and the efficiency with it is the
// loop's own, without interactions and moving.
//
// DOALL.Overlap takes the exchange of boundary rows off the path: they travel while Body does the interior.
//
//	rank r-1   | send, interior ........ | wait | edges |
//	                 ⇅ boundary rows
//	rank r     | send, interior ........ | wait | edges |
//
// Body is then called for the interior in up to four parts, between which the transport gets its chance to move messages (MPI moves
// long ones only while it is called), and last for the one or two rows at the edges. It is the program that allows this,
// because it knows what Body reads: of a row and its neighbours only what no Body call of the same repetition writes.
//
// # Iterations that differ in cost
//
// Weights say what iterations cost, relative to each other, where the program knows. Where it does not:
//
//   - a DOALL with Halo or After learns its weights while it repeats: before an interaction, one repetition calls Body for
//     up to 32 parts of the rank's rows, and times each. Within some interactions the division follows the work, not the
//     number of rows; package lb says what can be known and when;
//   - a DOALL without either corrects itself as it goes: rates fall and rise with the iterations under way, ranks that run
//     dry are given more, down to the last iterations;
//   - a DOACROSS does not learn: one strip says nothing about the others. Give it Weights.
//
// Loops of more than 2^20 iterations, or of less than two a rank, do not learn.
//
// # Long iterations
//
// A rank reports, gives and takes between two calls of Body. Where an iteration takes longer than a rank should be deaf, or a call
// for few costs as much as one for many (a matrix product reads all of B), Piece does it in pieces, with a hook between them. Rows that are
// begun may move there, and their other pieces are then done where they come to be:
//
//	rows 0-127   columns 0-335 | hook | columns 336-671 | hook | ...
//
// # Stopping and going on
//
// DOACROSS.Checkpoint and DOALL.Checkpoint let a loop stop between two sweeps or repetitions, on a signal or in time for a limit, write
// its rows to disk now and then, and go on from there in another run, on any number of ranks. README.md tells how ranks agree.
//
// # Units and invariants
//
// Results are bit-identical for every number of ranks, every block size and every way of balancing, as long as the body's effect on a
// row does not depend on how rows and strips are split.
//
// # Limits
//
// One-dimensional blocks of rows. A halo is one row wide. Arrays take address space for all rows on every rank, and
// memory only for rows that are there.
package loops
