//go:build !amd64

package kernel

// fastest relaxes a block in the fastest way that this architecture has.
func (s SOR) fastest(u []float64, stride int, rows, cols Span) uint64 {
	return s.portable(u, stride, rows, cols)
}
