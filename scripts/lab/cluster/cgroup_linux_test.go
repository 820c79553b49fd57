package cluster

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/scripts/internal/arguments"
)

// imitated is a tree of files like the kernel's: groups get their files with their folder, and lose them with it.
func imitated(t *testing.T, files map[string]string) (root string, h *hierarchy) {
	t.Helper()
	root = t.TempDir()
	put(t, root, files)
	h, err := findHierarchy(root)
	require.NoError(t, err)
	h.mkdir = func(path string) error {
		if err := os.Mkdir(path, 0o755); err != nil {
			return err
		}
		if h.v2 {
			put(t, path, map[string]string{"cgroup.procs": "", "cgroup.subtree_control": "",
				"cpu.max": "max 100000\n", "cpu.weight": "100\n",
				"cpu.stat": "usage_usec 1500\nuser_usec 1000\nnr_periods 20\nnr_throttled 3\nthrottled_usec 7000\n"})
			return nil
		}
		put(t, path, map[string]string{"cgroup.procs": ""})
		if filepath.Dir(path) == h.cpu || h.cpu == h.acct || within(path, h.cpu) {
			put(t, path, map[string]string{"cpu.cfs_quota_us": "-1\n", "cpu.cfs_period_us": "100000\n", "cpu.shares": "1024\n",
				"cpu.stat": "nr_periods 20\nnr_throttled 3\nthrottled_time 7000000\n"})
		}
		if within(path, h.acct) {
			put(t, path, map[string]string{"cpuacct.usage": "1500000\n"})
		}
		return nil
	}
	h.rmdir = func(path string) error {
		entries, err := os.ReadDir(path)
		for _, e := range entries {
			if e.IsDir() {
				return errors.New("directory not empty")
			}
		}
		return errors.Join(err, os.RemoveAll(path))
	}
	return root, h
}

func within(path, root string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(rel)
}

func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
}

func content(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	require.NoError(t, err)
	return string(text)
}

// trees are how systems mount groups.
var trees = map[string]struct {
	files map[string]string
	v2    bool
	cpu   string // where groups with quotas are
	acct  string // where accounts are
}{
	"v1, apart": {map[string]string{"cpu/cpu.shares": "1024", "cpuacct/cpuacct.usage": "0"}, false, "cpu", "cpuacct"},
	"v1, together": {map[string]string{"cpu,cpuacct/cpu.shares": "1024", "cpu,cpuacct/cpuacct.usage": "0"},
		false, "cpu,cpuacct", "cpu,cpuacct"},
	"v2":            {map[string]string{"cgroup.controllers": "io cpu\n", "cgroup.subtree_control": ""}, true, "", ""},
	"v2, cpu given": {map[string]string{"cgroup.controllers": "cpu\n", "cgroup.subtree_control": "cpu\n"}, true, "", ""},
	"v2 beside v1": {map[string]string{"unified/cgroup.controllers": "hugetlb\n", "cpu/cpu.shares": "1024",
		"cpuacct/cpuacct.usage": "0"}, false, "cpu", "cpuacct"},
	"v2 for the cpu, v1 for others": {map[string]string{"unified/cgroup.controllers": "cpu\n",
		"unified/cgroup.subtree_control": "", "memory/tasks": ""}, true, "unified", "unified"},
}

func TestGroupsOnImitatedTrees(t *testing.T) {
	for name, tree := range trees {
		t.Run(name, func(t *testing.T) {
			root, h := imitated(t, tree.files)
			assert.Equal(t, tree.v2, h.v2)
			assert.Equal(t, filepath.Join(root, tree.cpu), h.cpu)
			assert.Equal(t, filepath.Join(root, tree.acct), h.acct)
			require.NoError(t, h.prepare())
			require.NoError(t, h.create("lab", true))
			require.NoError(t, h.weigh("lab", 4))
			require.NoError(t, h.create("lab/ws0", true))
			require.NoError(t, h.limit("lab/ws0", 4*time.Millisecond, 10*time.Millisecond))
			require.NoError(t, h.create("lab/ws0/app", false))
			group := filepath.Join(root, tree.cpu, "lab")
			if h.v2 {
				assert.Contains(t, content(t, h.cpu, "cgroup.subtree_control"), "cpu")
				assert.Equal(t, "+cpu", content(t, group, "ws0/cgroup.subtree_control"))
				assert.Empty(t, content(t, group, "ws0/app/cgroup.subtree_control"), "processes are in leaves only")
				assert.Equal(t, "4000 10000", content(t, group, "ws0/cpu.max"))
				assert.Equal(t, "400", content(t, group, "cpu.weight"))
			} else {
				assert.Equal(t, "4000", content(t, group, "ws0/cpu.cfs_quota_us"))
				assert.Equal(t, "10000", content(t, group, "ws0/cpu.cfs_period_us"))
				assert.Equal(t, "4096", content(t, group, "cpu.shares"))
			}
			used, err := h.used("lab/ws0/app")
			require.NoError(t, err)
			assert.Equal(t, 1500*time.Microsecond, used)
			throttled, err := h.throttling("lab/ws0")
			require.NoError(t, err)
			assert.Equal(t, throttling{periods: 20, throttled: 3, time: 7 * time.Millisecond}, throttled)
			for _, file := range h.entrances("lab/ws0/app") {
				assert.FileExists(t, file)
			}
			assert.Len(t, h.entrances("lab"), len(h.roots()))

			require.NoError(t, h.create("other", false))
			require.NoError(t, h.remove("lab"))
			for _, dir := range h.roots() {
				assert.NoDirExists(t, filepath.Join(dir, "lab"))
				assert.DirExists(t, filepath.Join(dir, "other"))
			}
			assert.NoError(t, h.remove("lab"), "removed already")
		})
	}
}

func TestNoHierarchy(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"nothing":             nil,
		"v2 without cpu":      {"cgroup.controllers": "memory pids cpuset\n"},
		"v1 without accounts": {"cpu/cpu.shares": "1024"},
		"v1 without cpu":      {"cpuacct/cpuacct.usage": "0"},
	} {
		root := t.TempDir()
		put(t, root, files)
		_, err := findHierarchy(root)
		assert.ErrorIs(t, err, arguments.ErrRefused, name)
		assert.ErrorContains(t, err, "no cgroup with a cpu controller", name)
	}
}

// A group that may not hand its controller down is refused with the reason.
func TestV2WithoutDelegation(t *testing.T) {
	_, h := imitated(t, map[string]string{"cgroup.controllers": "cpu\n"})
	err := h.prepare()
	assert.ErrorIs(t, err, arguments.ErrRefused)
	assert.ErrorContains(t, err, "does not hand its cpu controller down")
}

// Only what is in the group is killed, and it is killed where v1 lists it in either tree.
func TestRemoveKillsWhatIsInTheGroup(t *testing.T) {
	for name, tree := range trees {
		t.Run(name, func(t *testing.T) {
			_, h := imitated(t, tree.files)
			require.NoError(t, h.create("lab", true))
			require.NoError(t, h.create("lab/app", false))
			require.NoError(t, h.create("other", false))
			inside, outside := sleeper(t), sleeper(t)
			put(t, filepath.Join(h.acct, "lab/app"), map[string]string{"cgroup.procs": strconv.Itoa(inside.Process.Pid) + "\n"})
			put(t, filepath.Join(h.acct, "other"), map[string]string{"cgroup.procs": strconv.Itoa(outside.Process.Pid) + "\n"})
			require.NoError(t, h.remove("lab"))
			assert.ErrorContains(t, inside.Wait(), "killed")
			assert.True(t, alive(t, outside.Process.Pid))
		})
	}
}

func TestProcesses(t *testing.T) {
	dir := t.TempDir()
	pids, err := processes(dir)
	assert.Empty(t, pids)
	require.NoError(t, err, "the group is gone")
	put(t, dir, map[string]string{"cgroup.procs": "12\n0\n34\n"})
	pids, err = processes(dir)
	require.NoError(t, err)
	assert.Equal(t, []int{12, 34}, pids, "0 is a process that has no number here")
	put(t, dir, map[string]string{"cgroup.procs": "twelve\n"})
	_, err = processes(dir)
	assert.Error(t, err)
}

// sleeper is a process that does nothing until it is killed, at the latest at the end of the test.
func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

func alive(t *testing.T, pid int) bool {
	t.Helper()
	_, err := startOf(pid)
	return err == nil
}

func TestNames(t *testing.T) {
	name, err := newName()
	require.NoError(t, err)
	other, err := newName()
	require.NoError(t, err)
	assert.NotEqual(t, name, other)
	_, gone := orphan(name)
	assert.False(t, gone, "its owner is this process")
	_, gone = orphan(name + "-ws3")
	assert.False(t, gone)
	for _, foreign := range []string{
		"", "swlab", "swlab-", "swlab-1", "swlab-x-1-1", "xswlab-999999999-1-1", "swlab-999999999-1-1x", "docker",
	} {
		_, gone = orphan(foreign)
		assert.False(t, gone, foreign)
	}
	// The same process number, another start: not the owner.
	cluster, gone := orphan("swlab-" + strconv.Itoa(os.Getpid()) + "-1-7-net")
	assert.True(t, gone)
	assert.Equal(t, "swlab-"+strconv.Itoa(os.Getpid())+"-1-7", cluster)
	cluster, gone = orphan("swlab-999999999-1-2") // above the kernel's limit of 4194304
	assert.True(t, gone)
	assert.Equal(t, "swlab-999999999-1-2", cluster)
}
