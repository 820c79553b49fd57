// Package local is the transport inside one process: every rank is a goroutine, time is real.
//
// It runs a program where there is no MPI, serves as the fixture of tests and examples, and, under the race detector,
// shows where ranks share memory by mistake.
//
// # Model
//
// Each rank has two queues under one lock, as MPI has them: receives posted that no message has matched, in
// order of posting, and messages that no receive has matched, in order of arrival.
//
//	send     first posted receive that matches?   copy into its buffer; both are done
//	         none, n <= Rendezvous                copy; the send is done; the copy queues at the receiver
//	         none, n >  Rendezvous                the send queues at the receiver, and is done when received
//	receive  first queued message that matches?   copy from it; both are done
//	         none                                 the receive queues
//
// Nobody holds a lock of two ranks at a time, nor one while a long message is copied. A rank that waits sleeps on a
// condition variable of its own.
//
// # Failure
//
// The first rank that returns an error, panics, exits or aborts ends the run: the others are released from the
// operation in which they wait, or at the next one that they call, with runtime.Goexit, which runs their deferred
// functions. Invariant: when Run returns, no goroutine that it started is left.
//
// # What it does not do
//
// It does not find deadlocks (comm/sim does): a run in which every rank waits for another hangs. It cannot release
// a rank that computes and never communicates, nor one whose deferred functions wait for another rank.
package local
