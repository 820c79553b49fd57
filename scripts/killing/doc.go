// Command killing kills, or stops and continues, each rank of a job in turn at random moments, and says what a user saw.
//
//	go run ./scripts/killing --signal kill --runs 50      each job must end within 15 s, with one message and no rank left
//	go run ./scripts/killing --signal stop --runs 50      each must go on after 10 s, and end with the right result
//
// The job is sor, by default on four ranks of this machine and with --balance random, so that work is on its way at many of the
// moments. The moments are equally likely from the time on at which MPI has connected the ranks: the end of its set-up, that of the
// program, calibration and the loop all get their share, the loop most. Before that nothing of ours runs, and mpirun (Open MPI 4.1)
// may print that it has lost a rank and then wait for ever. The right result is that of one rank, which is compared with a serial
// run once. A run whose job ended before its moment is done again. The last line is the verdict; exit code 1 if it is bad.
//
// It is for Linux and Open MPI; the package shiftwork/internal/jobs does the work.
package main
