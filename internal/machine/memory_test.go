package machine

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMemoryLeft(t *testing.T) {
	const system = "MemTotal:       8000 kB\nMemFree:  1000 kB\nMemAvailable:    4000 kB\n"
	for _, c := range []struct {
		name, system, self string
		files              map[string]string
		want               int
	}{
		{"the system's", system, "0::/job\n", nil, 4000 << 10},
		{"no limit", system, "0::/job\n", map[string]string{"job/memory.max": "max\n", "job/memory.current": "5\n"}, 4000 << 10},
		{"v2", system, "0::/a/b\n", map[string]string{"a/b/memory.max": "3000000\n", "a/b/memory.current": "5\n",
			"a/memory.max": "1000000\n", "a/memory.current": "400000\n"}, 600000},
		{"v2, used up", system, "0::/job\n", map[string]string{"job/memory.max": "1000\n", "job/memory.current": "1001\n"}, 0},
		{"v2, files that are given back", system, "0::/job\n", map[string]string{"job/memory.max": "1000000\n", "job/memory.current": "900000\n",
			"job/memory.stat": "anon 200000\ninactive_file 600000\nactive_file 100000\n"}, 700000},
		{"v1, files that are given back", system, "3:memory:/job\n", map[string]string{"memory/job/memory.limit_in_bytes": "900000\n",
			"memory/job/memory.usage_in_bytes": "800000\n", "memory/job/memory.stat": "inactive_file 1\ntotal_inactive_file 500000\n"}, 600000},
		{"v1", system, "4:cpu:/x\n3:memory:/job\n", map[string]string{"memory/job/memory.limit_in_bytes": "900000\n",
			"memory/job/memory.usage_in_bytes": "100000\n"}, 800000},
		{"v1, no limit", system, "3:memory:/job\n", map[string]string{"memory/job/memory.limit_in_bytes": "9223372036854771712\n",
			"memory/job/memory.usage_in_bytes": "100000\n"}, 4000 << 10},
		{"nonsense", "MemAvailable: many kB\n", "x\n", nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			for name, text := range c.files {
				write(t, root, name, text)
			}
			assert.Equal(t, c.want, memoryLeft(write(t, root, "meminfo", c.system), write(t, root, "self", c.self), root))
		})
	}
	assert.Zero(t, memoryLeft(filepath.Join(t.TempDir(), "missing"), "missing", "/"))
}
