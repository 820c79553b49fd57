package hooks

import "fmt"

// early lets statuses come shortly before the hook at which they are answered (Loop.Early): rank 0, which no other rank is ahead of, calls
// for them when it is near that hook. README.md, "Early statuses".
type early struct {
	on     bool
	called bool // for the statuses of the next interaction; this rank's is sent
}

// Soon says that the next Hook ends the phase that many phases ahead, the phases before it ending by Pass. If it is to interact, rank 0 calls for
// the statuses now. Other ranks, and loops that are not Early, have nothing to do.
func (h *Hooks) Soon(phases int) error {
	if !h.early.on || h.early.called || h.master == nil || !h.interacts(h.phase+phases, h.passed+phases-1) {
		return nil
	}
	return h.call()
}

// call asks all ranks for the statuses of the next interaction, on rank 0.
func (h *Hooks) call() error {
	message := encodeCall(h.k)
	for r := 1; r < h.c.Size(); r++ {
		if err := h.master.sends.isend(r, tagCall, message); err != nil {
			return err
		}
	}
	h.early.called = true
	return h.report()
}

// listen answers the call if it is there.
func (h *Hooks) listen() error {
	if !h.early.on || h.early.called || h.master != nil {
		return nil
	}
	if _, ok, err := h.c.Iprobe(0, tagCall); err != nil || !ok {
		return err
	}
	return h.answerCall()
}

func (h *Hooks) answerCall() error {
	b, err := receiveAll(h.c, 0, tagCall)
	if err != nil {
		return err
	}
	k, err := decodeCall(b)
	if err != nil {
		return err
	}
	if k != h.k {
		return fmt.Errorf("rank %d expected the call for status %d and got %d", h.c.Rank(), h.k, k)
	}
	h.early.called = true
	return h.report()
}

// reportEarly makes sure that this rank has sent its status, at the hook that interacts.
func (h *Hooks) reportEarly() error {
	var err error
	if !h.early.called {
		ask := h.answerCall // rank 0 has called: it was at this hook before this rank
		if h.master != nil {
			ask = h.call
		}
		err = ask()
	}
	h.early.called = false
	return err
}
