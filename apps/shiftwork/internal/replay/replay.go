package replay

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"shiftwork/apps/shiftwork/internal/recording"
	"shiftwork/hooks"
	"shiftwork/lb"
)

// Options say how a recording is replayed.
type Options struct {
	// Change makes the configuration of each loop out of the recorded one; nil leaves it as it is.
	Change func(lb.Config) lb.Config
	// All asks for a row for each interaction; else there is one only where the choices differ.
	All bool
}

// Result is what a recording came to.
type Result struct {
	Truncated bool    `json:"truncated"` // the last line was cut off, and left out
	Loops     []*Loop `json:"loops"`     // in the order in which they began
}

// Identical reports whether all decisions are the recorded ones in every field.
func (r *Result) Identical() bool {
	return !slices.ContainsFunc(r.Loops, func(l *Loop) bool { return l.First != nil })
}

// Loop is one loop of a recorded run.
type Loop struct {
	Name         string      `json:"loop"`
	Ranks        int         `json:"ranks"`
	Settings     []Setting   `json:"settings"` // that are not as they were
	Interactions int         `json:"interactions"`
	Time         number      `json:"t"`                          // s, of the last one
	Identical    int         `json:"identical"`                  // decisions equal in all fields
	First        *Difference `json:"first_difference,omitempty"` // between decisions
	Changed      int         `json:"changed"`                    // interactions at which another choice was made
	Recorded     Totals      `json:"recorded"`
	Replayed     Totals      `json:"replayed"`
	Rows         []Row       `json:"rows"`

	setup    *lb.Loop
	cfg      lb.Config
	balancer *lb.Balancer
}

// Setting is a setting that was changed.
type Setting struct {
	Name     string `json:"name"` // of the flag
	Recorded string `json:"recorded"`
	Replayed string `json:"replayed"`
}

// Difference is a field in which two decisions differ.
type Difference struct {
	Interaction int    `json:"interaction"`
	Time        number `json:"t"` // s
	Field       string `json:"field"`
	Recorded    string `json:"recorded"`
	Replayed    string `json:"replayed"`
}

// Totals are sums over all decisions of a loop.
type Totals struct {
	Moves  int    `json:"moves"`         // instructions that move work
	Units  number `json:"units_moved"`   // work units, once for each transfer that they are part of
	Period number `json:"mean_period_s"` // target period
}

// Row is one interaction.
type Row struct {
	Interaction int    `json:"interaction"`
	Time        number `json:"t"` // s
	Changed     bool   `json:"changed"`
	Recorded    Choice `json:"recorded"`
	Replayed    Choice `json:"replayed"`
}

// Choice is what a decision came to, and why.
type Choice struct {
	Transfers int    `json:"transfers"` // 0: nothing moves
	Units     number `json:"units"`     // work units in them
	Plan      string `json:"plan,omitempty"`
	Final     bool   `json:"final,omitempty"`
	Imbalance number `json:"imbalance"`
	Threshold number `json:"threshold"`
	Reason    string `json:"reason"`
}

// Run replays all loops of a recording. An error is about the recording, and one line.
func Run(from io.Reader, o Options) (*Result, error) {
	r, err := recording.NewReader(from)
	if err != nil {
		return nil, err
	}
	result := &Result{Loops: []*Loop{}}
	running := map[string]*Loop{} // the latest loop of each name
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		l := running[e.Loop]
		switch e.Kind {
		case "start":
			l, err = begin(e, o)
		case "decision":
			if l == nil {
				err = errors.New("a decision before the loop's start")
			} else {
				err = l.decision(e, o)
			}
		case "end": // a loop that is not balanced has nothing else
			if l == nil {
				l = &Loop{Name: e.Loop, Settings: []Setting{}, Rows: []Row{}}
				if e.Report != nil {
					l.Ranks = len(e.Report.Ranks)
				}
			}
		default:
			err = fmt.Errorf("an event of kind %q, known are start, decision and end", e.Kind)
		}
		if err != nil {
			reasons := strings.ReplaceAll(err.Error(), "\n", "; ") // of lb, which joins all faults
			return nil, fmt.Errorf("line %d: loop %q: %s", r.Line(), e.Loop, reasons)
		}
		if l != running[e.Loop] {
			result.Loops = append(result.Loops, l)
			running[e.Loop] = l
		}
		if e.Kind == "end" {
			delete(running, e.Loop)
		}
	}
	result.Truncated = r.Truncated()
	for _, l := range result.Loops {
		if n := number(l.Interactions); n > 0 {
			l.Recorded.Period /= n
			l.Replayed.Period /= n
		}
	}
	return result, nil
}

// begin starts the replay of a loop.
func begin(e hooks.Event, o Options) (*Loop, error) {
	if e.Config == nil || e.Setup == nil {
		return nil, errors.New("a start without configuration or loop")
	}
	l := &Loop{Name: e.Loop, Ranks: e.Setup.Ranks, Settings: []Setting{}, Rows: []Row{}, setup: e.Setup, cfg: *e.Config}
	if o.Change != nil {
		l.cfg = o.Change(l.cfg)
	}
	was, is := settings(*e.Config), settings(l.cfg)
	for i := range was {
		if was[i].Replayed != is[i].Replayed {
			l.Settings = append(l.Settings, Setting{was[i].Name, was[i].Replayed, is[i].Replayed})
		}
	}
	return l, nil
}

// settings are those of a configuration that a replay can change, as the flags name them.
func settings(c lb.Config) []Setting {
	automatic := func(x float64, zero bool, format string) string {
		if x == 0 && !zero {
			return "auto"
		}
		return fmt.Sprintf(format, x)
	}
	rates, costBenefit := c.Filter, "on"
	if rates == "" {
		rates = "auto"
	}
	if c.NoCostBenefit {
		costBenefit = "off"
	}
	return []Setting{
		{Name: "balance", Replayed: c.Policy.String()},
		{Name: "filter", Replayed: rates},
		{Name: "threshold", Replayed: automatic(c.Threshold, c.NoThreshold, "%g")},
		{Name: "period", Replayed: automatic(c.Period, false, "%gs")},
		{Name: "cost-benefit", Replayed: costBenefit},
		{Name: "interaction", Replayed: c.Interaction.String()},
	}
}

// decision replays one decision.
func (l *Loop) decision(e hooks.Event, o Options) error {
	if e.Decision == nil {
		return errors.New("a decision that is missing")
	}
	if len(e.Statuses) != l.setup.Ranks {
		return fmt.Errorf("%d statuses of %d ranks", len(e.Statuses), l.setup.Ranks)
	}
	for r, s := range e.Statuses {
		if s.Rank != r || s.Interaction != l.Interactions {
			return fmt.Errorf("rank %d, interaction %d where rank %d, interaction %d belongs: "+
				"lines are missing, or loops of the same name ran at the same time", s.Rank, s.Interaction, r, l.Interactions)
		}
	}
	replayed, err := l.decide(e.Statuses)
	if err != nil {
		return err
	}
	recorded := *e.Decision
	row := Row{Interaction: l.Interactions, Time: number(e.Time), Recorded: choice(recorded), Replayed: choice(replayed)}
	row.Changed = recorded.Final != replayed.Final || !slices.Equal(recorded.Transfers, replayed.Transfers)
	l.Interactions, l.Time = l.Interactions+1, row.Time
	if field, was, is := difference("", reflect.ValueOf(recorded), reflect.ValueOf(replayed)); field == "" {
		l.Identical++
	} else if l.First == nil {
		l.First = &Difference{Interaction: row.Interaction, Time: row.Time, Field: field, Recorded: was, Replayed: is}
	}
	l.Recorded.add(recorded)
	l.Replayed.add(replayed)
	if row.Changed {
		l.Changed++
	}
	if row.Changed || o.All {
		l.Rows = append(l.Rows, row)
	}
	return nil
}

// decide lets lb decide. lb trusts its caller, but the statuses come from a file, and may make no sense at all.
func (l *Loop) decide(statuses []lb.Status) (d lb.Decision, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the balancer cannot answer these statuses: %v", v)
		}
	}()
	if l.balancer == nil { // not at the start: here the number of ranks is known to be true
		if l.balancer, err = lb.New(l.cfg, *l.setup); err != nil {
			return d, fmt.Errorf("the balancer refuses the loop: %w", err)
		}
	}
	return l.balancer.Decide(statuses), nil
}

func (t *Totals) add(d lb.Decision) {
	if d.Moved() {
		t.Moves++
	}
	t.Units += choice(d).Units
	t.Period += number(d.Period)
}

func choice(d lb.Decision) Choice {
	c := Choice{
		Transfers: len(d.Transfers), Final: d.Final, Imbalance: number(d.Imbalance), Threshold: number(d.Threshold), Reason: d.Reason,
	}
	for _, t := range d.Transfers {
		c.Units += number(t.Units)
	}
	if d.Plan >= 0 && d.Plan < len(d.Plans) {
		c.Plan = d.Plans[d.Plan].Name
	}
	return c
}
