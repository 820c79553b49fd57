package lb

// transit learns how long work is on its way to another rank, in s per unit: the mean over past transfers, in which older ones fade.
type transit struct{ time, units float64 }

func (t *transit) learn(time, units float64) {
	t.time, t.units = fade*t.time+time, fade*t.units+units
}

// perUnit returns s per unit, and whether anything is known.
func (t *transit) perUnit() (s float64, known bool) {
	if t.units == 0 {
		return 0, false
	}
	return t.time / t.units, true
}

const (
	// reactions is how many periods, or hooks of the rank with the fewest, it takes from a decision until the work is on its way.
	reactions = 4
	// early is how many times sooner than it must a movement starts.
	early = 1.5
	// firstNow is the part of what is to move that moves first, so that it is known how long that takes.
	firstNow = 0.125
)

// later cancels the planned transfers of a Free loop where they can be made in time later still, for rates may have changed by then, and
// what has been moved would have to move back: nobody waits for a rank that is behind until another one has nothing left to do. It returns how long,
// in s, all ranks have work.
func (b *Balancer) later(rates []float64, statuses []Status) (busy float64) {
	busy = forever
	reaction := b.period.target
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		if rates[r] > 0 {
			busy = min(busy, b.work[r]/rates[r])
		}
		if s := &statuses[r]; isAmount(s.Elapsed) {
			reaction = max(reaction, s.Elapsed/float64(max(1, s.Phases)))
		}
	}
	spare := busy - reactions*reaction
	switch perUnit, known := b.transit.perUnit(); {
	case known && spare > early*b.cost.most(b.transfers, b.loop.Ranks, 0, perUnit):
		b.transfers = b.transfers[:0]
	case !known && spare > 0:
		b.reduce(firstNow, statuses)
	}
	return busy
}

// reduce makes of the planned transfers a part, but none that is not worth it.
func (b *Balancer) reduce(part float64, statuses []Status) {
	for i := range b.transfers {
		t := &b.transfers[i]
		least := unitsPerIteration(&statuses[t.From]) * float64(max(1, statuses[t.To].Least))
		units := min(t.Units, max(part*t.Units, least))
		b.want[t.From] += t.Units - units
		b.want[t.To] -= t.Units - units
		t.Units = units
	}
}
