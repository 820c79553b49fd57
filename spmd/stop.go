package spmd

import (
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// StoppedBySignal is what Stopping returns after a signal.
const StoppedBySignal = "signal"

// sameSignal is how soon a second signal counts as the first one heard twice: batch systems signal a whole process tree,
// in which mpirun passes the signal on.
const sameSignal = time.Second

var stop struct {
	once  sync.Once
	heard chan os.Signal
	asked atomic.Bool
}

// CatchStop makes a batch system's warning (SIGUSR1) and, if terminate says so, SIGTERM a request to stop, which Stopping tells, instead
// of the end of the process. Another such signal that comes more than a second later ends the process at once. Calls add up.
func CatchStop(terminate bool) {
	stop.once.Do(func() {
		stop.heard = make(chan os.Signal, 1)
		go func() {
			<-stop.heard
			stop.asked.Store(true)
			for same := time.Now().Add(sameSignal); ; {
				s := <-stop.heard
				if time.Now().After(same) {
					os.Exit(128 + int(s.(syscall.Signal))) // as a shell tells of a process that a signal has ended
				}
			}
		}()
	})
	caught := warnings
	if terminate {
		caught = append([]os.Signal{syscall.SIGTERM}, warnings...)
	}
	if len(caught) > 0 {
		signal.Notify(stop.heard, caught...)
	}
}

// Stopping is the reason why the program should stop soon, for loops.Checkpoint.Stop: StoppedBySignal, or "" for none.
func Stopping() string {
	if stop.asked.Load() {
		return StoppedBySignal
	}
	return ""
}
