package hooks

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The history of a long run is as fine at its beginning as at its end, and loses nothing.
func TestALongHistory(t *testing.T) {
	const n = 10000
	var h history
	for k := range n {
		rate := 1.0
		if k >= n/2 {
			rate = 3
		}
		h.add(0.1*rate, 0.1)
	}
	h.add(5, 0) // no time: nothing
	units, seconds := h.sums()
	assert.InDelta(t, 0.1*n/2+0.3*n/2, units, 1e-6)
	assert.InDelta(t, 0.1*n, seconds, 1e-6)
	assert.LessOrEqual(t, len(h.pieces), mostPieces)
	for _, p := range h.pieces[:len(h.pieces)-1] {
		assert.InDelta(t, 1.6, p.seconds, 1e-9, "16 periods each")
	}
	for work, want := range map[float64]float64{0: 0, 100: 100, 500: 500, 800: 600, 2000: 1000, 2300: 1100, 4000: 2000, 4200: 2100} {
		assert.InDelta(t, want, h.reach(work), 1.6, "%v units: at the rates of the run, then backwards, then at the mean", work)
	}
	assert.Zero(t, new(history).reach(7), "nothing is known")
}
