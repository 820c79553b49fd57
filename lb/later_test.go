package lb

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/dist"
)

// What takes long on its way leaves in time: not when there is just some time left.
func TestWhatTakesLongLeavesEarly(t *testing.T) {
	for perUnit, leaves := range map[float64]bool{0.2: false, 0.4: true} { // 10 units take 2 or 4 s, of the 4.6 s that there are
		b, err := New(Config{}, Loop{Ranks: 2, Movement: Direct, Free: true, Start: dist.Even(dist.Span(0, 150), 2, 0)})
		require.NoError(t, err)
		b.period.target = 0.1
		copy(b.work, []float64{100, 50})
		b.transit.learn(10*perUnit, 10)
		b.transfers = []dist.Transfer{{From: 0, To: 1, Units: 10}}
		b.later([]float64{10, 10}, make([]Status, 2))
		assert.Equal(t, leaves, len(b.transfers) == 1, perUnit)
	}
}
