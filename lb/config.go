package lb

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"shiftwork/filter"
)

// Policy says what the balancer does with the statuses.
type Policy int

// The policies. Rotate and Random exist to test the mechanism: at every interaction they move work for no reason.
const (
	On     Policy = iota // balance (the default)
	Off                  // never move; the hooks need not interact at all
	Rotate               // shift a few iterations to the next rank for some interactions, then back
	Random               // a random valid distribution each time, from Config.Seed
)

// Movement says between which ranks work may move.
type Movement int

// The movements.
const (
	MovementAuto Movement = iota // by the kind of loop; a Loop must have it resolved
	Adjacent                     // shifts between neighbours; keeps blocks (DOACROSS, halos)
	Direct                       // transfers between any two ranks (DOALL only)
)

// Interaction says when the ranks obey an instruction.
type Interaction int

// The interactions (S&S 1997, Figure 3).
const (
	Pipelined   Interaction = iota // the instruction to statuses k is obeyed at interaction k+1 (the default)
	Synchronous                    // the ranks wait for it at interaction k
)

var (
	policyNames      = []string{"on", "off", "rotate", "random"}
	movementNames    = []string{"auto", "adjacent", "direct"}
	interactionNames = []string{"pipelined", "synchronous"}
)

// String returns the value of the flag --balance.
func (p Policy) String() string { return name(policyNames, int(p)) }

// String returns the value of the flag --movement.
func (m Movement) String() string { return name(movementNames, int(m)) }

// String returns the value of the flag --interaction.
func (i Interaction) String() string { return name(interactionNames, int(i)) }

// ParsePolicy reads a value of the flag --balance.
func ParsePolicy(s string) (Policy, error) {
	i, err := parse("balance", policyNames, s)
	return Policy(i), err
}

// ParseMovement reads a value of the flag --movement.
func ParseMovement(s string) (Movement, error) {
	i, err := parse("movement", movementNames, s)
	return Movement(i), err
}

// ParseInteraction reads a value of the flag --interaction.
func ParseInteraction(s string) (Interaction, error) {
	i, err := parse("interaction", interactionNames, s)
	return Interaction(i), err
}

func name(names []string, i int) string {
	if i < 0 || i >= len(names) {
		return fmt.Sprintf("invalid(%d)", i)
	}
	return names[i]
}

func parse(what string, names []string, s string) (int, error) {
	for i, n := range names {
		if n == s {
			return i, nil
		}
	}
	return 0, fmt.Errorf("lb: %s %q is not one of %s", what, s, strings.Join(names, ", "))
}

// Config is what a user may choose. The zero value is Auto: everything is found at run time.
type Config struct {
	// Policy is On unless set.
	Policy Policy

	// Filter is the rate filter in the notation of filter.Parse. Empty means "auto".
	Filter string

	// Threshold is the imbalance threshold tfract (S&S 1997, section 6.2), the fraction of the time that a perfect
	// distribution must save before work moves: 0 < Threshold < 1. Zero means auto: 0.1, guarded by the measured noise,
	// and lower where the system has been quiet for long. A threshold of 0% is NoThreshold.
	Threshold float64

	// NoThreshold sets the threshold to 0%: any imbalance may move work. Threshold must then be 0. Default false.
	NoThreshold bool

	// Period is the target period between two interactions in seconds, > 0. Zero means auto: the largest of
	// equations (13), (14) and (15).
	Period float64

	// NoCostBenefit leaves out the profitability test (S&S 1997, section 6.3). Default false: the test is made.
	NoCostBenefit bool

	// Interaction is Pipelined unless set.
	Interaction Interaction

	// Movement is MovementAuto unless set: by the kind of loop.
	Movement Movement

	// DedicatedMaster makes rank 0 balance only, without iterations of its own. Default false: every rank computes.
	DedicatedMaster bool

	// Seed feeds the policy Random and nothing else. Any value; zero is a seed like the others.
	Seed uint64
}

// Auto returns the configuration in which everything is found at run time: the zero Config.
func Auto() Config { return Config{} }

// Validate returns all faults of c joined into one error, nil if there is none. It changes nothing.
func (c Config) Validate() error {
	var faults []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf("lb: "+format, args...))
		}
	}
	fault(c.Policy < On || c.Policy > Random, "policy %d is not one of %s", int(c.Policy), strings.Join(policyNames, ", "))
	if _, err := filter.Parse(c.Filter); err != nil {
		faults = append(faults, err)
	}
	fault(!(c.Threshold >= 0 && c.Threshold < 1), "threshold is %v, want a fraction 0 < threshold < 1, or 0 for auto", c.Threshold)
	fault(c.NoThreshold && c.Threshold != 0, "threshold is %v and off at the same time", c.Threshold)
	fault(!(c.Period >= 0) || math.IsInf(c.Period, 0), "period is %v s, want a finite time > 0, or 0 for auto", c.Period)
	fault(c.Interaction < Pipelined || c.Interaction > Synchronous,
		"interaction %d is not one of %s", int(c.Interaction), strings.Join(interactionNames, ", "))
	fault(c.Movement < MovementAuto || c.Movement > Direct,
		"movement %d is not one of %s", int(c.Movement), strings.Join(movementNames, ", "))
	return errors.Join(faults...)
}
