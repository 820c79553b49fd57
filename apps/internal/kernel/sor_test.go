package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// paperOmega gives the coefficients 0.493 and -0.972 of S&S 1997.
const paperOmega = 1.972

// roughGrid is a grid without any regularity that could hide a wrong neighbour.
func roughGrid(rows, stride int, seed uint64) []float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	u := make([]float64, rows*stride)
	for i := range u {
		u[i] = (r.Float64() - 0.5) * math.Exp2(float64(r.IntN(8)))
	}
	return u
}

func requireSameBits(t require.TestingT, want, got []float64, what string) {
	require.Len(t, got, len(want))
	for i := range want {
		if math.Float64bits(want[i]) != math.Float64bits(got[i]) {
			require.Failf(t, "bits differ", "%s: value %d is %x, want %x", what, i, got[i], want[i])
		}
	}
}

func TestPaperCoefficients(t *testing.T) {
	s := NewSOR(paperOmega, false)
	assert.InDelta(t, 0.493, s.quarter, 1e-15)
	assert.InDelta(t, -0.972, s.keep, 1e-15)
}

// One point by hand: all neighbours count a quarter of omega, the point itself 1-omega.
func TestOnePoint(t *testing.T) {
	for _, track := range []bool{false, true} {
		u := []float64{
			0, 2, 0,
			4, 100, 8,
			0, 16, 0,
		}
		change := NewSOR(1.5, track).Relax(u, 3, Span{1, 2}, Span{1, 2})
		assert.Equal(t, []float64{0, 2, 0, 4, 0.375*30 - 50, 8, 0, 16, 0}, u)
		if track {
			assert.Equal(t, 138.75, change)
		} else {
			assert.Zero(t, change)
		}
	}
}

// Every block from 1 x 1 up, anywhere in a grid: the same bits as point by point, and nothing else touched.
func TestRelaxEqualsPlain(t *testing.T) {
	for _, track := range []bool{false, true} {
		t.Run(fmt.Sprintf("track=%v", track), rapid.MakeCheck(func(t *rapid.T) {
			height := rapid.IntRange(1, 14).Draw(t, "rows of the block")
			width := rapid.IntRange(1, 20).Draw(t, "columns of the block")
			top := rapid.IntRange(1, 3).Draw(t, "first row")
			left := rapid.IntRange(1, 3).Draw(t, "first column")
			stride := left + width + rapid.IntRange(1, 3).Draw(t, "columns after the block")
			below := rapid.IntRange(1, 3).Draw(t, "rows after the block")
			omega := rapid.Float64Range(0.1, 1.99).Draw(t, "omega")
			u := roughGrid(top+height+below, stride, rapid.Uint64().Draw(t, "seed"))
			rows, cols := Span{top, top + height}, Span{left, left + width}

			s := NewSOR(omega, track)
			want := slices.Clone(u)
			wantChange := s.RelaxPlain(want, stride, rows, cols)
			for i := range u {
				if j, i := i/stride, i%stride; j < rows.Lo || j >= rows.Hi || i < cols.Lo || i >= cols.Hi {
					require.Equal(t, u[j*stride+i], want[j*stride+i], "reference wrote outside its block")
				}
			}

			flat := slices.Clone(u)
			change := s.Relax(flat, stride, rows, cols)
			requireSameBits(t, want, flat, "Relax")
			if track {
				require.Equal(t, wantChange, change)
			}
		}))
	}
}

// A sweep cut into strips and into blocks of rows, as the ranks do it, is the sweep.
func TestStripsAndBlocksOfRowsMakeTheSweep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 30).Draw(t, "n")
		m := rapid.IntRange(3, 30).Draw(t, "m")
		strip := rapid.IntRange(1, m).Draw(t, "strip")
		block := rapid.IntRange(1, n).Draw(t, "rows a rank")
		s := NewSOR(paperOmega, false)
		u := roughGrid(n, m, rapid.Uint64().Draw(t, "seed"))
		want := slices.Clone(u)
		s.RelaxPlain(want, m, Span{1, n - 1}, Span{1, m - 1})
		for c := 1; c < m-1; c += strip {
			for r := 1; r < n-1; r += block {
				s.Relax(u, m, Span{r, min(r+block, n-1)}, Span{c, min(c+strip, m-1)})
			}
		}
		requireSameBits(t, want, u, "strips")
	})
}

func TestEmptyBlockDoesNothing(t *testing.T) {
	s := NewSOR(1.5, true)
	u := roughGrid(4, 4, 1)
	before := slices.Clone(u)
	assert.Zero(t, s.Relax(u, 4, Span{1, 1}, Span{1, 3}))
	assert.Zero(t, s.Relax(u, 4, Span{1, 3}, Span{2, 2}))
	assert.Zero(t, s.RelaxPlain(u, 4, Span{2, 1}, Span{1, 3}))
	assert.Equal(t, before, u)
}

func TestBlockWithoutNeighboursIsRefused(t *testing.T) {
	s := NewSOR(1.5, false)
	u := make([]float64, 16)
	for _, c := range []struct{ rows, cols Span }{
		{Span{0, 2}, Span{1, 3}}, {Span{1, 4}, Span{1, 3}}, {Span{1, 3}, Span{0, 3}}, {Span{1, 3}, Span{1, 4}},
	} {
		assert.Panics(t, func() { s.Relax(u, 4, c.rows, c.cols) }, "rows %v columns %v", c.rows, c.cols)
		assert.Panics(t, func() { s.RelaxPlain(u, 4, c.rows, c.cols) }, "rows %v columns %v", c.rows, c.cols)
	}
}

// A diverging iteration must not look converged: NaN is kept as the largest change, whatever follows it.
func TestNaNShowsAsLargestChange(t *testing.T) {
	s := NewSOR(1.5, true)
	for _, p := range []int{11, 24, 47, 58} {
		u := roughGrid(10, 10, 3)
		u[p] = math.NaN()
		assert.True(t, math.IsNaN(s.Relax(u, 10, Span{1, 9}, Span{1, 9})), "NaN at %d", p)
	}
}

func BenchmarkRelax(b *testing.B) {
	const n = 512
	for _, c := range []struct {
		name  string
		relax func(u []float64)
	}{
		{"plain", func(u []float64) { NewSOR(paperOmega, false).RelaxPlain(u, n, Span{1, n - 1}, Span{1, n - 1}) }},
		{"wavefront", func(u []float64) { NewSOR(paperOmega, false).Relax(u, n, Span{1, n - 1}, Span{1, n - 1}) }},
		{"wavefront, tracking", func(u []float64) { NewSOR(paperOmega, true).Relax(u, n, Span{1, n - 1}, Span{1, n - 1}) }},
		{"wavefront, strips of 32", func(u []float64) {
			s := NewSOR(paperOmega, false)
			for c := 1; c < n-1; c += 32 {
				s.Relax(u, n, Span{1, n - 1}, Span{c, min(c+32, n-1)})
			}
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			u := roughGrid(n, n, 1)
			b.ResetTimer()
			for range b.N {
				c.relax(u)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/((n-2)*(n-2)), "ns/point")
		})
	}
}
