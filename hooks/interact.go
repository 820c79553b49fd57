package hooks

import (
	"fmt"
	"time"

	"shiftwork/comm"
	"shiftwork/lb"
)

// An interaction, as a rank takes part in it: its status, the instruction that answers one, and what follows from that.

func (h *Hooks) interaction() (bool, error) {
	began := h.c.Now()
	if err := h.report(); err != nil {
		return false, err
	}
	answer := h.k // synchronous: wait for the answer to the status just sent
	if h.pipelined() {
		answer-- // pipelined: for the answer to the one before, which is on its way since long
	}
	h.k++
	if answer < 0 {
		h.interacted(began, h.c.Now())
		h.next = h.phase + 1
		return false, nil
	}
	in, err := h.instruction(answer)
	if err != nil {
		return false, err
	}
	h.obeyed = in.interaction
	h.lost = h.c.Now() - began
	h.total.interact += h.lost
	h.interacted(began, began+h.lost)
	// Not twice between the same two: what is done there is little, and may not be done as it is elsewhere.
	h.next = h.phase + max(1, in.nextHook, h.skipped/2)
	return h.obey(in)
}

// pipelined reports whether instruction k is obeyed at interaction k+1.
func (h *Hooks) pipelined() bool { return h.cfg.Interaction == lb.Pipelined && !h.oneByOne.on }

// report sends the status of the phases since the last one.
func (h *Hooks) report() error {
	now := h.c.Now()
	elapsed := now - h.since
	units, compute := h.rate()
	h.oneByOne.units, h.oneByOne.seconds = units, compute
	s := lb.Status{
		Rank: h.c.Rank(), Interaction: h.k, Obeyed: h.obeyed,
		Units: units, Compute: compute, Elapsed: elapsed.Seconds(),
		Wait:   max(0, elapsed-h.compute-h.moved.time).Seconds(),
		Phases: h.phase - h.sincePhase, PhasesLeft: -1,
		Age:   h.clock.time(now).Seconds(),
		Owned: h.units, OwnedIterations: h.count(), Least: h.least, Slack: h.slack,
		MoveTime: h.moved.time.Seconds(), MoveTransfers: h.moved.transfers, MoveUnits: h.moved.units,
		Interact: h.lost.Seconds(), Weights: h.weights.version, Timings: h.laps.take(),
	}
	h.total.rates.add(s.Units, s.Compute)
	if h.loop.Phases > 0 {
		s.PhasesLeft = max(0, h.loop.Phases-h.phase)
	}
	h.closeBooks(now)
	if h.master != nil {
		return h.master.add(s)
	}
	// Not a blocking send: the master may be waiting for data that this rank hands over at this very hook.
	q, err := h.c.Isend(0, tagStatus, encodeStatus(&s))
	if err == nil {
		h.unanswered = append(h.unanswered, q)
	}
	return err
}

func (h *Hooks) closeBooks(now time.Duration) {
	h.total.units += h.plainDone
	h.total.compute += h.compute
	h.total.move += h.moved.time
	h.done, h.plainDone, h.compute, h.moved = 0, 0, 0, movement{}
	h.quota.restart()
	h.since, h.sincePhase = now, h.phase
}

func (h *Hooks) instruction(k int) (*instruction, error) {
	if h.master != nil {
		return h.master.serve(k)
	}
	in, err := receiveInstruction(h.c)
	if err != nil {
		return nil, err
	}
	if in.interaction != k {
		return nil, fmt.Errorf("rank %d expected instruction %d and got %d", h.c.Rank(), k, in.interaction)
	}
	return in, h.answered()
}

// answered ends the sending of the oldest status: whoever answers it has received it.
func (h *Hooks) answered() error {
	_, err := h.unanswered[0].Wait()
	h.unanswered = append(h.unanswered[:0], h.unanswered[1:]...)
	return err
}

func receiveInstruction(c comm.Comm) (*instruction, error) {
	b, err := comm.RecvAll(c, 0, tagInstruction)
	if err != nil {
		return nil, err
	}
	return decodeInstruction(b)
}
