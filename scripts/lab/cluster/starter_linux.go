package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"shiftwork/scripts/internal/arguments"
)

// starter starts processes from one thread that lives as long as the cluster. The kernel ties two things to the thread
// that starts a process: the slice, which children inherit, and the signal that they get when their parent ends, which
// would come at any time if it were one of the threads that Go makes and ends as it likes.
type starter struct{ calls chan func() }

// newStarter makes a starter whose processes have a base slice; 0 leaves the kernel's.
func newStarter(slice time.Duration) (*starter, error) {
	s := &starter{calls: make(chan func())}
	ready := make(chan error)
	go onThreadOfItsOwn(func() {
		err := setSlice(slice)
		ready <- err
		if err != nil {
			return
		}
		for call := range s.calls {
			call()
		}
	})
	return s, <-ready
}

// onThreadOfItsOwn runs f on a thread that nothing else runs on and that ends with f, and its slice with it. The main
// thread does not end: it is held until f has found another one.
func onThreadOfItsOwn(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != os.Getpid() {
		f() // never unlocked
		return
	}
	found := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		close(found)
		f()
	}()
	<-found
	runtime.UnlockOSThread()
}

// start starts a command in a process group of its own, so that Ctrl-C at a terminal reaches only us.
func (s *starter) start(cmd *exec.Cmd, whenParentEnds syscall.Signal) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: whenParentEnds}
	done := make(chan error)
	s.calls <- func() { done <- cmd.Start() }
	return <-done
}

// stop ends the thread; nothing that it started may still be needed.
func (s *starter) stop() { close(s.calls) }

// setSlice sets the base slice of the calling thread. Kernels before 6.12 take it without using it, so it is read back.
func setSlice(slice time.Duration) error {
	if slice == 0 {
		return nil
	}
	nice, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return fmt.Errorf("getpriority: %w", err)
	}
	attr := unix.SchedAttr{
		Size: uint32(unsafe.Sizeof(unix.SchedAttr{})), Policy: unix.SCHED_NORMAL, Runtime: uint64(slice),
		Nice: int32(20 - nice), // the system call returns 20 less the value
	}
	if err := unix.SchedSetAttr(0, &attr, 0); err != nil {
		return arguments.Refuse("slice %v: the kernel refuses it: %v", slice, err)
	}
	got, err := unix.SchedGetAttr(0, 0)
	if err != nil || got.Runtime != uint64(slice) {
		return arguments.Refuse("slice %v: this kernel has no slice for each process; Linux 6.12 and later have", slice)
	}
	return nil
}
