package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"shiftwork/internal/machine"
)

type scalingFlags struct {
	Ranks int `default:"2" placeholder:"COUNT" help:"How many ranks, each on a core (default ${default})."`
}

// scaling holds ranks, each on a core, against the serial program: alone, and as many times at once as there are ranks, which is what cores can do
// that share caches and memory.
func (b *bench) scaling(ctx context.Context, f scalingFlags) error {
	cores, err := wholeCores()
	if err != nil {
		return err
	}
	if f.Ranks < 2 || f.Ranks > len(cores) {
		return refuse("--ranks=%d: from 2 to %d are accepted, as many as there are cores", f.Ranks, len(cores))
	}
	if err := b.quiet(); err != nil {
		return err
	}
	b.turns = 3
	fmt.Fprintf(b.out, "\n%-10s %8s %8s %8s | %-23s | %-23s\n%-10s %8s %8s %8s | %7s %7s %7s | %7s %7s %7s\n",
		"", "serial", fmt.Sprint(f.Ranks, " copies"), fmt.Sprint(f.Ranks, " ranks"), fmt.Sprintf("of %d times serial", f.Ranks), "of as many copies at once",
		"", "s", "s", "s", "least", "median", "largest", "least", "median", "largest")
	for _, c := range []struct {
		program, steps string
		n, each        int // what each rank is to do; the serial program twice as much
	}{
		{"sor", "--iterations", 8000, 40},
		{"sor", "--iterations", 2000, 750},
		{"sor", "--iterations", 1000, 3000},
		{"mm", "--repeat", 1000, 50},
	} {
		args := func(count int) []string {
			return []string{"--n", strconv.Itoa(c.n), c.steps, b.steps(count), "--quiet"}
		}
		serial := func(core int) func(ctx context.Context) (float64, error) {
			command := append([]string{"-c", strconv.Itoa(core), b.program(c.program), "--ranks", "1"}, args(2*c.each)...)
			return func(ctx context.Context) (float64, error) { return timeOf(ctx, nil, "taskset", command...) }
		}
		var copies []func(context.Context) (float64, error)
		for _, core := range cores[:f.Ranks] {
			copies = append(copies, serial(core))
		}
		times, err := b.measure(ctx, fmt.Sprintf("%s %d", c.program, c.n), []way{
			{"serial", serial(cores[1])},
			{"copies", func(ctx context.Context) (float64, error) { return together(ctx, copies...) }},
			{"ranks", func(ctx context.Context) (float64, error) {
				return timeOf(ctx, nil, "mpirun", launch(f.Ranks, boundToCores, append([]string{b.program(c.program)}, args(f.Ranks*c.each)...))...)
			}},
		})
		if err != nil {
			return err
		}
		twice := make([]float64, len(times[2])) // as long as each rank's work takes that the serial program does
		for i, t := range times[2] {
			twice[i] = 2 * t
		}
		if _, err := fmt.Fprintf(b.out, "%-10s %8.3f %8.3f %8.3f | %v | %v\n", fmt.Sprintf("%s %d", c.program, c.n),
			spreadOf(times[0]).median, spreadOf(times[1]).median, spreadOf(times[2]).median,
			spreadOf(ratios(times[0], twice)), spreadOf(ratios(times[1], twice))); err != nil {
			return err
		}
	}
	return nil
}

// wholeCores are CPUs that this process may use, one of each core.
func wholeCores() (cpus []int, err error) {
	usable, err := machine.CPUs()
	if err != nil {
		return nil, refuse("the CPUs of this machine: %v", err)
	}
	var seen []string
	for _, cpu := range usable {
		core := strconv.Itoa(cpu) // itself, where nothing is known of its siblings
		if siblings, err := os.ReadFile("/sys/devices/system/cpu/cpu" + core + "/topology/thread_siblings_list"); err == nil {
			core = string(siblings)
		}
		if !slices.Contains(seen, core) {
			seen, cpus = append(seen, core), append(cpus, cpu)
		}
	}
	return cpus, nil
}

// together is the mean time of several runs at once.
func together(ctx context.Context, runs ...func(context.Context) (float64, error)) (float64, error) {
	times := make([]float64, len(runs))
	var all errgroup.Group
	for i, run := range runs {
		all.Go(func() (err error) {
			times[i], err = run(ctx)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return 0, err
	}
	sum := 0.0
	for _, t := range times {
		sum += t
	}
	return sum / float64(len(times)), nil
}
