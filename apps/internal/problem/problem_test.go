package problem

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"shiftwork/apps/internal/gridfile"
	"shiftwork/apps/internal/kernel"
)

func TestBundledFileIsWhatTheGeneratorMakes(t *testing.T) {
	f, err := gridfile.Open("../../../data/heat-plate.npy", 3, 3)
	require.NoError(t, err, "go generate ./apps/internal/problem makes it")
	require.Equal(t, Bundled, Plate{f.Rows(), f.Cols()})
	row := make([]float64, f.Cols())
	for j := range f.Rows() {
		require.NoError(t, f.ReadRows(j, j+1, row))
		for i, got := range row {
			// The interior is integer arithmetic and scaling; the boundary may round differently on another machine,
			// where its sine lies almost exactly between two multiples of 2^-30.
			require.InDelta(t, Bundled.Initial(j, i), got, 0x1p-30, "row %d, column %d", j, i)
		}
	}
	require.NoError(t, f.Close())
}

// Discrete satisfies the five-point scheme, h^2 times the Laplacian, at every interior point of plates of any shape.
func TestDiscreteSolvesTheScheme(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Plate{rapid.IntRange(3, 400).Draw(t, "rows"), rapid.IntRange(3, 400).Draw(t, "cols")}
		j := rapid.IntRange(1, p.Rows-2).Draw(t, "j")
		i := rapid.IntRange(1, p.Cols-2).Draw(t, "i")
		mean := (p.Discrete(j-1, i) + p.Discrete(j+1, i) + p.Discrete(j, i-1) + p.Discrete(j, i+1)) / 4
		require.InDelta(t, mean, p.Discrete(j, i), 1e-12*100)
	})
}

func TestAllThreeAgreeOnTheBoundary(t *testing.T) {
	for _, p := range []Plate{{3, 3}, {17, 40}, {40, 17}, {2000, 3}, {201, 201}} {
		for j := range p.Rows {
			for i := range p.Cols {
				if j != 0 && i != 0 && j != p.Rows-1 && i != p.Cols-1 {
					require.InDelta(t, room, p.Initial(j, i), scatter)
					continue
				}
				require.InDelta(t, p.Exact(j, i), p.Initial(j, i), 0x1p-30)
				require.InDelta(t, p.Exact(j, i), p.Discrete(j, i), 1e-11)
			}
		}
		assert.Equal(t, room, p.Initial(0, 1))
	}
	assert.InDelta(t, 100, Bundled.Exact(200, 100), 1e-9, "20 + 80 in the middle of the heated edge")
	assert.InDelta(t, 20+80*math.Sqrt2/2+20, Bundled.Exact(200, 50), 1e-9, "and 20 + 80/sqrt 2 + 20 at a quarter")
}

// Second order: the difference between scheme and physics stays below the bound and falls by four when h halves.
func TestErrorBound(t *testing.T) {
	largest := func(p Plate) float64 {
		worst := 0.0
		for j := range p.Rows {
			for i := range p.Cols {
				worst = max(worst, math.Abs(p.Discrete(j, i)-p.Exact(j, i)))
			}
		}
		return worst
	}
	for _, p := range []Plate{{11, 11}, {31, 31}, {101, 101}, {61, 31}, {16, 31}} {
		assert.LessOrEqual(t, largest(p), p.ErrorBound(), "%v", p)
		assert.Greater(t, largest(p), p.ErrorBound()/30, "the bound of %v says nothing", p)
	}
	assert.InDelta(t, 4, largest(Plate{51, 51})/largest(Plate{101, 101}), 0.1)
	assert.Less(t, Bundled.ErrorBound(), 0.021)
}

// SOR from the scattered start reaches the discrete solution, and the plate's to within the bound.
func TestRelaxationConvergesToThePlate(t *testing.T) {
	p := Plate{41, 61}
	u := make([]float64, p.Rows*p.Cols)
	for k := range u {
		u[k] = p.Initial(k/p.Cols, k%p.Cols)
	}
	s := kernel.NewSOR(1.9, true)
	rows, cols := kernel.Span{Lo: 1, Hi: p.Rows - 1}, kernel.Span{Lo: 1, Hi: p.Cols - 1}
	sweeps := 0
	for s.Relax(u, p.Cols, rows, cols) > 1e-11 {
		sweeps++
		require.Less(t, sweeps, 2000)
	}
	for k, v := range u {
		require.InDelta(t, p.Discrete(k/p.Cols, k%p.Cols), v, 1e-8)
		require.InDelta(t, p.Exact(k/p.Cols, k%p.Cols), v, p.ErrorBound())
	}
}

// The published sequence of SplitMix64 from the state 1234567.
func TestSplitMix64(t *testing.T) {
	state := uint64(1234567)
	for _, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423} {
		assert.Equal(t, want, splitMix64(state))
		state += 0x9e3779b97f4a7c15
	}
}

func TestEntriesAreUniformAndIndependent(t *testing.T) {
	const n = 300
	var sumA, sumSquares, product, inside float64
	for i := range n {
		for j := range n {
			a, b := A(i, j, n), B(i, j, n)
			require.True(t, a >= -1 && a < 1 && b >= -1 && b < 1)
			sumA += a
			sumSquares += a * a
			product += a * b
			if math.Abs(a) < 0.5 {
				inside++
			}
		}
	}
	const count = n * n
	// Six standard deviations of each mean.
	assert.InDelta(t, 0, sumA/count, 6*math.Sqrt(1.0/3/count))
	assert.InDelta(t, 1.0/3, sumSquares/count, 6*math.Sqrt(4.0/45/count))
	assert.InDelta(t, 0, product/count, 6*math.Sqrt(1.0/9/count))
	assert.InDelta(t, 0.5, inside/count, 6*math.Sqrt(0.25/count))
	assert.Equal(t, A(1, 2, 10), A(0, 12, 20), "an entry depends on its global index")
	assert.NotEqual(t, A(1, 2, 10), A(2, 1, 10))
}
