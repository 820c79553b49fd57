// Package jobs starts a program under mpirun and then looks at its ranks, stops, continues and kills them: for tests and
// experiments about what happens when a rank does not go on.
//
//	mpirun ──┬── rank 0   pid, OMPI_COMM_WORLD_RANK in its environment
//	         ├── rank 1      Signal: SIGSTOP, SIGCONT, SIGKILL
//	         └── rank 2      Memory: what it has and keeps, bytes
//
// Kill and Pause are the two experiments: a rank of a running job is killed, or stopped for a while, and the outcome says what a
// user sees of it. Ranks are found through /proc, so all of it is for Linux and for one machine, and for Open MPI's mpirun.
//
// # Invariants
//
// Close leaves no process of the job. Signals go to processes that the job's mpirun has started, and to no others.
package jobs
