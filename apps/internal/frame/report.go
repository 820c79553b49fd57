package frame

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"shiftwork/apps/internal/result"
	"shiftwork/hooks"
	"shiftwork/loops"
)

// printSummary writes what each rank did: a table that fits a terminal.
func printSummary(w io.Writer, rep *loops.Report) {
	if rep.Report == nil || len(rep.Ranks) < 2 {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "rank\titerations\tshare of work\tcompute s\twait s\tmove s\t")
	total := 0.0
	for _, r := range rep.Ranks {
		total += r.Units
	}
	for _, r := range rep.Ranks {
		share := 0.0
		if total > 0 {
			share = r.Units / total
		}
		fmt.Fprintf(t, "%d\t%d\t%s\t%.3f\t%.3f\t%.3f\t\n", r.Rank, r.Iterations, percent(share), r.Compute, r.Wait(), r.Move)
	}
	_ = t.Flush() // the terminal may be gone; the result line will say so too
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

// reportVersion is the schema version of JSON reports.
const reportVersion = 1

// writeReport writes the end-of-run summary beside path and renames it.
func writeReport(path string, l result.Line, rep *loops.Report) error {
	return atomically(path, func(w io.Writer) error {
		if filepath.Ext(path) == ".txt" {
			printSummary(w, rep)
			printTunings(w, rep)
			_, err := fmt.Fprintln(w, l)
			return err
		}
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(struct {
			Schema  string        `json:"schema"`
			Version int           `json:"version"`
			Result  result.Line   `json:"result"`
			Block   int           `json:"block"`
			Steps   int           `json:"steps"`
			Run     *hooks.Report `json:"run"`

			// Of a DOACROSS loop: each choice of its block size, or why there is none.
			Tunings []loops.Tuning `json:"tunings,omitempty"`
			Untuned string         `json:"untuned,omitempty"`
		}{"shiftwork report", reportVersion, l, rep.Block, rep.Steps, rep.Report, rep.Tunings, rep.Untuned})
	})
}

// atomically writes a file beside path and renames it when it is complete.
func atomically(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	err = write(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error is the one that matters
	}
	return err
}
