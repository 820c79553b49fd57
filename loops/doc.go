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
// The pipeline fills once a run, not once a sweep. README.md shows what happens when rows move in the midst of it.
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
