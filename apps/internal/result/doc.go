// Package result writes and reads the last line that a program prints: one line of key=value, for people and scripts.
//
//	result: app=sor n=1000 m=1000 iterations=40 ranks=8 transport=mpi balance=on block=36 period_s=0.12 time_s=1.842
//	    rate_per_s=2.2e+07 interactions=15 shifts=4 iterations_moved=131 move_s=0.021 master_cpu_s=0.004
//	    setup_s=0.041 calibrate_s=0.103 finish_s=0.012 checksum=4f1c52b8aa0e91d3 verified=true
//
// (one line, broken here). The keys, their order and their formats are a contract: keys are added, never renamed, and
// verified stays last. Names that end in _s are seconds; period_s and rate_per_s have three significant digits, the other
// times are to the millisecond. finish_s is from the end of time_s until the line is printed. rate_per_s is work units per second of time_s over all ranks. stopped is there
// when the run ended before its last iteration: signal or time-limit. verified is absent when the result was not compared
// with a serial run. blas names the library of a product and its kernel, and is absent for gonum's and our own; bound is the largest difference that
// counts as equal, absent where bits are compared.
//
// As JSON, in reports, it is an object with the same keys and units, unrounded; the checksum is a string.
//
// Reading is strict in what this package writes and lenient in what it does not know: unknown keys are skipped, so that
// an older reader understands a newer line.
package result
