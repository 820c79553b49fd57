package advisor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkOperation is where DefaultOperationCost comes from: it runs nests of the paper as they stand in this file,
// and divides the time by the operations that this package counts in them.
func BenchmarkOperation(b *testing.B) {
	const n = 256
	matrix := func() [][]float64 {
		m := make([][]float64, n)
		for i := range m {
			m[i] = make([]float64, n)
			for j := range m[i] {
				m[i][j] = 1 / float64(i+j+1)
			}
		}
		return m
	}
	nests := map[string]func(x, y, z [][]float64, n int){"benchSOR": benchSOR, "benchMM": benchMM, "benchRows": benchRows}
	packages, err := load("bench_test.go")
	require.NoError(b, err)
	advice, err := packages[0].advise(Options{Ranks: 1})
	require.NoError(b, err)
	require.Len(b, advice, len(nests))
	for _, a := range advice {
		run := nests[a.Function]
		require.NotNil(b, run, a.Function)
		b.Run(a.Function, func(b *testing.B) {
			x, y, z := matrix(), matrix(), matrix()
			for b.Loop() {
				run(x, y, z, n)
			}
			all := a.Positions[len(a.Positions)-1].Operations
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/all, "ns/operation")
		})
	}
}

func benchSOR(x, _, _ [][]float64, n int) {
	for i := 1; i < n-1; i++ {
		//shiftwork:distribute n=256
		for j := 1; j < n-1; j++ {
			x[j][i] = float64(0.25*(x[j][i-1]+x[j-1][i]+x[j][i+1]+x[j+1][i])) - float64(0.1*x[j][i])
		}
	}
}

func benchMM(x, y, z [][]float64, n int) {
	//shiftwork:distribute n=256
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			x[i][j] = 0
			for k := 0; k < n; k++ {
				x[i][j] += float64(y[i][k] * z[k][j])
			}
		}
	}
}

func benchRows(x, y, _ [][]float64, n int) {
	//shiftwork:distribute n=256
	for i := range n {
		row, other := x[i], y[i]
		for j := range n {
			row[j] = float64(0.5*row[j]) + other[j]
		}
	}
}
