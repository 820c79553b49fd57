// Package machine asks the operating system what this process runs on: how it gets CPU time (the scheduling quantum, CPU quotas),
// how large a core's cache is, and how much memory is left, which it can also put behind addresses before they are used.
//
// Times are seconds. What cannot be found out counts as absent; nothing here fails.
package machine

import (
	"cmp"
	"hash/crc32"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/cpuid/v2"
)

// DefaultQuantum, in s, is what Linux grants a process before another one that is ready to run: its base
// slice (2.8 to 3 ms on most machines) rounded up to the next tick of a 250 Hz clock.
const DefaultQuantum = 0.004

// Quantum is this process's scheduling quantum in seconds: the period of a CPU quota where there is one, the longest time
// that the process was kept off its core in a short spin, DefaultQuantum: whichever is longest. The first call
// takes 15 ms, or 30: a gap above the others counts only as far as there is another one, since other programs start at the same time.
var Quantum = sync.OnceValue(func() float64 {
	least := max(DefaultQuantum, QuotaPeriod())
	gap := longestGap(spin).Seconds()
	if gap > least {
		gap = min(gap, longestGap(spin).Seconds())
	}
	return max(least, gap)
})

const spin = 15 * time.Millisecond

// QuotaPeriod is the period of this process's CPU quota in seconds, 0 without a quota.
func QuotaPeriod() float64 { return ownQuota().period }

// QuotaShare is how much of one processor's time this process gets by its CPU quota, 0 without a quota. It may be above 1.
func QuotaShare() float64 { return ownQuota().share }

var ownQuota = sync.OnceValue(func() quota { return findQuota("/proc/self/cgroup", "/sys/fs/cgroup") })

// QuotaUsedUp is the CPU time in s that this process's group has got in all periods in which its quota ran out: of the processes that share
// the quota all together. 0 without a quota, or where the system does not count.
func QuotaUsedUp() float64 { return ownCounted().usedUp() }

var ownCounted = sync.OnceValue(func() counted { return ownQuota().counted() })

// quota is a group's CPU quota: the time that it gets in each period, as a part of it, and the period in s; zero where there is none.
type quota struct {
	share, period float64
	group         group // whose share it is
}

// group is a folder that describes a group of processes, and how long its period is, in s.
type group struct {
	dir    string
	period float64
}

// and is what holds where both quotas do: the smaller share, and the longer period.
func (q quota) and(o quota) quota {
	switch {
	case q == quota{}:
		return o
	case o == quota{}:
		return q
	}
	if o.share < q.share {
		q.share, q.group = o.share, o.group
	}
	q.period = max(q.period, o.period)
	return q
}

// counted is a quota with the file in which the system counts its periods, nil if there is none. It stays open: to open it takes thirty times as long as to read it, up to
// half a millisecond, and each status asks twice.
type counted struct {
	quota
	stat *os.File
}

func (q quota) counted() counted {
	if q.share == 0 {
		return counted{}
	}
	stat, _ := os.Open(filepath.Join(q.group.dir, "cpu.stat"))
	return counted{q, stat}
}

// usedUp looks for a line that is the same in both versions of groups.
func (c counted) usedUp() float64 {
	var text [1 << 10]byte            // more than there is
	n, _ := c.stat.ReadAt(text[:], 0) // none of no file
	for line := range strings.Lines(string(text[:n])) {
		if n, found := strings.CutPrefix(line, "nr_throttled "); found {
			return positive(n) * c.group.period * c.share
		}
	}
	return 0
}

// Number tells machines apart, containers on one machine not: at least 0, the same until the machine is started again; -1 where it cannot
// be found out.
var Number = sync.OnceValue(func() int { return number("/proc/sys/kernel/random/boot_id") })

func number(file string) int {
	text, err := os.ReadFile(file)
	if err != nil || len(text) == 0 {
		return -1
	}
	return int(crc32.ChecksumIEEE(text) >> 1)
}

// DefaultCache, in bytes, is what the second-level cache of most processors since 2015 holds at least.
const DefaultCache = 256 << 10

// Cache is the size in bytes of a core's second-level cache: as Linux tells it, or the processor itself, for in many virtual machines Linux does not;
// DefaultCache where neither does.
var Cache = sync.OnceValue(func() int {
	return cmp.Or(cache("/sys/devices/system/cpu/cpu0/cache"), max(0, cpuid.CPU.Cache.L2), DefaultCache)
})

// cache looks for a second-level cache that holds data among those that Linux describes in a folder; 0: there is none.
func cache(root string) int {
	folders, _ := filepath.Glob(filepath.Join(root, "index*")) // the pattern is well formed
	for _, dir := range folders {
		if read(dir, "level") != "2" || read(dir, "type") == "Instruction" {
			continue
		}
		kib, found := strings.CutSuffix(read(dir, "size"), "K")
		if n, err := strconv.Atoi(kib); err == nil && found && n > 0 {
			return n << 10
		}
	}
	return 0
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

// findQuota looks for the quota of the process's group, and of any group above it, in cgroup v2's cpu.max or v1's
// cpu.cfs_quota_us; self lists the groups, root is where they are mounted.
func findQuota(self, root string) (all quota) {
	for dir, v2 := range groups(self, root, "cpu") {
		if v2 {
			all = all.and(quotaV2(dir))
		} else {
			all = all.and(quotaV1(dir))
		}
	}
	return all
}

// groups are the folders of the groups that a process is in and that a controller knows, from its own one up, and whether they are cgroup v2's.
func groups(self, root, controller string) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		text, _ := os.ReadFile(self) // what is missing is empty
		for line := range strings.Lines(string(text)) {
			part := strings.SplitN(strings.TrimSpace(line), ":", 3) // hierarchy, controllers, path
			if len(part) != 3 {
				continue
			}
			mounts := []string{"", "unified"} // the latter where version 1 has other controllers
			v2 := part[1] == ""
			if !v2 {
				if !strings.Contains(","+part[1]+",", ","+controller+",") {
					continue
				}
				mounts = slices.Compact([]string{controller, part[1]})
			}
			for dir := filepath.Join("/", part[2]); ; dir = filepath.Dir(dir) {
				for _, mount := range mounts {
					if !yield(filepath.Join(root, mount, dir), v2) {
						return
					}
				}
				if dir == "/" {
					break
				}
			}
		}
	}
}

// quotaV2 reads "quota period" in µs; the quota is "max" where there is none.
func quotaV2(dir string) quota {
	time, period, _ := strings.Cut(read(dir, "cpu.max"), " ")
	return newQuota(dir, time, period)
}

// quotaV1 reads quota, -1 where there is none, and period in µs.
func quotaV1(dir string) quota {
	return newQuota(dir, read(dir, "cpu.cfs_quota_us"), read(dir, "cpu.cfs_period_us"))
}

// newQuota makes a quota of two texts in µs; of any that is no time, none.
func newQuota(dir, time, period string) quota {
	t, p := positive(time)/1e6, positive(period)/1e6
	if t == 0 || p == 0 {
		return quota{}
	}
	return quota{t / p, p, group{dir, p}}
}
