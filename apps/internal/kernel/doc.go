// Package kernel holds the two inner loops of the programs: the relaxation of sor and the block product of mm.
//
// # Successive over-relaxation
//
// One relaxation of a point, in data order (row by row from the top, each row from left to right; Siegell &
// Steenkiste 1997, the SOR example), is
//
//	u[j][i] = (w/4) (u[j][i-1] + u[j-1][i] + u[j][i+1] + u[j+1][i]) + (1-w) u[j][i]
//
// where the left and the upper neighbour are already new and the right and the lower one still old. Floating-point
// addition is not associative, so the association is fixed here, once, for every kernel and for the serial reference:
//
//	v = (w/4) * (((up + down) + right) + left) + (1-w) * centre
//
// The left neighbour was computed last, so it enters last: the chain from one point of a row to the next is one add,
// one multiply, one add. Products are wrapped in float64(...), which forbids a compiler to fuse them with the addition:
// the bits are the same on every architecture.
//
// That chain leaves a processor mostly idle. [SOR.Relax] therefore relaxes four rows at once as a skewed wavefront,
// which respects every dependence and so yields the same bits:
//
//	           column ->            step s relaxes the points marked s, independent of each other
//	row j      0 1 2 3 4 5 6        up     of row k = what row k-1 computed in the previous step
//	row j+1      1 2 3 4 5 6 7      down   of row k = the right neighbour of row k+1 in this step
//	row j+2        2 3 4 5 6 7 8    centre of row k = its right neighbour in the previous step
//	row j+3          3 4 5 6 7 8 9
//
// Each step therefore loads one new value a row, one from the row above and one from the row below. The triangles at
// both ends are relaxed point by point. Left-over rows go in a pair and a single row.
//
// # Block product
//
// [Multiply] computes rows of C = A B with the BLAS that gonum's blas64 has registered, by panels so small that gonum's
// own dgemm stays on the calling goroutine: a rank must not take the cores of its neighbours. Every element of C is
// accumulated in the order of the inner index, whatever the height of the block, so any split of the rows gives the
// same bits. An optimised BLAS registered by blas64.Use need not have this property.
//
// # Units and invariants
//
// Values have whatever unit the caller's have; columns and rows are counted from 0, spans are half open. A relaxation
// reads the points around its block and never writes them. Nothing here allocates, starts goroutines or keeps state
// between calls.
//
// # What it does not do
//
// It does not know about ranks, distribution or convergence, and it does not check for NaN; but a NaN does show as the
// largest change, so that a diverging iteration is never taken for a converged one.
package kernel
