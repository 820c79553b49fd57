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

const bundledFile = "../../../data/heat-plate.npy"

func TestBundledFileIsWhatTheGeneratorMakes(t *testing.T) {
	f, err := gridfile.Open(bundledFile, 3, 3)
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

// SOR from the scattered start reaches the discrete solution, and so the plate's to within the bound.
func TestRelaxationConvergesToThePlate(t *testing.T) {
	bundled, err := gridfile.Open(bundledFile, 3, 3)
	require.NoError(t, err)
	fromFile := make([]float64, Bundled.Rows*Bundled.Cols)
	require.NoError(t, bundled.ReadRows(0, Bundled.Rows, fromFile))
	require.NoError(t, bundled.Close())
	oblong := Plate{41, 61}
	generated := make([]float64, oblong.Rows*oblong.Cols)
	for k := range generated {
		generated[k] = oblong.Initial(k/oblong.Cols, k%oblong.Cols)
	}
	for _, c := range []struct {
		p     Plate
		u     []float64
		omega float64
	}{
		{oblong, generated, 1.9},
		{Bundled, fromFile, 1.972}, // of S&S 1997; close to the best for this size, 2/(1 + sin(pi h)) = 1.969
	} {
		s := kernel.NewSOR(c.omega, true)
		rows, cols := kernel.Span{Lo: 1, Hi: c.p.Rows - 1}, kernel.Span{Lo: 1, Hi: c.p.Cols - 1}
		sweeps := 0
		for s.Relax(c.u, c.p.Cols, rows, cols) > 1e-11 {
			sweeps++
			require.Less(t, sweeps, 3000)
		}
		for k, v := range c.u {
			require.InDelta(t, c.p.Discrete(k/c.p.Cols, k%c.p.Cols), v, 1e-8)
			require.InDelta(t, c.p.Exact(k/c.p.Cols, k%c.p.Cols), v, c.p.ErrorBound())
		}
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
