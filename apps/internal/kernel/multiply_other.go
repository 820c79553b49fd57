//go:build !openblas && !amd64

package kernel

func pack(int, int, []float64) {}

func multiply(rows, inner, cols, left, right int, a, b, c []float64) {
	reference(rows, inner, cols, left, right, a, b, c)
}
