package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"shiftwork/scripts/internal/arguments"
)

// blas holds mm with OpenBLAS (mm-openblas: go build -tags openblas) against OpenBLAS's dgemm by itself, for the same product on
// one core, and both ranks of two against two such at once on half of the rows each.
func (b *bench) blas(ctx context.Context) error {
	ours := b.program(openblas)
	if _, err := os.Stat(ours); err != nil {
		return arguments.Refuse("%v (go build -tags openblas -o %s ./apps/mm makes it)", err, ours)
	}
	dir, err := os.MkdirTemp("", "shiftwork-bench-")
	if err != nil {
		return err
	}
	return errors.Join(b.holdBLAS(ctx, ours, dir), os.RemoveAll(dir))
}

func (b *bench) holdBLAS(ctx context.Context, ours, dir string) error {
	raw := filepath.Join(dir, "dgemm-c")
	build := exec.CommandContext(ctx, "cc", "-O2", "-Wall", "-Werror", "-o", raw, filepath.Join(plainFolder, "dgemm.c"), "-lopenblas")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("cc: %w: %s", err, out)
	}
	if err := b.quiet(); err != nil {
		return err
	}
	fmt.Fprintf(b.out, "\n%-8s %5s %8s %8s | %s\n%-8s %5s %8s %8s | %7s %7s %7s\n",
		"", "cores", "ours", "raw", "speed over raw dgemm's", "", "", "s", "s", "least", "median", "largest")
	// Runs of 2 s on two cores with AVX-512.
	for _, c := range []struct{ n, repeat int }{{500, 1000}, {1000, 120}, {2000, 20}} {
		size, repeat := strconv.Itoa(c.n), b.steps(c.repeat)
		dgemm := func(core, rows int) func(context.Context) (float64, error) {
			return func(ctx context.Context) (float64, error) {
				return timeOf(ctx, nil, "taskset", "-c", strconv.Itoa(core), raw, strconv.Itoa(rows), size, repeat)
			}
		}
		for i, ways := range [][]way{
			{
				{"ours", func(ctx context.Context) (float64, error) {
					return timeOf(ctx, nil, "taskset", "-c", "1", ours, "--ranks", "1", "--n", size, "--repeat", repeat, "--quiet")
				}},
				{"raw", dgemm(1, c.n)},
			},
			{
				{"ours", func(ctx context.Context) (float64, error) {
					return mpi(ctx, boundToCores, ours, "--n", size, "--repeat", repeat, "--quiet")
				}},
				{"raw", func(ctx context.Context) (float64, error) {
					return together(ctx, dgemm(0, c.n/2), dgemm(1, c.n/2))
				}},
			},
		} {
			times, err := b.measure(ctx, fmt.Sprintf("mm %s on %d cores", size, i+1), ways)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(b.out, "mm %-5d %5d %8.3f %8.3f | %v\n", c.n, i+1,
				spreadOf(times[0]).median, spreadOf(times[1]).median, spreadOf(ratios(times[1], times[0]))); err != nil {
				return err
			}
		}
	}
	return nil
}
