package ranks

import (
	"errors"
	"fmt"
	"runtime/debug"

	"shiftwork/comm"
)

// maxTag is the greatest tag that every MPI must offer (MPI_TAG_UB). It is refused here too, so that what works
// in one process works under MPI.
const maxTag = 32767

// ErrExited is the error of a rank that ended with runtime.Goexit.
var ErrExited = errors.New("the rank's goroutine ended without returning (runtime.Goexit, perhaps by a failed test)")

// Check returns an error if there is no such peer or tag. wild says that comm.Any is a peer.
func Check(op string, rank, size, peer, tag int, wild bool) error {
	var err error
	switch {
	case (peer < 0 || peer >= size) && !(wild && peer == comm.Any):
		err = fmt.Errorf("there is no rank %d: ranks are 0 to %d", peer, size-1)
	case tag < 0 || tag > maxTag:
		err = fmt.Errorf("tags are 0 to %d", maxTag)
	default:
		return nil
	}
	return &comm.Error{Op: op, Rank: rank, Peer: peer, Tag: tag, Err: err}
}

// Guard calls body and then, whatever ended it, ended: with body's error, a *comm.PanicError, or ErrExited.
func Guard(body func() error, ended func(error)) {
	err := ErrExited
	returned := false
	defer func() {
		if !returned {
			if v := recover(); v != nil {
				err = &comm.PanicError{Value: v, Stack: debug.Stack()}
			}
		}
		ended(err)
	}()
	err = body()
	returned = true
}
