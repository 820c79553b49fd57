//go:build cgo && !nompi

package hooks

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"shiftwork/comm"
	"shiftwork/comm/mpi"
	"shiftwork/dist"
	"shiftwork/internal/mpirun"
)

// movingRank is set in the ranks that BenchmarkMoving starts.
const movingRank = "SHIFTWORK_TEST_MOVING"

// BenchmarkMoving holds a shift of a quarter of a grid of 2000 x 2000, 8 MB, against one plain message of as many bytes, in
// turns, between two ranks on a core each:
//
//	. scripts/env.sh && go test ./hooks -run - -bench Moving
//
// Every rank owns its half at first; 500 rows go to rank 0 and come back. "warm" goes into memory that the rank has touched
// before, "fresh" into rows that it never had, whose pages the kernel clears first. The ratio is the bandwidth of the shift over
// that of the message, from the medians.
func BenchmarkMoving(b *testing.B) {
	if os.Getenv(movingRank) != "" {
		c, err := mpi.Start()
		require.NoError(b, err)
		if err := moving(c); err != nil {
			fmt.Fprintln(os.Stderr, err)
			c.Abort(1)
		}
		c.Stop()
		os.Exit(0) // not into the ranks' own reports of benchmarks
	}
	exe, err := os.Executable()
	require.NoError(b, err)
	for _, network := range []struct {
		name  string
		flags []string
	}{
		{"shared-memory", nil},
		{"tcp", []string{"--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo"}},
	} {
		b.Run(network.name, func(b *testing.B) {
			for b.Loop() {
				r, err := mpirun.RunFlags(2*time.Minute, 2, append([]string{"--bind-to", "core"}, network.flags...),
					[]string{movingRank + "=1"}, exe, "-test.run", "-", "-test.bench", "^BenchmarkMoving$")
				require.NoError(b, err)
				require.Equal(b, 0, r.Code, r.Stderr)
				for line := range strings.Lines(r.Stdout) {
					var kind string
					var ratio, shift, plain float64
					_, err := fmt.Sscanf(line, "moving %s ratio=%f shift_GB/s=%f message_GB/s=%f", &kind, &ratio, &shift, &plain)
					if err == nil {
						b.ReportMetric(ratio, kind+"-ratio")
						b.ReportMetric(shift, kind+"-shift-GB/s")
						b.ReportMetric(plain, kind+"-message-GB/s")
					}
				}
			}
		})
	}
}

// rowsInPlace are rows of float64 at addresses that stay.
type rowsInPlace struct {
	columns int
	data    []float64
}

func (a *rowsInPlace) Bytes(r dist.Range) []byte {
	return comm.BytesOf(a.data[r.Lo*a.columns : r.Hi*a.columns])
}
func (a *rowsInPlace) Pack(r dist.Range, buf []byte) []byte { return append(buf, a.Bytes(r)...) }
func (a *rowsInPlace) Unpack(r dist.Range, data []byte) error {
	copy(a.Bytes(r), data)
	return nil
}

func moving(c comm.Comm) error {
	const n, quarter, turns = 2000, 500, 41
	halves := []dist.Range{dist.Span(0, n/2), dist.Span(n/2, n)}
	after := []dist.Range{dist.Span(0, n/2+quarter), dist.Span(n/2+quarter, n)}
	rank := c.Rank()
	fresh := func() *rowsInPlace {
		a := &rowsInPlace{n, make([]float64, n*n)}
		own := a.Bytes(halves[rank])
		for i := range own {
			own[i] = byte(i)
		}
		return a
	}
	shift := func(a *rowsInPlace, back bool) error {
		m := mover{c: c, arrays: []Array{a}}
		from, to := halves[rank], after[rank]
		if back {
			from, to = to, from
		}
		_, err := m.adjacent(from, to, 0)
		return err
	}
	message := func(a *rowsInPlace, back bool) error {
		b := a.Bytes(dist.Span(n/2, n/2+quarter))
		if (rank == 0) == back {
			return c.Send(1-rank, 1, b)
		}
		_, err := c.Recv(1-rank, 1, b)
		return err
	}
	// timed is how long both ranks take, in s.
	timed := func(f func(*rowsInPlace, bool) error, a *rowsInPlace, back bool) (float64, error) {
		if err := comm.Barrier(c); err != nil {
			return 0, err
		}
		began := c.Now()
		if err := f(a, back); err != nil {
			return 0, err
		}
		return comm.AllreduceMax(c, (c.Now() - began).Seconds())
	}
	ways := []func(*rowsInPlace, bool) error{shift, message}
	var warm, first [2][]float64
	grids := []*rowsInPlace{fresh(), fresh()}
	for turn := range turns {
		for i := range ways {
			k := (turn + i) % 2 // who goes first takes turns too
			for _, back := range []bool{false, true} {
				t, err := timed(ways[k], grids[k], back)
				if err != nil {
					return err
				}
				if turn > 0 {
					warm[k] = append(warm[k], t)
				}
			}
			if turn%4 == 0 {
				t, err := timed(ways[k], fresh(), false)
				if err != nil {
					return err
				}
				first[k] = append(first[k], t)
			}
		}
	}
	if rank != 0 {
		return nil
	}
	const bytes = quarter * n * 8
	for _, kind := range []struct {
		name string
		took [2][]float64
	}{{"warm", warm}, {"fresh", first}} {
		var median [2]float64
		for k, took := range kind.took {
			slices.Sort(took)
			median[k] = stat.Quantile(0.5, stat.Empirical, took, nil)
		}
		fmt.Printf("moving %s ratio=%.3f shift_GB/s=%.2f message_GB/s=%.2f\n",
			kind.name, median[1]/median[0], bytes/median[0]/1e9, bytes/median[1]/1e9)
	}
	return nil
}
