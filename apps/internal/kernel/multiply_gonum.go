//go:build !openblas

package kernel

// BLAS names what Multiply computes with, where it is not gonum's BLAS; Slow is a line for the user if that is slower than need
// be; and Exact says that the bits of a row of the product do not depend on the other rows.
const (
	BLAS  = ""
	Slow  = ""
	Exact = true
)

func multiply(rows, inner, cols int, a, b, c []float64) { Reference(rows, inner, cols, a, b, c) }
