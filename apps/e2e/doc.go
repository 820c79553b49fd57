// Package e2e holds the end-to-end tests of the programs: it builds sor, mm and load once a test run, starts them as a
// user does, and looks only at what a user sees, which is exit codes, output and files.
//
//	alone(...)   ./sor --ranks 3 ...            goroutine ranks; every build
//	under(...)   mpirun -np 3 ./sor ...         real MPI; builds with cgo and without the tag nompi
//
// What holds everywhere is in tables: the same checksum and verified=true for every number of ranks, policy, master,
// interaction and transport; bad usage and input end with exit code 2, one line, said once, and no file; a rank that dies
// or panics ends the job.
//
// The programs are built with the tags of the tests, never with the race detector, which the tests of the packages have.
// Nothing but tests is here. It does not measure: times are only limits after which a job counts as hanging.
package e2e
