//go:build unix

package machine

import (
	"syscall"
	"time"
)

// CPUTime returns the CPU time that this process has used, user and system, to a microsecond; 0 where it is not known.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
