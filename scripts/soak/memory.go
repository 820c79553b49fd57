package main

import (
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"
)

// samples are those of one rank's memory, in bytes.
type samples struct {
	at             []time.Duration // since the job runs
	resident, kept []float64
}

// medians returns the medians of the second tenth of the time, and that of the last for what is kept; NaN where one of them has
// no sample.
func (s samples) medians() (resident, then, last float64) {
	n := len(s.at)
	if n == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	length := s.at[n-1]
	begin, _ := slices.BinarySearch(s.at, length/10)
	end, _ := slices.BinarySearch(s.at, length/10*2)
	final, _ := slices.BinarySearch(s.at, length-length/10)
	return median(s.resident[begin:end]), median(s.kept[begin:end]), median(s.kept[final:])
}

func median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	return stat.Quantile(0.5, stat.LinInterp, slices.Sorted(slices.Values(x)), nil)
}
