package frame

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
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

// reportVersion is the schema version of JSON reports.
const reportVersion = 1

// writeReport writes the end-of-run summary beside path and renames it.
func writeReport(path string, l result.Line, rep *loops.Report) error {
	return atomically(path, func(w io.Writer) error {
		if filepath.Ext(path) == ".txt" {
			printSummary(w, rep)
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
