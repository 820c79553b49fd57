package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMediansCompareTheSecondTenthWithTheLast(t *testing.T) {
	var s []float64
	for i := range 100 {
		s = append(s, float64(i))
	}
	then, last := medians(s)
	assert.Equal(t, []float64{14, 94}, []float64{math.Floor(then), math.Floor(last)})
	then, last = medians(s[:9])
	assert.True(t, math.IsNaN(then) && math.IsNaN(last), "too few to say anything")
}

// A leak of a byte in a hundred is seen, and a single peak is not taken for one.
func TestMediansAreNotMovedByAPeak(t *testing.T) {
	flat, leak := make([]float64, 200), make([]float64, 200)
	for i := range flat {
		flat[i], leak[i] = 1000, 1000+0.1*float64(i)
	}
	flat[25], flat[195] = 5000, 9000
	then, last := medians(flat)
	assert.Equal(t, then, last)
	then, last = medians(leak)
	assert.Greater(t, last/then-1, 0.01)
}
