package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"shiftwork/scripts/internal/arguments"
)

type cFlags struct {
	Blas []string `default:"usual,openblas" placeholder:"BUILD" help:"Builds of mm: usual (mm), openblas (mm-openblas, built with that tag) (default ${default})."`
}

// products are the builds of mm, by what they multiply with.
var products = map[string]string{"usual": "mm", "openblas": openblas}

// openblas is mm built with the tag openblas.
const openblas = "mm-openblas"

// rivals are the C programs of folder plain, compiled into a folder of their own: as one compiles them, and with products
// and sums kept apart, so that their bits can be held against ours.
type rivals struct{ dir string }

const plainFolder = "scripts/bench/plain"

func newRivals(ctx context.Context) (*rivals, error) {
	dir, err := os.MkdirTemp("", "shiftwork-bench-")
	if err != nil {
		return nil, err
	}
	r := &rivals{dir}
	for _, name := range []string{"sor", "mm"} {
		for suffix, flags := range map[string][]string{"": nil, "-strict": {"-ffp-contract=off"}} {
			args := append([]string{"-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O3", "-march=native"}, flags...)
			args = append(args, "-o", r.program(name+suffix), filepath.Join(plainFolder, name+".c"))
			if out, err := exec.CommandContext(ctx, "mpicc", args...).CombinedOutput(); err != nil {
				return nil, errors.Join(fmt.Errorf("mpicc %v: %w: %s", args, err, out), r.remove())
			}
		}
	}
	return r, nil
}

func (r *rivals) program(name string) string { return r.file(name + "-c") }
func (r *rivals) file(name string) string    { return filepath.Join(r.dir, name) }
func (r *rivals) remove() error              { return os.RemoveAll(r.dir) }

// plate makes the initial grid of n rows as a file.
func (r *rivals) plate(ctx context.Context, b *bench, n int) (string, error) {
	name := r.file(fmt.Sprintf("plate-%d.npy", n))
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	_, err := timeOf(ctx, nil, b.program("sor"), "--ranks", "1", "--n", strconv.Itoa(n), "--iterations", "0", "--output", name)
	return name, err
}

const omega = "1.972"

func (b *bench) againstC(ctx context.Context, f cFlags) error {
	for _, library := range f.Blas {
		program, ok := products[library]
		if !ok {
			return arguments.Refuse("--blas=%s: usual and openblas are accepted", library)
		}
		if _, err := os.Stat(b.program(program)); err != nil {
			return arguments.Refuse("%v (make bench-c builds it; --blas usual does without)", err)
		}
	}
	r, err := newRivals(ctx)
	if err != nil {
		return err
	}
	return errors.Join(b.hold(ctx, r, f.Blas), r.remove())
}

func (b *bench) hold(ctx context.Context, r *rivals, libraries []string) error {
	if err := b.quiet(); err != nil {
		return err
	}
	if err := b.sameResults(ctx, r); err != nil {
		return err
	}
	if slices.Contains(libraries, "openblas") {
		if err := b.soundProduct(ctx); err != nil {
			return err
		}
	}
	fmt.Fprintf(b.out, "\n%-9s %-9s %-9s %7s %7s %8s | %s\n%-9s %-9s %-9s %7s %7s %8s | %7s %7s %7s\n",
		"", "our", "load on", "block", "ours", "C", "C's time over ours",
		"", "build", "core 1", "of C", "s", "s", "least", "median", "largest")
	for _, load := range []bool{false, true} {
		err := b.beside(ctx, load, func() error {
			for _, c := range []struct{ n, sweeps int }{{500, 8000}, {1000, 2000}, {2000, 500}} {
				if err := b.holdSOR(ctx, r, c.n, c.sweeps, load); err != nil {
					return err
				}
			}
			for _, library := range libraries {
				for _, c := range []struct{ n, repeat int }{{500, 100}, {1000, 20}, {2000, 5}} {
					if err := b.holdMM(ctx, r, library, c.n, c.repeat, load); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// soundProduct verifies a product by mm-openblas, within the bound of rounding errors, and says what it computes with.
func (b *bench) soundProduct(ctx context.Context) error {
	line, err := lineOf(ctx, nil, b.program(openblas), "--ranks", "2", "--n", "203", "--quiet", "--verify")
	if err != nil {
		return err
	}
	if line["verified"] != "true" || line["blas"] == "" {
		return fmt.Errorf("%s: blas=%s and verified=%s: was it built with the tag openblas?", openblas, line["blas"], line["verified"])
	}
	_, err = fmt.Fprintf(b.out, "openblas is %s, and its product is right within %s\n", line["blas"], line["bound"])
	return err
}

func (b *bench) holdSOR(ctx context.Context, r *rivals, n, sweeps int, load bool) error {
	plate, err := r.plate(ctx, b, n)
	if err != nil {
		return err
	}
	rival := func(ctx context.Context, sweeps, block int) (float64, error) {
		return mpi(ctx, boundToCores, r.program("sor"), strconv.Itoa(n), strconv.Itoa(n), b.steps(sweeps), omega,
			strconv.Itoa(block), plate)
	}
	// The rival gets the block size that suits it best.
	best, least := 0, math.Inf(1)
	for block := 16; block < n; block *= 2 {
		t, err := rival(ctx, max(1, sweeps/10), block)
		if err != nil {
			return err
		}
		if t < least {
			best, least = block, t
		}
	}
	return b.row(ctx, fmt.Sprintf("sor %d", n), "usual", load, strconv.Itoa(best), []way{
		{"ours", func(ctx context.Context) (float64, error) {
			return mpi(ctx, boundToCores, b.program("sor"), "--n", strconv.Itoa(n), "--iterations", b.steps(sweeps),
				"--omega", omega, "--quiet")
		}},
		{"C", func(ctx context.Context) (float64, error) { return rival(ctx, sweeps, best) }},
	})
}

func (b *bench) holdMM(ctx context.Context, r *rivals, library string, n, repeat int, load bool) error {
	return b.row(ctx, fmt.Sprintf("mm %d", n), library, load, "", []way{
		{"ours", func(ctx context.Context) (float64, error) {
			return mpi(ctx, boundToCores, b.program(products[library]), "--n", strconv.Itoa(n), "--repeat", b.steps(repeat), "--quiet")
		}},
		{"C", func(ctx context.Context) (float64, error) {
			return mpi(ctx, boundToCores, r.program("mm"), strconv.Itoa(n), b.steps(repeat))
		}},
	})
}

// row measures and prints one row; ours says how our program was built.
func (b *bench) row(ctx context.Context, name, ours string, load bool, block string, ways []way) error {
	where := "nobody"
	if load {
		where = "one load"
	}
	times, err := b.measure(ctx, fmt.Sprintf("%s, %s, %s", name, ours, where), ways)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(b.out, "%-9s %-9s %-9s %7s %7.3f %8.3f | %v\n", name, ours, where, block,
		spreadOf(times[0]).median, spreadOf(times[1]).median, spreadOf(ratios(times[1], times[0])))
	return err
}

// sameResults holds what the rivals compute against ours: bit for bit if products and sums are kept apart; as one compiles
// them, with both in one rounding, within the bound of rounding errors (mm) or to what these grow to in some sweeps (sor).
func (b *bench) sameResults(ctx context.Context, r *rivals) error {
	const n, sweeps = 203, 30
	plate, err := r.plate(ctx, b, n)
	if err != nil {
		return err
	}
	size := strconv.Itoa(n)
	ours := map[string][]string{
		"sor": {"--ranks", "1", "--n", size, "--iterations", strconv.Itoa(sweeps), "--omega", omega, "--output", r.file("sor.npy")},
		"mm":  {"--ranks", "1", "--n", size, "--output", r.file("mm.npy")},
	}
	theirs := map[string][]string{
		"sor": {size, size, strconv.Itoa(sweeps), omega, "16", plate, r.file("sor.raw")},
		"mm":  {size, "1", r.file("mm.raw")},
	}
	for _, name := range []string{"sor", "mm"} {
		if _, err := timeOf(ctx, nil, b.program(name), ours[name]...); err != nil {
			return err
		}
		want, err := values(r.file(name+".npy"), n*n)
		if err != nil {
			return err
		}
		for _, suffix := range []string{"-strict", ""} {
			if _, err := mpi(ctx, boundToCores, append([]string{r.program(name + suffix)}, theirs[name]...)...); err != nil {
				return err
			}
			got, err := values(r.file(name+".raw"), n*n)
			if err != nil {
				return err
			}
			const unit, scale = 0x1p-53, 100 // degrees; entries of A and B are below 1
			bound := map[string]float64{"sor": 1e3 * unit * scale * sweeps, "mm": 2 * n * n * unit}[name]
			if suffix == "-strict" {
				bound = 0
			}
			if d := largestDifference(want, got); !(d <= bound) {
				return fmt.Errorf("%s%s-c: a value differs from ours by %g, more than %g", name, suffix, d, bound)
			} else if suffix == "" {
				fmt.Fprintf(b.out, "%s in C gives our bits with -ffp-contract=off, and differs by %.1e without\n", name, d)
			}
		}
	}
	return nil
}

// values reads the last n numbers of a file.
func values(name string, n int) ([]float64, error) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if len(raw) < 8*n {
		return nil, fmt.Errorf("%s has %d bytes, %d are expected", name, len(raw), 8*n)
	}
	v := make([]float64, n)
	return v, binary.Read(bytes.NewReader(raw[len(raw)-8*n:]), binary.LittleEndian, v)
}

// largestDifference is 0 where all bits are equal, and NaN where a difference is.
func largestDifference(a, b []float64) float64 {
	largest := 0.0
	for i := range a {
		if math.Float64bits(a[i]) != math.Float64bits(b[i]) {
			largest = max(largest, math.Abs(a[i]-b[i]), math.SmallestNonzeroFloat64)
		}
	}
	return largest
}
