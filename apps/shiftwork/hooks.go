package main

import (
	"encoding/json"
	"errors"
	"io"
	"time"

	"shiftwork/apps/internal/cli"
	"shiftwork/apps/shiftwork/internal/advisor"
)

// hooksVerb is shiftwork hooks.
type hooksVerb struct {
	Path string `arg:"" help:"Go file, folder, or folder with /... for all below it."`

	HookCost time.Duration `default:"60ns" placeholder:"DURATION" help:"A hook that does nothing but count, with the timing around it (default ${default}, as measured by BenchmarkEmptyHook)."`
	OpCost   float64       `default:"0.2" placeholder:"NANOSECONDS" help:"An operation: arithmetic, comparison or indexing (default ${default}, as measured by BenchmarkOperation)."`
	Ranks    cli.Count     `placeholder:"COUNT" help:"Ranks that will share the distributed loop (default: 8)."`
	Trips    cli.Count     `placeholder:"COUNT" help:"Iterations to reckon with where a loop's bounds are unknown; hints on the mark, such as n=500, come first (default: 1000)."`
	Bare     bool          `help:"Insert a bare hook also where package loops has a loop that fits, for programs with communication of their own (default: off)."`
	JSON     bool          `name:"json" help:"Print JSON for tools: a list with an object for each marked loop (default: off)."`
}

// Validate refuses costs that are none.
func (h *hooksVerb) Validate() error {
	var faults []error
	if h.HookCost <= 0 {
		faults = append(faults, cli.Refuse("hook-cost", h.HookCost, "a duration above 0 with its unit, such as 100ns"))
	}
	if !(h.OpCost > 0 && h.OpCost <= 1e9) {
		faults = append(faults, cli.Refuse("op-cost", h.OpCost, "nanoseconds above 0, such as 0.3"))
	}
	return errors.Join(faults...)
}

// Run reads the source and prints the advice.
func (h *hooksVerb) Run(stdout io.Writer) error {
	advice, err := advisor.Advise(h.Path, advisor.Options{
		HookCost: h.HookCost.Seconds(), OperationCost: h.OpCost * 1e-9, Ranks: int(h.Ranks), Trips: float64(h.Trips),
		Hooks: h.Bare,
	})
	if err != nil {
		return usageError{err}
	}
	if !h.JSON {
		return advisor.Write(stdout, advice)
	}
	e := json.NewEncoder(stdout)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(advice)
}
