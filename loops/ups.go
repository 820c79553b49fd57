package loops

// Messages from the right: what travels to the left of the rows along the boundary, or only tokens. They are received when they are needed.

// messagesUp is how far this rank has received them.
type messagesUp struct {
	batch, strip int            // of the first one that is not here: its batch's ordinal
	pieces       func() []piece // of that one: awaitedUps, kept so that no closure is made again and again
	awaited      bool           // a rank is waiting for it
	moved        []moved        // where the boundary to the right has moved down, as long as messages up to there are under way
}

// moved is where this rank gave rows to the right neighbour, which comes there later.
type moved struct {
	batch, strip int
	hi           int // where the boundary was before
}

// upTo reports whether all messages up to a place are here, as far as there are any.
func (u *messagesUp) upTo(batch, strip int) bool {
	return u.batch > batch || u.batch == batch && u.strip > strip
}

// receiveUps receives what the right neighbour has sent, or will have sent when it comes to p, of its first rows.
func (x *across) receiveUps(p point) error {
	return x.receiveUpsWhile(func(b *batch) bool {
		return p.reaches(point{b.last(), x.part(b, x.up.strip, b.count-1).Lo})
	})
}

// receiveUpsTo receives what it has sent up to a place.
func (x *across) receiveUpsTo(p place) error {
	return x.receiveUpsWhile(func(*batch) bool { return !x.up.upTo(p.batch.ordinal, p.strip) })
}

// receiveUpsWhile receives message after message as long as the next one, of the batch that it is of, is wanted.
func (x *across) receiveUpsWhile(wanted func(b *batch) bool) error {
	if x.right < 0 {
		return nil
	}
	u := &x.up
	if first := x.past.first(); u.batch < first {
		u.batch, u.strip = first, 0
	}
	for {
		if len(u.moved) > 0 && u.upTo(u.moved[0].batch, u.moved[0].strip) {
			u.moved = append(u.moved[:0], u.moved[1:]...)
		}
		b := x.past.number(u.batch)
		if b == nil {
			return nil
		}
		if u.strip == len(b.strips) {
			u.batch, u.strip = u.batch+1, 0
			continue
		}
		if !wanted(b) {
			return nil
		}
		u.awaited = true
		err := x.mail.receive(x.right, tagUp, x.tokenUp(b, u.strip), u.pieces)
		u.awaited = false
		if err != nil {
			return err
		}
		u.strip++
		if err := x.h.Accept(); err != nil {
			return err
		}
	}
}

// awaitedUps is the rows of the message that comes next: along the boundary where it was when they were sent. What has gone to the right neighbour since is
// not this rank's any more, but for the rows that are to travel to it over the new boundary.
func (x *across) awaitedUps() []piece {
	b, hi := x.past.number(x.up.batch), x.own.Hi
	if len(x.up.moved) > 0 {
		hi = x.up.moved[0].hi
	}
	pieces := x.ups(b, x.up.strip, hi)
	for i := range pieces {
		pieces[i].skip = pieces[i].row > x.own.Hi+b.after
	}
	return pieces
}

// messagesDown is the message from the left that is waited for.
type messagesDown struct {
	place
	pieces func() []piece // awaitedDowns
}

// awaitedDowns is the rows of the message from the left that comes next.
func (x *across) awaitedDowns() []piece { return x.downs(x.down.batch, x.down.strip, x.own.Lo) }

// skipDowns forgets what the left neighbour has sent along a boundary that has moved up, and which this rank has not needed.
func (x *across) skipDowns() error {
	if !x.seam {
		return nil
	}
	x.seam = false
	return x.mail.skip(x.left, tagDown, piece{row: x.own.Lo, part: x.d.Strip})
}
