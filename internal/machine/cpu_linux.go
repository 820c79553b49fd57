package machine

import (
	"time"

	"golang.org/x/sys/unix"
)

// CPUTime returns the CPU time that this process has used, user and system, to a nanosecond.
func CPUTime() (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		return 0, err
	}
	return time.Duration(t.Nano()), nil
}
