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
