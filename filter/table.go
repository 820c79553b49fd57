package filter

import (
	_ "embed" // the table T1
	"fmt"
	"strconv"
	"strings"
)

// Input is a raw rate compared with the previous filtered rate.
type Input int

// The inputs of the state machine. "Stays the same" counts as Increase (S&S 1997, Table 1).
const (
	Increase Input = iota
	Decrease
)

// String returns the word that stands in a table.
func (in Input) String() string {
	if in == Increase {
		return "increase"
	}
	return "decrease"
}

// Row is one line of a state table.
type Row struct {
	State   string
	Input   Input
	History float64 // h of equation (16), 0..1
	Next    string
}

// Table is a state machine (h, next state) = f(state, input). It has exactly one row per state and input.
type Table struct {
	rows   []Row
	start  int
	states []transition // indexed by state
	names  []string     // of the states
}

type transition struct {
	history [2]float64 // by Input
	next    [2]int
}

//go:embed t1.txt
var t1Text string

var t1 = mustParse(t1Text)

func mustParse(text string) Table {
	t, err := ParseTable(text)
	if err != nil {
		panic(err) // the embedded table is tested
	}
	return t
}

// T1 returns the default state table.
func T1() Table { return t1 }

// Rows returns the rows in the order in which they were written. The caller must not change them.
func (t Table) Rows() []Row { return t.rows }

// ParseTable reads a state table: a line "start STATE", the state after the first sample, and lines "STATE
// increase|decrease H NEXT". Empty lines and what follows a # are ignored.
func ParseTable(text string) (Table, error) {
	var t Table
	start := ""
	number := map[string]int{} // for look-ups only, never ranged over
	state := func(name string) int {
		if i, ok := number[name]; ok {
			return i
		}
		number[name] = len(t.states)
		t.names = append(t.names, name)
		t.states = append(t.states, transition{next: [2]int{-1, -1}})
		return number[name]
	}
	for n, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
			continue
		case len(fields) == 2 && fields[0] == "start":
			start = fields[1]
			t.start = state(start)
			continue
		case len(fields) != 4:
			return Table{}, fmt.Errorf("filter: table line %d: want \"start STATE\" or \"STATE INPUT H NEXT\", have %q", n+1, line)
		}
		in := Increase
		switch fields[1] {
		case "increase":
		case "decrease":
			in = Decrease
		default:
			return Table{}, fmt.Errorf("filter: table line %d: input %q is not increase or decrease", n+1, fields[1])
		}
		h, err := parseHistory(fields[2])
		if err != nil {
			return Table{}, fmt.Errorf("filter: table line %d: %w", n+1, err)
		}
		s, next := state(fields[0]), state(fields[3])
		if t.states[s].next[in] >= 0 {
			return Table{}, fmt.Errorf("filter: table line %d: second row for %s and %v", n+1, fields[0], in)
		}
		t.states[s].history[in], t.states[s].next[in] = h, next
		t.rows = append(t.rows, Row{State: fields[0], Input: in, History: h, Next: fields[3]})
	}
	if start == "" {
		return Table{}, fmt.Errorf("filter: table has no line \"start STATE\"")
	}
	if len(t.rows) != 2*len(t.states) {
		return Table{}, fmt.Errorf("filter: table has %d rows for %d states, want one per state and input", len(t.rows), len(t.states))
	}
	return t, nil
}

func parseHistory(s string) (float64, error) {
	h, err := strconv.ParseFloat(s, 64)
	if err != nil || !(h >= 0 && h <= 1) {
		return 0, fmt.Errorf("history fraction %q is not a number from 0 to 1", s)
	}
	return h, nil
}
