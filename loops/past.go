package loops

// A rank is ahead of its right neighbour, by as much as a lean at most. What it has to know of what that one is doing is here.

// past is the batches of late, the last one under way: as far back as the right neighbour may be.
type past struct {
	batches, spare []*batch
}

// place is a strip of a batch.
type place struct {
	batch *batch
	strip int
}

// current is the batch that is under way; one without sweeps before the first.
func (p *past) current() *batch {
	if len(p.batches) == 0 {
		return &batch{}
	}
	return p.batches[len(p.batches)-1]
}

// travelled reports whether rows have come from the right after the batch before the current one.
func (p *past) travelled() bool {
	n := len(p.batches)
	return n > 1 && p.batches[n-2].sendsUp()
}

// add begins a batch. Where rows have travelled to the left before a batch that is done, the right neighbour has come to the one before that at least.
func (p *past) add(next batch) *batch {
	for i := len(p.batches) - 1; i > 0; i-- {
		if p.batches[i-1].sendsUp() {
			p.spare = append(p.spare, p.batches[:i-1]...)
			p.batches = append(p.batches[:0], p.batches[i-1:]...)
			break
		}
	}
	if len(p.spare) == 0 {
		p.spare = append(p.spare, &batch{})
	}
	last := len(p.spare) - 1
	b := p.spare[last]
	*b, p.spare = next, p.spare[:last]
	p.batches = append(p.batches, b)
	return b
}

// first is the ordinal of the first batch.
func (p *past) first() int {
	if len(p.batches) == 0 {
		return 1
	}
	return p.batches[0].ordinal
}

// number is the batch of an ordinal, from first on; nil: it has not begun.
func (p *past) number(ordinal int) *batch {
	if i := ordinal - p.first(); i < len(p.batches) {
		return p.batches[i]
	}
	return nil
}

// behind is the strip behind which a hook is.
func (p *past) behind(hook int) place {
	for i := len(p.batches) - 1; ; i-- {
		if b := p.batches[i]; hook > b.hooks {
			return place{b, (hook-b.hooks)/b.count - 1}
		}
	}
}
