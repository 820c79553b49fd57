package lb

import (
	"errors"
	"fmt"
	"math"

	"shiftwork/dist"
)

// Loop is the distributed loop as the balancer sees it.
type Loop struct {
	// Ranks is the number of ranks, the master's included: >= 1.
	Ranks int
	// FirstWorker is the first rank that owns iterations: 0, or 1 with a dedicated master.
	FirstWorker int
	// Start says who owns what before the first interaction. Required where the Movement is Adjacent and the loop is
	// not Free: the balancer's own copy is then authoritative. Elsewhere Status.Owned says it and Start is ignored.
	Start dist.Block
	// Weights are the work units of the iterations; the zero value is 1 each.
	Weights dist.Weights
	// Movement is Adjacent or Direct; MovementAuto is an error here.
	Movement Movement
	// Free is true where ranks do not wait for each other (a DOALL without halos): Status.Owned is the work that
	// remains and shrinks as it is done. False: all ranks obey at the same hook and own their work for the whole loop.
	Free bool
	// Quantum is the measured scheduling quantum in seconds, >= 0. Zero means DefaultQuantum.
	Quantum float64
	// Interact is what one interaction costs a rank in seconds, >= 0, measured before the loop; Status.Interact keeps it up
	// to date. Zero means DefaultInteract.
	Interact float64
	// MoveUnit is what it takes at least to move one work unit to another rank, in s, >= 0, by messages measured before the loop.
	// Zero: unknown. The first movement is taken to cost that, or a period where that is more.
	MoveUnit float64 `json:",omitempty"`
	// Learn says that ranks measure their iterations (Status.Timings) and adopt weights (Decision.Profile). Requires Start,
	// uniform Weights, and a loop that is not Free.
	Learn bool
	// OneByOne says that statuses are answered at once, not one interaction later, and that each boundary between two blocks moves when it can, in any order.
	OneByOne bool `json:",omitempty"`
}

func (l Loop) validate() error {
	var faults []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf("lb: "+format, args...))
		}
	}
	fault(l.Ranks < 1, "loop over %d ranks, want at least 1", l.Ranks)
	fault(l.FirstWorker < 0 || l.FirstWorker >= max(1, l.Ranks), "first worker is rank %d of %d", l.FirstWorker, l.Ranks)
	fault(l.Movement != Adjacent && l.Movement != Direct, "movement of the loop is %v, want adjacent or direct", l.Movement)
	fault(!(l.Quantum >= 0) || math.IsInf(l.Quantum, 0), "quantum is %v s, want a finite time >= 0", l.Quantum)
	fault(!(l.Interact >= 0) || math.IsInf(l.Interact, 0), "an interaction costs %v s, want a finite time >= 0", l.Interact)
	fault(!(l.MoveUnit >= 0) || math.IsInf(l.MoveUnit, 0), "moving a work unit takes %v s, want a finite time >= 0", l.MoveUnit)
	fault(l.Free && l.Movement == Adjacent, "ranks of a free loop do not wait for their neighbours: its movement must be direct")
	fault(l.Learn && !l.Weights.Uniform(), "weights are given and shall be learned")
	fault(l.Learn && l.Free, "a free loop does not learn weights: it corrects itself")
	if l.blocks() || l.Learn {
		if err := l.Start.Validate(); err != nil {
			faults = append(faults, err)
		} else {
			fault(l.Start.Ranks() != l.Ranks, "distribution over %d ranks for a loop over %d", l.Start.Ranks(), l.Ranks)
		}
		for r := 0; r < min(l.FirstWorker, l.Start.Ranks()); r++ {
			fault(!l.Start.Range(r).Empty(), "rank %d owns %v and is not a worker", r, l.Start.Range(r))
		}
	}
	return errors.Join(faults...)
}

// blocks reports whether the balancer keeps a block distribution of its own.
func (l Loop) blocks() bool { return l.Movement == Adjacent && !l.Free }

// Status is what one rank reports at one interaction. Times are seconds.
type Status struct {
	Rank        int
	Interaction int // the index k of this interaction, from 0; the same in all statuses of one Decide
	Obeyed      int // index of the last instruction obeyed, -1 for none; Owned includes its transfers

	Units      float64 // work units done since the previous status, may be 0
	Compute    float64 // s, computing time since the previous status
	Elapsed    float64 // s, wall-clock time since the previous status
	Wait       float64 // s, time spent waiting for neighbours since the previous status
	Phases     int     // hook executions since the previous status
	PhasesLeft int     // hook executions until the loop ends, -1 if unknown

	Owned           float64 // work units owned now; in a Free loop, those that remain to be done
	OwnedIterations int     // the same in iterations
	Age             float64 // s since the status arrived at the master: in a Free loop the rank has worked on meanwhile

	// Least is how many iterations each worker must keep, where the balancer keeps blocks and there are so many; below 1: 1.
	// Rank 0's counts, from this decision on. In a Free loop, how many iterations a transfer to this rank must have at least.
	Least int `json:",omitempty"`

	// Slack is by how many sweeps the distance between neighbours may vary before one waits for the other (Loop.OneByOne). Rank 0's counts.
	Slack float64 `json:",omitempty"`

	MoveTime      float64 // s, time this rank spent moving work since the previous status
	MoveTransfers int     // transfers it took part in, as sender or receiver
	MoveUnits     float64 // work units of these transfers

	// Transit is how long, in s, the transfers were on their way that have arrived here since the previous status, and TransitUnits
	// what they brought. Free loops only, where nobody waits for them.
	Transit, TransitUnits float64 `json:",omitzero"`

	// Interact is what the interaction before took this rank, waiting for the master included, but not moving work; 0: not
	// measured.
	Interact float64 `json:",omitempty"`

	Weights int      `json:",omitempty"` // version of the weights (Decision.Weights) that all units here are counted in
	Timings []Timing `json:",omitempty"` // of a phase that was measured in parts: at most MaxTimings
}

// Decision is the instruction to all ranks and how it came about. Its slices belong to the Balancer and are valid
// until the next Decide.
type Decision struct {
	Interaction int // the k of the statuses that it answers
	// To is the distribution after this instruction where the balancer keeps blocks (Adjacent, not Free); else empty.
	To        dist.Block
	Transfers []dist.Transfer // empty: nothing moves

	NextHook int     // hook executions from one interaction to the next, >= 1
	Period   float64 // target period, s
	Limit    string  // which limit set the period: "interaction", "movement", "quantum", "fixed" or "end"
	// Final is true in a Free loop when nothing more will be decided: ranks finish what they own.
	Final bool

	Raw, Filtered, Targets []float64 // per rank: rates in units/s, and the units that it should own
	Imbalance              float64   // rfract: fraction of the time that the perfect distribution would save, 0..1
	Threshold              float64   // tfract that rfract was compared with
	Cost, Benefit          float64   // s; predicted for the plan chosen, or the full one; 0 where they were not computed
	Plans                  []Plan    // considered, the first of them to move nothing; empty where the threshold decided
	Plan                   int       // the chosen one's place among Plans
	Outlook                Outlook   // by which they were compared
	Reason                 string    // in words: why work moves or does not

	Weights int       `json:",omitempty"` // version of the learned weights, 0: those of the Loop
	Profile []float64 `json:",omitempty"` // the units of an iteration in each cell (Grid), where this instruction announces them
}

// Moved reports whether the instruction moves work.
func (d Decision) Moved() bool { return len(d.Transfers) > 0 }
