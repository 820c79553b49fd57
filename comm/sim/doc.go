// Package sim is the transport in virtual time: a discrete-event simulation of ranks that run real code. The result
// of a run is a pure function of the configuration and the program, a run of hours takes milliseconds, and a
// program that deadlocks fails with an explanation instead of hanging.
//
// # Model
//
// Each rank is a goroutine with a clock, and exactly one runs at a time. The clock of a rank advances only when it
// says that it works ([Comm.Work], [Comm.Sleep]), when it waits, and by the small costs below; computing
// itself is free. A rank that works u units from time t on is done at the t' with
//
//	u = ∫ speed(τ) dτ   from t to t'
//
// where speed is the rank's table of steps, integrated step by step: speed 0 is a rank that is stopped.
//
// A rank with a [Quota] works only while there is something left of its period's budget, which loads beside it use as well, whether it works or waits:
//
//	4 ms of 10    rank  ████████┄┄┄┄┄┄┄┄┄┄┄┄████████      turns of 3 ms    rank  ██████┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄████
//	                                                                   load  ┄┄┄┄┄┄██┄┄┄┄┄┄┄┄┄┄┄┄████┄┄┄┄
//
// A message of n bytes whose send starts at time s, and whose receive is posted at time p, is received at
//
//	n <= Rendezvous:  max(p, s + Alpha + Beta·n)     the send is done at s
//	n >  Rendezvous:  max(p, s) + Alpha + Beta·n     the send is done then too
//
//	sender    ──s═════════════════╗──────      ──s┄┄┄┄┄┄┄┄┄┄╔════════════╗──
//	              Alpha + Beta·n  ║                waits    ║   Alpha + Beta·n
//	receiver  ─────────p┄┄┄┄┄┄┄┄┄┄╚══════      ─────────────p┄┄┄┄┄┄┄┄┄┄┄┄╚══
//	              buffered                          rendezvous
//
// A probe sees a buffered message when it could be received, and the announcement of one that waits for its receive at
// s + Alpha. A message never arrives before an earlier one between the same ranks with the same tag: it is
// delayed until then. SendOverhead is CPU time of each send, before s. Test and Iprobe that find nothing cost PollCost, so that
// a loop that polls gets on.
//
// # Causality
//
// Every operation first waits until its rank has the smallest clock of all that can run (ties: the lowest rank),
// and until all messages due by then have arrived. No rank can then still send a message that should have been seen, so
// a receive from comm.Any gets the message that arrives first (ties: the lowest source). Receives match in the order
// in which they were posted. A failure waits for its turn too, so the one reported is the first in virtual time. Between operations a rank runs ahead on its own: what it writes to memory that
// ranks share is not ordered by virtual time, though it is free of races and the same in every run.
//
// # Units
//
// The configuration is in seconds, bytes and work units. Inside, time is a whole number of picoseconds, so that sums
// that ought to be equal are, whatever their order; results are rounded to nanoseconds.
//
// # Strictness
//
// A program that is correct only by luck fails here: Rendezvous < 0 makes every send wait for its receive; a long message
// is copied only when it arrives, so a buffer changed too early shows; using a request after it was finished is
// a panic; messages never received and requests never finished are listed in [Result.Leaks]; ranks may have clocks with
// different origins.
//
// # Faults
//
// [Config.Faults] makes things go wrong at points of a rank's run that are counted, not timed: its n-th send is delayed, held
// back until no rank can go on without it, or refused; at its n-th operation it stops for a while, becomes slow, or dies. A run
// without faults says how many points there are, so a test can try each in turn:
//
//	rank 0   ──send 0────recv ┄┄┄┄┄┄┄┄┄┄┄┄ *comm.Error: rank 1 died at ...; where everybody was
//	rank 1   ────────╳  Die at operation 0
//	rank 2   ──recv ┄┄┄┄┄┄┄┄┄ the same error
//
// In a run with faults a rank that fails, in whatever way, does not end the others: the operation that they are in, and each
// later one, returns an error that wraps a [LostError]. Nobody waits for a time-out: real transports notice a dead rank because its
// connection or its launcher does.
//
// # What it does not do
//
// Messages do not compete for the network: each has Alpha and Beta to itself. Ranks do not take turns but with the loads of a quota. There is no memory
// hierarchy, no loss. Ranks must not wait for each other by other means than their Comm.
package sim
