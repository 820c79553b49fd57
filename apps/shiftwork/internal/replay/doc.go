// Package replay reads recorded runs (flag --record of the programs, hooks.JSONL) and feeds them through lb again.
//
//	run.jsonl:  {"schema":"shiftwork","version":2}
//	            start     configuration, loop              --> lb.New
//	            decision  statuses, decision of then       --> Balancer.Decide --> compared with that of then
//	            ...
//	            end       report
//
// # With the recorded settings
//
// lb is a state machine without clock and randomness, so the same statuses must give the same decisions. All fields of a
// decision are compared, exactly: rates, targets, imbalance, plans with their costs, outlook, period, reason. The one
// exception is a NaN, which equals any other. A difference means that the recording was changed, or was made by another
// version of the balancer, or on a processor whose compiled code rounds otherwise (fused multiplication and addition).
//
// # With other settings
//
// The replay shows what would have been decided. It is open loop: nobody obeys. The statuses are those of the recorded run,
// so up to the first interaction at which work moves otherwise the answer is exact, and after it, it is not what would have
// been measured:
//
//	rates              remain those of the machine as it was then, and are good evidence
//	waiting, progress  are those of the recorded distribution
//	what ranks own     Adjacent: the replay keeps its own distribution, as if its instructions had been obeyed.
//	                   Direct: the statuses say it, so a movement that only the replay orders is never made, and may be
//	                   ordered again and again: its number of moves is an upper bound
//	costs of moving    are learned from the movements of the recorded run
//	interactions       are when they were, whatever the period
//
// # Units and invariants
//
// Times are seconds since the loop began, work is in work units. A recording is read once, line by line; what is kept of an
// interaction is a row of the table. Whatever the file contains, Run returns a result or an error of one line. A last line
// that is cut off, because the run was killed, ends the recording.
//
// # What it does not do
//
// It does not simulate: it cannot say how long the run would have taken. It has no MPI and no cgo.
package replay
