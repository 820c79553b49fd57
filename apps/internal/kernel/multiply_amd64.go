//go:build !openblas

package kernel

import "golang.org/x/sys/cpu"

// hasTiles says whether this processor and its operating system have what tile needs. Tests turn it off.
var hasTiles = cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ

const (
	tileRows  = 8
	tileCols  = 24
	tileDepth = 128 // so many rows of B, tileCols wide, are half of a first-level cache
	groupRows = 128 // so many rows of A, tileDepth wide, are an eighth of a second-level cache, and B is read once for them
)

// tile adds the product of rows x depth elements of A and depth x cols of B to rows x cols of C, in registers; rows are 1 to
// tileRows, cols 1 to tileCols, depth is at least 1. It sets C if begin, whatever C had. If skip it leaves products with a 0 of A
// out, which are not 0 if B has an infinity or NaN there; gonum does so. It asks for depth times tileCols values, each
// aheadBytes behind the one before, from ahead on to come into the cache.
//
//go:noescape
func tile(a *float64, aStride int, b *float64, bStride int, c *float64, cStride, rows, depth, cols int,
	ahead *float64, aheadBytes int, begin, skip bool)

// anyZero says whether one of n values in each of so many rows is 0; rows and n are at least 1.
//
//go:noescape
func anyZero(x *float64, stride, rows, n int) bool

// pack puts tileDepth rows of B after the other, tileCols columns of them after the other: the order in which multiply reads them.
func pack(inner, cols int, b []float64) {
	if !hasTiles {
		return
	}
	plain := make([]float64, min(tileDepth, inner)*cols)
	for k := 0; k < inner; k += tileDepth {
		depth := min(tileDepth, inner-k)
		to := b[k*cols : (k+depth)*cols]
		copy(plain, to)
		for j := 0; j < cols; j += tileCols {
			width := min(tileCols, cols-j)
			for i := range depth {
				to = to[copy(to, plain[i*cols+j:i*cols+j+width]):]
			}
		}
	}
}

// multiply does what reference does, bit for bit: each element of C is the sum of the same products in the same order.
func multiply(rows, inner, cols, left, right int, a, b, c []float64) {
	if !hasTiles {
		reference(rows, inner, cols, left, right, a, b, c)
		return
	}
	for i := 0; i < rows; i += groupRows {
		multiplyGroup(min(groupRows, rows-i), inner, cols, left, right, a[i*inner:], b, c[i*cols:])
	}
}

// multiplyGroup lets all rows pass over a panel of B, which stays in the first-level cache. The next panel comes meanwhile, a part
// in each pass.
func multiplyGroup(rows, inner, cols, left, right int, a, b, c []float64) {
	passes, last := (rows+tileRows-1)/tileRows, len(b)-1
	for k := 0; k < inner; k += tileDepth {
		depth := min(tileDepth, inner-k)
		skip := anyZero(&a[k], inner, rows, depth) // and they are in the cache for the tiles
		for j := left; j < right; j += tileCols {
			width := min(tileCols, right-j)
			panel := k*cols + depth*j
			for i := 0; i < rows; i += tileRows {
				ahead := min(panel+depth*(width+tileCols*(i/tileRows)/passes), last)
				tile(&a[i*inner+k], inner, &b[panel], width, &c[i*cols+j], cols, min(tileRows, rows-i), depth, width,
					&b[ahead], 8*tileCols/passes, k == 0, skip)
			}
		}
	}
}
