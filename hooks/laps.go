package hooks

import (
	"fmt"
	"time"

	"shiftwork/dist"
	"shiftwork/lb"
)

// learned are the weights in force: those of the program until the master announces others.
type learned struct {
	dist.Weights
	version int
	grid    lb.Grid // no cells: the program's weights stay
}

// adopt takes over the weights that an instruction announces, if it does.
func (w *learned) adopt(in *instruction) (changed bool, err error) {
	if len(in.profile) == 0 {
		return false, nil
	}
	weights, err := w.grid.Weights(in.profile)
	if err != nil {
		return false, fmt.Errorf("weights from the master: %w", err)
	}
	w.Weights, w.version = weights, in.weights
	return true, nil
}

// schedule says at which interactions iterations are measured in parts: at each of the first ones, of a loop or after new
// weights, and then at one in measureEvery. It is the same on every rank, so that their timings arrive together.
type schedule struct {
	on    bool
	dense int // the interaction until which each one measures
}

const (
	measureFirst = 8 // interactions
	measureEvery = 8
	// leastPart is the shortest computing time worth a reading of the clock, which takes some 0.1 us.
	leastPart = 20 * time.Microsecond
)

func newSchedule(grid lb.Grid) schedule {
	return schedule{on: grid.Cells > 0, dense: measureFirst}
}

// measures reports whether what is done for status k is measured.
func (s *schedule) measures(k int) bool { return s.on && (k < s.dense || k%measureEvery == 0) }

// restart measures densely from status k on.
func (s *schedule) restart(k int) { s.dense = k + measureFirst }

// laps are the parts of a phase that are timed one by one: of the last phase before an interaction, if the schedule says so.
type laps struct {
	schedule
	now     bool          // this phase is measured
	since   time.Duration // the clock when the part under way began
	phase   time.Duration // the computing of the last phase, or of its last pass over the iterations
	took    time.Duration // of this one, so far
	timings []lb.Timing
}

// prepare is called before each phase: k is the next interaction, phase the number of phases done, next that of the hook
// that interacts.
func (l *laps) prepare(k, phase, next int) {
	l.now = phase+1 == next && l.measures(k)
	l.timings = l.timings[:0]
	l.passed()
}

// passed is called when all own iterations have been done once.
func (l *laps) passed() {
	if l.took > 0 {
		l.phase, l.took = l.took, 0
	}
}

// take returns the timings of the phase, in memory of their own.
func (l *laps) take() []lb.Timing {
	if len(l.timings) == 0 {
		return nil
	}
	return append([]lb.Timing(nil), l.timings...)
}

// Parts are the iterations that this rank owns, in ascending order: Ranges, but in some phases cut up so that each part can
// be timed:
//
//	h.Begin()
//	for _, rows := range h.Parts() {
//		compute(rows)
//		h.Lap(rows)
//	}
//	h.End()
//
// A loop whose iterations differ in cost is balanced by what they cost then, not by their number. Where Loop.Weights are
// given, or balancing is off, Parts are always Ranges.
func (h *Hooks) Parts() []dist.Range {
	if !h.laps.now {
		return h.Ranges()
	}
	own := h.Ranges()
	most := lb.MaxTimings
	if h.laps.phase > 0 {
		most = int(min(int64(most), int64(h.laps.phase/leastPart)))
	}
	return cutParts(own, h.weights.grid, most)
}

// cutParts cuts ranges at the bounds of the grid's cells into at most that many parts, or as many as there are ranges.
func cutParts(own []dist.Range, grid lb.Grid, most int) []dist.Range {
	cells := 0
	for _, r := range own {
		if !r.Empty() {
			cells += grid.At(r.Hi-1) - grid.At(r.Lo) + 1
		}
	}
	spare := most - len(own)
	if cells == 0 || spare <= 0 {
		return own
	}
	each := max(1, (cells+spare-1)/spare) // cells in a part; each range ends with one that may be shorter
	parts := make([]dist.Range, 0, most)
	for _, r := range own {
		for !r.Empty() {
			end := grid.Cell(min(grid.At(r.Lo)+each, grid.Cells) - 1).Hi
			parts = append(parts, dist.Span(r.Lo, min(end, r.Hi)))
			r.Lo = end
		}
	}
	return parts
}

// Lap ends the computing of some own iterations within a phase, all of each, that began at Begin or at the previous Lap.
// It is optional, and it reads the clock only in phases that are measured: see Parts.
func (h *Hooks) Lap(r dist.Range) {
	if !h.laps.now || r.Empty() || len(h.laps.timings) == lb.MaxTimings {
		return
	}
	now := h.c.Now()
	h.laps.timings = append(h.laps.timings, lb.Timing{Lo: r.Lo, Hi: r.Hi, Seconds: (now - h.laps.since).Seconds()})
	h.laps.since = now
}
