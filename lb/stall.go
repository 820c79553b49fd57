package lb

// stall learns what movements cost beside the time that ranks spend on them: a rank that is ahead waits for the one that takes from it, or
// gives to it, and whoever needs its results waits too. It is the work that was not done in the periods with the movement, against the
// one before, in s per movement; a period at most, for then it is a rank that has become slow.
type stall struct {
	mean float64 // s
	seen bool

	pending     bool // a movement is being watched
	interaction int  // whose instruction it was
	before      float64
	lost        float64 // s
}

// ordered notes a movement that was ordered, where the efficiency was such in the period before.
func (s *stall) ordered(interaction int, efficiency float64) {
	s.pending, s.interaction, s.before, s.lost = true, interaction, efficiency, 0
}

// observe takes in the efficiency of the period that has just ended, of elapsed s, in which a rank has spent moving s on movements, or
// none has moved anything: then moving is below 0. period is what a period is meant to last; obeyed and changed are as in outcome.observe.
func (s *stall) observe(efficiency, elapsed, moving, period float64, obeyed int, changed bool) {
	switch {
	case !s.pending:
		return
	case changed || !(s.before > 0):
		s.pending = false
		return
	case obeyed < s.interaction && moving < 0:
		s.before = efficiency
		return
	}
	s.lost += (1-efficiency/s.before)*elapsed - max(0, moving)
	if obeyed < s.interaction {
		return
	}
	s.pending = false
	lost := min(max(0, s.lost), period)
	if !s.seen {
		s.mean, s.seen = lost, true
		return
	}
	s.mean += recent * (lost - s.mean)
}
