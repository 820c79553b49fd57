//go:build !openblas

package kernel

import "golang.org/x/sys/cpu"

// tiling is how multiply cuts matrices: rows x cols elements of C stay in registers while depth rows of B pass. So much of B is half of
// a first-level cache.
type tiling struct{ rows, cols, depth int }

// tiles suit the vectors that this processor and its operating system have; none without any. Tests change them.
var tiles = func() tiling {
	switch {
	case cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ:
		return tiles512
	case cpu.X86.HasAVX2:
		return tiles256
	}
	return tiling{}
}()

var (
	tiles512 = tiling{rows: 8, cols: 24, depth: 128}
	tiles256 = tiling{rows: 6, cols: 8, depth: 256}
)

// groupTiles tiles of rows of A, depth wide, are a 16th of a second-level cache of 1 MiB or a quarter of one of 256 KiB, and B is read
// once for them, 64 (48) rows: as much as it takes for the adders to be what limits. Twice as many are 3% slower where B is in memory.
const groupTiles = 8

// tile8x24 adds the product of rows x depth elements of A and depth x cols of B to rows x cols of C, in registers; rows are 1 to
// 8, cols 1 to 24, depth is at least 1. It sets C if begin, whatever C had. If skip it leaves products with a 0 of A
// out, which are not 0 if B has an infinity or NaN there; gonum does so. It asks for depth times 24 values, each
// aheadBytes behind the one before, from ahead on to come into the cache.
//
//go:noescape
func tile8x24(a *float64, aStride int, b *float64, bStride int, c *float64, cStride, rows, depth, cols int,
	ahead *float64, aheadBytes int, begin, skip bool)

// tile6x8 is the same for up to 6 rows and 8 columns.
//
//go:noescape
func tile6x8(a *float64, aStride int, b *float64, bStride int, c *float64, cStride, rows, depth, cols int,
	ahead *float64, aheadBytes int, begin, skip bool)

// anyZero says whether one of n values in each of so many rows is 0; rows and n are at least 1.
//
//go:noescape
func anyZero(x *float64, stride, rows, n int) bool

// pack puts depth rows of B after the other, a tile's columns of them after the other: the order in which multiply reads them.
func pack(inner, cols int, b []float64) {
	if tiles == (tiling{}) {
		return
	}
	plain := make([]float64, min(tiles.depth, inner)*cols)
	for k := 0; k < inner; k += tiles.depth {
		depth := min(tiles.depth, inner-k)
		to := b[k*cols : (k+depth)*cols]
		copy(plain, to)
		for j := 0; j < cols; j += tiles.cols {
			width := min(tiles.cols, cols-j)
			for i := range depth {
				to = to[copy(to, plain[i*cols+j:i*cols+j+width]):]
			}
		}
	}
}

// multiply does what reference does, bit for bit: each element of C is the sum of the same products in the same order.
func multiply(rows, inner, cols, left, right int, a, b, c []float64) {
	if tiles == (tiling{}) {
		reference(rows, inner, cols, left, right, a, b, c)
		return
	}
	// Groups are of equal size but for whole tiles: each reads all of B, which the last few rows alone would take as long for as 20.
	groups := (rows + groupTiles*tiles.rows - 1) / (groupTiles * tiles.rows)
	for g := range groups {
		i, next := border(rows, groups, tiles.rows, g), border(rows, groups, tiles.rows, g+1)
		multiplyGroup(next-i, inner, cols, left, right, a[i*inner:], b, c[i*cols:])
	}
}

// multiplyGroup lets all rows pass over a panel of B, which stays in the first-level cache. The next panel comes meanwhile, a part
// in each pass.
func multiplyGroup(rows, inner, cols, left, right int, a, b, c []float64) {
	t, tile := tiles, tile8x24
	if t == tiles256 {
		tile = tile6x8
	}
	passes, last := (rows+t.rows-1)/t.rows, len(b)-1
	for k := 0; k < inner; k += t.depth {
		depth := min(t.depth, inner-k)
		skip := anyZero(&a[k], inner, rows, depth) // and they are in the cache for the tiles
		for j := left; j < right; j += t.cols {
			width := min(t.cols, right-j)
			panel := k*cols + depth*j
			for i := 0; i < rows; i += t.rows {
				from, stepBytes := ahead(depth, t.cols, i/t.rows, passes)
				tile(&a[i*inner+k], inner, &b[panel], width, &c[i*cols+j], cols, min(t.rows, rows-i), depth, width,
					&b[min(panel+depth*width+from, last)], stepBytes, k == 0, skip)
			}
		}
	}
}

// ahead is the part of the next panel, depth x cols, that one of so many passes asks for: from which element on, and how many bytes
// from one to the next of its depth requests. The parts leave no gap.
func ahead(depth, cols, pass, passes int) (from, stepBytes int) {
	return depth * cols * pass / passes, (8*cols + passes - 1) / passes
}
