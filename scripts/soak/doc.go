// Command soak runs sor for a long time under loads that come and go, with work that moves for no reason, and looks at the memory of
// each rank and at the result.
//
//	go run ./scripts/soak --for 30m
//
//	            |--- tenth ---|--- tenth ---| ...                          |--- tenth ---|
//	memory of   start           median A                                     median B         growth = B/A - 1
//	a rank
//
// Memory is the resident set, sampled each second, and growth compares the median of the last tenth of the samples with that of the
// second: in the first one rows are still touched for the first time, since a rank has address space for all rows and memory only for
// those that it has owned. The verdict is good if no rank grows by more than --growth, the job exits with 0, and its checksum is that
// of one rank without balancing, which runs at last, alone.
//
// The relaxation factor is so close to 2 that no sweep is forgotten: with a usual one the grid converges, and errors of the first
// minutes would be gone. The job ends by its --time-limit, and one rank does as many sweeps as it came to. A competing load computes
// for 1 to 20 s on a random processor, rests for as long, and starts again.
//
// It is for Linux and Open MPI. Exit code 0 if the verdict is good, 1 if not, 2 for bad usage.
package main
