package lb

// settling learns how long it takes, where each boundary moves when it can, from a decision that moves work until all ranks have obeyed it: until
// their next hooks at least, and where the rank that gives is ahead of the one that takes, until that has come there too.
type settling struct {
	mean float64 // s; 0 before the first movement

	pending     bool
	interaction int
	since       float64 // s, the balancer's time
}

// mostSettling bounds it, in periods: a rank that was a thousand times slower must not keep work from moving for ever.
const mostSettling = 8

// ordered notes a movement.
func (s *settling) ordered(interaction int, now float64) {
	if !s.pending {
		s.pending, s.interaction, s.since = true, interaction, now
	}
}

// observe takes in that instructions up to obeyed have been obeyed by all by now, the period being meant to last so many s.
func (s *settling) observe(obeyed int, now, period float64) {
	if !s.pending || obeyed < s.interaction {
		return
	}
	s.pending = false
	took := min(now-s.since, mostSettling*period)
	if s.mean == 0 {
		s.mean = took
	}
	s.mean += recent * (took - s.mean)
}

// delay is how long, in s, it will take until an instruction is obeyed, where interactions are interval s apart.
func (b *Balancer) delay(interval float64) float64 {
	switch {
	case b.pipelined():
		return interval // one interaction later
	case b.loop.OneByOne && b.settling.mean > 0:
		return b.settling.mean
	case b.loop.OneByOne:
		return interval
	}
	return 0
}
