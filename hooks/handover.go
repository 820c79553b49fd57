package hooks

import (
	"encoding/binary"
	"fmt"

	"shiftwork/comm"
	"shiftwork/dist"
)

// Ahead is what a loop does whose boundaries move one by one (Loop.OneByOne). Ranks in a pipeline are at different hooks, each as far as the one below it
// or less far, and whoever gives iterations gives them where it is: README.md, "Boundaries that move one by one".
type Ahead interface {
	// Before is called on every rank that is about to give or take iterations, with its range before and after, and the number of the hook
	// behind which they change their owner (Hooks.PhasesDone there): where this rank is, or the rank above when it offered them.
	Before(have, want dist.Range, hook int) error
	// MayTake reports whether this rank can take iterations now which the rank above has offered as they are behind a hook. It cannot
	// while it waits in Recv for what the rank above has sent up to there, if Before wants to receive that as well; Accept
	// must be called when it has it. At a hook, and in Await, it must be able to.
	MayTake(hook int) bool
	// CatchUp does for the iterations from have.Hi on what was to be done with them between that hook and where this rank is. They have just come, and
	// have was Range before.
	CatchUp(have dist.Range, hook int) error
}

// above is what a rank hears from the one that owns the block above, and owes it.
type above struct {
	coming  comm.Request // its next message
	message []byte
	offered bool
	lo      int   // where the boundary is to be
	hook    int   // behind which hook
	sends   mover // what it gets when it has come to where this rank was
	ready   bool  // it has, and says so: maybe before this rank has come to that hook
	here    int   // how often it has called Await more often than this rank
	gone    bool  // it has come to its end
}

// longestBelow is the most bytes that a message to the rank below has: its kind and two numbers.
const longestBelow = 1 + 2*8

// expectAbove starts to receive the next message of the rank above.
func (h *Hooks) expectAbove() (err error) {
	if h.right >= 0 {
		a := &h.oneByOne.above
		a.coming, err = h.c.Irecv(h.right, tagBelow, a.message)
	}
	return err
}

// tellBelow sends such a message.
func (h *Hooks) tellBelow(kind byte, numbers ...int) error {
	b := []byte{kind}
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	return h.c.Send(h.left, tagBelow, b)
}

// heardAbove takes in the message that has come.
func (h *Hooks) heardAbove(st comm.Status) error {
	a := &h.oneByOne.above
	a.coming = nil
	kind := -1
	if st.Len > 0 {
		kind = int(a.message[0])
	}
	if kind == kindOffer {
		a.offered, a.lo, a.hook = true, int(binary.LittleEndian.Uint64(a.message[1:])), int(binary.LittleEndian.Uint64(a.message[9:]))
	}
	if kind != kindOver {
		if err := h.expectAbove(); err != nil {
			return err
		}
	}
	switch kind {
	case kindOffer:
		return h.Accept()
	case kindReady:
		a.ready = true
		return h.deliver()
	case kindHere:
		a.here++
	case kindOver:
		a.gone = true
	default:
		return fmt.Errorf("rank %d sent a message of unknown kind %d", st.Source, kind)
	}
	return nil
}

// NextEnd is the end of this rank's block behind the hook that comes next. In OneByOne loops it must be sent to the rank that owns the block above, with what
// that rank needs before it can come to this hook, and not before NextBegin is set.
func (h *Hooks) NextEnd() int {
	e := &h.oneByOne
	if !e.on {
		return h.block.Hi
	}
	e.next.Hi = min(h.block.Hi, e.target.Hi) // the rank above says when its iterations come
	return e.next.Hi
}

// NextBegin takes what the rank that owns the block below has sent (NextEnd).
func (h *Hooks) NextBegin(lo int) { h.oneByOne.next.Lo = lo }

// handOver moves this rank's boundaries at a hook, as far as they can move now. It gives to the rank above before it takes from the one below: in a chain of ranks that hand
// iterations on, the last would otherwise wait for the data of all. Who gives both ways waits until both can leave at the same hook: otherwise the second would follow the first.
func (h *Hooks) handOver() error {
	e := &h.oneByOne
	hook := h.phase
	if err := h.Accept(); err != nil {
		return err
	}
	if hi := e.next.Hi; hi < h.block.Hi {
		leaving := dist.Span(hi, h.block.Hi)
		err := h.shift(dist.Span(h.block.Lo, hi), hook, func() error {
			return e.above.sends.give(h.right, leaving)
		})
		if err != nil {
			return err
		}
		if err := h.deliver(); err != nil {
			return err
		}
	}
	if lo := e.next.Lo; lo < h.block.Lo {
		coming := dist.Span(lo, h.block.Lo)
		err := h.shift(dist.Span(lo, h.block.Hi), hook, func() error {
			if err := h.tellBelow(kindReady); err != nil {
				return err
			}
			return h.move.take(h.left, coming)
		})
		if err != nil {
			return err
		}
	}
	if lo := e.target.Lo; lo > h.block.Lo && e.target.Hi >= h.block.Hi { // otherwise NextEnd has yet to tell the rank above
		leaving := dist.Span(h.block.Lo, lo)
		err := h.shift(dist.Span(lo, h.block.Hi), hook, func() error {
			if err := h.tellBelow(kindOffer, lo, hook); err != nil {
				return err
			}
			if err := h.move.give(h.left, leaving); err != nil {
				return err
			}
			return h.move.flush()
		})
		if err != nil {
			return err
		}
	}
	return h.settle()
}

// Accept takes the iterations that the rank above has offered, if there are any and Ahead.MayTake them now.
func (h *Hooks) Accept() error {
	a := &h.oneByOne.above
	if !a.offered || !h.loop.OneByOne.MayTake(a.hook) {
		return nil
	}
	a.offered = false
	have := h.block
	coming := dist.Span(have.Hi, a.lo)
	err := h.shift(dist.Span(have.Lo, a.lo), a.hook, func() error { return h.move.take(h.right, coming) })
	if err != nil {
		return err
	}
	steps := h.steps // as many as this rank is at the end of, whatever it does again for others' iterations
	if err := h.loop.OneByOne.CatchUp(have, a.hook); err != nil {
		return err
	}
	h.steps = steps
	return h.settle()
}

// shift moves one boundary of this rank, as iterations are behind a hook.
func (h *Hooks) shift(want dist.Range, hook int, carry func() error) error {
	e := &h.oneByOne
	began, waited := h.c.Now(), h.move.waited
	if h.trace != nil {
		h.moves.begin(began, h.k)
		h.move.traced = &h.moves
		defer func() { h.move.traced = nil }()
	}
	if err := h.before(want, hook); err != nil {
		return err
	}
	if err := carry(); err != nil {
		return err
	}
	// What moved because a neighbour has heard of an instruction is not to move back before this rank has.
	if want.Lo != h.block.Lo {
		e.next.Lo, e.target.Lo = want.Lo, want.Lo
	} else {
		e.next.Hi, e.target.Hi = want.Hi, want.Hi
	}
	h.book(began, waited, movement{transfers: 1, units: h.become(want)})
	return nil
}

// deliver helps on its way what the rank above has come for.
func (h *Hooks) deliver() error {
	a := &h.oneByOne.above
	if !a.ready || len(a.sends.pending) == 0 {
		return nil
	}
	a.ready = false
	return a.sends.flush()
}

// Await returns when the rank above has called it, too, and has all that it was given. Loops call it where they would otherwise wait for that rank in another
// way than by Recv. Every rank must call it at the same place.
func (h *Hooks) Await() error {
	if !h.oneByOne.on {
		return nil
	}
	a := &h.oneByOne.above
	err := h.tellAndListen(kindHere, func() bool { return a.here > 0 })
	a.here = max(0, a.here-1)
	return err
}

// leave ends the talking with the neighbours, at the end of the loop.
func (h *Hooks) leave() error {
	return h.tellAndListen(kindOver, func() bool { return h.oneByOne.above.gone })
}

// tellAndListen sends a message to the rank below, and takes in messages until the rank above has told what is waited for.
func (h *Hooks) tellAndListen(kind byte, told func() bool) error {
	if h.left >= 0 {
		if err := h.tellBelow(kind); err != nil {
			return err
		}
	}
	for h.right >= 0 && !told() {
		if _, _, err := h.listen(nil); err != nil {
			return err
		}
	}
	return nil
}
