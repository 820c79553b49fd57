package comm

import "fmt"

// RankError is how a rank failed, as the transports that run all ranks in one process (comm/local, comm/sim) report it.
type RankError struct {
	Rank int
	Err  error
}

func (e *RankError) Error() string { return fmt.Sprintf("rank %d: %v", e.Rank, e.Err) }

func (e *RankError) Unwrap() error { return e.Err }

// PanicError is a rank's panic, made an error so that the other ranks can be released before it is reported.
type PanicError struct {
	Value any    // what was given to panic
	Stack []byte // of the goroutine that panicked, as debug.Stack formats it
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n\n%s", e.Value, e.Stack) }

// Unwrap returns the panic's value where that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// AbortError says that a rank ended the job with Comm.Abort.
type AbortError struct {
	Rank int
	Code int // exit code
}

func (e *AbortError) Error() string {
	return fmt.Sprintf("rank %d ended the job with code %d", e.Rank, e.Code)
}
