// Package spmd starts and ends an SPMD program: one binary, three ways.
//
//	mpirun -np 8 ./prog     each process is a rank of MPI         (package comm/mpi)
//	./prog                  each rank is a goroutine              (package comm/local)
//	build tag nompi         the same without MPI and without cgo  (package comm/local)
//
// It picks the transport from the environment that the launcher sets, checks that launcher and MPI agree on the number of
// ranks (they do not when mpirun belongs to another MPI: each process would then be "rank 0 of 1"), turns errors and
// panics of one rank into the end of the whole job with one message, and maps them to exit codes: 0 done, 1 failed,
// 2 usage.
//
// It parses no flags and reads no files; it knows nothing of loops or balancing.
package spmd
