package filter

import (
	"fmt"
	"strings"
)

// Spec names a filter: a value of the flag --filter. The zero Spec is auto.
type Spec struct {
	name  string  // as String returns it; empty for auto
	h     float64 // of fixed
	table *Table  // of a table that Custom was given
}

// Accepted lists the values that Parse takes, for messages and help texts.
const Accepted = "auto, state, fixed:H with 0 <= H <= 1, step, raw"

// Parse reads a value of the flag --filter; the empty string is auto.
func Parse(spec string) (Spec, error) {
	switch spec {
	case "", "auto":
		return Spec{}, nil
	case "state", "raw", "step", "levels":
		return Spec{name: spec}, nil
	}
	if digits, ok := strings.CutPrefix(spec, "fixed:"); ok {
		h, err := parseHistory(digits)
		if err != nil {
			return Spec{}, fmt.Errorf("filter: %q: %w; accepted: %s", spec, err, Accepted)
		}
		return Spec{name: spec, h: h}, nil
	}
	return Spec{}, fmt.Errorf("filter: unknown filter %q; accepted: %s", spec, Accepted)
}

// Custom returns the spec of a state machine with another table than T1.
func Custom(t Table) Spec { return Spec{name: "state", table: &t} }

// String returns the text that Parse reads.
func (s Spec) String() string {
	if s.name == "" {
		return "auto"
	}
	return s.name
}

// New returns a fresh filter for one rank.
func (s Spec) New() Filter {
	switch {
	case s.name == "raw":
		return &recursive{}
	case s.name == "step":
		return new(Steps)
	case s.name == "levels" || s.name == "":
		return new(Levels)
	case strings.HasPrefix(s.name, "fixed:"):
		return &recursive{h: s.h}
	case s.table != nil:
		return &recursive{table: s.table}
	}
	return &recursive{table: &t1}
}
