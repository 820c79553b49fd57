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

// Multiply sets c = a b. Rows follow one another: a holds rows x inner values, c rows x cols. It runs on the calling
// goroutine alone. In programs that are built with the tag openblas it is OpenBLAS's dgemm, else the bits are those of Reference.
func Multiply(rows int, a []float64, b Right, c []float64) {
	if rows < 0 || len(a) < rows*b.inner || len(c) < rows*b.cols {
		panic(fmt.Sprintf("kernel: (%d x %d) (%d x %d) needs more than the %d and %d values of a and c",
			rows, b.inner, b.inner, b.cols, len(a), len(c)))
	}
	if len(b.packed) == 0 || rows == 0 {
		clear(c[:rows*b.cols])
		return
	}
	multiply(rows, b.inner, b.cols, a, b.packed, c)
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
	for j := 0; j < cols; j += panelCols {
		width := min(panelCols, cols-j)
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
