// Package machine asks the operating system what this process runs on: how it gets CPU time (the scheduling quantum, CPU quotas), and
// how large a core's cache is.
//
// Times are seconds. What cannot be found out counts as absent; nothing here fails.
package machine

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// DefaultQuantum, in s, is what Linux grants a process before another one that is ready to run: its base
// slice (2.8 to 3 ms on most machines) rounded up to the next tick of a 250 Hz clock.
const DefaultQuantum = 0.004

// Quantum is this process's scheduling quantum in seconds: the period of a CPU quota where there is one, the longest time
// that the process was kept off its core in a short spin, DefaultQuantum: whichever is longest. The first call
// takes 15 ms.
var Quantum = sync.OnceValue(func() float64 {
	return max(DefaultQuantum, QuotaPeriod(), longestGap(15*time.Millisecond).Seconds())
})

// QuotaPeriod is the period of this process's CPU quota in seconds, 0 without a quota.
func QuotaPeriod() float64 { return quotaPeriod("/proc/self/cgroup", "/sys/fs/cgroup") }

// DefaultCache, in bytes, is what the second-level cache of most processors since 2015 holds at least.
const DefaultCache = 256 << 10

// Cache is the size in bytes of a core's second-level cache, DefaultCache where it cannot be found out.
var Cache = sync.OnceValue(func() int { return cache("/sys/devices/system/cpu/cpu0/cache") })

// cache looks for a second-level cache that holds data among those that Linux describes in a folder.
func cache(root string) int {
	folders, _ := filepath.Glob(filepath.Join(root, "index*")) // the pattern is well formed
	for _, dir := range folders {
		read := func(name string) string {
			text, _ := os.ReadFile(filepath.Join(dir, name)) // what is missing is empty
			return strings.TrimSpace(string(text))
		}
		if read("level") != "2" || read("type") == "Instruction" {
			continue
		}
		kib, found := strings.CutSuffix(read("size"), "K")
		if n, err := strconv.Atoi(kib); err == nil && found && n > 0 {
			return n << 10
		}
	}
	return DefaultCache
}

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

// quotaPeriod looks for the quota of the process's group, or of any group above it, in cgroup v2's cpu.max or v1's
// cpu.cfs_quota_us; self lists the groups, root is where they are mounted. The longest period of several counts.
func quotaPeriod(self, root string) float64 {
	text, err := os.ReadFile(self)
	if err != nil {
		return 0
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
		for dir := filepath.Join("/", part[2]); ; dir = filepath.Dir(dir) {
			if v2 {
				longest = max(longest, periodV2(filepath.Join(root, dir)))
			} else {
				longest = max(longest, periodV1(filepath.Join(root, "cpu", dir)), periodV1(filepath.Join(root, part[1], dir)))
			}
			if dir == "/" {
				break
			}
		}
	}
	return longest
}

// periodV2 reads "quota period" in µs; the quota is "max" where there is none.
func periodV2(group string) float64 {
	b, err := os.ReadFile(filepath.Join(group, "cpu.max"))
	quota, period, ok := strings.Cut(strings.TrimSpace(string(b)), " ")
	if err != nil || !ok || quota == "max" {
		return 0
	}
	return microseconds(period)
}

// periodV1 reads quota, -1 where there is none, and period in µs.
func periodV1(group string) float64 {
	quota, err := os.ReadFile(filepath.Join(group, "cpu.cfs_quota_us"))
	if err != nil || microseconds(string(quota)) <= 0 {
		return 0
	}
	period, err := os.ReadFile(filepath.Join(group, "cpu.cfs_period_us"))
	if err != nil {
		return 0
	}
	return microseconds(string(period))
}

func microseconds(text string) float64 {
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || x < 0 {
		return 0
	}
	return x / 1e6
}
