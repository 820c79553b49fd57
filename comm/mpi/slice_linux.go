//go:build cgo && !nompi

package mpi

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// wakeEarly asks the scheduler for short slices for all threads of this process.
//
// A rank that waits sleeps, and somebody else's process on its core runs. When the message has come, Linux (EEVDF, since
// 6.6) lets that process finish its slice of some milliseconds before it looks at the rank: in a pipeline every wait
// would then cost a slice. A task may ask for slices of its own length (since 6.12): its share of the core stays the
// same, but it gets it in smaller pieces, and one that wakes with time to its credit preempts a task with longer
// slices at once. Older kernels ignore the request. It needs no privilege.
func wakeEarly() {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return // no /proc: then without
	}
	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		if err != nil {
			continue
		}
		attr, err := unix.SchedGetAttr(id, 0)
		if err != nil || attr.Policy != unix.SCHED_NORMAL {
			continue // a policy that somebody chose on purpose
		}
		attr.Runtime = 100_000             // ns, the shortest that the kernel accepts
		_ = unix.SchedSetAttr(id, attr, 0) // an older kernel: then without
	}
}
