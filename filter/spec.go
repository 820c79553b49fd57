package filter

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Spec names a filter: a value of the flag --filter. The zero Spec is auto.
type Spec struct {
	text  string // as String returns it; empty for auto
	parts []part
}

// part is one filter of a stack.
type part struct {
	name  string
	h     float64 // of fixed
	n     int     // of median
	table *Table  // of state
}

// Accepted lists the values that Parse takes, for messages and help texts.
const Accepted = "auto, levels, state, state:TABLE, fixed:H with 0 <= H <= 1, median:N with N = 3, 5, ... 31, step, raw, or A+B: A, then B"

// Parse reads a value of the flag --filter; the empty string is auto. TABLE is what ParseTable reads, lines separated by
// semicolons.
func Parse(spec string) (Spec, error) {
	if spec == "" || spec == "auto" {
		return Spec{}, nil
	}
	s := Spec{text: spec}
	for _, text := range strings.Split(spec, "+") {
		p, err := parsePart(text)
		if err != nil {
			return Spec{}, fmt.Errorf("filter: %q: %w; accepted: %s", spec, err, Accepted)
		}
		s.parts = append(s.parts, p)
	}
	return s, nil
}

func parsePart(text string) (p part, err error) {
	name, argument, has := strings.Cut(text, ":")
	p.name = name
	switch {
	case name == "fixed":
		p.h, err = parseHistory(argument)
	case name == "median":
		if p.n, err = strconv.Atoi(argument); err != nil || p.n < 3 || p.n > 31 || p.n%2 == 0 {
			err = fmt.Errorf("median of %q samples", argument)
		}
	case name == "state" && has:
		var table Table
		table, err = ParseTable(strings.ReplaceAll(argument, ";", "\n"))
		p.table = &table
	case name == "state":
		p.table = &t1
	case name != "raw" && name != "step" && name != "levels" || has:
		err = fmt.Errorf("unknown filter %q", text)
	}
	return p, err
}

func (p part) new() Filter {
	switch p.name {
	case "fixed":
		return &recursive{h: p.h}
	case "median":
		return &median{n: p.n}
	case "state":
		return &recursive{table: p.table}
	case "step":
		return new(Steps)
	case "levels":
		return new(Levels)
	}
	return &recursive{} // raw
}

// String returns the text that Parse reads.
func (s Spec) String() string {
	if s.text == "" {
		return "auto"
	}
	return s.text
}

// New returns a fresh filter for one rank.
func (s Spec) New() Filter {
	switch len(s.parts) {
	case 0:
		return new(Levels)
	case 1:
		return s.parts[0].new()
	}
	stack := &stack{}
	for _, p := range s.parts {
		stack.filters = append(stack.filters, p.new())
	}
	return stack
}

// stack feeds each filter with what the one before it returns.
type stack struct {
	filters []Filter
	last    float64
}

func (s *stack) Next(raw float64) float64 {
	if !isRate(raw) {
		return s.last
	}
	s.last = raw
	for _, f := range s.filters {
		s.last = f.Next(s.last)
	}
	return s.last
}

// median is the median of the latest n samples: dips and spikes of less than half of them pass without a trace, and steps
// come through that much later.
type median struct {
	n              int
	latest, sorted []float64
}

func (m *median) Next(raw float64) float64 {
	if isRate(raw) {
		if len(m.latest) == m.n {
			m.latest = slices.Delete(m.latest, 0, 1)
		}
		m.latest = append(m.latest, raw)
	}
	if len(m.latest) == 0 {
		return 0
	}
	m.sorted = append(m.sorted[:0], m.latest...)
	slices.Sort(m.sorted)
	return m.sorted[len(m.sorted)/2]
}
