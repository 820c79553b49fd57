//go:build !openblas

package kernel

import (
	"testing"

	"github.com/stretchr/testify/require"
)

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

// A line that nobody has asked for is waited for.
func TestPassesAskForTheWholeNextPanel(t *testing.T) {
	for _, tile := range []tiling{tiles512, tiles256} {
		for passes := 1; passes <= groupTiles; passes++ {
			for _, depth := range []int{1, 7, tile.depth} {
				next := 0 // byte that is not asked for yet: a request brings a line, or as much as a step, which may be several
				for pass := range passes {
					from, step := ahead(depth, tile.cols, pass, passes)
					require.LessOrEqual(t, 8*from, next, "%v, depth %d: pass %d of %d", tile, depth, pass, passes)
					next = 8*from + (depth-1)*step + max(64, step)
				}
				require.GreaterOrEqual(t, next, 8*depth*tile.cols, "%v, depth %d: %d passes", tile, depth, passes)
			}
		}
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
