//go:build cgo && !nompi

package mpi

import (
	"os"
	"runtime"
	"time"
)

// Go's runtime has a monitor thread. It takes the P, the runtime's processor, away from a goroutine whose call into C lasts more than 20 µs where no other P is idle, and
// from one that was not scheduled for 10 ms, in whichever call it finds it. Back from C the goroutine takes its P again and wakes the monitor for it, which then looks again every 20 µs, with its timer's
// slack 70 µs, on the core of the rank: some 10 µs each time. A rank that waits much for messages pays that all the time, from the core that it shares or from its quota.
// Where a second P is idle, and the goroutine is scheduled now and then, the monitor sleeps 10 ms at a time. On an Intel Xeon with two cores sor 500, 1000 and 2000 on four workstations with 0.4 of a CPU each
// then take 0.86, 0.77 and 0.95 of the time, four ranks on the two cores 0.67 to 0.97, and a rank with a core of its own, whose waits are few, as long.

// scheduledEvery is well below the 10 ms after which the monitor would come. What it costs could not be told from nothing.
const scheduledEvery = 5 * time.Millisecond

// spareProcessor sees to it that one P is idle: a rank that is bound to one core has but one. What the user has asked for stays.
func spareProcessor() {
	if os.Getenv("GOMAXPROCS") == "" && runtime.GOMAXPROCS(0) == 1 {
		runtime.GOMAXPROCS(2)
	}
}

// beScheduled is called before calls that may wait.
func (c *Comm) beScheduled() {
	if now := c.Now(); now-c.scheduled > scheduledEvery {
		c.scheduled = now
		runtime.Gosched()
	}
}
