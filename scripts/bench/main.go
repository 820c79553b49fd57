package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/alecthomas/kong"

	"shiftwork/scripts/internal/arguments"
)

type flags struct {
	Rounds *int   `placeholder:"COUNT" help:"How often each way of running is measured (default 5; hooks: 7)."`
	Bin    string `default:"." placeholder:"FOLDER" help:"Where sor, mm and load are (default: here)."`
	Short  bool   `help:"A hundredth of the work, to see whether everything runs; the figures mean nothing."`

	C       cFlags       `cmd:"" help:"Against plain C and MPI."`
	Hooks   hookFlags    `cmd:"" help:"Hooks that never interact against loops without any; needs the builds of make bench-hooks."`
	Waits   waitFlags    `cmd:"" help:"Our waits against MPI's blocking calls."`
	Blas    struct{}     `cmd:"" help:"mm with OpenBLAS against OpenBLAS's dgemm; needs mm-openblas."`
	Scaling scalingFlags `cmd:"" help:"Ranks on a core each against the serial program, alone and as often at once."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// A reader that goes away must be an error of a write and not the end, or a load would be left.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	err := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	interrupted := ctx.Err() != nil
	stop()
	switch {
	case err == nil:
		return
	case interrupted:
		fmt.Fprintln(os.Stderr, "bench: interrupted")
	default:
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	if errors.Is(err, arguments.ErrRefused) {
		os.Exit(2)
	}
	os.Exit(1)
}

// command is the program; --help ends the process.
func command(ctx context.Context, args []string, out, progress io.Writer) error {
	var f flags
	k := kong.Must(&f, kong.Name("bench"), kong.Description("Measure Shiftwork's programs against what they are held against."))
	chosen, err := k.Parse(args)
	if err != nil {
		return arguments.Refuse("%v", err)
	}
	name := chosen.Command()
	rounds := 5
	if name == "hooks" {
		rounds = 7
	}
	if f.Rounds != nil {
		rounds = *f.Rounds
	}
	if rounds < 1 {
		return arguments.Refuse("--rounds=%d: a number from 1 on is accepted", rounds)
	}
	bin, err := filepath.Abs(f.Bin)
	if err != nil {
		return err
	}
	for _, p := range []string{"sor", "mm", "load"} {
		if _, err := os.Stat(filepath.Join(bin, p)); err != nil {
			return arguments.Refuse("%v (make build makes it; --bin says where it is)", err)
		}
	}
	b := &bench{bin: bin, rounds: rounds, short: f.Short, out: out, progress: progress}
	switch name {
	case "c":
		return b.againstC(ctx, f.C)
	case "hooks":
		return b.hooks(ctx, f.Hooks)
	case "waits":
		return b.waits(ctx, f.Waits)
	case "blas":
		return b.blas(ctx)
	default:
		return b.scaling(ctx, f.Scaling)
	}
}
