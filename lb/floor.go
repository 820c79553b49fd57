package lb

import "math"

// floor is the time that a sweep takes however work is divided, where sweeps stream (Loop.OneByOne): messages travel while ranks compute, and the slower of the two
// sets the pace,
//
//	time of a sweep = max(longest computing of a rank, floor)
//
// Rates do not show it, for waiting is no part of them. What shows it is that also the rank that computes longest waits: then it is not computing that a sweep takes so
// long for. While that rank hardly waits the floor is below its computing, and what is known of it is what messages took before the loop (wire). Where ranks meet in each round waiting comes
// on top of computing: work that moves saves as many seconds as it would without, and outcome learns which part of the time that is.
type floor struct {
	elapsed, compute, wait []float64 // s per rank, sums over statuses in which older ones fade
	swept                  float64   // sweeps of all work, the same
	statuses               int       // that are in them
	behind                 bool      // the statuses before had a movement in them
}

const (
	// everyWait is the part of its time that every rank must wait, also the one that computes longest, for computing not to set the pace. If it were less, stalls
	// would pass for messages: beside a load, under a quota, the slowest rank waits for others whose slices come in between, 0.1 to 0.2 of the time and at times 0.3, and
	// moving work away from it pays. As it is, movements are still made that can bring a third of the time at most, or nothing, of which outcome learns.
	everyWait = 0.35
	// steadyWaits is how many statuses it takes. Before the first movement one is enough: if it was chance the next one says so, and waiting for that costs less than
	// a movement for nothing.
	steadyWaits = 3
	// mostSent is what part of its data a rank sends in a sweep at most. Where that much is on its way for less than a sweep (Loop.MoveUnit), or where it is not known how
	// long, messages do not set the pace, whoever waits: while the pipeline fills all do, and beside a load, under a quota, that would have put the first movement off by 0.3 s.
	mostSent = 1.0 / 16
)

// add takes in the status of a rank, and what part of all work it has done since the one before.
func (f *floor) add(r int, s *Status, swept float64) {
	f.elapsed[r] += recent * (s.Elapsed - f.elapsed[r])
	f.compute[r] += recent * (s.Compute - f.compute[r])
	f.wait[r] += recent * (s.Wait - f.wait[r])
	f.swept += recent * swept
}

// waited is the part of its time that rank r has waited. Under a quota computing is what it would take one that never waits: less than that is left.
func (f *floor) waited(r int) float64 {
	return min(f.wait[r]/f.elapsed[r], 1-f.compute[r]/f.elapsed[r])
}

// watchFloor takes in the statuses, but those in which work has moved and the next ones, while the pipeline fills again.
func (b *Balancer) watchFloor(statuses []Status) {
	if !b.loop.OneByOne || !(b.heard.owned > 0) {
		return
	}
	f := &b.floor
	behind := f.behind
	if f.behind = b.heard.mover >= 0 || b.heard.obeyed < b.lastMove; f.behind || behind {
		return
	}
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		s := &statuses[r]
		tells := s.Elapsed > 0 && s.Compute > 0 && isAmount(s.Elapsed) && isAmount(s.Compute) && isAmount(s.Wait) && isAmount(s.Units)
		if !tells || !b.ranks[r].heard {
			return
		}
	}
	if len(f.elapsed) == 0 {
		f.elapsed, f.compute, f.wait = make([]float64, b.loop.Ranks), make([]float64, b.loop.Ranks), make([]float64, b.loop.Ranks)
	}
	f.statuses++
	f.swept *= 1 - recent
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		f.add(r, &statuses[r], statuses[r].Units/b.heard.owned)
	}
}

// leastSweep is the floor in s, 0 where it is not known.
func (b *Balancer) leastSweep() float64 {
	f := &b.floor
	if f.statuses == 0 || f.statuses < steadyWaits && b.cost.seen {
		return 0
	}
	waited, elapsed, iterations := 1.0, 0.0, 0
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		waited = min(waited, f.waited(r))
		elapsed += f.elapsed[r]
		iterations += b.iterations[r]
	}
	workers := float64(b.loop.Ranks - b.loop.FirstWorker)
	sweep := elapsed / workers / f.swept
	if math.IsInf(sweep, 0) {
		return 0
	}
	if sent := mostSent * b.heard.owned / workers * b.cost.known; waited >= everyWait && sent >= sweep {
		return sweep
	}
	return wire(b.heard.owned/float64(iterations)*b.cost.known, sweep, workers)
}

// wire is what the messages of a sweep take at least, where an iteration's data takes each s: a rank sends an iteration to either neighbour in each sweep. Where sweeps have been
// shorter than both, only one of them leaves the machine.
func wire(each, sweep, workers float64) float64 {
	if both := min(2, workers-1) * each; both <= sweep {
		return both
	}
	return min(each, sweep)
}
