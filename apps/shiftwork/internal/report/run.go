package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"shiftwork/apps/internal/summary"
	"shiftwork/apps/shiftwork/internal/recording"
	"shiftwork/hooks"
	"shiftwork/lb"
)

// Run is a recorded run.
type Run struct {
	Truncated bool // the last line was cut off, and left out
	Loops     []*Loop
}

// Loop is one loop of a recorded run.
type Loop struct {
	Name         string
	Ranks        int
	Interactions int
	Moves        int              // decisions that moved work
	Columns      []Column         // one after the other, without gaps
	Decisions    []Decision       // in the order of time, not all of them
	Left         int              // decisions that are not among them
	Summary      *summary.Summary // nil: the recording ends before the loop
	Elapsed      float64          // s

	width  int // most columns
	each   int // interactions in a column: a power of two
	merged bool
	told   []Cell // sums over all statuses, by rank
}

// Column is a piece of time.
type Column struct {
	From, Until  float64 // s
	Interactions int     // 0: the time after the last one
	Cells        []Cell  // by rank
	Imbalance    float64 // the largest, 0..1; NaN after the last interaction
	Threshold    float64 // beside it
	Period       float64 // s, the last target
}

// Cell is what one rank did in a column. Times are seconds.
type Cell struct {
	Units, Compute, Wait, Move float64
	Low, High                  float64 // the smallest and largest rate of an interaction, units/s; 0: none
}

// Rate is units/s; NaN: nothing was done.
func (c Cell) Rate() float64 {
	if !(c.Units > 0 && c.Compute > 0) {
		return math.NaN()
	}
	return c.Units / c.Compute
}

// Decision is one decision of the balancer.
type Decision struct {
	Time        float64 // s
	Interaction int
	Moved       float64 // part of all work that moves; 0: nothing
	Transfers   int
	Between     string // the first transfers in words
	Imbalance   float64
	Threshold   float64
	Cost        float64 // s
	Benefit     float64 // s
	Period      float64 // s
	Limit       string
	Reason      string
}

// Bounds of what is kept of a loop.
const (
	mostCells   = 96000
	mostColumns = 2000
	mostMoves   = 1500
	mostStays   = 500
)

// Read reads a recording. An error is about the recording, and one line.
func Read(from io.Reader) (*Run, error) {
	in, err := recording.NewReader(from)
	if err != nil {
		return nil, err
	}
	run := &Run{}
	running := map[string]*Loop{}
	for {
		e, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		l := running[e.Loop]
		if e.Kind == "start" || l == nil {
			l = &Loop{Name: e.Loop}
			run.Loops = append(run.Loops, l)
			running[e.Loop] = l
		}
		if err := l.event(e); err != nil {
			return nil, fmt.Errorf("line %d: loop %q: %w", in.Line(), e.Loop, err)
		}
		if e.Kind == "end" {
			delete(running, e.Loop)
		}
	}
	run.Truncated = in.Truncated()
	if len(run.Loops) == 0 {
		return nil, errors.New("the recording holds no loop")
	}
	for _, l := range run.Loops {
		l.thin()
	}
	return run, nil
}

func (l *Loop) event(e hooks.Event) error {
	if e.Time < l.Elapsed || math.IsNaN(e.Time) || math.IsInf(e.Time, 0) {
		return fmt.Errorf("an event at %v s after one at %v s", e.Time, l.Elapsed)
	}
	switch e.Kind {
	case "start":
		if e.Setup == nil || e.Setup.Ranks < 1 {
			return errors.New("a start without a loop over ranks")
		}
		return l.over(e.Setup.Ranks)
	case "decision":
		if e.Decision == nil || len(e.Statuses) != l.Ranks || l.Ranks == 0 {
			return fmt.Errorf("a decision with %d statuses of %d ranks", len(e.Statuses), l.Ranks)
		}
		l.decision(e)
	case "end":
		if e.Report == nil || len(e.Report.Ranks) == 0 || l.Ranks > 0 && len(e.Report.Ranks) != l.Ranks {
			return errors.New("an end without a report of all ranks")
		}
		if g := e.Report.Gain; g != nil && len(g.Slowed) != len(e.Report.Ranks) {
			return fmt.Errorf("an end that says of %d of %d ranks what their loads would have cost", len(g.Slowed), len(e.Report.Ranks))
		}
		if err := l.over(len(e.Report.Ranks)); err != nil {
			return err
		}
		l.end(e.Report)
	default:
		return fmt.Errorf("an event of kind %q, known are start, decision and end", e.Kind)
	}
	return nil
}

// over sizes the loop for so many ranks.
func (l *Loop) over(ranks int) error {
	const most = 1 << 20
	if ranks > most {
		return fmt.Errorf("%d ranks, at most %d are shown", ranks, most)
	}
	if l.Ranks == 0 {
		l.Ranks, l.told = ranks, make([]Cell, ranks)
		l.width = min(max(16, mostCells/ranks), mostColumns)
	}
	return nil
}

func (l *Loop) decision(e hooks.Event) {
	d := e.Decision
	c := Column{
		From: l.Elapsed, Until: e.Time, Interactions: 1, Cells: make([]Cell, l.Ranks),
		Imbalance: d.Imbalance, Threshold: d.Threshold, Period: d.Period,
	}
	l.Elapsed = e.Time
	l.Interactions++
	owned := 0.0
	for r, s := range e.Statuses {
		cell := Cell{Units: amount(s.Units), Compute: amount(s.Compute), Wait: amount(s.Wait), Move: amount(s.MoveTime)}
		if rate := cell.Rate(); rate > 0 {
			cell.Low, cell.High = rate, rate
		}
		l.told[r].add(cell)
		c.Cells[r] = cell
		owned += amount(s.Owned)
	}
	l.column(c)
	l.keep(d, e.Time, owned)
}

func (l *Loop) keep(d *lb.Decision, time, owned float64) {
	k := Decision{
		Time: time, Interaction: d.Interaction, Transfers: len(d.Transfers), Imbalance: d.Imbalance, Threshold: d.Threshold,
		Cost: d.Cost, Benefit: d.Benefit, Period: d.Period, Limit: d.Limit, Reason: d.Reason,
	}
	for i, t := range d.Transfers {
		k.Moved += amount(t.Units)
		if i < 6 {
			k.Between += fmt.Sprintf(", %d → %d: %d", t.From, t.To, t.Iterations)
		}
	}
	if n := len(d.Transfers); n > 6 {
		k.Between += fmt.Sprintf(" and %d more", n-6)
	}
	if k.Between != "" {
		k.Between = k.Between[2:]
		l.Moves++
	}
	if owned > 0 {
		k.Moved /= owned
	}
	l.Decisions = append(l.Decisions, k)
	if len(l.Decisions) > 4*(mostMoves+mostStays) {
		l.thin()
	}
}

// thin leaves out the decisions that are too many: those that moved least, and those with the least imbalance.
func (l *Loop) thin() {
	if len(l.Decisions) <= mostMoves+mostStays {
		return
	}
	var moves, stays []Decision
	for _, d := range l.Decisions {
		if d.Transfers > 0 {
			moves = append(moves, d)
		} else {
			stays = append(stays, d)
		}
	}
	slices.SortStableFunc(moves, func(a, b Decision) int { return cmp.Compare(b.Moved, a.Moved) })
	moves = moves[:min(len(moves), mostMoves)]
	// One of each piece of time, so that the line has no holes.
	if len(stays) > mostStays {
		pieces := make([]Decision, 0, mostStays)
		for i := range mostStays {
			piece := stays[i*len(stays)/mostStays : (i+1)*len(stays)/mostStays]
			pieces = append(pieces, slices.MaxFunc(piece, func(a, b Decision) int { return cmp.Compare(a.Imbalance, b.Imbalance) }))
		}
		stays = pieces
	}
	left := append(moves, stays...)
	slices.SortFunc(left, func(a, b Decision) int { return cmp.Compare(a.Interaction, b.Interaction) })
	l.Left += len(l.Decisions) - len(left)
	l.Decisions = left
}

// end adds what the ranks did after the last interaction.
func (l *Loop) end(rep *hooks.Report) {
	l.Summary = summary.Of(rep)
	c := Column{From: l.Elapsed, Cells: make([]Cell, l.Ranks), Imbalance: math.NaN(), Threshold: math.NaN(), Period: rep.Period}
	for r, rank := range rep.Ranks {
		told := l.told[r]
		c.Until = max(c.Until, rank.Elapsed)
		cell := Cell{
			Units: amount(rank.Units - told.Units), Compute: amount(rank.Compute - told.Compute),
			Wait: amount(rank.Wait() - told.Wait), Move: amount(rank.Move - told.Move),
		}
		if rate := cell.Rate(); rate > 0 && cell.Compute > 1e-3 { // differences of sums: less would be rounding
			cell.Low, cell.High = rate, rate
		} else {
			cell.Units = 0
		}
		c.Cells[r] = cell
	}
	if c.Until > c.From {
		l.column(c)
		l.Elapsed = c.Until
	}
}

// column appends a column, or joins it to the one before, if that has not as many interactions yet as all others, or if
// it has no length. Where there are too many, neighbours are taken together.
func (l *Loop) column(c Column) {
	l.each = max(1, l.each)
	if n := len(l.Columns); n > 0 && (c.Until <= c.From || c.Interactions > 0 && l.Columns[n-1].Interactions < l.each) {
		l.Columns[n-1].join(c)
		return
	}
	if len(l.Columns) == l.width {
		half := l.Columns[:0]
		for i := 0; i+1 < l.width; i += 2 {
			l.Columns[i].join(l.Columns[i+1])
			half = append(half, l.Columns[i])
		}
		if l.width%2 == 1 {
			half = append(half, l.Columns[l.width-1])
		}
		l.Columns, l.merged = half, true
		l.each *= 2
	}
	l.Columns = append(l.Columns, c)
}

// join adds the column behind.
func (c *Column) join(d Column) {
	c.Until = max(c.Until, d.Until)
	c.Interactions += d.Interactions
	if !(c.Imbalance >= d.Imbalance) {
		c.Imbalance, c.Threshold = d.Imbalance, d.Threshold
	}
	c.Period = d.Period
	for r := range c.Cells {
		c.Cells[r].add(d.Cells[r])
	}
}

func (c *Cell) add(d Cell) {
	c.Units += d.Units
	c.Compute += d.Compute
	c.Wait += d.Wait
	c.Move += d.Move
	if c.Low == 0 || d.Low > 0 && d.Low < c.Low {
		c.Low = d.Low
	}
	c.High = max(c.High, d.High)
}

// amount is x if it is a finite number from 0 on, else 0.
func amount(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

// units is all that was done in a column.
func (c Column) units() (sum float64) {
	for _, cell := range c.Cells {
		sum += cell.Units
	}
	return sum
}
