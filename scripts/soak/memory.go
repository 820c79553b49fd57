package main

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// medians returns the median of the second tenth of the samples and that of the last; NaN if there are less than one in each.
func medians(samples []float64) (then, last float64) {
	n := len(samples)
	if n < 10 {
		return math.NaN(), math.NaN()
	}
	return median(samples[n/10 : n/10*2]), median(samples[n-n/10:])
}

func median(x []float64) float64 {
	sorted := slices.Sorted(slices.Values(x))
	return stat.Quantile(0.5, stat.LinInterp, sorted, nil)
}
