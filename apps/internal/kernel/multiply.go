package kernel

import (
	"fmt"

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

// Multiply sets c = a b. Rows follow one another in each of them: a holds rows x inner values, b inner x cols, c rows x
// cols. It runs on the calling goroutine alone, and with gonum's own BLAS the bits of a row of c do not depend on which
// other rows are computed with it.
func Multiply(rows, inner, cols int, a, b, c []float64) {
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
