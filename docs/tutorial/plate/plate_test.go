package plate

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A temperature that radiates is the solution of its equation, for all that the plate can have.
func TestRadiate(t *testing.T) {
	for _, v := range []float64{0, 1e-3, 1, 20, 50, 99.9, 100} {
		x := radiate(v)
		assert.InDelta(t, v, x+1e-9*x*x*x*x, 1e-9*(1+v))
		assert.LessOrEqual(t, x, v)
	}
}

// The order of the points matters, and nothing else: a row in two strips has the bits of a row in one.
func TestRelaxInStrips(t *testing.T) {
	N = 40
	for _, j := range []int{5, N/2 - 1, N - 2} {
		rows := func() (r [4][]float64) {
			for k := range r {
				r[k] = make([]float64, N)
			}
			Start(0, r[0])
			Lamps(j, r[3])
			return r
		}
		one, two := rows(), rows()
		Relax(j, one[0], one[1], one[2], one[3], 1, N-1)
		Relax(j, two[0], two[1], two[2], two[3], 1, 17)
		Relax(j, two[0], two[1], two[2], two[3], 17, N-1)
		assert.Equal(t, one, two)
		assert.NotEqual(t, Hash(one[0]), Hash(one[1]))
		assert.Equal(t, Hash(one[1]), Hash(two[1]))
	}
}

// What Costs says: compare the two.
func BenchmarkRelax(b *testing.B) {
	N = 402
	for name, j := range map[string]int{"plain": 2, "black": N - 2} {
		b.Run(name, func(b *testing.B) {
			above, row, below, lamps := make([]float64, N), make([]float64, N), make([]float64, N), make([]float64, N)
			Start(0, above)
			for b.Loop() {
				Relax(j, above, row, below, lamps, 1, N-1)
			}
		})
	}
}
