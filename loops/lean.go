package loops

import (
	"shiftwork/comm"
	"shiftwork/internal/machine"
)

// Blocks that stand still let a rank be one sweep ahead of its right neighbour: it needs the neighbour's first row of the
// sweep before. Where a sweep takes less than a scheduling slice, ranks then stall whenever one of them is off its core.
// Blocks that lean, by one row more from sweep to sweep, have no such need: README.md, "Leaning".

const (
	// leanQuanta is how many scheduling quanta a lean lasts, from one side to the other. At its end a rank must wait for its
	// right neighbour; a neighbour that was off its core for a quantum then costs about that much.
	leanQuanta = 24
	// enoughQuanta is how many it lasts at least where a rank may not be farther ahead within it than at its end.
	enoughQuanta = 18
	// batchTime is how long a lean may last, in s of computing, for the sake of twoBatches sweeps, in two batches, one to each side. More would
	// save little memory traffic, and turning back be rarer only: four ranks with 40% of a CPU each, one beside a load, take 8% longer with 16
	// sweeps, and as long with 32 or 48. Batches of four or five sweeps, which is all that half a second has of 16000 x 16000 points on two ranks, take 1.1 times as long as those of nine.
	batchTime  = 1.0
	twoBatches = 24
	// quotaTwoBatches takes its place under CPU quotas: how far ranks get in one quota period differs more than how fast they are, and a longer lean evens that out. Four ranks with 40% of a CPU each
	// then take 0.92 of the time for 4000 x 4000 points, beside a load 0.86 where nothing moves and 0.92 to 0.95 where rows do, and as long for 8000 x 8000; 64 would be as good.
	quotaTwoBatches = 48
	// leanShare is the most that a block leans to one side for each rank, usualShare where there are few and mostShare where there are many, as a part of what an even division gives each: the
	// first and the last rank's work varies by as much, for which two ranks wait longest. The more there are, the more often one of them is slower than else, and a longer lean hides that:
	// sixteen ranks take 4 to 9% less with 1/8 than with 1/16, four as long, and two 2% more.
	leanShare, usualShare, mostShare = 1.0 / 64, 1.0 / 16, 1.0 / 8
	// rationedShare takes its place where ranks have CPU quotas and usualShare would not last rationedQuanta: quotas even out what varies, and a lean that is hardly longer than a quota's
	// period makes all ranks stop when one has to. Longer ones make the balance come later.
	rationedShare, rationedQuanta = 1.0 / 4, 6
	// rehearsal is how long, in s, the letters that neighbours exchange beforehand are on their way, at most.
	rehearsal = 0.01
	// leanGrowth is by how much blocks must be able to lean farther until they do: neighbours wait for each other once for it.
	leanGrowth = 1.5
)

// lean is by how many rows blocks are shifted, towards higher rows, in the sweep before this one, now, and in the next one.
type lean struct {
	most                 int // to either side
	previous, now, after int
}

// step goes on to a sweep. After stop sweeps blocks must stand upright again; a stop must be known notice(most) sweeps ahead.
func (l *lean) step(sweep, stop int) {
	l.previous, l.now = l.now, l.after
	switch left := stop - 1 - sweep; { // sweeps behind this one
	case left <= 0:
		l.after = 0
	case l.now > 0 || -l.now < l.most && left > 1:
		l.after = l.now - 1
	default:
		l.after = min(l.most, left-1)
	}
}

// back reports whether this sweep takes over rows from the right.
func (l *lean) back() bool { return l.now > l.previous }

// length is how many sweeps the batch has that begins with this one. Batches end where blocks turn back, and are equally long from one such place to
// the next but for a sweep.
func (l lean) length(sweep, stop, longest int) int {
	whole, sweeps := l.back(), 1 // in which blocks go down
	for l.after < l.now && sweep+sweeps < stop {
		l.step(sweep+sweeps, stop)
		sweeps++
	}
	return sweeps / batches(longest, sweeps, whole)
}

// batches is into how many batches, none longer than longest, the sweeps of a lean are divided, or what is left of it. A whole lean has two at least, but where
// messages set the pace (wireBatch): a rank that turns back need not wait for all of its right neighbour's lean then.
func batches(longest, sweeps int, whole bool) int {
	n := (sweeps + longest - 1) / longest
	if whole && sweeps > 1 && longest < wireBatch {
		n = max(2, n)
	}
	return n
}

// notice is how many sweeps ahead a stop must be known so that blocks that lean so far come back by then.
func notice(most int) int {
	if most == 0 {
		return 0
	}
	return 2*most + 2
}

// notice is the same for blocks that may lean so far from now on: a lean under way goes on, also where it is a longer one, down a row a sweep.
func (l *lean) notice(most int) int {
	if l.now == 0 && l.after == 0 {
		return notice(most)
	}
	return max(notice(most), max(l.now, l.after, 0)+2)
}

// mayLean reports whether this loop's Body and its data allow that blocks lean.
func (d *DOACROSS) mayLean() bool { return d.Reach > 0 && len(d.Local) == 0 }

// areRationed reports whether any rank has a CPU quota; every rank calls it.
func areRationed(c comm.Comm) (bool, error) {
	period := machine.QuotaPeriod() // s
	if r, virtual := c.(comm.Rationed); virtual {
		_, period = r.Quota()
	}
	longest, err := comm.AllreduceMax(c, period)
	return longest > 0, err
}

// mostLean is how far blocks of this loop may lean, if it is divided among so many ranks: by such a share of what an even division gives each.
func (d *DOACROSS) mostLean(workers int, share float64) int {
	if !d.mayLean() || workers < 2 {
		return 0
	}
	return int(share * float64(d.Rows.Len()) / float64(workers))
}

// keep is how many rows a rank must have if blocks lean so far: as many jump over a boundary at once.
func keep(most int) int { return 2*most + 1 }

// chooseLean is how far blocks should lean, on rank 0, if a sweep takes elapsed s and should take sweep, computing s of these without a break, and how
// far they ever may. That is settled the first time, and less where sweeps are long: a stop or a checkpoint must wait until blocks are back.
func (x *across) chooseLean(computing, sweep, elapsed float64) (most, ever int) {
	// Sweeps last longer than they should where ranks are off their cores, and where batches are short: those must not stay short because of it.
	need := func(lasting float64) float64 {
		if !(sweep > 0) {
			return float64(x.leanMost)
		}
		quantum := x.quantum / max(sweep, lasting) // in sweeps
		rows := max(leanQuanta*quantum, min(float64(x.longBatches()), batchTime/min(computing, sweep))) / 2
		if x.rationed {
			rows = min(rows, max(float64(x.leanUsual), rationedQuanta*quantum/2))
		}
		return rows
	}
	ever = x.leanMost
	wanted := need(elapsed)
	if !x.leaned {
		ever, x.leaned = int(min(float64(ever), 8*need(sweep))), true
	}
	now := max(x.lean.most, x.wider)
	most = max(0, min(int(min(wanted, float64(ever))), (x.h.Fewest()-1)/2))
	if most > now && float64(most) < leanGrowth*float64(now) {
		most = now
	}
	longest := x.chooseLongest()
	if sweeps := 2*most + 1; sweeps > longest && sweeps%longest < longest/2 { // one batch more would make all of them short
		most -= (sweeps%longest + 1) / 2
	}
	return most, ever
}

// longBatches is how many sweeps a lean has for the sake of two long batches.
func (x *across) longBatches() int {
	if x.rationed {
		return quotaTwoBatches
	}
	return twoBatches
}

// isLong reports whether leans to either side by so many rows are long enough, on rank 0, if a sweep should take so many s, that a rank need not be farther
// ahead of its right neighbour than where they turn back: a boundary can only move when the slower of its ranks has come to where the other is.
func (x *across) isLong(most int, sweep float64) bool {
	return float64(2*most+1)*sweep >= enoughQuanta*x.quantum
}

// beginLeaning lets blocks lean from the first sweep on, where it will be known soon how far they should. Until then sweeps are swept one by one. A byte takes
// perByte s on its way; 0: unknown. Every rank calls it.
func (x *across) beginLeaning(perByte float64) error {
	x.lean.most = min(x.leanMost, x.longBatches()/2)
	x.single, x.boundary.more = true, x.lean.most
	x.h.SetLeast(keep(x.lean.most))
	x.h.SetUnsteady(true) // sweeps by themselves take longer than in batches
	row := 0              // bytes
	for _, a := range x.d.Arrays {
		row += len(a.Bytes(Span(x.d.Rows.Lo, x.d.Rows.Lo+1)))
	}
	rows := keep(x.lean.most) * row // of a lean
	x.h.Reserve(2 * rows)           // edges
	full := letters(2 * rows)       // to both sides, if they are
	var err error
	if x.mail.shelf, err = comm.NewShelf(x.c, full, max(full, fewestPlaces), longestLetter+maxHead); err != nil {
		return err
	}
	if x.mail.shelf.ReachesAll() {
		return nil
	}
	x.mail.stock(full)
	// The transport, too, needs memory for what is under way at once: as many letters, which nobody reads.
	_, err = burstRound(x.c, make([]byte, longestLetter), letters(int(min(float64(rows), rehearsal/max(perByte, 1e-12)))))
	return err
}

// setLean sets how far blocks lean from the next time on that they turn back, or from widen on.
func (x *across) setLean(most, ever int) {
	x.leanMost = ever
	// A lean that is under way goes on, and what is handed over goes as far as blocks might have leaned in the batch behind a strip of which it is.
	x.h.SetLeast(keep(max(x.boundary.more, x.wider, most)))
	if x.wider = 0; most > x.boundary.more {
		x.wider = most
		return
	}
	x.boundary.more = max(x.lean.most, most)
	x.lean.most = most
	x.h.SetUnsteady(false)
}

// widen is called at a hook. Blocks that lean farther than ever come over rows that this rank has nothing of:
// what they have besides strips, such as fixed columns, must be there.
func (x *across) widen() error {
	if err := x.catchUp(); err != nil {
		return err
	}
	if err := x.h.Await(); err != nil {
		return err
	}
	x.boundary.more, x.lean.most, x.wider = x.wider, x.wider, 0
	x.boundary.by = x.past.current().lowest()
	x.h.SetUnsteady(false)
	return x.boundary.margins(x.own, x.d.Strip)
}
