package machine

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// MemoryLeft is how many bytes programs can still use before the system, or a limit of this process's group or of one above it, has no more: 0 where
// that is not known.
func MemoryLeft() int { return memoryLeft("/proc/meminfo", "/proc/self/cgroup", "/sys/fs/cgroup") }

func memoryLeft(system, self, root string) int {
	left := 0.0
	for line := range strings.Lines(read(system, "")) {
		if kib, found := strings.CutPrefix(line, "MemAvailable:"); found {
			left = 1024 * positive(strings.TrimSuffix(strings.TrimSpace(kib), " kB"))
		}
	}
	for dir, v2 := range groups(self, root, "memory") {
		limit, used, idle := "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
		if v2 {
			limit, used, idle = "memory.max", "memory.current", "inactive_file"
		}
		l, u := positive(read(dir, limit)), positive(read(dir, used))
		for line := range strings.Lines(read(dir, "memory.stat")) {
			if name, bytes, _ := strings.Cut(line, " "); name == idle { // of files, given back when there is need
				u -= positive(bytes)
			}
		}
		if l > 0 { // without a limit there is no number, or no file
			left = min(left, max(0, l-max(0, u)))
		}
	}
	return int(min(left, math.MaxInt64/2))
}

// read is what a file says; one that is missing says nothing.
func read(dir, name string) string {
	text, _ := os.ReadFile(filepath.Join(dir, name))
	return strings.TrimSpace(string(text))
}

// positive is the number that a text is, 0 if it is none or not above that.
func positive(text string) float64 {
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(x > 0) {
		return 0
	}
	return x
}
