//go:build !openblas

package kernel

import "testing"

func TestWithoutTiles(t *testing.T) {
	had := hasTiles
	defer func() { hasTiles = had }()
	hasTiles = false
	TestMultiplyIsTheProduct(t)
}
