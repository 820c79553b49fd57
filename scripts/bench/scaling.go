package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"shiftwork/internal/machine"
	"shiftwork/scripts/internal/arguments"
)

type scalingFlags struct {
	Ranks  int    `default:"2" placeholder:"COUNT" help:"How many ranks, each on a core (default ${default})."`
	Kernel string `placeholder:"FOLDER" help:"Where the programs are that were built with the tag upright: their sor alone sweeps over the whole grid, once and again, the kernel and nothing else. Ranks are then held against that, too."`
}

// alone is what ranks are held against: serial programs, one or as many at once as there are cores given.
type alone struct {
	name, says string
	folder     string // where the programs are
	cores      []int
}

// scaling holds ranks, each on a core, against the serial program: alone, and as many times at once as there are ranks, which is what cores can do
// that share caches and memory; and against the kernel alone, without the batches of sweeps that the serial program has as well.
func (b *bench) scaling(ctx context.Context, f scalingFlags) error {
	if f.Kernel != "" {
		if _, err := os.Stat(filepath.Join(f.Kernel, "sor")); err != nil {
			return arguments.Refuse("--kernel=%s: %v (a folder with sor and mm is accepted, built with go build -tags upright)", f.Kernel, err)
		}
	}
	cores, err := wholeCores()
	if err != nil {
		return err
	}
	if f.Ranks < 2 || f.Ranks > len(cores) {
		return arguments.Refuse("--ranks=%d: from 2 to %d are accepted, as many as there are cores", f.Ranks, len(cores))
	}
	limits := []alone{
		{"serial", fmt.Sprintf("of %d times serial", f.Ranks), b.bin, cores[1:2]},
		{fmt.Sprint(f.Ranks, " copies"), "of as many copies at once", b.bin, cores[:f.Ranks]},
	}
	if f.Kernel != "" {
		limits = append(limits, alone{"kernel", fmt.Sprintf("of %d times the kernel", f.Ranks), f.Kernel, cores[1:2]})
	}
	if err := b.quiet(); err != nil {
		return err
	}
	b.turns = 3
	above, below := fmt.Sprintf("%-10s %8s", "", fmt.Sprint(f.Ranks, " ranks")), fmt.Sprintf("%-10s %8s", "", "s")
	for _, l := range limits {
		above, below = above+fmt.Sprintf(" %8s", l.name), below+fmt.Sprintf(" %8s", "s")
	}
	for _, l := range limits {
		above, below = above+fmt.Sprintf(" | %-25s", l.says), below+fmt.Sprintf(" |   %7s %7s %7s", "least", "median", "largest")
	}
	fmt.Fprintf(b.out, "\n%s\n%s\n", above, below)
	for _, w := range []scaled{
		{"sor", "--iterations", 8000, 40},
		{"sor", "--iterations", 2000, 750},
		{"sor", "--iterations", 1000, 3000},
		{"mm", "--repeat", 1000, 50},
	} {
		if err := b.scale(ctx, w, f.Ranks, limits); err != nil {
			return err
		}
	}
	return nil
}

// scaled is work of which each rank does a part, and a serial program twice as much as that.
type scaled struct {
	program, steps string
	n, each        int
}

// scale prints the line of one work.
func (b *bench) scale(ctx context.Context, w scaled, ranks int, limits []alone) error {
	name := fmt.Sprintf("%s %d", w.program, w.n)
	args := func(count int) []string {
		return []string{"--n", strconv.Itoa(w.n), w.steps, b.steps(count), "--quiet"}
	}
	ways := []way{{"ranks", func(ctx context.Context) (float64, error) {
		return timeOf(ctx, nil, "mpirun", launch(ranks, boundToCores, append([]string{b.program(w.program)}, args(ranks*w.each)...))...)
	}}}
	for _, l := range limits {
		var runs []func(context.Context) (float64, error)
		for _, core := range l.cores {
			command := append([]string{"-c", strconv.Itoa(core), filepath.Join(l.folder, w.program), "--ranks", "1"}, args(2*w.each)...)
			runs = append(runs, func(ctx context.Context) (float64, error) { return timeOf(ctx, nil, "taskset", command...) })
		}
		ways = append(ways, way{l.name, func(ctx context.Context) (float64, error) { return together(ctx, runs...) }})
	}
	times, err := b.measure(ctx, name, ways)
	if err != nil {
		return err
	}
	twice := make([]float64, len(times[0])) // as long as each rank's work takes that the serial program does
	for i, t := range times[0] {
		twice[i] = 2 * t
	}
	line := fmt.Sprintf("%-10s", name)
	for _, t := range times {
		line += fmt.Sprintf(" %8.3f", spreadOf(t).median)
	}
	for _, t := range times[1:] {
		line += fmt.Sprintf(" |   %v", spreadOf(ratios(t, twice)))
	}
	_, err = fmt.Fprintln(b.out, line)
	return err
}

// wholeCores are CPUs that this process may use, one of each core.
func wholeCores() (cpus []int, err error) {
	usable, err := machine.CPUs()
	if err != nil {
		return nil, arguments.Refuse("the CPUs of this machine: %v", err)
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
