//go:build !openblas

package kernel

import "golang.org/x/sys/cpu"

// hasTiles says whether this processor and its operating system have what tile needs. Tests turn it off.
var hasTiles = cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ

const (
	tileRows  = 8
	tileCols  = 24
	tileDepth = 128 // so many rows of B, tileCols wide, are half of a first-level cache
	tileAhead = 8   // rows of B from being asked for to being needed
	groupRows = 256 // so many rows of A, tileDepth wide, are a quarter of a second-level cache, and B is read once for them
)

// tile adds the product of rows x depth elements of A and depth x cols of B to rows x cols of C, in registers; rows are 1 to
// tileRows, cols 1 to tileCols, depth is at least 1. It sets C if begin, whatever C had. If skip it leaves products with a 0 of A
// out, which are not 0 if B has an infinity or NaN there; gonum does so. It leaves the rows of B, tileCols values each, in packed,
// which may be B itself, and asks for depth rows of tileCols values from ahead on to come into the cache.
//
//go:noescape
func tile(a *float64, aStride int, b *float64, bStride int, c *float64, cStride, rows, depth, cols int,
	packed, ahead *float64, aheadStride int, begin, skip bool)

// anyZero says whether one of n values is 0; n is at least 1.
//
//go:noescape
func anyZero(x *float64, n int) bool

// multiply does what Reference does, bit for bit: each element of C is the sum of the same products in the same order.
func multiply(rows, inner, cols int, a, b, c []float64) {
	if !hasTiles {
		Reference(rows, inner, cols, a, b, c)
		return
	}
	for i := 0; i < rows; i += groupRows {
		multiplyGroup(min(groupRows, rows-i), inner, cols, a[i*inner:], b, c[i*cols:])
	}
}

// multiplyGroup lets all rows pass over a few columns of B, packed in the first-level cache, before the next ones are read; while
// the second eight rows pass, these come from memory.
func multiplyGroup(rows, inner, cols int, a, b, c []float64) {
	var packed [tileDepth * tileCols]float64
	skip := anyZero(&a[0], rows*inner)
	for k := 0; k < inner; k += tileDepth {
		depth := min(tileDepth, inner-k)
		for j := 0; j < cols; j += tileCols {
			width := min(tileCols, cols-j)
			from, stride := &b[k*cols+j], cols
			ahead, aheadStride := &b[min(k+tileAhead, inner-1)*cols+j], cols // the rows to come
			for i := 0; i < rows; i += tileRows {
				tile(&a[i*inner+k], inner, from, stride, &c[i*cols+j], cols, min(tileRows, rows-i), depth, width,
					&packed[0], ahead, aheadStride, k == 0, skip)
				from, stride = &packed[0], tileCols
				if i == 0 {
					ahead = &b[k*cols+min(j+tileCols, cols-1)] // the columns to come, while there is something to compute
				} else {
					ahead, aheadStride = from, stride
				}
			}
		}
	}
}
