package hooks

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// try runs chunks of a body whose rate depends on their length until the grain is settled, and returns its choice.
func try(t *testing.T, left int, rate func(n int) float64) int {
	t.Helper()
	var g grain
	for range 100 {
		n := g.next(1, left)
		g.learn(n, rate(n))
		if left -= n; g.settled {
			return g.next(1, left)
		}
	}
	t.Fatal("never settled")
	return 0
}

func TestGrain(t *testing.T) {
	overhead := func(n int) float64 { return float64(n) / (float64(n) + 20) } // a call costs as much as 20 iterations
	assert.Equal(t, 1, try(t, 100000, func(int) float64 { return 7 }), "a body that does not care")
	assert.Equal(t, 1024, try(t, 100000, overhead), "calls cost: 4096 at once are less than 5% faster than 1024, those more than 5% faster than 256")
	assert.LessOrEqual(t, try(t, 200, overhead), 16, "but a trial takes a sixteenth of the work at most")
	slow := 0
	assert.GreaterOrEqual(t, try(t, 100000, func(n int) float64 {
		slow++
		if slow%2 == 0 {
			return overhead(n) / 3
		}
		return overhead(n)
	}), 64, "every second chunk is disturbed")
}

func TestGrainNearTheEnd(t *testing.T) {
	g := grain{size: 64, settled: true}
	assert.Equal(t, 64, g.next(1, 1000))
	assert.Equal(t, 200, g.next(200, 1000), "longer where the hook allows it")
	assert.Equal(t, 40, g.next(1, 80))
	assert.Equal(t, 1, g.next(1, 2))
	assert.Equal(t, 1, g.next(1, 1))
}
