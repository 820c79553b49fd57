package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"shiftwork/internal/mpirun"
	"shiftwork/scripts/lab/measure"
)

// bench is one measurement.
type bench struct {
	bin      string // where our programs are
	rounds   int
	turns    int // short runs that a way's time of a round is the mean of; 0: one
	short    bool
	out      io.Writer // the tables
	progress io.Writer // a line for each run
}

// limit ends a run that hangs.
const limit = 5 * time.Minute

// program is the path of one of ours.
func (b *bench) program(name string) string { return filepath.Join(b.bin, name) }

// steps is how many iterations or repetitions a run does: fewer for a look whether everything works.
func (b *bench) steps(n int) string {
	if b.short {
		n = max(1, n/100)
	}
	return strconv.Itoa(n)
}

// say prints a line of progress.
func (b *bench) say(format string, args ...any) {
	_, _ = fmt.Fprintf(b.progress, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

// way is one of several ways to do the same.
type way struct {
	name string
	run  func(ctx context.Context) (float64, error) // s
}

// measure runs every way once a round, or in so many turns, and returns the times by way and round; what says what it is that they do.
func (b *bench) measure(ctx context.Context, what string, ways []way) ([][]float64, error) {
	return b.measureWithin(ctx, what, ways, forever)
}

// forever is longer than any measurement.
const forever = 100 * time.Hour

// measureWithin is measure that begins no round which, as long as the one before, would end later than so much time after the
// start. The first round is always done.
func (b *bench) measureWithin(ctx context.Context, what string, ways []way, most time.Duration) ([][]float64, error) {
	times := make([][]float64, len(ways))
	began := time.Now()
	for round := range b.rounds {
		start := time.Now()
		means := make([]float64, len(ways))
		turns := max(1, b.turns)
		if b.short {
			turns = 1
		}
		for i := range turns * len(ways) {
			k := (round + i/len(ways) + i) % len(ways)
			t, err := ways[k].run(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", what, ways[k].name, err)
			}
			b.say("%s, round %d of %d, %s: %.3f s", what, round+1, b.rounds, ways[k].name, t)
			means[k] += t / float64(turns)
		}
		for k, t := range means {
			times[k] = append(times[k], t)
		}
		if now := time.Now(); now.Sub(began)+now.Sub(start) > most && round+1 < b.rounds {
			b.say("%s: enough after %d rounds, there is no time for more", what, round+1)
			break
		}
	}
	return times, nil
}

// sized is how many iterations take about so many s, where run(count) takes time in proportion to count: up to most, by runs
// that grow until they say something.
func sized(seconds float64, most int, run func(count int) (float64, error)) (int, error) {
	enough := min(0.2, seconds/3)
	for count := 1; ; {
		t, err := run(count)
		if err != nil {
			return 0, err
		}
		aim := enough * 1.5
		if t >= enough || count == most {
			aim = seconds
		}
		next := max(1, int(min(float64(count)*aim/max(t, 1e-3), float64(most))))
		if aim == seconds || next <= count {
			return next, nil
		}
		count = next
	}
}

// spread is the least, the median and the largest of some values.
type spread struct{ least, median, largest float64 }

func spreadOf(values []float64) spread {
	return spread{slices.Min(values), measure.Median(values), slices.Max(values)}
}

// ratios divides round by round.
func ratios(over, under []float64) []float64 {
	r := make([]float64, len(over))
	for i := range r {
		r[i] = over[i] / under[i]
	}
	return r
}

func (s spread) String() string {
	return fmt.Sprintf("%7.3f %7.3f %7.3f", s.least, s.median, s.largest)
}

// mpi runs two ranks, with a core each unless the flags say otherwise.
func mpi(ctx context.Context, flags []string, command ...string) (float64, error) {
	return timeOf(ctx, nil, "mpirun", launch(2, flags, command)...)
}

// launch is mpirun's arguments for so many ranks.
func launch(ranks int, flags, command []string) []string {
	return slices.Concat([]string{"-np", strconv.Itoa(ranks)}, flags, asRoot(), command)
}

// asRoot is what mpirun wants to hear from root.
func asRoot() []string {
	if os.Geteuid() == 0 {
		return []string{"--allow-run-as-root"}
	}
	return nil
}

var boundToCores = []string{"--bind-to", "core"}

// timeOf runs a program and returns the time_s of its result line.
func timeOf(ctx context.Context, env []string, name string, args ...string) (float64, error) {
	line, err := lineOf(ctx, env, name, args...)
	if err != nil {
		return 0, err
	}
	return timeIn(line)
}

// timeIn is the time_s of a result line, which lineOf has found there.
func timeIn(line map[string]string) (float64, error) { return strconv.ParseFloat(line["time_s"], 64) }

// lineOf runs a program and returns its result line, which has a time_s.
func lineOf(ctx context.Context, env []string, name string, args ...string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // mpirun passes it on
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = append(os.Environ(), env...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, said.String())
	}
	line := mpirun.Fields(string(out))
	if _, ok := line["time_s"]; !ok {
		return nil, fmt.Errorf("%s: there is no time_s in its output", strings.Join(cmd.Args, " "))
	}
	return line, nil
}

// beside runs f while a program competes for core 1, or alone.
func (b *bench) beside(ctx context.Context, load bool, f func() error) error {
	if !load {
		return f()
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	// It ends with us, also where we are killed.
	cmd := exec.CommandContext(ctx, "setpriv", "--pdeathsig", "KILL", "taskset", "-c", "1", b.program("load"), "--off", "0s", "--for", "2h")
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	err := f()
	select {
	case early := <-ended:
		return errors.Join(err, errors.New("the load on core 1 ended before what it was to disturb"), early)
	default:
	}
	stop()
	<-ended
	return err
}

// quiet says who else runs, so that nobody reads figures of a busy machine as good ones.
func (b *bench) quiet() error {
	text, err := os.ReadFile("/proc/loadavg")
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		load, _, _ := strings.Cut(string(text), " ")
		_, err = fmt.Fprintf(b.out, "load average at the start: %s\n", load)
	}
	return err
}
