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

// paths are the implementations that Relax may choose from. Which one is the fastest depends on the processor.
var paths = []struct {
	name  string
	relax func(s SOR, u []float64, stride int, rows, cols Span) uint64
}{{"portable", SOR.portable}, {"fastest", fastest}}

func fastest(s SOR, u []float64, stride int, rows, cols Span) uint64 {
	return s.fastest(u, stride, []Block{{rows, cols}})
}

// spoil puts values into a grid that take special ways through a processor: zeros of both signs and denormal numbers in
// many places, and one of infinity and NaN, which spread, in one.
func spoil(u []float64, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 2))
	const least = math.SmallestNonzeroFloat64
	small := []float64{0, math.Copysign(0, -1), least, -least, 0x1p-1022, -0x1p-1060}
	for i := range u {
		if r.IntN(3) > 0 {
			u[i] = small[r.IntN(len(small))]
		}
	}
	large := []float64{0, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64, -math.MaxFloat64}
	if v := large[r.IntN(len(large))]; v != 0 {
		u[r.IntN(len(u))] = v
	}
}

// requireSame compares a path with the plain loop on a block of u. All NaNs are one: which of two NaNs a sum becomes
// depends on the order in which a compiler has put the operands. It also holds that nothing outside the block changes,
// since the plain loop does not change it.
func requireSame(t require.TestingT, omega float64, u []float64, stride int, rows, cols Span) {
	want := slices.Clone(u)
	wantChange := math.Float64bits(NewSOR(omega, true).RelaxPlain(want, stride, rows, cols))
	same := func(x, y float64) bool {
		return math.Float64bits(x) == math.Float64bits(y) || math.IsNaN(x) && math.IsNaN(y)
	}
	got := make([]float64, len(u))
	for _, path := range paths {
		for _, track := range []bool{false, true} {
			copy(got, u)
			change := path.relax(NewSOR(omega, track), got, stride, rows, cols)
			for i := range want {
				if !same(want[i], got[i]) {
					require.Failf(t, "values differ", "%s, track %v, rows %v columns %v: [%d,%d] is %x, want %x",
						path.name, track, rows, cols, i/stride, i%stride, got[i], want[i])
				}
			}
			if track && !same(math.Float64frombits(wantChange), math.Float64frombits(change)) || !track && change != 0 {
				require.Failf(t, "largest changes differ", "%s, track %v, rows %v columns %v: %x, want %x",
					path.name, track, rows, cols, change, wantChange)
			}
		}
	}
}

// Every small block.
func TestRelaxEqualsPlainInSmallBlocks(t *testing.T) {
	for height := 1; height <= 20; height++ {
		for width := 1; width <= 40; width++ {
			seed := uint64(height*100 + width)
			rows, cols := Span{1, 1 + height}, Span{1, 1 + width}
			u := roughGrid(height+2, width+2, seed)
			requireSame(t, paperOmega, u, width+2, rows, cols)
			spoil(u, seed)
			requireSame(t, paperOmega, u, width+2, rows, cols)
		}
	}
}

// Larger blocks, anywhere in a grid.
func TestRelaxEqualsPlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		height := rapid.IntRange(1, 70).Draw(t, "rows of the block")
		width := rapid.IntRange(1, 100).Draw(t, "columns of the block")
		top := rapid.IntRange(1, 3).Draw(t, "first row")
		left := rapid.IntRange(1, 3).Draw(t, "first column")
		stride := left + width + rapid.IntRange(1, 3).Draw(t, "columns after the block")
		below := rapid.IntRange(1, 3).Draw(t, "rows after the block")
		omega := rapid.Float64Range(0.1, 1.99).Draw(t, "omega")
		seed := rapid.Uint64().Draw(t, "seed")
		u := roughGrid(top+height+below, stride, seed)
		if rapid.Bool().Draw(t, "special values") {
			spoil(u, seed)
		}
		requireSame(t, omega, u, stride, Span{top, top + height}, Span{left, left + width})
	})
}

// Blocks that are done in several pieces, and strides at which rows fall together in the cache.
func TestRelaxEqualsPlainInLargeBlocks(t *testing.T) {
	for _, c := range []struct{ height, width, stride int }{
		{37, 2100, 2102}, {35, 30011, 30013}, {23, 1025, 1030}, {4200, 33, 35}, {160, 1024, 1026}, {50, 500, 514}, {50, 500, 513}, {50, 500, 512},
	} {
		u := roughGrid(c.height+2, c.stride, uint64(c.width))
		requireSame(t, paperOmega, u, c.stride, Span{1, 1 + c.height}, Span{1, 1 + c.width})
	}
}

func FuzzRelax(f *testing.F) {
	f.Add(uint8(1), uint8(1), uint8(0), uint8(0), 1.5, uint64(1), false)
	f.Add(uint8(16), uint8(32), uint8(0), uint8(0), paperOmega, uint64(2), true)
	f.Add(uint8(37), uint8(61), uint8(2), uint8(5), 1.0, uint64(3), true)
	f.Add(uint8(70), uint8(125), uint8(7), uint8(3), 0.3, uint64(4), false)
	f.Fuzz(func(t *testing.T, height, width, left, right uint8, omega float64, seed uint64, special bool) {
		h, w, l := int(height)+1, int(width)+1, int(left)+1
		stride := l + w + int(right) + 1
		u := roughGrid(h+2, stride, seed)
		if special {
			spoil(u, seed)
		}
		requireSame(t, omega, u, stride, Span{1, 1 + h}, Span{l, l + w})
	})
}

// requireInTurn compares RelaxAll with the plain loop on one block after the other.
func requireInTurn(t require.TestingT, u []float64, stride int, blocks []Block) {
	want, wantChange := slices.Clone(u), 0.0
	for _, b := range blocks {
		wantChange = max(wantChange, NewSOR(paperOmega, true).RelaxPlain(want, stride, b.Rows, b.Cols))
	}
	for _, track := range []bool{false, true} {
		got := slices.Clone(u)
		change := NewSOR(paperOmega, track).RelaxAll(got, stride, blocks)
		requireSameBits(t, want, got, fmt.Sprint(blocks))
		if track {
			require.Equal(t, wantChange, change, "%v", blocks)
		} else {
			require.Zero(t, change)
		}
	}
}

// Blocks one after the other, near each other, so that a wavefront might pass through them, and across each other, so that it might read too early.
func TestRelaxAllIsRelaxInTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		height, stride := rapid.IntRange(3, 150).Draw(t, "rows"), rapid.IntRange(3, 130).Draw(t, "stride")
		blocks := make([]Block, rapid.IntRange(1, 40).Draw(t, "blocks"))
		for i := range blocks {
			interval := func(of string, n, near int) Span {
				lo := rapid.IntRange(1, n-2).Draw(t, "first of "+of)
				if i > 0 && rapid.Bool().Draw(t, of+" near the last ones") {
					lo = min(max(1, near+rapid.IntRange(-20, 40).Draw(t, "moved by")), n-2)
				}
				return Span{lo, rapid.IntRange(lo, n-1).Draw(t, of+" up to")}
			}
			before := blocks[max(0, i-1)]
			blocks[i] = Block{interval("rows", height, before.Rows.Lo), interval("columns", stride, before.Cols.Lo)}
		}
		requireInTurn(t, roughGrid(height, stride, rapid.Uint64().Draw(t, "seed")), stride, blocks)
	})
}

// Assembly takes more stack than a goroutine has at first, and blocks are on the stack that is moved then.
func TestRelaxAllOnNewGoroutines(t *testing.T) {
	s := NewSOR(paperOmega, false)
	blocks := []Block{{Span{1, 33}, Span{1, 61}}, {Span{1, 32}, Span{1, 59}}, {Span{3, 12}, Span{1, 41}}}
	u := roughGrid(40, 63, 1)
	want := slices.Clone(u)
	for _, b := range blocks {
		s.RelaxPlain(want, 63, b.Rows, b.Cols)
	}
	for range 100 {
		got := slices.Clone(u)
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.RelaxAll(got, 63, blocks)
		}()
		<-done
		requireSameBits(t, want, got, "goroutine")
	}
}

// Sweeps that pass over tiles one behind the other, as the ranks do them, with ends that lean or do not.
func TestRelaxAllDoesSweepsInTiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, cols := rapid.IntRange(20, 150).Draw(t, "rows"), rapid.IntRange(20, 150).Draw(t, "columns")
		sweeps, skew := rapid.IntRange(2, 16).Draw(t, "sweeps"), rapid.IntRange(1, 2).Draw(t, "skew")
		height, width := rapid.IntRange(1, rows).Draw(t, "height of a tile"), rapid.IntRange(1, cols).Draw(t, "width of a tile")
		u := roughGrid(rows+2, cols+2, rapid.Uint64().Draw(t, "seed"))
		want := slices.Clone(u)
		var blocks []Block
		for c := 1; c <= cols+(sweeps-1)*skew; c += width {
			for r := 1; r <= rows+sweeps-1; r += height {
				for k := range sweeps {
					blocks = append(blocks, Block{
						Span{min(max(1, r-k), rows+1), min(max(1, r+height-k), rows+1)},
						Span{min(max(1, c-k*skew), cols+1), min(max(1, c+width-k*skew), cols+1)},
					})
				}
			}
		}
		requireInTurn(t, u, cols+2, blocks)
		s := NewSOR(paperOmega, false)
		for range sweeps {
			s.RelaxPlain(want, cols+2, Span{1, rows + 1}, Span{1, cols + 1})
		}
		s.RelaxAll(u, cols+2, blocks)
		requireSameBits(t, want, u, "tiles")
	})
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
	assert.Zero(t, s.RelaxAll(u, 4, []Block{{Span{0, 0}, Span{1, 3}}, {Span{1, 3}, Span{3, 2}}}))
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

// Sweeps over a grid, whole and by strips. The points of all strips of a grid are relaxed, so that a strip is found
// where a program finds it: in the cache that holds a grid of this size. The metric is what to compare; doc.go has
// figures.
func BenchmarkRelax(b *testing.B) {
	plain := func(s SOR, u []float64, stride int, rows, cols Span) uint64 {
		return math.Float64bits(s.RelaxPlain(u, stride, rows, cols))
	}
	for _, c := range []struct{ rows, stride, strip int }{
		{1000, 1002, 1000}, {600, 2002, 500}, {600, 2002, 250}, {600, 2002, 125}, {600, 2002, 62},
	} {
		u := roughGrid(c.rows+2, c.stride, 1)
		for _, path := range []struct {
			name  string
			track bool
			relax func(s SOR, u []float64, stride int, rows, cols Span) uint64
		}{
			{"plain", true, plain},
			{"portable", false, SOR.portable}, {"portable-tracked", true, SOR.portable},
			{"fast", false, fastest}, {"fast-tracked", true, fastest},
		} {
			b.Run(fmt.Sprintf("%dx%d/%s", c.rows, c.strip, path.name), func(b *testing.B) {
				s := NewSOR(paperOmega, path.track)
				points := 0
				for b.Loop() {
					for lo := 1; lo+c.strip < c.stride; lo += c.strip {
						path.relax(s, u, c.stride, Span{1, c.rows + 1}, Span{lo, lo + c.strip})
						points += c.rows * c.strip
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(points), "ns/point")
			})
		}
	}
}
