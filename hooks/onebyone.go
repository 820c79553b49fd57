package hooks

import (
	"errors"
	"fmt"
	"math"
	"time"

	"shiftwork/comm"
	"shiftwork/dist"
)

// oneByOne is one rank's part where every boundary moves on its own (Loop.OneByOne), where the rank is that gives work: handover.go. Nobody waits for
// rank 0, and a rank only for the one above it. README.md, "Boundaries that move one by one".
type oneByOne struct {
	on bool

	called  bool       // this rank's status of interaction k is sent, and not answered
	pending bool       // it is answered, and the block not yet as the answer says
	target  dist.Range // the block as it is to become
	next    dist.Range // the block behind the next hook, as far as the ranks below decide that
	late    bool       // a call has come that is answered when the block has become so
	over    bool       // no more calls will come
	byes    int        // ranks that have come to their end, on rank 0

	coming  comm.Request // the next message: from rank 0, or on rank 0 a status
	message []byte       // which comes here
	above   above
	waiting [3]comm.Request

	deadline time.Duration // when rank 0 calls for statuses at the latest

	busy           time.Duration // with messages, since the last status
	units, seconds float64       // of the last status
}

// longestMessage is the most bytes that such a message, or a status, has.
const longestMessage = 4096

// beginOneByOne gets ready for the first message.
func (h *Hooks) beginOneByOne() error {
	e := &h.oneByOne
	if !e.on {
		return nil
	}
	e.target, e.next = h.block, h.block
	e.message = make([]byte, longestMessage)
	e.above.message, e.above.sends = make([]byte, longestBelow), mover{c: h.c, arrays: h.loop.Arrays}
	if h.master != nil {
		h.master.send = func(to int, in *instruction) error {
			return h.master.sends.isend(to, tagCall, append([]byte{kindInstruction}, in.encode()...))
		}
	}
	if err := h.expectAbove(); err != nil {
		return err
	}
	return h.expect()
}

// expect starts to receive the next message.
func (h *Hooks) expect() (err error) {
	from, tag := 0, tagCall
	if h.master != nil {
		from, tag = comm.Any, tagStatus
	}
	h.oneByOne.coming, err = h.c.Irecv(from, tag, h.oneByOne.message)
	return err
}

// hookOneByOne is Hook where boundaries move one by one.
func (h *Hooks) hookOneByOne() (moved bool, err error) {
	before := h.block
	if err := h.hear(); err != nil {
		return false, err
	}
	if err := h.handOver(); err != nil {
		return false, err
	}
	moved = h.block != before
	if h.master != nil && h.isDue() && !h.oneByOne.called && !h.oneByOne.pending {
		return moved, h.call()
	}
	return moved, nil
}

// latestCall is after how many periods rank 0 calls for statuses although it has not had as many phases as a period should take: they have become
// longer, and why is what it wants to know.
const latestCall = 1.25

// isDue reports whether it is time for the next interaction, on rank 0.
func (h *Hooks) isDue() bool {
	return h.phase >= h.next || h.next != math.MaxInt && h.oneByOne.deadline != 0 && h.c.Now() >= h.oneByOne.deadline
}

// call asks all ranks for the statuses of the next interaction, on rank 0.
func (h *Hooks) call() error {
	defer h.talked(h.c.Now())
	if err := h.tellAll(kindCall); err != nil {
		return err
	}
	return h.answer()
}

func (h *Hooks) tellAll(kind byte) error {
	for r := 1; r < h.c.Size(); r++ {
		if err := h.master.sends.isend(r, tagCall, []byte{kind}); err != nil {
			return err
		}
	}
	return nil
}

// answer sends this rank's status.
func (h *Hooks) answer() error {
	h.oneByOne.called = true
	h.lost, h.oneByOne.busy = h.oneByOne.busy, 0
	if err := h.report(); err != nil {
		return err
	}
	return h.instructed()
}

// instructed takes rank 0's own instruction, if it is decided.
func (h *Hooks) instructed() error {
	if h.master == nil || !h.oneByOne.called {
		return nil
	}
	in := h.master.take(h.k)
	if in == nil {
		return nil
	}
	// A period is from call to call, when rank 0 sends its own status: others answer at their hooks, and until the last of them has done so much of it may have passed.
	if !h.unsteady { // there is no next one meanwhile
		h.next = h.sincePhase + max(1, in.nextHook)
	}
	h.oneByOne.deadline = h.since + seconds(latestCall*in.period)
	return h.aim(in)
}

// aim makes an instruction's block the one to become.
func (h *Hooks) aim(in *instruction) error {
	if in.interaction != h.k || !h.oneByOne.called {
		return fmt.Errorf("rank %d expected instruction %d and got %d", h.c.Rank(), h.k, in.interaction)
	}
	h.oneByOne.called, h.oneByOne.pending, h.oneByOne.target = false, true, in.own
	return h.settle()
}

// settle ends an interaction once the block is as it should become.
func (h *Hooks) settle() error {
	if !h.oneByOne.pending || h.block != h.oneByOne.target {
		return nil
	}
	h.oneByOne.pending, h.obeyed = false, h.k
	h.k++
	if h.oneByOne.late {
		h.oneByOne.late = false
		return h.answer()
	}
	return nil
}

// Recv is Comm.Recv for messages that a rank has to wait for. Where boundaries move one by one it hears others meanwhile, and takes iterations that the
// rank above offers (Ahead).
func (h *Hooks) Recv(from, tag int, b []byte) (comm.Status, error) {
	e := &h.oneByOne
	if e.coming == nil && e.above.coming == nil {
		return h.c.Recv(from, tag, b)
	}
	q, err := h.c.Irecv(from, tag, b)
	if err != nil {
		return comm.Status{}, err
	}
	for {
		if st, done, err := h.listen(q); done || err != nil {
			return st, err
		}
	}
}

// listen waits for q, or else for one message of others, and takes that in.
func (h *Hooks) listen(q comm.Request) (st comm.Status, done bool, err error) {
	e := &h.oneByOne
	e.waiting = [3]comm.Request{q, e.coming, e.above.coming}
	i, st, err := h.c.WaitAny(e.waiting[:])
	switch {
	case err != nil:
		return st, false, err
	case i == 1:
		return st, false, h.heard(st)
	case i == 2:
		return st, false, h.heardAbove(st)
	}
	return st, true, nil
}

// hear takes in the messages that are there.
func (h *Hooks) hear() error {
	if err := takeIn(&h.oneByOne.coming, h.heard); err != nil {
		return err
	}
	return takeIn(&h.oneByOne.above.coming, h.heardAbove)
}

// takeIn calls heard for each message that has come, as long as heard begins to receive the next one.
func takeIn(coming *comm.Request, heard func(comm.Status) error) error {
	for *coming != nil {
		st, ok, err := (*coming).Test()
		if err != nil || !ok {
			return err
		}
		if err := heard(st); err != nil {
			return err
		}
	}
	return nil
}

// heard takes in the message that has come.
func (h *Hooks) heard(st comm.Status) error {
	defer h.talked(h.c.Now())
	h.oneByOne.coming = nil
	if h.master != nil {
		return h.heardStatus(st)
	}
	if st.Len == 0 {
		return fmt.Errorf("rank %d sent an empty message", st.Source)
	}
	body := h.oneByOne.message[1:st.Len]
	switch h.oneByOne.message[0] {
	case kindCall:
		if h.oneByOne.called || h.oneByOne.pending {
			h.oneByOne.late = true
			break
		}
		if err := h.answer(); err != nil {
			return err
		}
	case kindInstruction:
		in, err := decodeInstruction(body)
		if err != nil {
			return err
		}
		if err := h.answered(); err != nil {
			return err
		}
		if err := h.aim(in); err != nil {
			return err
		}
	case kindOver:
		h.oneByOne.over = true
		return nil
	default:
		return fmt.Errorf("rank %d sent a message of unknown kind %d", st.Source, h.oneByOne.message[0])
	}
	return h.expect()
}

// talked counts the time since began as spent with messages.
func (h *Hooks) talked(began time.Duration) {
	now := h.c.Now()
	h.oneByOne.busy += now - began
	h.total.interact += now - began
	if h.master != nil {
		h.master.busy += now - began
	}
	h.interacted(began, now)
}

// heardStatus takes in another rank's status, or that it has come to its end, on rank 0.
func (h *Hooks) heardStatus(st comm.Status) error {
	switch {
	case st.Len == 0:
		h.oneByOne.byes++
	case h.oneByOne.over: // too late
	default:
		if err := h.master.accept(st.Source, h.oneByOne.message[:st.Len]); err != nil {
			return err
		}
		if err := h.instructed(); err != nil {
			return err
		}
	}
	if h.oneByOne.byes == h.c.Size()-1 {
		return nil
	}
	return h.expect()
}

// endOneByOne takes in what is under way when this rank has come to its last hook, also iterations that the rank above gives away. Nothing is decided any more. It returns the units and s of the
// last status if no decision has counted them.
func (h *Hooks) endOneByOne() (units, seconds float64, err error) {
	e := &h.oneByOne
	if !e.on {
		return 0, 0, nil
	}
	if h.master != nil {
		e.over = true
		err = h.tellAll(kindOver)
	} else {
		e.pending = true // so that calls wait for ever
	}
	if err == nil {
		err = h.leave()
	}
	for err == nil && e.coming != nil {
		var st comm.Status
		if st, err = e.coming.Wait(); err == nil {
			err = h.heard(st)
		}
	}
	if err == nil && h.master == nil {
		err = h.c.Send(0, tagStatus, nil)
		for _, q := range h.unanswered {
			_, failed := q.Wait()
			err = errors.Join(err, failed)
		}
	}
	if e.called {
		return e.units, e.seconds, err
	}
	return 0, 0, err
}
