package frame

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"shiftwork/apps/internal/output"
	"shiftwork/apps/internal/result"
	"shiftwork/apps/internal/summary"
	"shiftwork/hooks"
	"shiftwork/loops"
)

// summarise is what the run came to, with the parameters that only loops know; nil where there is no report.
func summarise(rep *loops.Report) *summary.Summary {
	if rep.Report == nil {
		return nil
	}
	return summary.Of(rep.Report, blockSize(rep)...)
}

// blockSize says what strips came to and why, if the loop has any.
func blockSize(rep *loops.Report) []summary.Parameter {
	if rep.Block == 0 {
		return nil
	}
	p := summary.Parameter{Name: "block", Value: fmt.Sprintf("%d columns", rep.Block), Why: rep.Untuned}
	if n := len(rep.Tunings); n > 0 {
		last := rep.Tunings[n-1]
		p.Why = fmt.Sprintf("from sweep %d on, before it %d: %s", last.Sweep, last.Before, last.Reason)
	}
	return []summary.Parameter{p}
}

// printSummary writes what each rank did, and what it came to. all: of each rank, however many there are.
func printSummary(w io.Writer, s *summary.Summary, all bool) error {
	if s == nil {
		return nil
	}
	return s.Write(w, all)
}

// printTunings writes each choice of the block size: measured costs, what could not be measured, and the model's curve.
func printTunings(w io.Writer, rep *loops.Report) {
	if rep.Untuned != "" {
		fmt.Fprintf(w, "block size %d, not chosen from costs: %s\n", rep.Block, rep.Untuned)
	}
	for _, c := range rep.Tunings {
		fmt.Fprintf(w, "block size %d from sweep %d on, before it %d: %s\n", c.Block, c.Sweep, c.Before, c.Reason)
		fmt.Fprintf(w, "  t_iteration %s s, per strip %.3g s, t_fixed %.3g s, t_incr %.3g s, delay %.3g s + %.3g s per column, waiting %.3g s\n",
			list(c.Iteration), c.PerStrip, c.Fixed, c.Incr, c.Delay, c.DelayIncr, c.Waiting)
		for _, d := range c.Doubts {
			fmt.Fprintf(w, "  could not be measured well: %s\n", d)
		}
		for _, p := range c.Curve {
			mark := ""
			if p.Chosen {
				mark = "  chosen"
			}
			fmt.Fprintf(w, "  %6d columns %12.6f s per sweep%s\n", p.Block, p.Time, mark)
		}
	}
}

func list(times []float64) string {
	words := make([]string, len(times))
	for i, t := range times {
		words[i] = strconv.FormatFloat(t, 'g', 3, 64)
	}
	return strings.Join(words, " ")
}

// reportVersion is the schema version of JSON reports. Version 2 has the summary; all that version 1 had is as it was.
const reportVersion = 2

// writeReport writes the end-of-run summary beside path and renames it.
func writeReport(path string, l result.Line, rep *loops.Report, s *summary.Summary) error {
	return output.Write(path, func(w io.Writer) error {
		if filepath.Ext(path) == ".txt" {
			if err := printSummary(w, s, true); err != nil {
				return err
			}
			printTunings(w, rep)
			_, err := fmt.Fprintln(w, l)
			return err
		}
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(struct {
			Schema  string           `json:"schema"`
			Version int              `json:"version"`
			Result  result.Line      `json:"result"`
			Summary *summary.Summary `json:"summary"`
			Block   int              `json:"block"`
			Steps   int              `json:"steps"`
			Run     *hooks.Report    `json:"run"`

			// Of a DOACROSS loop: each choice of its block size, or why there is none.
			Tunings []loops.Tuning `json:"tunings,omitempty"`
			Untuned string         `json:"untuned,omitempty"`
		}{"shiftwork report", reportVersion, l, s, rep.Block, rep.Steps, rep.Report, rep.Tunings, rep.Untuned})
	})
}
