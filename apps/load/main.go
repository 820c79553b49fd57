package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"shiftwork/apps/internal/cli"
	"shiftwork/internal/machine"
)

type flags struct {
	On  time.Duration `default:"1s" placeholder:"DURATION" help:"Compute so long at a time; above 0 (default ${default})."`
	Off time.Duration `default:"0s" placeholder:"DURATION" help:"Then sleep so long; 0s computes all the time (default ${default})."`
	For time.Duration `default:"0s" placeholder:"DURATION" help:"Stop after this time; 0s runs until SIGTERM (default ${default})."`
}

// Validate refuses what no load can do.
func (f *flags) Validate() error {
	switch {
	case f.On <= 0:
		return cli.Refuse("on", f.On, "a duration above 0, such as 1s")
	case f.Off < 0:
		return cli.Refuse("off", f.Off, "a duration from 0 on, such as 1s")
	case f.For < 0:
		return cli.Refuse("for", f.For, "a duration from 0 on, such as 30s")
	}
	return nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the program; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var f flags
	err := cli.Parse("load", "Compete for a processor: compute, sleep, repeat; at the end print the CPU seconds used.", args, &f)
	if help := (*cli.Help)(nil); errors.As(err, &help) {
		if _, err := io.WriteString(stdout, help.Text); err != nil {
			_, _ = fmt.Fprintln(stderr, "load:", err)
			return 1
		}
		return 0
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "load:", err)
		return 2
	}
	start := time.Now()
	if f.For > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, start.Add(f.For))
		defer cancel()
	}
	compete(ctx, f.On, f.Off)
	cpu, err := machine.CPUTime()
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "load: getrusage:", err)
		return 1
	}
	if _, err := fmt.Fprintf(stdout, "load: cpu_s=%.3f elapsed_s=%.3f\n", cpu.Seconds(), time.Since(start).Seconds()); err != nil {
		_, _ = fmt.Fprintln(stderr, "load: the result is lost:", err)
		return 1
	}
	return 0
}

// compete computes and sleeps until ctx is done.
func compete(ctx context.Context, on, off time.Duration) {
	for ctx.Err() == nil {
		for end := time.Now().Add(on); ctx.Err() == nil && time.Now().Before(end); {
			compute()
		}
		if off == 0 {
			continue
		}
		sleep := time.NewTimer(off)
		select {
		case <-ctx.Done():
			sleep.Stop()
			return
		case <-sleep.C:
		}
	}
}

// compute takes some tens of microseconds: short against any period, long against looking at the clock.
func compute() {
	x := 1.0
	for range 10_000 {
		x = float64(x*0.999) + 0.5 // a chain of dependent operations, of which no machine makes less
	}
	runtime.KeepAlive(x) // or the compiler would leave it out
}
