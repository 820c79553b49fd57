//go:build !openblas

package kernel

import "testing"

// A processor that has less gets the same bits.
func TestWithFewerTiles(t *testing.T) {
	had := tiles
	defer func() { tiles = had }()
	for _, tiles = range []tiling{tiles256, {}} {
		if tiles == had || had == (tiling{}) { // the other tests hold what this processor has
			continue
		}
		TestMultiplyHasTheBitsOfReference(t)
	}
}
