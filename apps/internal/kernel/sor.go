package kernel

import (
	"fmt"
	"math"
)

// Span is a half-open interval [Lo, Hi) of rows or columns.
type Span struct{ Lo, Hi int }

func (s Span) size() int { return s.Hi - s.Lo }

// Block is the points of some rows and columns.
type Block struct{ Rows, Cols Span }

func (b Block) empty() bool { return b.Rows.size() <= 0 || b.Cols.size() <= 0 }

// SOR relaxes points of a grid for Laplace's equation. Make it with NewSOR; it is immutable and small, so copy it
// freely.
type SOR struct {
	quarter float64 // w/4: weight of the sum of the four neighbours
	keep    float64 // 1-w: weight of the point itself
	track   bool
}

// NewSOR prepares relaxation with the factor omega; it converges for 0 < omega < 2, and 1 is Gauss-Seidel. With track,
// Relax finds the largest change of a point, at the price of a subtraction and two integer operations a point.
func NewSOR(omega float64, track bool) SOR {
	return SOR{quarter: omega / 4, keep: 1 - omega, track: track}
}

// Relax relaxes once, in data order, the points of the given rows and columns of u, which holds rows of length stride
// one after the other. The rows and columns next to the block are read: rows.Lo and cols.Lo are at least 1, cols.Hi is
// below stride, and row rows.Hi is there. It returns the largest |new - old|, or 0 when s does not track it.
func (s SOR) Relax(u []float64, stride int, rows, cols Span) float64 {
	return s.RelaxAll(u, stride, []Block{{rows, cols}})
}

// RelaxAll is Relax for each of the blocks in turn. Several that lie closely together, such as the parts of several sweeps, take less time than one by one: what
// relaxes them need not come to rest in between.
func (s SOR) RelaxAll(u []float64, stride int, blocks []Block) float64 {
	for _, b := range blocks {
		if !b.empty() {
			checkBlock(len(u), stride, b.Rows, b.Cols)
		}
	}
	return math.Float64frombits(s.fastest(u, stride, blocks))
}

// RelaxPlain is Relax as one reads it in a book: point by point in data order, always tracking the largest change. It
// is the serial reference against which results are verified.
func (s SOR) RelaxPlain(u []float64, stride int, rows, cols Span) float64 {
	if (Block{rows, cols}).empty() {
		return 0
	}
	checkBlock(len(u), stride, rows, cols)
	var largest uint64
	for j := rows.Lo; j < rows.Hi; j++ {
		for i := cols.Lo; i < cols.Hi; i++ {
			p := j*stride + i
			sum := ((u[p-stride] + u[p+stride]) + u[p+1]) + u[p-1]
			v := float64(s.quarter*sum) + float64(s.keep*u[p])
			largest = max(largest, magnitude(v-u[p]))
			u[p] = v
		}
	}
	return math.Float64frombits(largest)
}

// checkBlock turns a block that has no neighbours on some side into a message about the block; without it the failure
// would be an index in the middle of a kernel or, for a column, a value of the wrong row.
func checkBlock(length, stride int, rows, cols Span) {
	if rows.Lo < 1 || cols.Lo < 1 || cols.Hi >= stride || (rows.Hi+1)*stride > length {
		panic(fmt.Sprintf("kernel: rows [%d,%d) x columns [%d,%d) have no neighbours on every side in %d values with stride %d",
			rows.Lo, rows.Hi, cols.Lo, cols.Hi, length, stride))
	}
}

// magnitude is |d| as bits. Bits of non-negative numbers are ordered as the numbers are, with NaN above infinity, so
// the maximum over integers costs no branch and keeps a NaN.
func magnitude(d float64) uint64 { return math.Float64bits(d) &^ (1 << 63) }
