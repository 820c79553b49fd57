// Command soak runs sor for a long time under loads that come and go, with work that moves for no reason, and looks at the memory of
// each rank and at the result.
//
//	go run ./scripts/soak --for 30m
//
//	            |--- tenth ---|--- tenth ---| ...                          |--- tenth ---|
//	memory that  start          median A                                     median B         growth = (B - A) / resident set
//	a rank keeps
//
// What a rank keeps is its private memory, in memory or swapped out, and the shared memory that it has touched, sampled each second.
// The resident set has pages of files besides, two thirds of it: the program and its libraries. These come when they are used and
// the kernel drops them when it likes, a few MB within minutes where ranks are stopped or memory is short; that would hide a leak,
// or look like one. Growth compares the median of the last tenth of the time with that of the second, as a part of the
// resident set then.
//
// Leaks are looked for, not memory that a rank comes to use only late, or has no use for any more. So the job is run such that
// a rank has all of its memory by the second tenth. Nothing is subtracted, and what leaks stays there whatever these settings are:
//
//   - Rows are touched for the first time when a rank first owns them; until then they are only address space. Work moves every
//     --period, so that after ten thousand random distributions in the first two tenths few rows are left: of 4 ranks the one at an
//     end has, after k of them, never owned about a part k^(-1/3) of all rows.
//   - Garbage of Go that waits for its collection. A rank makes some kB of it a second, and with Go's usual pace, which waits
//     for 4 MiB, the first collections would come in the midst of the run. GOGC=10 lets them come each MiB.
//   - Memory that the C library holds for each thread by itself. Go runs a rank on one thread after the other, and MPI's
//     buffers would fill one pool after the other. MALLOC_ARENA_MAX=1 makes it one pool.
//   - MPI's buffers for messages that came before they were asked for. They are never given back, so they are as large as
//     the most that was ever under way: a lean's boundary rows, in as many messages as strips. That is reached within minutes,
//     later where ranks get little of the processors. So runs much shorter than half an hour find growth that is no leak.
//
// The relaxation factor is so close to 2 that no sweep is forgotten: with a usual one the grid converges, and errors of the first
// minutes would be gone. The job ends by its --time-limit, and one rank does as many sweeps as it came to. A competing load computes
// for 1 to 20 s on a random processor, rests for as long, and starts again.
//
// It is for Linux and Open MPI. Exit code 0 if the verdict is good, 1 if not, 2 for bad usage.
package main
