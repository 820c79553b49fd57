//go:build cgo && !nompi

package mpi

import (
	"os"
	"runtime"
	"time"
)

// Go's runtime has a monitor thread. It takes the P, the runtime's processor, away from a goroutine whose call into C it sees for the second time when it looks, and
// from one that was not scheduled for 10 ms, in whichever call it finds it. Back from C the goroutine takes its P again and wakes the monitor for it, which then looks again every 20 µs, with its timer's
// slack 70 µs, on the core of the rank: some 10 µs each time. A rank that waits much for messages pays that all the time, from the core that it shares or from its quota.
// If it never has to take a P the monitor sleeps 10 ms at a time. So
//   - a wait is many short calls into C, of 0.1 ms at most, and sleeps between them in Go, in system calls of which the runtime is not told;
//   - the goroutine is scheduled every 5 ms while it waits. That is cheap where there is one P, as for a rank that is bound to a core.
//
// On an Intel Xeon with two cores sor 500, 1000 and 2000 on four workstations with 0.4 of a CPU each took 0.86, 0.77 and 0.95 of the time when the monitor was first kept away, by a second P, and four ranks on the two cores
// 0.67 to 0.97. But with an idle P each time that the goroutine is scheduled it goes to another thread. Without that sor 500 to 2000 take 0.96 to 1.0 of the time, over TCP 0.98, and 4000 over 100 Mbit/s beside a load 0.93.

// scheduledEvery is well below the 10 ms after which the monitor would come. What it costs could not be told from nothing.
const scheduledEvery = 5 * time.Millisecond

// beScheduled is called between the calls of a wait.
func (c *Comm) beScheduled() {
	if now := c.Now(); now-c.scheduled > scheduledEvery {
		c.scheduled = now
		runtime.Gosched()
	}
}

// spareProcessor sees to it that one P is idle, for MPI's own blocking calls: the monitor then lets a long call into C keep its P for 10 ms. What the user has asked for stays.
func spareProcessor() {
	if os.Getenv("GOMAXPROCS") == "" && runtime.GOMAXPROCS(0) == 1 {
		runtime.GOMAXPROCS(2)
	}
}
