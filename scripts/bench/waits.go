package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"shiftwork/scripts/lab/cluster"
)

type waitFlags struct {
	Place []string `placeholder:"PLACE" help:"Where: own (a core for each rank), shared (both on one), unaware (the same, and mpirun does not know), loaded (both on one that a load competes for), quota (40% of a core each, periods of 100 ms), quota10 (of 10 ms), network (100 Mbit/s); several with commas (default: all)."`
	Ways  []string `default:"auto,block" placeholder:"WAY" help:"How to wait, as in go doc ./comm/mpi; the first is held against each of the others. WAY@FOLDER is one of the sor in another folder (default ${default})."`
	Most  float64  `default:"150" placeholder:"SECONDS" help:"About how long a place may take: runs are made as short as that wants, and where they turn out longer there are fewer rounds (default ${default})."`
}

// waysToWait are the values of SHIFTWORK_WAIT.
var waysToWait = []string{"auto", "spin", "yield", "sleep", "block"}

// place is where two ranks run.
type place struct {
	name       string
	says       string
	n, sweeps  int             // rows and columns of the grid, and at most so many sweeps
	flags      []string        // of mpirun
	taskset    bool            // both ranks on core 1
	unaware    bool            // of which mpirun is not told
	loaded     bool            // which a load competes for
	workplaces *cluster.Config // or in the lab
}

var places = []place{
	{name: "own", says: "a core for each rank", n: 1000, sweeps: 8000, flags: boundToCores},
	{name: "shared", says: "two ranks on one core", n: 1000, sweeps: 4000, taskset: true},
	{name: "unaware", says: "the same, and mpirun takes it for two", n: 1000, sweeps: 4000, taskset: true, unaware: true},
	{name: "loaded", says: "two ranks and a load on one core", n: 1000, sweeps: 4000, taskset: true, loaded: true},
	{name: "quota", says: "40% of a core each, periods of 100 ms", n: 1000, sweeps: 4000,
		workplaces: &cluster.Config{CPU: []float64{0.4, 0.4}, Period: 100 * time.Millisecond}},
	{name: "quota10", says: "40% of a core each, periods of 10 ms", n: 1000, sweeps: 4000,
		workplaces: &cluster.Config{CPU: []float64{0.4, 0.4}, Period: 10 * time.Millisecond}},
	{name: "network", says: "a core for each rank, 100 Mbit/s between them", n: 1000, sweeps: 800,
		workplaces: &cluster.Config{CPU: []float64{1, 1}, Unlimited: true, Pin: true, Network: true, Bandwidth: 100e6}},
}

// waits holds ways to wait against each other, on the pipelined sor with static blocks: what is measured is waiting, not
// balancing.
func (b *bench) waits(ctx context.Context, f waitFlags) error {
	for _, name := range f.Ways {
		way, folder, other := strings.Cut(name, "@")
		if !slices.Contains(waysToWait, way) {
			return refuse("--ways=%s: %s are accepted", name, strings.Join(waysToWait, ", "))
		}
		if _, err := os.Stat(filepath.Join(folder, "sor")); other && err != nil {
			return refuse("--ways=%s: %v (the folder of another build's sor is accepted)", name, err)
		}
	}
	if len(f.Ways) < 2 {
		return refuse("--ways=%s: two or more are needed", strings.Join(f.Ways, ","))
	}
	if !(f.Most > 0 && f.Most <= 1e5) {
		return refuse("--most=%g: seconds above 0 are accepted", f.Most)
	}
	for _, name := range f.Place {
		if !slices.ContainsFunc(places, func(p place) bool { return p.name == name }) {
			return refuse("--place=%s: own, shared, unaware, loaded, quota, quota10 and network are accepted", name)
		}
	}
	if err := b.quiet(); err != nil {
		return err
	}
	wide := widest(f.Ways)
	fmt.Fprintf(b.out, "\n%-46s %7s %6s %-*s %-23s | %s\n%-46s %7s %6s %-*s %7s %7s %7s | %7s %7s %7s\n",
		"", "sweeps", "rounds", wide, "", "time_s", "time over that of "+f.Ways[0],
		"", "", "", wide, "", "least", "median", "largest", "least", "median", "largest")
	for _, p := range places {
		if len(f.Place) > 0 && !slices.Contains(f.Place, p.name) {
			continue
		}
		if err := b.beside(ctx, p.loaded, func() error { return b.waitsAt(ctx, p, f) }); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

func (b *bench) waitsAt(ctx context.Context, p place, f waitFlags) error {
	began := time.Now()
	var lab *cluster.Cluster
	if p.workplaces != nil {
		var err error
		if lab, err = cluster.New(*p.workplaces); err != nil {
			return err
		}
		defer func() { _ = lab.Close() }() // what stays is removed at the next start
	}
	run := func(ctx context.Context, name string, sweeps int) (float64, error) {
		sor := b.program("sor")
		name, folder, other := strings.Cut(name, "@")
		if other {
			var err error
			if sor, err = filepath.Abs(filepath.Join(folder, "sor")); err != nil {
				return 0, err
			}
		}
		command := []string{"env", "SHIFTWORK_WAIT=" + name, sor, "--n", fmt.Sprint(p.n),
			"--iterations", fmt.Sprint(sweeps), "--balance", "off", "--quiet"}
		switch {
		case lab != nil:
			return inLab(ctx, lab, command)
		case p.taskset:
			return underTaskset(ctx, p.unaware, command)
		}
		return mpi(ctx, nil, p.flags, command...)
	}
	// Some ways are many times slower in some places, and by how much is what we want to know: sizes are those of the slowest.
	most := time.Duration(f.Most * float64(time.Second))
	sweeps, err := sized(f.Most/float64((b.rounds+1)*len(f.Ways)), p.sweeps, func(sweeps int) (float64, error) {
		slowest := 0.0
		for _, name := range f.Ways {
			t, err := run(ctx, name, sweeps)
			if err != nil {
				return 0, fmt.Errorf("%s: %w", name, err)
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
	for _, name := range f.Ways {
		ways = append(ways, way{name, func(ctx context.Context) (float64, error) { return run(ctx, name, sweeps) }})
	}
	times, err := b.measureWithin(ctx, p.name, ways, most-time.Since(began))
	if err != nil {
		return err
	}
	for k, name := range f.Ways {
		says, size, rounds := p.says, fmt.Sprint(sweeps), fmt.Sprint(len(times[k]))
		if k > 0 {
			says, size, rounds = "", "", ""
		}
		_, err := fmt.Fprintf(b.out, "%-46s %7s %6s %-*s %v | %v\n", says, size, rounds, widest(f.Ways), name,
			spreadOf(times[k]), spreadOf(ratios(times[k], times[0])))
		if err != nil {
			return err
		}
	}
	return nil
}

// widest is how many characters the longest of them has.
func widest(names []string) int {
	most := 0
	for _, name := range names {
		most = max(most, len(name))
	}
	return most
}

// underTaskset tells mpirun that ranks share a core, which it does not see, unless it is to stay unaware of it.
func underTaskset(ctx context.Context, unaware bool, command []string) (float64, error) {
	args := []string{"-c", "1", "mpirun", "-np", "2", "--bind-to", "none", "--oversubscribe"}
	if !unaware {
		args = append(args, "--mca", "mpi_yield_when_idle", "1")
	}
	return timeOf(ctx, nil, "taskset", append(append(args, asRoot()...), command...)...)
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
