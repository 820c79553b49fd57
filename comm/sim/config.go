package sim

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Defaults of Config.
const (
	DefaultRendezvous = 4096     // bytes: the eager limit of Open MPI's shared memory
	DefaultPollCost   = 1e-6     // s: about what an MPI_Iprobe costs
	DefaultMaxTime    = 1e6      // s: 11 days
	DefaultMaxOps     = 50000000 // some 20 s of real time
)

// AlwaysRendezvous as Config.Rendezvous makes every send wait for its receive, also of an empty message.
const AlwaysRendezvous = -1

// longestTime, in s, is the greatest MaxTime, and longestCost the greatest latency, overhead and transfer: an instant
// can hold 9.2e6 s, so that none of their sums overflows.
const (
	longestTime = 4e6
	longestCost = 1e6
)

// Config describes the machine.
type Config struct {
	Ranks int // [1, ...)

	Alpha float64 // s per message, [0, 1e6]. 0: no latency
	Beta  float64 // s per byte, [0, 1e6]. 0: unlimited bandwidth

	// Rendezvous is the length in bytes above which a send waits for its receive. 0: DefaultRendezvous;
	// below zero: always.
	Rendezvous int

	SendOverhead float64 // s of CPU time per send, [0, 1e6]
	PollCost     float64 // s per Test or Iprobe that finds nothing, [0, 1e6]. 0: DefaultPollCost

	// Speed is each rank's speed, by rank. A rank without steps has speed 1.
	Speed [][]Step

	// Quotas are each rank's CPU quota, by rank; none where it is the zero value, or shorter. Speed is then that of the processor.
	Quotas []Quota

	// ClockOffset is added to what each rank's Now returns, by rank; none if shorter. A program must not compare
	// the clocks of different ranks: different offsets catch one that does.
	ClockOffset []time.Duration

	// Faults are what goes wrong, each once. With any, ranks are told of one that fails instead of being ended: see LostError.
	Faults []Fault

	MaxTime float64 // s, (0, 4e6]: a clock that passes it ends the run. 0: DefaultMaxTime
	MaxOps  int     // operations of all ranks together after which the run ends. 0: DefaultMaxOps
}

// Step is the speed of a rank from a time on, until the next step.
type Step struct {
	From  float64 // s; the first is 0, and each is later than the one before
	Speed float64 // work units per second, [0, ...)
}

// Constant is the table of a rank whose speed does not change.
func Constant(speed float64) []Step { return []Step{{Speed: speed}} }

// Validate returns all faults of the configuration, joined.
func (c Config) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf("sim: "+format, args...)) }
	if c.Ranks < 1 {
		fault("Ranks is %d, must be at least 1", c.Ranks)
	}
	for _, f := range []struct {
		name  string
		value float64
	}{{"Alpha", c.Alpha}, {"Beta", c.Beta}, {"SendOverhead", c.SendOverhead}, {"PollCost", c.PollCost}} {
		if !(f.value >= 0 && f.value <= longestCost) {
			fault("%s is %v s, must be in [0, %g]", f.name, f.value, longestCost)
		}
	}
	if !(c.MaxTime >= 0 && c.MaxTime <= longestTime) {
		fault("MaxTime is %v s, must be in [0, %g]", c.MaxTime, longestTime)
	}
	if c.MaxOps < 0 {
		fault("MaxOps is %d, must be at least 0", c.MaxOps)
	}
	if len(c.Speed) > c.Ranks {
		fault("Speed has %d entries for %d ranks", len(c.Speed), c.Ranks)
	}
	if len(c.ClockOffset) > c.Ranks {
		fault("ClockOffset has %d entries for %d ranks", len(c.ClockOffset), c.Ranks)
	}
	for r, steps := range c.Speed {
		for i, s := range steps {
			switch {
			case !(s.Speed >= 0 && s.Speed <= math.MaxFloat64):
				fault("rank %d, step %d: speed is %v, must be finite and at least 0", r, i, s.Speed)
			case i == 0 && s.From != 0:
				fault("rank %d: the first step is from %v s, must be from 0", r, s.From)
			case i > 0 && !(s.From > steps[i-1].From && s.From <= longestTime):
				fault("rank %d, step %d: from %v s does not come after the step from %v s", r, i, s.From, steps[i-1].From)
			}
		}
	}
	if len(c.Quotas) > c.Ranks {
		fault("Quotas has %d entries for %d ranks", len(c.Quotas), c.Ranks)
	}
	for r, q := range c.Quotas {
		for _, wrong := range q.faults() {
			fault("rank %d: quota %+v: %s", r, q, wrong)
		}
	}
	for _, f := range c.Faults {
		if wrong := f.validate(c.Ranks); wrong != "" {
			fault("%v: %s", f, wrong)
		}
	}
	return errors.Join(faults...)
}

// orDefault returns v, or the default where v is zero.
func orDefault[T int | float64](v, otherwise T) T {
	if v == 0 {
		return otherwise
	}
	return v
}

// Result is what a run has cost, in virtual time.
type Result struct {
	Elapsed time.Duration // end of the last rank
	Ranks   []RankResult  // by rank
	Ops     int           // operations of all ranks
	Struck  int           // how many of Config.Faults have happened: one whose point is never reached does not

	// Leaks lists, in a fixed order, the messages that were sent and never received and the requests that were never
	// finished. Empty after a clean run; not filled in after one that failed.
	Leaks []string
}

// RankResult is one rank's part. End = Worked + Waited + the costs of sends and polls.
type RankResult struct {
	End      time.Duration // its clock, without offset, when it returned
	Worked   time.Duration // in Work and Sleep
	Waited   time.Duration // in operations that had to wait, and stopped by a fault
	Messages int           // sent
	Bytes    int           // sent
	Ops      int           // operations that it began
	Err      error         // what it returned; nil if it was ended, or died
}
