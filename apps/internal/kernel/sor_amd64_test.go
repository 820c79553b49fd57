package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// What Relax leaves to the portable code has to be right, too: it is a matter of speed. Without the instructions there
// is nothing to test, and TestWithFewerVectors holds what Relax does then.
func TestWavesEqualPlain(t *testing.T) {
	for _, c := range []struct {
		lanes int
		wave  func(blocks *block, n, stride int, quarter, keep float64, track bool) uint64
	}{{8, wave8}, {16, wave16}} {
		if lanes < c.lanes {
			continue
		}
		for _, track := range []bool{false, true} {
			s := NewSOR(paperOmega, track)
			for width := narrowest(c.lanes); width <= narrowest(c.lanes)+33; width++ {
				for height := 1; height <= 3*c.lanes+2; height++ {
					stride := width + 3
					u := roughGrid(height+2, stride, uint64(width*100+height))
					want := slices.Clone(u)
					wantChange := s.RelaxPlain(want, stride, Span{1, 1 + height}, Span{1, 1 + width})
					change := c.wave(&block{&u[stride+1], height, width}, 1, stride, s.quarter, s.keep, track)
					requireSameBits(t, want, u, fmt.Sprintf("%d lanes", c.lanes))
					if track {
						require.Equal(t, math.Float64bits(wantChange), change)
					} else {
						require.Zero(t, change)
					}
				}
			}
		}
	}
}

// A processor that has less gets the same bits.
func TestWithFewerVectors(t *testing.T) {
	had := lanes
	defer func() { lanes = had }()
	for _, lanes = range []int{8, 0} {
		if lanes >= had { // the other tests hold what this processor has
			continue
		}
		requireSame(t, paperOmega, roughGrid(60, 70, 1), 70, Span{1, 59}, Span{1, 69})
		TestRelaxEqualsPlainInLargeBlocks(t)
		TestRelaxAllIsRelaxInTurn(t)
		TestRelaxAllDoesSweepsInTiles(t)
		TestNothingOutsideTheGridIsTouched(t)
	}
}
