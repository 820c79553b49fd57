// Package hooks is the run time of a distributed loop in each rank: it counts the loop's hooks, times its phases, reports
// to the master, obeys its instructions and moves work with its data. It also hosts the master, which
// package lb makes decide. Numbers are decided there; messages are sent here.
//
//	rank    phase | phase | phase H phase | phase | phase H          H: the hook interacts
//	                              |status k ->            |status k+1 ->
//	                              |<- instruction k-1     |<- instruction k
//	                              |shifts work            |shifts work
//
// Two kinds of loops have two run times:
//
//   - [Hooks]: ranks that synchronise by the program's own messages (boundary exchange, pipelines, reductions) execute the
//     hook equally often. All obey an instruction at the same hook, so every rank knows where every row is; or each
//     boundary moves as soon as its two ranks can (Loop.OneByOne).
//   - [Free]: ranks that never wait for each other (a DOALL). A transfer completes whenever its two ranks have reached it;
//     the loop hands out its iterations in chunks until nothing is left.
//
// Interactions are pipelined (S&S 1997, section 2.1): at interaction k a rank sends its status and obeys the instruction
// that the master computed from interaction k-1, so nobody waits for the master. Synchronous interactions wait. In a
// pipeline each boundary between two blocks can move on its own, where the rank is that gives, as soon as that one hears of it (Loop.OneByOne).
//
// # Units and invariants
//
// A rate is work units per second of computing time: wall-clock time between Begin and End, so that being descheduled
// counts and waiting for a neighbour does not. Under a CPU quota of less than a processor, computing time is at least what it takes until the
// quota has given as much CPU time: a rank that waits uses less than its quota and computes unstopped, which says nothing of its speed with more
// work. A load that shares the quota takes what the rank leaves; with more work the rank would get half.
//
// Every iteration is owned by exactly one rank between any two hooks. A rank sends the data of an iteration before it forgets that it
// owned it and computes none that it has not received.
//
// A program whose iterations differ in cost says so by Loop.Weights, or lets them be learned: it calls Parts and Lap between
// Begin and End (see Hooks.Parts).
//
// Rows that come from a neighbour for the first time have no memory behind their addresses where they are received in place (InPlace). New puts it
// there, for a third of a rank's iterations on each side, if all ranks of the machine take no more than an eighth of what is left by it. Reserve does the same for what is packed.
//
// What the data of a work unit takes to travel is measured before the loop, by a few messages of 128 KiB along the line of ranks (at most some 20 ms; 40 ms at 100 Mbit/s; under CPU quotas longer ones, up to a sixteenth of what a rank has), where a
// rank has that much data and it is received in place: the first movement of rows over a slow network can be as dear as all that it brings.
//
// # Where the hook stands
//
// A hook that does nothing takes some 60 ns with the timing around it, and may cost 1 % of the code between two hooks: 6 us
// are enough (S&S 1997, section 5.1.2). In a nest of several loops around the distributed one a program need not know
// where that is. It describes the nest to [Hooks.Place] and marks the end of each iteration of each loop; package placement
// chooses among these places, first by operation counts, then by times that were measured:
//
//	p, err := h.Place(nest)
//	for step {
//		for substep {
//			for row { ... }            // distributed
//			moved, err := p.End(1)     // the hook, if it belongs here
//		}
//		moved, err := p.End(0)         // or here
//	}
//
// Report.Placement says what was chosen, what a hook costs there, and why. A level that is too short for a hook, inside one
// that is too long to wait for (0.1 s), is strip mined: a hook after so many of its iterations. The distributed loop itself
// can be strip mined only where ranks do not wait for each other, which is what Free does with its chunks (the MM of the
// paper). The measured costs are those of the beginning; a nest that changes its nature later keeps its hook.
//
// # Builds for measuring
//
// What hooks cost a whole program is measured by holding builds of it against each other (docs/performance.md):
//
//	go build                    hooks as described here
//	go build -tags idlehooks    hooks that are placed, count, time and look for messages as ever, but never interact: of a balanced
//	                            loop every execution of the hook is one of those between two interactions
//	go build -tags nohooks      loops without hooks: Hook, Pass, Begin and End do nothing, a Free loop hands out all that a rank
//	                            has at once, nothing is balanced, and reports hold no times of ranks
//
// The results are the same, bit for bit. The tests of this package hold the usual build alone.
//
// # Limits
//
// The master is a role of rank 0 and has no thread of its own: rank 0 serves it in its hooks and while it waits for
// instructions. A phase of rank 0 that takes seconds delays instructions by as much. A Comm is used by one
// goroutine at a time: the one that calls the hook or, while the body of a free loop computes, one that passes messages for it. Loops of one Comm run one after the other, not nested or in turns: their
// messages have the same tags. Synchronous interactions of a Free loop wait for the longest chunk under way. README.md describes the protocol and what was rejected.
package hooks
