// Package archtest holds the house in order: its test fails when a package imports what it must not.
//
//	filter  dist               pure: no system, clock, network, goroutine or randomness
//	pipeline  placement
//	          |
//	         lb                the same, but for seeded generators; decides
//	          |
//	comm ─── hooks             messages; comm/mpi alone knows MPI
//	checkpoint                 files
//	          |
//	trace   loops              neither hooks nor loops knows which transport it runs on
//	          |
//	        spmd               picks the transport
//	          |
//	        apps               programs, and what only they use
//	        docs               programs of the tutorial
//	          |
//	       scripts             experiments
//
// A package imports only packages that stand above it. What lies in internal serves tests and experiments, but for internal/machine, which knows
// processors and quotas. Imports are
// read from the sources with go/parser, all files whatever their build tags, and for packages of others with go list.
//
// lb may draw random numbers, for the policy Random, from generators that it seeds itself; this too is read from the sources.
//
// Besides: every package says what it is, and no file is longer than 700 lines.
//
// It does not look at what a package does with what it may import.
package archtest
