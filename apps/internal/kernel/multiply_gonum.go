//go:build !openblas

package kernel

// BLAS names the library that Multiply computes with, where its bits are not those of gonum's BLAS; Slow is a line for the user if that is slower than need
// be; and Exact says that the bits of a row of the product do not depend on the other rows.
const (
	BLAS  = ""
	Slow  = ""
	Exact = true
)
