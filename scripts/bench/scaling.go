package main

import (
	"context"
	"fmt"
	"strconv"
)

// scaling holds two ranks, each on a core, against the serial program: alone, and twice at once, which is what two cores can do
// that share caches and memory.
func (b *bench) scaling(ctx context.Context) error {
	if err := b.quiet(); err != nil {
		return err
	}
	b.turns = 3
	fmt.Fprintf(b.out, "\n%-10s %8s %8s %8s | %-23s | %-23s\n%-10s %8s %8s %8s | %7s %7s %7s | %7s %7s %7s\n",
		"", "serial", "2 copies", "2 ranks", "of twice serial", "of two copies at once",
		"", "s", "s", "s", "least", "median", "largest", "least", "median", "largest")
	for _, c := range []struct {
		program, steps string
		n, count       int
	}{
		{"sor", "--iterations", 2000, 1500},
		{"sor", "--iterations", 1000, 6000},
		{"mm", "--repeat", 1000, 100},
	} {
		args := []string{"--n", strconv.Itoa(c.n), c.steps, b.steps(c.count), "--quiet"}
		serial := func(core int) func(ctx context.Context) (float64, error) {
			command := append([]string{"-c", strconv.Itoa(core), b.program(c.program), "--ranks", "1"}, args...)
			return func(ctx context.Context) (float64, error) { return timeOf(ctx, nil, "taskset", command...) }
		}
		times, err := b.measure(ctx, fmt.Sprintf("%s %d", c.program, c.n), []way{
			{"serial", serial(1)},
			{"two copies", func(ctx context.Context) (float64, error) { return together(ctx, serial(0), serial(1)) }},
			{"two ranks", func(ctx context.Context) (float64, error) {
				return mpi(ctx, nil, boundToCores, append([]string{b.program(c.program)}, args...)...)
			}},
		})
		if err != nil {
			return err
		}
		half := make([]float64, len(times[2]))
		for i, t := range times[2] {
			half[i] = 2 * t
		}
		if _, err := fmt.Fprintf(b.out, "%-10s %8.3f %8.3f %8.3f | %v | %v\n", fmt.Sprintf("%s %d", c.program, c.n),
			spreadOf(times[0]).median, spreadOf(times[1]).median, spreadOf(times[2]).median,
			spreadOf(ratios(times[0], half)), spreadOf(ratios(times[1], half))); err != nil {
			return err
		}
	}
	return nil
}

// together is the mean time of two runs at once.
func together(ctx context.Context, a, b func(context.Context) (float64, error)) (float64, error) {
	type ended struct {
		t   float64
		err error
	}
	other := make(chan ended, 1)
	go func() {
		t, err := b(ctx)
		other <- ended{t, err}
	}()
	t, err := a(ctx)
	o := <-other
	if err == nil {
		err = o.err
	}
	return (t + o.t) / 2, err
}
