package trace

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"shiftwork/comm"
	"shiftwork/comm/local"
	"shiftwork/dist"
	"shiftwork/hooks"
	"shiftwork/lb"
)

// BenchmarkSpan is the cost of a phase's spans, computing and waiting, in the rank's time, with all that the limit brings
// with it: the spans of a run are drawn together again and again.
func BenchmarkSpan(b *testing.B) {
	require.NoError(b, local.Run(1, func(c comm.Comm) error {
		t, err := Start(c, "bench", Options{Path: filepath.Join(b.TempDir(), "run.json")})
		if err != nil {
			return err
		}
		t.Begin("bench", c.Now())
		at := c.Now()
		b.ResetTimer()
		for i := range b.N {
			t.Span(hooks.Span{Start: at, End: at + 90*time.Microsecond, Number: i, Iterations: dist.Span(0, 100), Units: 1})
			at += 100 * time.Microsecond
		}
		b.StopTimer()
		b.ReportMetric(float64(t.spans.resolution())/1e3, "µs-resolution")
		t.Abandon()
		return nil
	}))
}

// BenchmarkTracedLoop holds a loop with hooks that is traced against the same loop that is not, strip by strip in turns. It
// reports the ratio of the median times from one hook to the next, and of the mean ones, which hold the work that is done
// now and then. A strip of some 10 us is the shortest that the choice of the block size makes.
//
//	go test ./trace -run - -bench Traced
func BenchmarkTracedLoop(b *testing.B) {
	for _, strip := range []struct {
		name    string
		columns int
	}{{"10us", 16}, {"100us", 128}} {
		b.Run(strip.name, func(b *testing.B) {
			require.NoError(b, local.Run(1, func(c comm.Comm) error {
				t, err := Start(c, "bench", Options{Path: filepath.Join(b.TempDir(), "run.json")})
				if err != nil {
					return err
				}
				plain, err := hooks.New(c, hooks.Loop{Iterations: dist.Span(0, 250), Adjacent: true, Quantum: 0.004}, lb.Auto())
				if err != nil {
					return err
				}
				traced, err := hooks.New(c, hooks.Loop{Iterations: dist.Span(0, 250), Adjacent: true, Quantum: 0.004, Record: t}, lb.Auto())
				if err != nil {
					return err
				}
				relax := plate(strip.columns)
				var took [2][]float64
				for i := range b.N {
					for turn := range 2 { // who goes first takes turns too
						k := (i + turn) % 2
						h := []*hooks.Hooks{plain, traced}[k]
						began := time.Now()
						h.Begin()
						relax()
						h.EndPart(0.1)
						if _, err := h.Hook(); err != nil {
							return err
						}
						took[k] = append(took[k], time.Since(began).Seconds())
					}
				}
				of := func(f func(x []float64) float64) float64 { return 100 * (f(took[1])/f(took[0]) - 1) }
				median := func(x []float64) float64 {
					slices.Sort(x)
					return stat.Quantile(0.5, stat.Empirical, x, nil)
				}
				b.ReportMetric(of(func(x []float64) float64 { return stat.Mean(x, nil) }), "%mean")
				b.ReportMetric(of(median), "%median")
				b.ReportMetric(1e6*median(took[0]), "µs/strip")
				t.Abandon()
				return nil
			}))
		})
	}
}

// plate relaxes a strip of 250 rows.
func plate(columns int) func() {
	const rows = 252
	width := columns + 2
	u := make([]float64, rows*width)
	return func() {
		for j := 1; j < rows-1; j++ {
			above, row, below := u[(j-1)*width:j*width], u[j*width:(j+1)*width], u[(j+1)*width:(j+2)*width]
			for i := 1; i <= columns; i++ {
				row[i] = 0.49*(row[i-1]+above[i]+row[i+1]+below[i]) - 0.96*row[i]
			}
		}
	}
}
