//go:build !openblas

package kernel

// BLAS names the library that Multiply computes with, where its bits are not those of gonum's BLAS; Slow is a line for the user if that is slower than need
// be; and Exact says that the bits of a row of the product do not depend on the other rows.
const (
	BLAS  = ""
	Slow  = ""
	Exact = true
)

// groupCols columns of B are one of its groups, at most: with a tile's depth of rows of them a few hundred KiB, and with a group's
// rows so many elements of C are a quarter to a half of a second-level cache.
const groupCols = 480
