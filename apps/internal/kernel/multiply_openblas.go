//go:build openblas

package kernel

import (
	"math"

	"shiftwork/apps/internal/openblas"
)

// BLAS names the library that Multiply computes with, where its bits are not those of gonum's BLAS; Slow is a line for the user if that is slower than need
// be; and Exact says that the bits of a row of the product do not depend on the other rows.
var (
	BLAS = "openblas-" + openblas.Version() + "-" + openblas.Kernel()
	Slow = openblas.Slow()
)

const Exact = false

// groupCols is without bound, B one group: a call lays out all of A and B anew that it reads, so that calls for 480 columns each cost a tenth of
// the time, or a fifth.
const groupCols = math.MaxInt32

// pack leaves B as it is: OpenBLAS lays it out anew in each call.
func pack(int, int, []float64) {}

func multiply(rows, inner, cols, left, right int, a, b, c []float64) {
	openblas.Multiply(rows, inner, cols, left, right, a, b, c)
}
