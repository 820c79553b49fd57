// Command shiftwork-metrics follows the recording of a run (--record) and keeps a file for the textfile collector of
// Prometheus' node exporter, written anew once a second:
//
//	shiftwork-metrics run.jsonl /var/lib/node_exporter/textfile/sor.prom
//
// It may be started before the run. It ends when the recording does, or with SIGINT or SIGTERM; the file stays.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"shiftwork/metrics"
)

type arguments struct {
	Recording string        `arg:"" placeholder:"FILE.jsonl" help:"What a program writes with --record."`
	Output    string        `arg:"" placeholder:"FILE.prom" help:"For the textfile collector."`
	Patience  time.Duration `default:"5s" help:"How long after the end of a loop another one may begin (default ${default})."`
}

// Validate is called by kong.
func (a *arguments) Validate() error {
	if a.Patience <= 0 {
		return fmt.Errorf("--patience: %q is not accepted, only a duration above 0", a.Patience)
	}
	recording, err := os.Stat(a.Recording)
	if err == nil && recording.IsDir() {
		return fmt.Errorf("%s is a folder: the recording is a file, which need not be there yet", a.Recording)
	}
	if output, failed := os.Stat(a.Output); err == nil && failed == nil && os.SameFile(recording, output) {
		return fmt.Errorf("%s is the recording: the file for Prometheus must be another", a.Output)
	}
	if output, failed := os.Lstat(a.Output); failed == nil && !output.Mode().IsRegular() {
		return fmt.Errorf("%s is there already and is not a regular file: it would be replaced", a.Output)
	}
	if folder, err := os.Stat(filepath.Dir(a.Output)); err != nil || !folder.IsDir() {
		return fmt.Errorf("%s: there is no folder %s for it", a.Output, filepath.Dir(a.Output))
	}
	return nil
}

func main() {
	var a arguments
	parser := kong.Must(&a, kong.Name("shiftwork-metrics"), kong.DefaultEnvars("SHIFTWORK"),
		kong.Description("Keeps a file for Prometheus while a program writes its recording, for which it waits."))
	if _, err := parser.Parse(os.Args[1:]); err != nil {
		fail(2, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	file := metrics.New(a.Output)
	if _, err := os.Stat(a.Recording); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(os.Stderr, "shiftwork-metrics: waiting for %s\n", a.Recording)
	}
	if err := metrics.Follow(ctx, a.Recording, a.Patience, file, file.Flush); errors.Is(err, metrics.ErrNoRecording) {
		fail(2, err)
	} else if err != nil {
		fail(1, err)
	}
	if err := file.Close(); err != nil {
		fail(1, err)
	}
}

func fail(code int, err error) {
	fmt.Fprintln(os.Stderr, "shiftwork-metrics:", err)
	os.Exit(code)
}
