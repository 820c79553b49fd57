package kernel

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// What Relax leaves to the portable code has to be right, too: it is a matter of speed. Without the instructions there
// is nothing to test, and TestWithoutVectors holds what Relax does then.
func TestWave16EqualsPlain(t *testing.T) {
	if !hasWave16 {
		return
	}
	for _, track := range []bool{false, true} {
		s := NewSOR(paperOmega, track)
		for width := narrowest; width <= narrowest+33; width++ {
			for height := 1; height <= 3*lanes+2; height++ {
				stride := width + 3
				u := roughGrid(height+2, stride, uint64(width*100+height))
				want := slices.Clone(u)
				wantChange := s.RelaxPlain(want, stride, Span{1, 1 + height}, Span{1, 1 + width})
				change := wave16(&u[stride+1], stride, height, width, s.quarter, s.keep, track)
				requireSameBits(t, want, u, "wave16")
				if track {
					require.Equal(t, math.Float64bits(wantChange), change)
				} else {
					require.Zero(t, change)
				}
			}
		}
	}
}

func TestWithoutVectors(t *testing.T) {
	had := hasWave16
	defer func() { hasWave16 = had }()
	hasWave16 = false
	requireSame(t, paperOmega, roughGrid(60, 70, 1), 70, Span{1, 59}, Span{1, 69})
}
