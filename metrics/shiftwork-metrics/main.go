// Command shiftwork-metrics follows the recording of a run (--record) and keeps a file for the textfile collector of
// Prometheus' node exporter, written anew once a second:
//
//	shiftwork-metrics run.jsonl /var/lib/node_exporter/textfile/sor.prom
//
// It may be started before the run. It ends when the recording does, or with SIGINT or SIGTERM; the file stays.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
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
	return nil
}

func main() {
	var a arguments
	parser := kong.Must(&a, kong.Name("shiftwork-metrics"), kong.DefaultEnvars("SHIFTWORK"),
		kong.Description("Keeps a file for Prometheus while a program writes its recording."))
	if _, err := parser.Parse(os.Args[1:]); err != nil {
		fail(2, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	file := metrics.New(a.Output)
	if err := metrics.Follow(ctx, a.Recording, a.Patience, file, file.Flush); err != nil {
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
