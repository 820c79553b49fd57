package hooks

import (
	"fmt"
	"runtime/debug"
)

// Compute is Begin, f, End. A panic in f becomes one that names rank, loop and phase (*PanicError).
func (h *Hooks) Compute(f func()) {
	defer h.Annotate()
	h.Begin()
	f()
	h.End()
}

// PanicError says where the program's code panicked.
type PanicError struct {
	Rank, Phase int
	Loop        string
	Value       any
	Stack       []byte
}

func (p *PanicError) Error() string {
	return fmt.Sprintf("rank %d: panic in loop %q, phase %d: %v\n%s", p.Rank, p.Loop, p.Phase, p.Value, p.Stack)
}

// Annotate is deferred around code between Begin and End, once for many phases: it turns a panic there into one whose
// value is a *PanicError. Other panics pass as they are.
func (h *Hooks) Annotate() {
	if !h.inPhase {
		return
	}
	if v := recover(); v != nil {
		panic(&PanicError{Rank: h.c.Rank(), Phase: h.phase, Loop: h.loop.Name, Value: v, Stack: debug.Stack()})
	}
}
