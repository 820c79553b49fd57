// Package mpi is the transport over MPI: real ranks under a real mpirun or srun.
//
// It is the only package that may import gompi and, but for apps/internal/openblas (tag openblas), the only one with cgo. gompi starts and ends MPI and knows the world; what
// it lacks (non-blocking operations, return codes, a communicator of our own) is the small C file nonblocking.c,
// which works in one program with it. A program may go on using gompi beside Shiftwork, after Start, which sets
// what MPI reads when it begins: our messages travel on a duplicate of MPI_COMM_WORLD and cannot be mistaken for the program's own. Only the body of a loop without
// exchange (hooks.Free) must not: another thread sends and receives for it meanwhile.
//
// # Waiting
//
// MPI's own blocking calls spin, or call sched_yield for ever. On a core that somebody else also uses, or under a CPU quota, a
// rank that spins takes the time that its neighbour, or it itself a moment later, needs. All waits here poll:
//
//	time waited   0 ............ S ............................
//	              spin or yield  sleep 1/8 of the time waited so far,
//	                             at least 20 µs, at most 0.25 ms; at most 2 ms after 40 ms
//
// What comes before the first sleep depends on who needs the core:
//
//	nobody else (ranks have a core each)     spins for 5 ms
//	other ranks (more of them than cores)    calls sched_yield for 2 ms; spins for 50 µs for a quarter of a second after one that lasted over 5 ms
//	the rank itself, later (a CPU quota)     spins for 50 µs, about what a sleep and a wake-up cost
//
// Ranks in containers on one machine are counted together. 5 ms are longer than a scheduling slice: a rank with a core of its own takes
// nothing from other ranks, and if somebody else's process competes for the core it keeps its half of it, where a sleeper
// would get the core back only at the end of the other's slice, at every wait. Who shares a core with other ranks hands it over, for the rank
// that is waited for may want this very one; a yield of over 5 ms says that somebody else's process has had it, who gets a slice of his own at each.
//
// Start also asks the scheduler for short
// slices, so that a rank that does sleep gets the core back sooner (slice_linux.go). The proportional sleep bounds the late
// wake-up to an eighth of the wait and the CPU use of a long wait to 2%. In a pipeline, where a rank's late wake-up makes the next one wait longer and
// so wake up later, an eighth is too much once waits last as long as a quota's period: hence the 0.25 ms.
//
// What is lent (comm.Lend), such as rows that move, a rank copies out of the other's memory by itself where it may: process_vm_readv, which Start tries
// for all ranks that share memory as MPI sees it, if they share processors or have quotas: with processors of their own two ranks that copy pieces in turns are faster. It does not where the user keeps MPI from shared memory (--mca btl tcp,self) or from
// such copies (--mca btl_vader_single_copy_mechanism none), or the system refuses it; under Yama's ptrace_scope 1 Start lets the descendants of the process that has started
// this one read it, which are the ranks on this machine.
//
// Elsewhere a long message travels in pieces, of which a few are under way at a time; the next ones leave when both
// sides have polled. Waits for it sleep 20 µs for as long as it takes at 100 MB/s, and never more than 0.25 ms. Without that four ranks with
// a quota of 40% of a CPU moved rows at a quarter of the speed.
//
// Start switches mpi_yield_when_idle off: with it every poll that finds nothing calls sched_yield, which on Linux gives
// the rest of the slice to whoever competes.
//
// The sleeps are Go's, between short calls into C: else the runtime's monitor thread comes after each, for 10 µs of the core or of the quota (monitor.go). It made four ranks on two cores up to 1.5 times as slow,
// and four with 40% of a CPU 1.3 times.
//
// For experiments the variable SHIFTWORK_WAIT replaces this choice (WaitVariable; docs/performance.md has the figures):
//
//	auto    as above, the default
//	spin    polls without a pause
//	yield   calls sched_yield between two polls
//	sleep   sleeps from the first poll on, as above with S = 0
//	block   MPI's own MPI_Waitany and MPI_Probe, with mpi_yield_when_idle as mpirun or the user sets it
//	        and without short slices: what a program gets that does not care
//
// # Shared memory
//
// Open MPI 4.1 receives large messages between ranks of one machine with a single copy through the kernel (CMA), and
// overruns a receive buffer that is too short before it reports the truncation. Start therefore selects copying
// through shared memory, unless OMPI_MCA_btl_vader_single_copy_mechanism is set. It also raises the limit up to which
// messages arrive without the sender's help to that of TCP, 64 KiB, unless OMPI_MCA_btl_vader_eager_limit is
// set, and makes room for 250 of them from each rank, unless OMPI_MCA_btl_vader_segment_size and OMPI_MCA_btl_vader_fbox_size are: in a pipeline
// the sender of a strip goes on computing and cannot help, and may be many strips ahead. Longer ones travel in pieces of 256 KiB, unless
// OMPI_MCA_btl_vader_max_send_size is set.
//
// Memory in common (comm.Share) is mapped by the ranks that share memory as MPI sees it (Linux: memfd_create, and /proc/PROCESS/fd); there is none where the user keeps MPI from that
// (--mca btl tcp,self). comm.Shelf hands letters over by it, with two copies where MPI's messages have four, or five where nobody waits for them yet.
//
// # What it does not do
//
// It offers none of MPI's collectives, datatypes or topologies: package comm builds the few collectives that
// Shiftwork needs from the same operations on every transport.
package mpi
