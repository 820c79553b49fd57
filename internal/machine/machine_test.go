package machine

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// quotaOf is the quota of a process whose groups are listed in self and described by the files.
func quotaOf(t *testing.T, self string, files map[string]string) quota {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		write(t, root, name, text)
	}
	return findQuota(write(t, root, "self", self), root)
}

// write makes a file, and the folders on its way, and returns its path.
func write(t *testing.T, root, name, text string) string {
	t.Helper()
	path := filepath.Join(root, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func TestQuota(t *testing.T) {
	for _, c := range []struct {
		name, self string
		files      map[string]string
		want       quota
	}{
		{"v2, own group", "0::/job\n", map[string]string{"job/cpu.max": "40000 100000\n"}, quota{share: 0.4, period: 0.1}},
		{"v2, group above", "0::/a/b\n", map[string]string{"a/b/cpu.max": "max 100000\n", "a/cpu.max": "5000 10000\n"}, quota{share: 0.5, period: 0.01}},
		{"v2, none", "0::/job\n", map[string]string{"job/cpu.max": "max 100000\n"}, quota{}},
		{"v2, two of them", "0::/a/b\n", map[string]string{"a/b/cpu.max": "40000 100000\n", "a/cpu.max": "5000 10000\n"}, quota{share: 0.4, period: 0.1}},
		{"v2, more than a processor", "0::/job\n", map[string]string{"job/cpu.max": "400000 100000\n"}, quota{share: 4, period: 0.1}},
		{"v2, beside v1", "1:name=x:/y\n0::/job\n", map[string]string{"unified/job/cpu.max": "40000 100000\n"}, quota{share: 0.4, period: 0.1}},
		{"v1", "3:cpu,cpuacct:/job\n1:memory:/job\n", map[string]string{
			"cpu/job/cpu.cfs_quota_us": "4000\n", "cpu/job/cpu.cfs_period_us": "10000\n"}, quota{share: 0.4, period: 0.01}},
		{"v1, named after both controllers", "3:cpu,cpuacct:/job\n", map[string]string{
			"cpu,cpuacct/job/cpu.cfs_quota_us": "4000\n", "cpu,cpuacct/job/cpu.cfs_period_us": "20000\n"}, quota{share: 0.2, period: 0.02}},
		{"v1, none", "3:cpu:/job\n", map[string]string{"cpu/job/cpu.cfs_quota_us": "-1\n", "cpu/job/cpu.cfs_period_us": "100000\n"}, quota{}},
		{"nonsense", "x\n0::/job\n", map[string]string{"job/cpu.max": "a b c\n"}, quota{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := quotaOf(t, c.self, c.files)
			assert.InDelta(t, c.want.share, got.share, 1e-12)
			assert.Equal(t, c.want.period, got.period)
		})
	}
	assert.Zero(t, findQuota(filepath.Join(t.TempDir(), "missing"), "/"))
}

// The group whose quota is the smallest counts, in both versions; where nothing is counted, nothing is used up.
func TestQuotaUsedUp(t *testing.T) {
	for _, c := range []struct {
		name, self string
		files      map[string]string
		want       float64
	}{
		{"v2", "0::/a/b\n", map[string]string{"a/b/cpu.max": "40000 100000\n", "a/cpu.max": "2000 10000\n",
			"a/b/cpu.stat": "nr_periods 9\nnr_throttled 9\n", "a/cpu.stat": "usage_usec 1\nnr_periods 50\nnr_throttled 30\nthrottled_usec 5\n"}, 30 * 0.002},
		{"v1", "3:cpu:/job\n", map[string]string{"cpu/job/cpu.cfs_quota_us": "4000\n", "cpu/job/cpu.cfs_period_us": "10000\n",
			"cpu/job/cpu.stat": "nr_periods 20\nnr_throttled 5\nthrottled_time 7\n"}, 5 * 0.004},
		{"not counted", "0::/job\n", map[string]string{"job/cpu.max": "40000 100000\n"}, 0},
		{"nonsense", "0::/job\n", map[string]string{"job/cpu.max": "40000 100000\n", "job/cpu.stat": "nr_throttled x\n"}, 0},
		{"no quota", "0::/job\n", map[string]string{"job/cpu.stat": "nr_throttled 4\n"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := quotaOf(t, c.self, c.files).counted()
			defer q.stat.Close() // it may be nil
			for range 2 {
				assert.InDelta(t, c.want, q.usedUp(), 1e-9)
			}
		})
	}
}

func TestCache(t *testing.T) {
	for _, c := range []struct {
		name, kind, size string
		want             int
	}{
		{"unified", "Unified", "1024K", 1 << 20},
		{"data", "Data", "512K", 512 << 10},
		{"of instructions", "Instruction", "512K", 0},
		{"another unit", "Unified", "1M", 0},
		{"nonsense", "Unified", "0K", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			for level, size := range map[string]string{"1": "32K", "2": c.size, "3": "8192K"} {
				dir := filepath.Join(root, "index"+level)
				require.NoError(t, os.Mkdir(dir, 0o755))
				for name, text := range map[string]string{"level": level, "type": c.kind, "size": size} {
					require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o644))
				}
			}
			assert.Equal(t, c.want, cache(root))
		})
	}
	assert.Zero(t, cache(filepath.Join(t.TempDir(), "missing")))
	assert.GreaterOrEqual(t, Cache(), 32<<10)
}

func TestQuantum(t *testing.T) {
	q := Quantum()
	assert.GreaterOrEqual(t, q, DefaultQuantum)
	assert.Less(t, q, 10.0)
}

func TestNumber(t *testing.T) {
	file := filepath.Join(t.TempDir(), "boot_id")
	assert.Equal(t, -1, number(file), "no Linux")
	seen := map[int]bool{}
	for _, id := range []string{"0bd1f6ae-7b8f-4d5e-9e55-000000000001\n", "0bd1f6ae-7b8f-4d5e-9e55-000000000002\n", "a", "b"} {
		require.NoError(t, os.WriteFile(file, []byte(id), 0o600))
		got := number(file)
		assert.GreaterOrEqual(t, got, 0)
		assert.LessOrEqual(t, got, math.MaxInt32, "a colour of MPI")
		assert.Equal(t, got, number(file))
		seen[got] = true
	}
	assert.Len(t, seen, 4)
}
