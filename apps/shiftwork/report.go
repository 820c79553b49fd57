package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"shiftwork/apps/internal/cli"
	"shiftwork/apps/internal/gridfile"
	"shiftwork/apps/internal/output"
	"shiftwork/apps/shiftwork/internal/report"
)

// reportVerb is shiftwork report.
type reportVerb struct {
	Recording string `arg:"" placeholder:"FILE.jsonl" help:"What a program wrote for --record."`

	Output string `env:"-" placeholder:"FILE.html" help:"Where the page goes (default: the recording's name with .html)."`
	PNG    string `env:"-" name:"png" placeholder:"FILE.png" help:"Draw the charts into a PNG file too (default: not)."`
	SVG    string `env:"-" name:"svg" placeholder:"FILE.svg" help:"Draw the charts into an SVG file too (default: not)."`
}

// Help says what cannot be said at a flag.
func (*reportVerb) Help() string {
	return "The page holds all that it shows and loads nothing: it can be sent by mail and opened without a network. It shows the " +
		"summary, and over time the rate and the share of work of each rank, how it spent its time, and every decision with its reason."
}

// Validate refuses names that do not say what the files will be.
func (v *reportVerb) Validate() error {
	var faults []error
	for _, f := range []struct{ flag, path, ends string }{{"png", v.PNG, ".png"}, {"svg", v.SVG, ".svg"}, {"output", v.Output, ".html"}} {
		if f.path != "" && filepath.Ext(f.path) != f.ends {
			faults = append(faults, cli.Refuse(f.flag, f.path, "a file name that ends in "+f.ends))
		}
	}
	return errors.Join(faults...)
}

// Run reads the recording and writes the page, and the figures that were asked for.
func (v *reportVerb) Run(stdout io.Writer) error {
	run, err := v.read()
	if err != nil {
		return usageError{fmt.Errorf("%s: %w; accepted is what a program has written for --record", v.Recording, err)}
	}
	page := v.Output
	if page == "" {
		page = strings.TrimSuffix(v.Recording, filepath.Ext(v.Recording)) + ".html"
	}
	files := []struct {
		flag, path string
		write      func(io.Writer) error
	}{
		{"output", page, func(w io.Writer) error { return report.Page(w, run, filepath.Base(v.Recording)) }},
		{"png", v.PNG, func(w io.Writer) error { return report.Figure(w, run, "png") }},
		{"svg", v.SVG, func(w io.Writer) error { return report.Figure(w, run, "svg") }},
	}
	for _, f := range files {
		if f.path == "" {
			continue
		}
		if err := gridfile.CheckOutput(f.path); err != nil {
			return usageError{err}
		}
		if output.Same(f.path, v.Recording) {
			return usageError{cli.Refuse(f.flag, f.path, "another file than the recording")}
		}
	}
	for _, f := range files {
		if f.path == "" {
			continue
		}
		if err := output.Write(f.path, f.write); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(stdout, f.path); err != nil {
			return err
		}
	}
	return nil
}

func (v *reportVerb) read() (run *report.Run, err error) {
	file, err := os.Open(v.Recording)
	if err == nil {
		defer file.Close()
		run, err = report.Read(file)
	}
	if system := (*fs.PathError)(nil); errors.As(err, &system) {
		err = system.Err // the path stands before it
	}
	return run, err
}
