package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"shiftwork/scripts/internal/arguments"
	"shiftwork/scripts/lab/cluster"
)

type waitFlags struct {
	Place []string `placeholder:"PLACE" help:"Where: own (a core for each rank), shared (both on one), unaware (the same, and mpirun does not know), loaded (both on one that a load competes for), quota (40% of a core each, periods of 100 ms), quota10 (of 10 ms), four and four10 (the same with four ranks, on cores that the system chooses), network (100 Mbit/s); several with commas (default: all)."`
	Ways  []string `default:"auto,block" placeholder:"WAY" help:"How to wait, as in go doc ./comm/mpi; the first is held against each of the others. WAY@FOLDER is one of the sor in another folder (default ${default})."`
	Most  float64  `default:"150" placeholder:"SECONDS" help:"About how long a place may take: runs are made as short as that wants, and where they turn out longer there are fewer rounds (default ${default})."`
}

// waysToWait are the values of SHIFTWORK_WAIT.
var waysToWait = []string{"auto", "spin", "yield", "sleep", "block"}

// wayToWait is a way by its name, WAY or WAY@FOLDER.
type wayToWait struct{ name, value, sor string }

// wayToWait refuses a name that is none.
func (b *bench) wayToWait(name string) (wayToWait, error) {
	value, folder, other := strings.Cut(name, "@")
	if !slices.Contains(waysToWait, value) {
		return wayToWait{}, arguments.Refuse("--ways=%s: %s are accepted", name, strings.Join(waysToWait, ", "))
	}
	if !other {
		return wayToWait{name, value, b.program("sor")}, nil
	}
	sor, err := filepath.Abs(filepath.Join(folder, "sor"))
	if err == nil {
		_, err = os.Stat(sor)
	}
	if err != nil {
		return wayToWait{}, arguments.Refuse("--ways=%s: %v (the folder of another build's sor is accepted)", name, err)
	}
	return wayToWait{name, value, sor}, nil
}

// place is where two ranks run.
type place struct {
	name       string
	says       string
	n, sweeps  int             // rows and columns of the grid, and at most so many sweeps
	flags      []string        // of mpirun
	taskset    bool            // both ranks on core 1
	loaded     bool            // which a load competes for
	workplaces *cluster.Config // or in the lab
}

// sharing tells mpirun that ranks share a core, which it does not see.
var sharing = []string{"--mca", "mpi_yield_when_idle", "1"}

var places = []place{
	{name: "own", says: "a core for each rank", n: 1000, sweeps: 8000, flags: boundToCores},
	{name: "shared", says: "two ranks on one core", n: 1000, sweeps: 4000, taskset: true, flags: sharing},
	{name: "unaware", says: "the same, and mpirun takes it for two", n: 1000, sweeps: 4000, taskset: true},
	{name: "loaded", says: "two ranks and a load on one core", n: 1000, sweeps: 4000, taskset: true, flags: sharing, loaded: true},
	{name: "quota", says: "40% of a core each, periods of 100 ms", n: 1000, sweeps: 4000, workplaces: quotas(2, 100*time.Millisecond)},
	{name: "quota10", says: "40% of a core each, periods of 10 ms", n: 1000, sweeps: 4000, workplaces: quotas(2, 10*time.Millisecond)},
	{name: "four", says: "four workstations with 40%, of 100 ms", n: 1000, sweeps: 4000, workplaces: quotas(4, 100*time.Millisecond)},
	{name: "four10", says: "four workstations with 40%, of 10 ms", n: 1000, sweeps: 4000, workplaces: quotas(4, 10*time.Millisecond)},
	{name: "network", says: "a core for each rank, 100 Mbit/s between them", n: 1000, sweeps: 800,
		workplaces: &cluster.Config{CPU: []float64{1, 1}, Unlimited: true, Pin: true, Network: true, Bandwidth: 100e6}},
}

// quotas is so many workstations with 40% of a core each.
func quotas(workstations int, period time.Duration) *cluster.Config {
	return &cluster.Config{CPU: slices.Repeat([]float64{0.4}, workstations), Period: period}
}

// waits holds ways to wait against each other, on the pipelined sor with static blocks: what is measured is waiting, not
// balancing.
func (b *bench) waits(ctx context.Context, f waitFlags) error {
	var all []wayToWait
	for _, name := range f.Ways {
		w, err := b.wayToWait(name)
		if err != nil {
			return err
		}
		all = append(all, w)
	}
	if len(f.Ways) < 2 {
		return arguments.Refuse("--ways=%s: two or more are needed", strings.Join(f.Ways, ","))
	}
	if !(f.Most > 0 && f.Most <= 1e5) {
		return arguments.Refuse("--most=%g: seconds above 0 are accepted", f.Most)
	}
	var known []string
	for _, p := range places {
		known = append(known, p.name)
	}
	for _, name := range f.Place {
		if !slices.Contains(known, name) {
			return arguments.Refuse("--place=%s: %s are accepted", name, strings.Join(known, ", "))
		}
	}
	if err := b.quiet(); err != nil {
		return err
	}
	wide := len(slices.MaxFunc(f.Ways, func(x, y string) int { return cmp.Compare(len(x), len(y)) }))
	fmt.Fprintf(b.out, "\n%-46s %7s %6s %-*s %-23s | %s\n%-46s %7s %6s %-*s %7s %7s %7s | %7s %7s %7s\n",
		"", "sweeps", "rounds", wide, "", "time_s", "time over that of "+f.Ways[0],
		"", "", "", wide, "", "least", "median", "largest", "least", "median", "largest")
	for _, p := range places {
		if len(f.Place) > 0 && !slices.Contains(f.Place, p.name) {
			continue
		}
		if err := b.beside(ctx, p.loaded, func() error { return b.waitsAt(ctx, p, all, f.Most, wide) }); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// waitsAt measures all ways in a place, in most s, and prints their names that wide.
func (b *bench) waitsAt(ctx context.Context, p place, all []wayToWait, most float64, wide int) error {
	began := time.Now()
	var lab *cluster.Cluster
	if p.workplaces != nil {
		var err error
		if lab, err = cluster.New(*p.workplaces); err != nil {
			return err
		}
		defer func() { _ = lab.Close() }() // what stays is removed at the next start
	}
	run := func(ctx context.Context, w wayToWait, sweeps int) (float64, error) {
		command := []string{"env", "SHIFTWORK_WAIT=" + w.value, w.sor, "--n", fmt.Sprint(p.n),
			"--iterations", fmt.Sprint(sweeps), "--balance", "off", "--quiet"}
		switch {
		case lab != nil:
			return inLab(ctx, lab, command)
		case p.taskset:
			return underTaskset(ctx, p.flags, command)
		}
		return mpi(ctx, p.flags, command...)
	}
	// Some ways are many times slower in some places, and by how much is what we want to know: sizes are those of the slowest.
	sweeps, err := sized(most/float64((b.rounds+1)*len(all)), p.sweeps, func(sweeps int) (float64, error) {
		slowest := 0.0
		for _, w := range all {
			t, err := run(ctx, w, sweeps)
			if err != nil {
				return 0, fmt.Errorf("%s: %w", w.name, err)
			}
			slowest = max(slowest, t)
		}
		b.say("%s: %d sweeps take up to %.3f s", p.name, sweeps, slowest)
		return slowest, nil
	})
	if err != nil {
		return err
	}
	if b.short {
		sweeps = max(1, sweeps/100)
	}
	var ways []way
	for _, w := range all {
		ways = append(ways, way{w.name, func(ctx context.Context) (float64, error) { return run(ctx, w, sweeps) }})
	}
	times, err := b.measureWithin(ctx, p.name, ways, time.Duration(most*float64(time.Second))-time.Since(began))
	if err != nil {
		return err
	}
	for k, w := range all {
		says, size, rounds := p.says, fmt.Sprint(sweeps), fmt.Sprint(len(times[k]))
		if k > 0 {
			says, size, rounds = "", "", ""
		}
		_, err := fmt.Fprintf(b.out, "%-46s %7s %6s %-*s %v | %v\n", says, size, rounds, wide, w.name,
			spreadOf(times[k]), spreadOf(ratios(times[k], times[0])))
		if err != nil {
			return err
		}
	}
	return nil
}

// underTaskset runs two ranks on core 1, with more flags for mpirun.
func underTaskset(ctx context.Context, flags, command []string) (float64, error) {
	args := []string{"-c", "1", "mpirun", "-np", "2", "--bind-to", "none", "--oversubscribe"}
	return timeOf(ctx, nil, "taskset", slices.Concat(args, flags, asRoot(), command)...)
}

func inLab(ctx context.Context, lab *cluster.Cluster, command []string) (float64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done after %v", limit))
	defer cancel()
	var said strings.Builder
	r, err := lab.Run(ctx, cluster.Job{Command: command, Stdout: io.Discard, Stderr: &said})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", strings.Join(command, " "), err)
	}
	if r.Code != 0 || len(r.Line) == 0 {
		return 0, fmt.Errorf("%s: exit code %d, with a result: %v: %s", strings.Join(command, " "), r.Code, len(r.Line) > 0, said.String())
	}
	return timeIn(r.Line) // 0.000 for a single sweep
}
