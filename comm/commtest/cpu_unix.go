//go:build unix

package commtest

import (
	"syscall"
	"time"
)

// cpuTime returns the CPU time, user and system, of this process so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // only for an argument that does not exist
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
