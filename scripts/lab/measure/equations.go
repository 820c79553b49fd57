package measure

import (
	"slices"
	"time"

	"shiftwork/scripts/lab/cluster"
)

// Efficiency is equation (2'), and (2) where all speeds are 1. sequential and elapsed are the program's times, in s;
// compete has, for each workstation, the seconds for which the loads had all of it. It is 0 if the loads left nothing
// over.
func Efficiency(sequential, elapsed float64, speeds, compete []float64) float64 {
	available := 0.0
	for i, s := range speeds {
		available += s * (elapsed - compete[i])
	}
	if available <= 0 {
		return 0
	}
	return sequential / available
}

// PenaltyRemoved is (none - t)/(none - ideal), and false where the load costs nothing that balancing could remove.
func PenaltyRemoved(none, t, ideal float64) (share float64, ok bool) {
	if none <= ideal {
		return 0, false
	}
	return (none - t) / (none - ideal), true
}

// Ideal is the time, in s, that the program would take beside the loads if its work always lay as the speeds of the
// moment ask, and moving it cost nothing.
//
// dedicated is its time in s without loads and with equal shares of the work on all P workstations. The slowest sets
// that, so the work is dedicated·P·min(speeds), in seconds of a workstation of speed 1. Beside k busy loads,
// workstation i does speeds[i]/(k+1) of it in each second. began is when the program's time begins on the clock of the
// loads.
func Ideal(dedicated float64, speeds []float64, loads []cluster.Load, began time.Duration) float64 {
	work := dedicated * float64(len(speeds)) * slices.Min(speeds)
	at := began
	for {
		busy := make([]int, len(speeds))
		next := time.Duration(0) // when a load starts or stops; 0 is never
		for _, l := range loads {
			on, change := l.Busy(at, began)
			if on {
				busy[l.Workstation]++
			}
			if change > at && (next == 0 || change < next) {
				next = change
			}
		}
		rate := 0.0
		for i, s := range speeds {
			rate += s / float64(busy[i]+1)
		}
		if next == 0 || rate*(next-at).Seconds() >= work {
			return (at - began).Seconds() + work/rate
		}
		work -= rate * (next - at).Seconds()
		at = next
	}
}

// Median of values, of which there must be some.
func Median(values []float64) float64 {
	x := slices.Sorted(slices.Values(values))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}
