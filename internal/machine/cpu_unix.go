//go:build unix

package machine

import (
	"syscall"
	"time"
)

// CPUTime returns the CPU time that this process has used, user and system, to a microsecond.
func CPUTime() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
