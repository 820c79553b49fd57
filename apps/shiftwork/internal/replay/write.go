package replay

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
)

// number is a number that JSON output shows as null where it is infinite or none.
type number float64

// MarshalJSON writes the number or null.
func (x number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(x))
}

// mostRows is how many interactions are listed unless all are asked for.
const mostRows = 40

// Write writes a report for people. other says that settings were changed: then it is about what would have been decided,
// else about whether the decisions are the recorded ones. Without all, the table has at most 40 rows.
func Write(w io.Writer, r *Result, other, all bool) error {
	p := &printer{w: w}
	if r.Truncated {
		p.line("The last line of the recording is cut off: what stands before it is replayed.")
	}
	if len(r.Loops) == 0 {
		p.line("The recording holds no loop.")
	}
	for i, l := range r.Loops {
		if i > 0 && (other || all) {
			p.line("")
		}
		p.loop(l, other, all)
	}
	return p.err
}

// printer writes lines and keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

func (p *printer) loop(l *Loop, other, all bool) {
	about := fmt.Sprintf("%s: %s on %s in %.3f s, %s", l.Name, count(l.Interactions, "interaction"), count(l.Ranks, "rank"), l.Time,
		count(l.Recorded.Moves, "move"))
	if !other {
		switch {
		case l.First == nil:
			p.line("%s; %s, all identical", about, count(l.Interactions, "decision"))
		default:
			p.line("%s; %d of %s identical", about, l.Identical, count(l.Interactions, "decision"))
			p.line("  first difference: interaction %d, %.3f s, %s: recorded %s, replayed %s",
				l.First.Interaction, l.First.Time, l.First.Field, l.First.Recorded, l.First.Replayed)
		}
		if all {
			beside := ""
			if l.First != nil {
				beside = "replayed"
			}
			p.table(l, beside, all)
		}
		return
	}
	p.line("%s", about)
	for _, s := range l.Settings {
		p.line("  --%s %s instead of %s", s.Name, s.Replayed, s.Recorded)
	}
	if len(l.Settings) == 0 {
		p.line("  these settings are the recorded ones")
	}
	p.line("  another choice at %d of %s", l.Changed, count(l.Interactions, "interaction"))
	p.table(l, these, all)
	p.line("")
	p.line("%-13s%10s  %s", "", "recorded", these)
	p.line("%-13s%10d  %*d", "moves", l.Recorded.Moves, len(these), l.Replayed.Moves)
	p.line("%-13s%10.4g  %*.4g", "units moved", l.Recorded.Units, len(these), l.Replayed.Units)
	p.line("%-13s%10.4g  %*.4g", "mean period s", l.Recorded.Period, len(these), l.Replayed.Period)
	for _, row := range l.Rows {
		if row.Changed {
			p.line("Nobody obeyed the other choices: after interaction %d the statuses are not those that would have been measured.", row.Interaction)
			break
		}
	}
}

// these heads a column.
const these = "with these settings"

// cell is the width of a column of words, in runes.
const cell = 46

// table lists interactions, the recorded choice and, with a heading for it, beside it the other.
func (p *printer) table(l *Loop, beside string, all bool) {
	if len(l.Rows) == 0 {
		return
	}
	head := "decision"
	if beside != "" {
		head = fmt.Sprintf("%-*s  %s", cell, "recorded", beside)
	}
	p.line("")
	p.line("%11s  %9s  %s", "interaction", "time s", head)
	for i, row := range l.Rows {
		if i == mostRows && !all {
			p.line("... and %d more: --all lists every interaction", len(l.Rows)-i)
			return
		}
		left, right := wrap(row.Recorded.String()), []string{}
		if beside != "" {
			right = wrap(row.Replayed.String())
		}
		for k := range max(len(left), len(right)) {
			start, a, b := strings.Repeat(" ", 11+2+9), "", ""
			if k == 0 {
				start = fmt.Sprintf("%11d  %9.3f", row.Interaction, row.Time)
			}
			if k < len(left) {
				a = left[k]
			}
			if k < len(right) {
				b = right[k]
			}
			p.line("%s", strings.TrimRight(fmt.Sprintf("%s  %-*s  %s", start, cell, a, b), " "))
		}
	}
}

// String says what was chosen and why.
func (c Choice) String() string {
	s := "stays"
	if c.Transfers > 0 {
		s = fmt.Sprintf("moves %.4g units in %s", c.Units, count(c.Transfers, "transfer"))
	}
	if c.Final {
		s += ", the last instruction"
	}
	return s + ": " + c.Reason
}

// wrap breaks words into lines that fit a cell; a longer word has a line of its own.
func wrap(words string) []string {
	lines := []string{""}
	for _, word := range strings.Fields(words) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case len([]rune(*last))+1+len([]rune(word)) <= cell:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

// count is 1 move, 2 moves.
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
