package frame

import (
	"fmt"
	"io"
	"strings"
	"time"

	"shiftwork/hooks"
)

// Work is what a program has to do, for those who watch it.
type Work struct {
	App    string
	Step   string  // "sweep", "repetition"
	Steps  int     // of them, at most; 0: unknown
	Early  bool    // it may end before the last
	Points float64 // in a step
	Unit   string  // their name
}

const (
	lineEvery = 1.0 // s between two lines
	// mostShares is how many ranks have their share of the work in the line.
	mostShares = 16
	// recentLines is from how many lines the time left is estimated: rates of one second scatter.
	recentLines = 10
)

// progress prints a line when the loop begins, and then at most one a second: how far the work is, how fast, and what was decided last. How far it is comes
// from what rank 0 has done itself, which works with balancing off, too; from the statuses of all ranks where that does
// not tell: ranks that never wait for each other, and a rank 0 that only balances.
type progress struct {
	w     io.Writer
	work  Work
	limit func() time.Duration // how long the run may go on; nil: without end

	free  bool    // ranks never wait for each other
	all   float64 // work units of all iterations
	steps float64
	lines []moment // the last ones

	decided   bool
	reason    string
	moved     bool
	imbalance float64
	moves     int // since the last line
	shares    []float64
}

// moment is how many steps had been done when.
type moment struct{ time, steps float64 }

// Pulse takes in how far rank 0 has come.
func (p *progress) Pulse(e hooks.Pulse) {
	if !p.free {
		p.steps = e.Steps
	}
	p.print(e.Time)
}

// Record takes in a decision.
func (p *progress) Record(e hooks.Event) {
	if s := e.Setup; s != nil {
		p.free, p.all = s.Free, s.Weights.Units(s.Start.Span())
	}
	d := e.Decision
	if d == nil {
		return
	}
	p.decided, p.reason, p.moved, p.imbalance = true, d.Reason, d.Moved(), d.Imbalance
	if p.moved {
		p.moves++
	}
	owned, done := 0.0, 0.0
	p.shares = p.shares[:0]
	for _, s := range e.Statuses {
		owned += s.Owned
		done += s.Units
		p.shares = append(p.shares, s.Owned)
	}
	for r := range p.shares {
		if owned > 0 {
			p.shares[r] /= owned
		}
	}
	switch {
	case p.free && p.all > 0:
		p.steps = float64(max(1, p.work.Steps)) - owned/p.all
	case e.Statuses[0].OwnedIterations == 0 && owned > 0:
		p.steps += done / owned
	}
	p.print(e.Time)
}

// print writes the line if it is time for one.
func (p *progress) print(now float64) {
	before := moment{}
	if n := len(p.lines); n > 0 {
		before = p.lines[n-1]
	}
	if len(p.lines) > 0 && now < before.time+lineEvery {
		return
	}
	if len(p.lines) == recentLines {
		p.lines = append(p.lines[:0], p.lines[1:]...)
	}
	p.lines = append(p.lines, moment{now, p.steps})
	var b strings.Builder
	rate := 0.0
	if now > before.time {
		rate = p.work.Points * max(0, p.steps-before.steps) / (now - before.time)
	}
	fmt.Fprintf(&b, "%s: %5.1f s  %s  %.3g %s/s", p.work.App, now, p.place(), rate, p.work.Unit)
	if p.decided {
		fmt.Fprintf(&b, "  imbalance %s", percent(p.imbalance))
	}
	b.WriteString(p.left())
	switch p.moves {
	case 0:
	case 1:
		b.WriteString("  1 shift")
	default:
		fmt.Fprintf(&b, "  %d shifts", p.moves)
	}
	if p.decided {
		last := "stay"
		if p.moved {
			last = "shift"
		}
		fmt.Fprintf(&b, "  last decision: %s (%s)", last, p.reason)
		if len(p.shares) <= mostShares {
			b.WriteString("  share of ")
			if p.free {
				b.WriteString("remaining ")
			}
			b.WriteString("work")
			for _, s := range p.shares {
				fmt.Fprintf(&b, " %4.1f%%", 100*s)
			}
		}
	}
	p.moves = 0
	fmt.Fprintln(p.w, b.String())
}

// place is the step under way.
func (p *progress) place() string {
	switch step := int(p.steps) + 1; {
	case p.work.Steps == 0:
		return fmt.Sprintf("%s %d of this run", p.work.Step, step)
	case p.work.Steps == 1:
		return percent(p.steps) + " done"
	default:
		return fmt.Sprintf("%s %d of %d", p.work.Step, min(step, p.work.Steps), p.work.Steps)
	}
}

// left is the time left at the rate of the last lines, or of all if there are not so many.
func (p *progress) left() string {
	first, last := moment{}, p.lines[len(p.lines)-1]
	if len(p.lines) == recentLines {
		first = p.lines[0]
	}
	const century = 100 * 365 * 24 * 3600.0
	s, known := century, p.work.Steps > 0 && last.steps > first.steps
	if known {
		s = min(s, max(0, float64(p.work.Steps)-last.steps)*(last.time-first.time)/(last.steps-first.steps))
	}
	most, why := "", ""
	if p.work.Early {
		most = "at most "
	}
	if p.limit != nil {
		if limit := max(0, p.limit().Seconds()); limit < s {
			s, known, why = limit, true, " (time limit)"
		}
	}
	if !known {
		return ""
	}
	return fmt.Sprintf("  %s%v left%s", most, seconds(s).Round(time.Second), why)
}

func percent(x float64) string { return fmt.Sprintf("%.1f%%", 100*x) }
