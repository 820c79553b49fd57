package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"shiftwork/scripts/lab/cluster"
)

type waitFlags struct {
	Place []string `placeholder:"PLACE" help:"Where: own (a core for each rank), shared (both on one), quota (40% of a core each, periods of 100 ms), quota10 (of 10 ms), network (100 Mbit/s); several with commas (default: all)."`
	Ways  []string `default:"auto,block" placeholder:"WAY" help:"How to wait, as in go doc ./comm/mpi; the first is held against each of the others (default ${default})."`
}

// place is where two ranks run.
type place struct {
	name       string
	says       string
	n, sweeps  int
	flags      []string        // of mpirun
	taskset    bool            // both ranks on core 1
	workplaces *cluster.Config // or in the lab
}

var places = []place{
	{name: "own", says: "a core for each rank", n: 1000, sweeps: 8000, flags: boundToCores},
	{name: "shared", says: "two ranks on one core", n: 1000, sweeps: 4000, taskset: true},
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
	if len(f.Ways) < 2 {
		return fmt.Errorf("--ways=%s: two or more are needed", strings.Join(f.Ways, ","))
	}
	for _, name := range f.Place {
		if !slices.ContainsFunc(places, func(p place) bool { return p.name == name }) {
			return fmt.Errorf("--place=%s: own, shared, quota, quota10 and network are accepted", name)
		}
	}
	if err := b.quiet(); err != nil {
		return err
	}
	fmt.Fprintf(b.out, "\n%-46s %-6s %-23s | %s\n%-46s %-6s %7s %7s %7s | %7s %7s %7s\n",
		"", "", "time_s", "time over that of "+f.Ways[0], "", "", "least", "median", "largest", "least", "median", "largest")
	for _, p := range places {
		if len(f.Place) > 0 && !slices.Contains(f.Place, p.name) {
			continue
		}
		if err := b.waitsAt(ctx, p, f.Ways); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

func (b *bench) waitsAt(ctx context.Context, p place, names []string) error {
	var lab *cluster.Cluster
	if p.workplaces != nil {
		var err error
		if lab, err = cluster.New(*p.workplaces); err != nil {
			return err
		}
		defer func() { _ = lab.Close() }() // what stays is removed at the next start
	}
	var ways []way
	for _, name := range names {
		command := []string{"env", "SHIFTWORK_WAIT=" + name, b.program("sor"), "--n", fmt.Sprint(p.n),
			"--iterations", b.steps(p.sweeps), "--balance", "off", "--quiet"}
		ways = append(ways, way{name, func(ctx context.Context) (float64, error) {
			switch {
			case lab != nil:
				return inLab(ctx, lab, command)
			case p.taskset:
				// As mpirun does by itself where ranks share a core; with taskset it cannot see that.
				return underTaskset(ctx, command)
			}
			return mpi(ctx, nil, p.flags, command...)
		}})
	}
	times, err := b.measure(ctx, ways)
	if err != nil {
		return err
	}
	for k, name := range names {
		says := p.says
		if k > 0 {
			says = ""
		}
		_, err := fmt.Fprintf(b.out, "%-46s %-6s %v | %v\n", says, name, spreadOf(times[k]), spreadOf(ratios(times[k], times[0])))
		if err != nil {
			return err
		}
	}
	return nil
}

func underTaskset(ctx context.Context, command []string) (float64, error) {
	args := []string{"-c", "1", "mpirun", "-np", "2", "--bind-to", "none", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"}
	return timeOf(ctx, nil, "taskset", append(append(args, asRoot()...), command...)...)
}

func inLab(ctx context.Context, lab *cluster.Cluster, command []string) (float64, error) {
	var said strings.Builder
	r, err := lab.Run(ctx, cluster.Job{Command: command, Stdout: io.Discard, Stderr: &said})
	if err != nil {
		return 0, err
	}
	t, ok := r.TimeSeconds()
	if !ok || r.Code != 0 {
		return 0, fmt.Errorf("%s: exit code %d, and time_s %v: %s", strings.Join(command, " "), r.Code, ok, said.String())
	}
	return t, nil
}
