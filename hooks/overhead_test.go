package hooks

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"shiftwork/comm"
	"shiftwork/comm/local"
	"shiftwork/dist"
	"shiftwork/lb"
	"shiftwork/placement"
)

// sorLike relaxes a plate strip by strip, as a rank of a pipeline does: 250 rows and 32 columns between two hooks.
func sorLike() (parts int, part func(k int)) {
	const rows, columns, strip = 252, 1026, 32
	u := make([]float64, rows*columns)
	for i := range columns {
		u[i] = 100
	}
	return (columns - 2) / strip, func(k int) {
		for j := 1; j < rows-1; j++ {
			above, row, below := u[(j-1)*columns:j*columns], u[j*columns:(j+1)*columns], u[(j+1)*columns:(j+2)*columns]
			for i := 1 + k*strip; i < 1+(k+1)*strip; i++ {
				row[i] = 0.49*(row[i-1]+above[i]+row[i+1]+below[i]) - 0.96*row[i]
			}
		}
	}
}

// mmLike multiplies two matrices of 200 x 200, row by row: one row of the product between two hooks.
func mmLike() (parts int, part func(k int)) {
	const n = 200
	a, b, c := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)
	for i := range a {
		a[i], b[i] = float64(i%7), float64(i%5)
	}
	return n, func(i int) {
		row := c[i*n : (i+1)*n]
		clear(row)
		for k, x := range a[i*n : (i+1)*n] {
			for j, y := range b[k*n : (k+1)*n] {
				row[j] += x * y
			}
		}
	}
}

// BenchmarkHook holds loops with hooks that never interact against the same loops without any, strip by strip in turns.
// It reports the ratio of the median times from one hook to the next, which must not exceed the 1 % of S&S 1997,
// section 5.1.2:
//
//	go test ./hooks -run - -bench Hook
func BenchmarkHook(b *testing.B) {
	for name, loop := range map[string]func() (int, func(int)){"sor": sorLike, "mm": mmLike} {
		b.Run(name, func(b *testing.B) {
			require.NoError(b, local.Run(1, func(c comm.Comm) error {
				h, err := New(c, Loop{Iterations: dist.Span(0, 10), Quantum: 0.004}, lb.Auto())
				if err != nil {
					return err
				}
				h.active, h.next = true, math.MaxInt // as if other ranks were there
				parts, part := loop()
				hooked := func(k int) error {
					h.Begin()
					part(k)
					h.EndPart(1 / float64(parts))
					_, err := h.Hook()
					return err
				}
				plain := func(k int) error {
					part(k)
					return nil
				}
				var took [2][]float64
				for i := range b.N {
					for turn := range 2 { // who goes first takes turns too
						k := (i + turn) % 2
						began := time.Now()
						if err := []func(int) error{plain, hooked}[k](i % parts); err != nil {
							return err
						}
						took[k] = append(took[k], time.Since(began).Seconds())
					}
				}
				median := func(k int) float64 {
					slices.Sort(took[k])
					return stat.Quantile(0.5, stat.Empirical, took[k], nil)
				}
				overhead := median(1)/median(0) - 1
				b.ReportMetric(100*overhead, "%overhead")
				b.ReportMetric(emptyHook(c)*1e9, "ns/hook")
				if enough := 1000; b.N >= enough && overhead > placement.MaxShare {
					b.Errorf("hooks cost %.2f %% of a loop, %g %% at most are allowed", 100*overhead, 100*placement.MaxShare)
				}
				return nil
			}))
		})
	}
}
