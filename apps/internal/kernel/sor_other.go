//go:build !amd64

package kernel

// fastest relaxes blocks in the fastest way that this architecture has.
func (s SOR) fastest(u []float64, stride int, blocks []Block) uint64 {
	var largest uint64
	for _, b := range blocks {
		if !b.empty() {
			largest = max(largest, s.portable(u, stride, b.Rows, b.Cols))
		}
	}
	return largest
}
