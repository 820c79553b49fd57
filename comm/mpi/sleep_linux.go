//go:build cgo && !nompi

package mpi

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sleep sleeps without telling Go's scheduler (monitor.go); a signal may end it early.
func sleep(d time.Duration) {
	t := unix.NsecToTimespec(d.Nanoseconds())
	_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&t)), 0, 0)
}
