package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"shiftwork/internal/jobs"
	"shiftwork/internal/machine"
	"shiftwork/internal/mpirun"
)

type options struct {
	program, load string
	length        time.Duration
	ranks, n      int
	loads         int
	growth        float64
	every, period time.Duration
	seed          uint64
}

// omega lets an error of the first sweep live to the last: it fades by a factor of omega-1 a sweep.
const omega = "1.999999999"

// settled is how long it takes until MPI's buffers have their size: package documentation.
const settled = 30 * time.Minute

// endless is more sweeps than any run does.
const endless = "1000000000000"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.program, "program", "./sor", "the program")
	flags.StringVar(&o.load, "load", "./load", "the competing load")
	flags.DurationVar(&o.length, "for", settled, "how long the job runs")
	flags.IntVar(&o.ranks, "ranks", 4, "ranks")
	flags.IntVar(&o.n, "n", 400, "rows and columns")
	flags.IntVar(&o.loads, "loads", 2, "competing loads at a time, at most")
	flags.Float64Var(&o.growth, "growth", 0.01, "how much the memory that a rank keeps may grow, as a part of its resident set")
	flags.DurationVar(&o.every, "every", time.Second, "time between two samples of the memory")
	flags.DurationVar(&o.period, "period", 20*time.Millisecond, "time between two moves of work")
	flags.Uint64Var(&o.seed, "seed", 1, "of the loads")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if err := o.check(flags.Args()); err != nil {
		_, _ = fmt.Fprintln(stderr, "soak:", err)
		return 2
	}
	good, err := o.soak(stdout)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "soak:", err)
	}
	if err != nil || !good {
		return 1
	}
	return 0
}

func (o options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("%q is no flag", rest[0])
	case o.ranks < 2 || o.n < o.ranks+2 || o.loads < 0:
		return errors.New("--ranks is at least 2, --n two more than that, --loads at least 0")
	case o.length <= 0 || o.every <= 0 || o.period <= 0 || !(o.growth >= 0):
		return errors.New("--for, --every and --period are above 0, --growth at least 0")
	}
	_, err := os.Stat(o.program)
	if err == nil && o.loads > 0 {
		_, err = os.Stat(o.load)
	}
	return err
}

func (o options) command(sweeps, balance string, more ...string) []string {
	return append([]string{o.program, "--n", strconv.Itoa(o.n), "--iterations", sweeps, "--omega", omega, "--balance", balance, "--quiet"}, more...)
}

// soak does all of it.
func (o options) soak(w io.Writer) (bool, error) {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	cpus, err := machine.CPUs()
	if err != nil {
		return false, err
	}
	var loads errgroup.Group
	quiet := make(chan struct{})
	rest := sync.OnceValue(func() error { close(quiet); return loads.Wait() })
	defer func() { _ = rest() }() // its error has been returned, or another one
	for i := range o.loads {
		loads.Go(func() error { return compete(o.load, cpus, o.seed, uint64(i), quiet) })
	}
	fields, ranks, err := o.job(stop)
	if err != nil {
		return false, err
	}
	if err := rest(); err != nil { // what one rank comes to does not depend on loads
		return false, err
	}
	var faults []string
	table := fmt.Sprintf("%5s %14s %14s %14s %8s\n", "rank", "resident, MiB", "then kept, MiB", "at last, MiB", "growth")
	for r, s := range ranks {
		resident, then, last := s.medians()
		g := (last - then) / resident
		table += fmt.Sprintf("%5d %14.2f %14.2f %14.2f %7.2f%%\n", r, resident/(1<<20), then/(1<<20), last/(1<<20), 100*g)
		if math.IsNaN(g) {
			faults = append(faults, fmt.Sprintf("rank %d has too few samples", r))
		} else if g > o.growth {
			faults = append(faults, fmt.Sprintf("rank %d grew by %.2f%%, accepted is %g%%", r, 100*g, 100*o.growth))
		}
	}
	if _, err := fmt.Fprint(w, table); err != nil {
		return false, err
	}
	want, err := o.oneRank(fields["iterations"], stop)
	if err != nil {
		return false, fmt.Errorf("the run of one rank: %w", err)
	}
	if len(faults) > 0 && o.length < settled {
		faults = append(faults, fmt.Sprintf("runs of less than %v find growth that is no leak (go doc ./scripts/soak)", settled))
	}
	if want == "" || fields["checksum"] != want {
		faults = append(faults, "the checksum is another")
	}
	verdict := "good"
	if len(faults) > 0 {
		verdict = "bad: " + strings.Join(faults, "; ")
	}
	_, err = fmt.Fprintf(w, "soak: iterations=%s time_s=%s interactions=%s shifts=%s iterations_moved=%s samples=%d checksum=%s, of one rank %s: %s\n",
		fields["iterations"], fields["time_s"], fields["interactions"], fields["shifts"], fields["iterations_moved"], len(ranks[0].kept), fields["checksum"], want, verdict)
	return len(faults) == 0, err
}

// oneRank is the checksum of so many sweeps on one rank.
func (o options) oneRank(sweeps string, stop <-chan os.Signal) (string, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	out, err := exec.CommandContext(ctx, o.program, o.command(sweeps, "off", "--ranks", "1")[1:]...).Output()
	return mpirun.Fields(string(out))["checksum"], err
}

// tight is an environment in which a rank holds little memory that it has no use for: package documentation.
func tight() []string { return []string{"GOGC=10", "MALLOC_ARENA_MAX=1"} }

// job runs sor and returns the fields of its result line and the samples of each rank's memory.
func (o options) job(stop <-chan os.Signal) (map[string]string, []samples, error) {
	j, err := jobs.Start(o.ranks, tight(), o.command(endless, "random", "--time-limit", o.length.String(), "--period", o.period.String())...)
	if err != nil {
		return nil, nil, err
	}
	defer j.Close()
	if err := j.Find(time.Minute); err != nil {
		return nil, nil, err
	}
	ranks := make([]samples, o.ranks)
	began := time.Now()
	tick := time.NewTicker(o.every)
	defer tick.Stop()
	for running := true; running; {
		select {
		case <-stop:
			return nil, nil, errors.New("interrupted")
		case <-j.Ended():
			running = false
		case <-tick.C:
			sample(j, ranks, time.Since(began))
		}
	}
	r := j.Result()
	fields := mpirun.Fields(r.Stdout)
	if r.Code != 0 || fields["checksum"] == "" {
		return nil, nil, fmt.Errorf("the job ended with code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	return fields, ranks, nil
}

// sample adds one sample of all ranks, or none.
func sample(j *jobs.Job, ranks []samples, at time.Duration) {
	all := make([]jobs.Memory, len(ranks))
	for r := range all {
		m, err := j.Memory(r)
		if err != nil {
			return // a rank is ending
		}
		all[r] = m
	}
	for r, m := range all {
		ranks[r].at = append(ranks[r].at, at)
		ranks[r].resident = append(ranks[r].resident, float64(m.Resident))
		ranks[r].kept = append(ranks[r].kept, float64(m.Kept))
	}
}
