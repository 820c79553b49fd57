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

// What a processor with AVX2 alone, or with no vectors to speak of, gets on this one.
func BenchmarkMultiplyWithFewerTiles(b *testing.B) {
	had := tiles
	defer func() { tiles = had }()
	if had == (tiling{}) {
		b.Skip("this processor has no tiles at all")
	}
	for name, fewer := range map[string]tiling{"AVX2": tiles256, "Reference": {}} {
		tiles = fewer // before Pack, which lays B out for them
		b.Run(name, BenchmarkMultiply)
	}
}
