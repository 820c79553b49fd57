package kernel

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// By definition, in the order of the inner index: the products are not fused, as in gonum's SSE kernels.
func multiplyByDefinition(rows, inner, cols int, a, b []float64) []float64 {
	c := make([]float64, rows*cols)
	for i := range rows {
		for j := range cols {
			sum := 0.0
			for k := range inner {
				sum += float64(a[i*inner+k] * b[k*cols+j])
			}
			c[i*cols+j] = sum
		}
	}
	return c
}

// packed is a right factor; b stays as it is.
func packed(inner, cols int, b []float64) Right { return Pack(inner, cols, slices.Clone(b)) }

// product sets c = a b, group after group.
func product(rows int, a []float64, b Right, c []float64) {
	for g := range b.Groups() {
		Multiply(rows, a, b, g, c)
	}
}

// drawSizes draws sizes that are small or around the borders of the panels, and of the tiles and groups of them.
func drawSizes(t *rapid.T) (rows, inner, cols int) {
	around := func(name string, borders ...int) int {
		border := rapid.SampledFrom(borders).Draw(t, name+" around")
		return rapid.OneOf(rapid.IntRange(1, 8), rapid.IntRange(border-2, border+10)).Draw(t, name)
	}
	return around("rows", panelRows, 128), around("inner", 2*panelInner, 128), around("cols", panelCols, 480)
}

func TestGroupsAreOfEqualSize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Right{inner: 1, cols: rapid.IntRange(1, 5000).Draw(t, "cols")}
		behind := 0
		for g := range b.Groups() {
			left, right := b.group(g)
			require.Equal(t, behind, left)
			require.LessOrEqual(t, right-left, groupCols)
			require.InDelta(t, float64(b.cols)/float64(b.Groups()), right-left, groupUnit)
			require.True(t, right%groupUnit == 0 || right == b.cols, "columns up to %d cut a tile", right)
			behind = right
		}
		require.Equal(t, b.cols, behind)
	})
}

func TestMultiplyIsTheProduct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, inner, cols := drawSizes(t)
		seed := rapid.Uint64().Draw(t, "seed")
		a, b := roughGrid(rows, inner, seed), roughGrid(inner, cols, seed+1)
		c := roughGrid(rows, cols, seed+2) // what c held before must not matter
		product(rows, a, packed(inner, cols, b), c)
		want := multiplyByDefinition(rows, inner, cols, a, b)
		for i := range want {
			// |error| <= inner * 2^-53 * sum |a||b|, generously.
			require.InDelta(t, want[i], c[i], 1e-8)
		}
	})
}

// One node of a cluster may have vectors that another one does not have. A product with a 0 of A is left out, as in gonum's
// dgemm: an infinity in B makes no NaN then.
func TestMultiplyHasTheBitsOfReference(t *testing.T) {
	if !Exact {
		t.Skip("OpenBLAS adds in an order of its own")
	}
	special := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64}
	rapid.Check(t, func(t *rapid.T) {
		rows, inner, cols := drawSizes(t)
		seed := rapid.Uint64().Draw(t, "seed")
		a, b := roughGrid(rows, inner, seed), roughGrid(inner, cols, seed+1)
		for _, x := range [][]float64{a, b} {
			for range rapid.IntRange(0, 20).Draw(t, "special values") {
				x[rapid.IntRange(0, len(x)-1).Draw(t, "at")] = rapid.SampledFrom(special).Draw(t, "value")
			}
		}
		want, got := make([]float64, rows*cols), roughGrid(rows, cols, seed+2) // what c held before must not matter
		Reference(rows, inner, cols, a, b, want)
		product(rows, a, packed(inner, cols, b), got)
		for i := range want {
			if !math.IsNaN(want[i]) || !math.IsNaN(got[i]) {
				require.Equal(t, math.Float64bits(want[i]), math.Float64bits(got[i]), "row %d, column %d", i/cols, i%cols)
			}
		}
	})
}

// A row moves between ranks at any time: whichever rows are computed together, the bits are those of one call.
func TestAnySplitOfTheRowsGivesTheSameBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, inner, cols := drawSizes(t)
		seed := rapid.Uint64().Draw(t, "seed")
		a, b := roughGrid(rows, inner, seed), roughGrid(inner, cols, seed+1)
		whole := make([]float64, rows*cols)
		multiply := func(rows int, a, c []float64) { Reference(rows, inner, cols, a, b, c) }
		if Exact && rapid.Bool().Draw(t, "as the programs do it") {
			right := packed(inner, cols, b)
			multiply = func(rows int, a, c []float64) { product(rows, a, right, c) }
		}
		multiply(rows, a, whole)
		split := make([]float64, rows*cols)
		for lo := 0; lo < rows; {
			hi := min(lo+rapid.IntRange(1, rows).Draw(t, "rows of a block"), rows)
			multiply(hi-lo, a[lo*inner:hi*inner], split[lo*cols:hi*cols])
			lo = hi
		}
		requireSameBits(t, whole, split, "split")
	})
}

// Check finds a wrong element, however the product is computed.
func TestCheck(t *testing.T) {
	const rows, inner, cols = 70, 130, 200
	a, b := roughGrid(rows, inner, 1), roughGrid(inner, cols, 2)
	isRight, largest := Check(rows, inner, cols, a, b)
	assert.Equal(t, Exact, largest == 0)
	right := packed(inner, cols, b)
	c := make([]float64, rows*cols)
	for lo := 0; lo < rows; lo += 7 {
		product(7, a[lo*inner:], right, c[lo*cols:])
	}
	for i := range rows {
		row := c[i*cols : (i+1)*cols]
		assert.True(t, isRight(i, row), "row %d", i)
		was := row[i]
		for _, wrong := range []float64{was + 3*largest + math.SmallestNonzeroFloat64 + math.Abs(was)*0x1p-50, math.NaN()} {
			row[i] = wrong
			assert.False(t, isRight(i, row), "row %d", i)
		}
		row[i] = was
	}
}

func TestEmptyProducts(t *testing.T) {
	c := []float64{1, 2, 3, 4}
	product(2, nil, Pack(0, 2, nil), c)
	assert.Equal(t, []float64{0, 0, 0, 0}, c, "a sum over nothing is 0")
	product(0, nil, Pack(2, 2, []float64{1, 2, 3, 4}), nil)
	product(2, c, Pack(2, 0, nil), nil)
	assert.Panics(t, func() { product(2, make([]float64, 3), Pack(2, 2, make([]float64, 4)), c) })
	assert.Panics(t, func() { Multiply(2, c, Pack(2, 2, make([]float64, 4)), 1, c) }, "a group that is not there")
	assert.Panics(t, func() { Pack(2, 2, make([]float64, 3)) })
}

// A rank that went parallel would take its neighbours' cores. Goroutines of a parallel dgemm come and go, but the memory
// for their channel and closures is allocated on every call; the serial path allocates nothing, nor does what the programs use.
func TestProductsStayOnTheirGoroutine(t *testing.T) {
	old := runtime.GOMAXPROCS(4)
	defer runtime.GOMAXPROCS(old)
	const n = 3*panelCols + 5
	a, b, c := roughGrid(n, 10, 1), roughGrid(10, n, 2), make([]float64, n*n)
	assert.Zero(t, testing.AllocsPerRun(3, func() { Reference(n, 10, n, a, b, c) }))
	right := packed(10, n, b)
	assert.Zero(t, testing.AllocsPerRun(3, func() { product(n, a, right, c) }))
}

func TestPanelsDoNotChangeOperands(t *testing.T) {
	a, b, c := roughGrid(70, 130, 1), roughGrid(130, 200, 2), make([]float64, 70*200)
	a0, b0 := slices.Clone(a), slices.Clone(b)
	Reference(70, 130, 200, a, b, c)
	requireSameBits(t, b0, b, "b")
	right := packed(130, 200, b)
	b0 = slices.Clone(right.packed)
	product(70, a, right, c)
	requireSameBits(t, a0, a, "a")
	requireSameBits(t, b0, right.packed, "b, packed")
}

func BenchmarkMultiply(b *testing.B) {
	for _, n := range []int{768, 4000} { // B in a second-level cache or the next, and in memory
		x, c := roughGrid(256, n, 1), make([]float64, 256*n)
		y := Pack(n, n, roughGrid(n, n, 2))
		for _, rows := range []int{1, 8, 16, 56, 64, 256} {
			b.Run(fmt.Sprintf("n=%d/rows=%d", n, rows), func(b *testing.B) {
				for range b.N {
					product(rows, x, y, c)
				}
				b.ReportMetric(2*float64(rows)*float64(n*n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gflop/s")
			})
		}
	}
}
