package kernel

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// Panels of the product. gonum's dgemm starts goroutines from four blocks of 64 x 64 elements of C on, so a panel of
// C stays within three: 64 rows x 192 columns. The panel of B, panelInner x panelCols (48 KiB), then stays in the first or second
// level cache while all rows of the block pass over it, and the axpy's at the bottom are as long as they may be.
const (
	panelRows  = 64
	panelCols  = 192
	panelInner = 32
)

// groupUnit columns are whole tiles, of each kernel.
const groupUnit = 24

// Right is B, the right factor of many products, laid out in the order in which Multiply reads it.
type Right struct {
	inner, cols int
	packed      []float64
}

// Pack makes b, inner x cols values, row by row, a right factor. It is laid out anew in place: what b held is there no more, and b
// must be left alone from then on.
func Pack(inner, cols int, b []float64) Right {
	if inner < 0 || cols < 0 || len(b) < inner*cols {
		panic(fmt.Sprintf("kernel: %d x %d needs more than the %d values of b", inner, cols, len(b)))
	}
	r := Right{inner, cols, b[:inner*cols]}
	pack(inner, cols, r.packed)
	return r
}

// Groups is into how many groups of columns b, and so a product, can be cut; at least 1.
func (b Right) Groups() int { return max(1, (b.cols+groupCols-1)/groupCols) }

// group is the first column of a group and the one behind its last. Groups are of equal size but for whole tiles.
func (b Right) group(g int) (left, right int) {
	return border(b.cols, b.Groups(), groupUnit, g), border(b.cols, b.Groups(), groupUnit, g+1)
}

// border is where part g begins of n that is cut into so many parts, which are of equal size but for whole units.
func border(n, parts, unit, g int) int { return min((g*n/parts+unit-1)/unit*unit, n) }

// Multiply sets the columns of c = a b that belong to one group of b's, 0 to Groups()-1. Rows follow one another: a holds rows x
// inner values, c rows x cols. It runs on the calling goroutine alone. In programs that are built with the tag openblas it is OpenBLAS's
// dgemm, else the bits are those of Reference.
func Multiply(rows int, a []float64, b Right, group int, c []float64) {
	if group < 0 || group >= b.Groups() {
		panic(fmt.Sprintf("kernel: group %d of %d", group, b.Groups()))
	}
	if rows < 0 || len(a) < rows*b.inner || len(c) < rows*b.cols {
		panic(fmt.Sprintf("kernel: (%d x %d) (%d x %d) needs more than the %d and %d values of a and c",
			rows, b.inner, b.inner, b.cols, len(a), len(c)))
	}
	if len(b.packed) == 0 || rows == 0 {
		clear(c[:rows*b.cols]) // a sum over nothing is 0
		return
	}
	left, right := b.group(group)
	multiply(rows, b.inner, b.cols, left, right, a, b.packed, c)
}

// Reference sets c = a b, where b holds inner x cols values, row by row, with the BLAS that blas64 has registered: with gonum's own
// one the bits of a row of c do not depend on which other rows are computed with it.
func Reference(rows, inner, cols int, a, b, c []float64) {
	if rows < 0 || inner < 0 || cols < 0 || len(a) < rows*inner || len(b) < inner*cols || len(c) < rows*cols {
		panic(fmt.Sprintf("kernel: (%d x %d) (%d x %d) needs more than the %d, %d and %d values of a, b and c",
			rows, inner, inner, cols, len(a), len(b), len(c)))
	}
	if inner == 0 {
		clear(c[:rows*cols])
		return
	}
	reference(rows, inner, cols, 0, cols, a, b, c)
}

// reference does the columns from left to right-1, where inner is not 0.
func reference(rows, inner, cols, left, right int, a, b, c []float64) {
	for j := left; j < right; j += panelCols {
		width := min(panelCols, right-j)
		for k := 0; k < inner; k += panelInner {
			depth := min(panelInner, inner-k)
			beta := 1.0
			if k == 0 {
				beta = 0
			}
			bPanel := blas64.General{Rows: depth, Cols: width, Stride: cols, Data: b[k*cols+j:]}
			for i := 0; i < rows; i += panelRows {
				height := min(panelRows, rows-i)
				blas64.Gemm(blas.NoTrans, blas.NoTrans, 1,
					blas64.General{Rows: height, Cols: depth, Stride: inner, Data: a[i*inner+k:]}, bPanel,
					beta, blas64.General{Rows: height, Cols: width, Stride: cols, Data: c[i*cols+j:]})
			}
		}
	}
}

// Check returns a function that says whether a row of the product is right, and the largest difference from Reference that it
// allows: none, where Multiply is Exact. Else an element may differ by 2 inner u (|A| |B|), where u = 2^-53 is the unit
// roundoff: each of two ways to add up its terms is within half of that (Higham, Accuracy and stability of numerical
// algorithms, section 3.1). a and b hold all of A and B.
func Check(rows, inner, cols int, a, b []float64) (right func(row int, got []float64) bool, largest float64) {
	want := make([]float64, rows*cols)
	Reference(rows, inner, cols, a, b, want)
	if Exact {
		return func(row int, got []float64) bool {
			return slices.EqualFunc(want[row*cols:(row+1)*cols], got, func(x, y float64) bool {
				return math.Float64bits(x) == math.Float64bits(y)
			})
		}, 0
	}
	bound := make([]float64, rows*cols)
	Reference(rows, inner, cols, magnitudes(a[:rows*inner]), magnitudes(b[:inner*cols]), bound)
	for i := range bound {
		bound[i] *= 2 * float64(inner) * 0x1p-53
		largest = max(largest, bound[i])
	}
	return func(row int, got []float64) bool {
		for j, x := range got {
			if !(math.Abs(x-want[row*cols+j]) <= bound[row*cols+j]) {
				return false
			}
		}
		return len(got) == cols
	}, largest
}

func magnitudes(x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = math.Abs(v)
	}
	return y
}
