package advisor

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Write prints advice for people: the nest, the positions, the choice and the code.
func Write(w io.Writer, all []Advice) error {
	var b strings.Builder
	for i, a := range all {
		if i > 0 {
			b.WriteString("\n")
		}
		a.write(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (a Advice) write(b *strings.Builder) {
	fmt.Fprintf(b, "%s:%d: loop %s", a.File, a.Line, a.Loop)
	if a.Function != "" {
		fmt.Fprintf(b, " of %s", a.Function)
	}
	if len(a.Positions) > 0 {
		fmt.Fprintf(b, ", %s", a.Order)
	}
	b.WriteString("\n\n")
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, l := range a.Levels {
		count := l.Trips + " times"
		switch {
		case l.Trips == "unknown":
			count = fmt.Sprintf("unknown, reckoned with %.4g", l.Count)
		case l.Guessed:
			count += fmt.Sprintf(", reckoned with %.4g", l.Count)
		case l.Trips != fmt.Sprint(l.Count) && l.Trips != fmt.Sprintf("%.15g", l.Count):
			count += fmt.Sprintf(", %.4g", l.Count)
		}
		role := l.Role
		if l.Distributed {
			role = "distributed" + role
		}
		_, _ = fmt.Fprintf(t, "  %s%s\t%s\t%s\n", strings.Repeat("  ", l.Depth), "for "+l.Name, count,
			strings.TrimSpace(role))
	}
	_ = t.Flush() // to a Builder
	for _, n := range a.Notes {
		fmt.Fprintf(b, "  - %s\n", n)
	}
	if len(a.Positions) > 0 {
		const row = "  %-8s  %10s  %8s  %8s  %-9s  %s\n"
		fmt.Fprintf(b, "\n"+row, "position", "operations", "time", "hook", "", "")
		for _, p := range a.Positions {
			name, about, verdict, where := p.Name, "", p.Verdict.String(), p.Where
			if name == "" {
				name = "-"
			}
			if p.Guessed {
				about = "~"
			}
			if p.Name != "" && p.Name == a.Take {
				verdict = "TAKE"
			}
			if p.Strip > 1 {
				where += fmt.Sprintf(", %d iterations or more", p.Strip)
			}
			fmt.Fprintf(b, row, name, fmt.Sprintf("%s%.2g", about, p.Operations), about+duration(p.Seconds), part(p.Share),
				verdict, where)
			fmt.Fprintf(b, "            %s\n", p.Reason)
		}
	}
	b.WriteString("\n")
	if a.Take != "" {
		fmt.Fprintf(b, "  take %s: ", a.Take)
	} else {
		b.WriteString("  take none: ")
	}
	fmt.Fprintf(b, "%s\n", a.Reason)
	if a.Code != "" {
		b.WriteString("\n")
		for line := range strings.Lines(a.Code) {
			if strings.TrimSpace(line) != "" {
				b.WriteString("    ")
			}
			b.WriteString(line)
		}
	}
}

// duration is a time in s to two digits.
func duration(seconds float64) string {
	switch {
	case seconds >= 100:
		return fmt.Sprintf("%.2g s", seconds)
	case seconds < 1e-9:
		return fmt.Sprintf("%.2g ns", seconds*1e9)
	}
	d := time.Duration(seconds * 1e9)
	for unit := time.Duration(1); ; unit *= 10 {
		if d < 100*unit {
			return d.Round(unit).String()
		}
	}
}

// part is a share as a percentage.
func part(share float64) string {
	if share >= 10 {
		return ">1000 %"
	}
	return fmt.Sprintf("%.2g %%", 100*share)
}
