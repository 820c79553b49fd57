package main

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// of makes samples a second apart; files is what the resident set has besides.
func of(n int, kept, files func(i int) float64) (s samples) {
	for i := range n {
		s.at = append(s.at, time.Duration(i)*time.Second)
		s.kept = append(s.kept, kept(i))
		s.resident = append(s.resident, kept(i)+files(i))
	}
	return s
}

func TestMediansCompareTheSecondTenthWithTheLast(t *testing.T) {
	s := of(101, func(i int) float64 { return float64(i) }, func(int) float64 { return 1000 })
	resident, then, last := s.medians()
	assert.Equal(t, []float64{1014, 14, 94}, []float64{math.Floor(resident), math.Floor(then), math.Floor(last)})

	// A pause without samples is time, too: the tenths are those of the clock.
	for i := 50; i < len(s.at); i++ {
		s.at[i] += 100 * time.Second
	}
	_, then, _ = s.medians()
	assert.Equal(t, 29.0, math.Floor(then))

	_, then, last = samples{}.medians()
	assert.True(t, math.IsNaN(then) && math.IsNaN(last), "nothing was seen")
	_, then, _ = of(3, func(int) float64 { return 1 }, func(int) float64 { return 1 }).medians()
	assert.True(t, math.IsNaN(then), "too few to say anything")
}

// A leak of a byte in a hundred is seen, and a single peak is not taken for one. Nor do pages of files matter that the kernel
// drops meanwhile, and that would hide the leak in the resident set.
func TestMediansAreNotMovedByAPeakOrByFiles(t *testing.T) {
	flat := of(200, func(int) float64 { return 1000 }, func(int) float64 { return 500 })
	flat.kept[25], flat.kept[195] = 5000, 9000
	_, then, last := flat.medians()
	assert.Equal(t, then, last)
	leak := of(200, func(i int) float64 { return 1000 + 0.15*float64(i) }, func(i int) float64 { return 500 - float64(i) })
	resident, then, last := leak.medians()
	assert.Greater(t, (last-then)/resident, 0.01)
	assert.Less(t, median(leak.resident[180:]), resident)
}
