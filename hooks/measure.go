package hooks

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"shiftwork/comm"
	"shiftwork/lb"
)

// measureInteraction times dummy interactions, statuses to the master and instructions back (S&S 1997, section 5.2.1),
// and returns the shortest of five in seconds, the same on every rank.
func measureInteraction(c comm.Comm) (float64, error) {
	const rounds = 5
	status := encodeStatus(&lb.Status{})
	shortest := math.Inf(1)
	for range rounds {
		if err := comm.Barrier(c); err != nil {
			return 0, err
		}
		began := c.Now()
		if _, err := comm.Gather(c, 0, status); err != nil {
			return 0, err
		}
		if err := comm.Bcast(c, 0, make([]byte, len((&instruction{}).encode()))); err != nil {
			return 0, err
		}
		shortest = min(shortest, (c.Now() - began).Seconds())
	}
	return comm.AllreduceMax(c, shortest)
}

// agreeQuantum returns the largest scheduling quantum of all ranks in seconds; given, if positive, is taken as it is.
func agreeQuantum(c comm.Comm, given float64) (float64, error) {
	q := given
	if q <= 0 {
		if _, virtual := c.(comm.Worker); virtual {
			q = defaultQuantum
		} else {
			q = quantum()
		}
	}
	return comm.AllreduceMax(c, q)
}

// defaultQuantum, in s, is what Linux grants a process before another one that is ready to run: its base
// slice (2.8 to 3 ms on most machines) rounded up to the next tick of a 250 Hz clock.
const defaultQuantum = 0.004

// quantum is this process's scheduling quantum in seconds: the period of a CPU quota where there is one, the longest time
// that the process was kept off its core in a short spin, the default: whichever is longest.
var quantum = sync.OnceValue(func() float64 {
	return max(defaultQuantum, quotaPeriod("/proc/self/cgroup", "/sys/fs/cgroup"), longestGap(15*time.Millisecond).Seconds())
})

// longestGap spins and returns the longest time between two looks at the clock.
func longestGap(span time.Duration) time.Duration {
	began := time.Now()
	last, longest := began, time.Duration(0)
	for {
		now := time.Now()
		longest = max(longest, now.Sub(last))
		last = now
		if now.Sub(began) >= span {
			return longest
		}
	}
}

// quotaPeriod reads the period of this process's CPU quota in seconds, 0 without a quota: cgroup v2's cpu.max or v1's
// cpu.cfs_quota_us, of its group or the nearest group above that has one.
func quotaPeriod(self, root string) float64 {
	text, err := os.ReadFile(self)
	if err != nil {
		return 0
	}
	number := func(path string) float64 {
		b, err := os.ReadFile(path)
		if err != nil {
			return -1
		}
		x, err := strconv.ParseFloat(strings.TrimSpace(string(b)), 64)
		if err != nil {
			return -1
		}
		return x
	}
	longest := 0.0
	for line := range strings.Lines(string(text)) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3) // hierarchy, controllers, path
		if len(part) != 3 {
			continue
		}
		v2 := part[1] == ""
		if !v2 && !strings.Contains(","+part[1]+",", ",cpu,") {
			continue
		}
		for dir := part[2]; ; dir = filepath.Dir(dir) {
			if v2 {
				b, err := os.ReadFile(filepath.Join(root, dir, "cpu.max"))
				if f := strings.Fields(string(b)); err == nil && len(f) == 2 && f[0] != "max" {
					if p, err := strconv.ParseFloat(f[1], 64); err == nil {
						longest = max(longest, p/1e6)
					}
				}
			} else {
				for _, mount := range []string{"cpu", "cpu,cpuacct"} {
					at := filepath.Join(root, mount, dir)
					if number(filepath.Join(at, "cpu.cfs_quota_us")) > 0 {
						longest = max(longest, number(filepath.Join(at, "cpu.cfs_period_us"))/1e6)
					}
				}
			}
			if dir == "/" || dir == "." {
				break
			}
		}
	}
	return longest
}
