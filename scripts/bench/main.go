package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/alecthomas/kong"
)

type flags struct {
	Rounds int    `default:"5" placeholder:"COUNT" help:"How often each way of running is measured (default ${default})."`
	Bin    string `default:"." placeholder:"FOLDER" help:"Where sor, mm and load are (default: here)."`
	Short  bool   `help:"A hundredth of the work, to see whether everything runs; the figures mean nothing."`

	C       struct{}  `cmd:"" help:"Against plain C and MPI."`
	Waits   waitFlags `cmd:"" help:"Our waits against MPI's blocking calls."`
	Blas    struct{}  `cmd:"" help:"mm with OpenBLAS against OpenBLAS's dgemm; needs mm-openblas."`
	Scaling struct{}  `cmd:"" help:"Two ranks against twice the serial speed."`
}

func main() {
	var f flags
	k := kong.Parse(&f, kong.Name("bench"), kong.Description("Measure Shiftwork's programs against what they are held against."),
		kong.UsageOnError())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := f.run(ctx, k.Command())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (f *flags) run(ctx context.Context, command string) error {
	if f.Rounds < 1 {
		return fmt.Errorf("--rounds=%d: a number from 1 on is accepted", f.Rounds)
	}
	bin, err := filepath.Abs(f.Bin)
	if err != nil {
		return err
	}
	for _, p := range []string{"sor", "mm", "load"} {
		if _, err := os.Stat(filepath.Join(bin, p)); err != nil {
			return fmt.Errorf("%w (make build makes it; --bin says where it is)", err)
		}
	}
	b := &bench{bin: bin, rounds: f.Rounds, short: f.Short, out: os.Stdout}
	switch command {
	case "c":
		return b.againstC(ctx)
	case "waits":
		return b.waits(ctx, f.Waits)
	case "blas":
		return b.blas(ctx)
	default:
		return b.scaling(ctx)
	}
}
