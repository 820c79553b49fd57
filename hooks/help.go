package hooks

import "time"

// helper moves messages along while the loop computes: MPI carries a long message only while both its ranks call it, and without
// help one of them would have to wait for the end of the other one's chunk. It calls Comm from a goroutine of its own, but only between
// start and stop, when the loop does not.
type helper struct {
	stopped chan struct{} // closed to end it; nil: it does not run
	ended   chan error
}

// helpEvery is how often it looks: each look carries a few pieces of a message.
const helpEvery = 200 * time.Microsecond

// start calls look every now and then, until it says that nothing is left to do, or fails, or until stop.
func (h *helper) start(look func() (done bool, err error)) {
	stopped, ended := make(chan struct{}), make(chan error, 1)
	h.stopped, h.ended = stopped, ended
	go func() {
		tick := time.NewTicker(helpEvery)
		defer tick.Stop()
		for {
			done, err := look()
			if done || err != nil {
				ended <- err
				return
			}
			select {
			case <-stopped:
				ended <- nil
				return
			case <-tick.C:
			}
		}
	}()
}

// stop returns once nobody helps any more, with the error that the help ended with.
func (h *helper) stop() error {
	if h.stopped == nil {
		return nil
	}
	close(h.stopped)
	h.stopped = nil
	return <-h.ended
}
