package hooks

import "math"

// SetUnsteady says whether the phases to come tell nothing of those after them, as a loop's first ones may, in which data come into the
// caches or work is done in another way than later. There is no interaction meanwhile. Every rank must say so at the same phase.
func (h *Hooks) SetUnsteady(on bool) {
	switch {
	case on:
		h.next = math.MaxInt
	case h.unsteady:
		h.closeBooks(h.c.Now())
		if reporting {
			h.next = h.phase + 1
		}
	}
	h.unsteady = on
}

// rate is the work units done since the last status, and the s that they took; zeros where they tell nothing.
func (h *Hooks) rate() (units, compute float64) {
	if h.unsteady {
		return 0, 0
	}
	return h.done, h.quota.computing(h.compute)
}
