// Package comm is how ranks talk: the few message operations that Shiftwork needs, as an interface, with the
// collectives, the byte views and the wire codec that are the same over every transport.
//
//	        hooks, loops, apps
//	               |
//	 Barrier, Bcast, Gather, ...          collective.go: built on Comm, once
//	               |
//	            comm.Comm                 comm.go: the contract
//	      _________|___________
//	     |         |           |
//	comm/mpi   comm/local   comm/sim
//	real ranks goroutines,  virtual time, deterministic,
//	of a job   real time    finds deadlocks
//
// Package comm/commtest is the contract as a program: one conformance suite that all three pass.
//
// # Model
//
// A message has a source, a destination, a tag and bytes. A receive names the tag, and the source or [Any].
// The messages from one rank to another with one tag are matched in the order in which they were sent; between
// different tags or sources there is no order. A send may be buffered, in which case it finishes at once, or may
// wait until its receive has been posted; a correct program works either way.
//
// # One machine
//
// Ranks on one machine can copy each other's memory, or have some in common, if the transport can ([Reader], [Sharer]) and the user lets it. Three things
// that are built on that do with messages elsewhere, so that who uses them need not know:
//
//	Lend, Borrow   long data that stays where it is until the other rank has it
//	Shelf          letters that the other rank reads where they were written
//	Share          memory to read and write
//
// # Collectives
//
// All ranks call the same collectives in the same order. With P ranks:
//
//	Barrier, AllreduceMax, AllreduceMin   dissemination   ceil(log2 P) rounds
//	AllGather                             Bruck's         ceil(log2 P) rounds, P-1 blocks sent by each rank
//	Bcast                                 binomial tree   ceil(log2 P) rounds at most
//	Gather                                linear          P-1 messages into the root
//
// In round k = 0, 1, ... of a dissemination, rank r sends to r+2^k and receives from r-2^k (mod P). Each
// collective has one tag from [MaxUserTag] up. Within one collective no rank receives two messages
// from the same source, because the 2^k are different mod P, and so the order per (source, tag) is enough to keep
// collectives that follow each other apart, however far ahead one rank may be.
//
// # Units
//
// Lengths are bytes. Times are [time.Duration], from an origin of each rank's own: only differences on one rank mean
// anything.
//
// # Byte order
//
// [BytesOf] and [FloatsOf] view memory as it is, so ranks that exchange such bytes must share byte order and IEEE 754
// numbers. The [Encoder] writes little endian on every machine.
//
// # What it does not do
//
// No datatypes, subgroups, topologies, one-sided operations ([Lend] and [Shelf] are such underneath, where ranks share a machine), cancelling of requests or wildcard tags. A message is never lost
// and never retried: a transport that fails ends the job. AllreduceSum is left out on purpose: a sum of floats
// depends on its order; whoever wants one adds what AllGather returns, in rank order.
package comm
