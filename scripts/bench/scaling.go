package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
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
			{"copies", func(ctx context.Context) (float64, error) { return together(ctx, copies) }},
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
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil, refuse("%v: cores are told apart on Linux only", err)
	}
	_, rest, _ := strings.Cut(string(status), "Cpus_allowed_list:")
	list, _, _ := strings.Cut(rest, "\n")
	seen := map[int]bool{}
	for _, cpu := range listed(list) {
		core := cpu // itself, where nothing is known of its siblings
		siblings, err := os.ReadFile(fmt.Sprintf("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu))
		if all := listed(string(siblings)); err == nil && len(all) > 0 {
			core = all[0]
		}
		if !seen[core] {
			seen[core], cpus = true, append(cpus, cpu)
		}
	}
	return cpus, nil
}

// listed are the numbers of a list as the kernel writes it: 0-3,8
func listed(list string) (numbers []int) {
	for _, part := range strings.Split(strings.TrimSpace(list), ",") {
		first, last, isRange := strings.Cut(part, "-")
		lo, err := strconv.Atoi(first)
		if err != nil {
			continue
		}
		hi := lo
		if isRange {
			if hi, err = strconv.Atoi(last); err != nil {
				continue
			}
		}
		for n := lo; n <= hi; n++ {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// together is the mean time of several runs at once.
func together(ctx context.Context, runs []func(context.Context) (float64, error)) (float64, error) {
	type ended struct {
		t   float64
		err error
	}
	all := make(chan ended, len(runs))
	for _, run := range runs {
		go func() {
			t, err := run(ctx)
			all <- ended{t, err}
		}()
	}
	sum, failure := 0.0, error(nil)
	for range runs {
		e := <-all
		sum += e.t
		if failure == nil {
			failure = e.err
		}
	}
	return sum / float64(len(runs)), failure
}
