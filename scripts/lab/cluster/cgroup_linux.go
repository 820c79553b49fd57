package cluster

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"shiftwork/scripts/internal/arguments"
)

// hierarchy is where the kernel keeps groups of processes. Its files are the kernel's: they are there as soon as a
// folder is, and go with it. Tests imitate that through mkdir and rmdir.
type hierarchy struct {
	v2    bool
	cpu   string // folder of the groups with quotas
	acct  string // folder of the groups with accounts; cpu, unless v1 keeps them apart
	mkdir func(path string) error
	rmdir func(path string) error
}

// cgroupRoot is where systems mount groups.
const cgroupRoot = "/sys/fs/cgroup"

// findHierarchy looks for a cpu controller below root: that of v2, also where it is mounted beside v1, or v1's.
func findHierarchy(root string) (*hierarchy, error) {
	h := &hierarchy{
		mkdir: func(path string) error { return os.Mkdir(path, 0o755) },
		rmdir: os.Remove,
	}
	for _, dir := range []string{root, filepath.Join(root, "unified")} {
		text, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
		if err == nil && slices.Contains(strings.Fields(string(text)), "cpu") {
			h.v2, h.cpu, h.acct = true, dir, dir
			return h, nil
		}
	}
	first := func(file string, names ...string) string {
		for _, name := range names {
			if _, err := os.Stat(filepath.Join(root, name, file)); err == nil {
				return filepath.Join(root, name)
			}
		}
		return ""
	}
	h.cpu = first("cpu.shares", "cpu", "cpu,cpuacct", "cpuacct,cpu")
	h.acct = first("cpuacct.usage", "cpu", "cpu,cpuacct", "cpuacct,cpu", "cpuacct")
	if h.cpu == "" || h.acct == "" {
		return nil, arguments.Refuse("no cgroup with a cpu controller below %s: "+
			"neither v2's cgroup.controllers nor v1's cpu and cpuacct", root)
	}
	if same(h.cpu, h.acct) {
		h.acct = h.cpu
	}
	return h, nil
}

// same says whether two paths name one folder: v1's cpu is often a link to cpu,cpuacct.
func same(a, b string) bool {
	fa, errA := os.Stat(a)
	fb, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(fa, fb)
}

// roots are the folders that hold groups, each once.
func (h *hierarchy) roots() []string {
	if h.cpu == h.acct {
		return []string{h.cpu}
	}
	return []string{h.cpu, h.acct}
}

// prepare makes room for groups at the top: v2 hands the controller down only where that is written.
func (h *hierarchy) prepare() error {
	if !h.v2 {
		return nil
	}
	if err := handDown(h.cpu); err != nil {
		return arguments.Refuse("cgroup v2 does not hand its cpu controller down from %s "+
			"(a group that is not the root one must have no processes of its own): %v", h.cpu, err)
	}
	return nil
}

// handDown gives the folder's subgroups the cpu controller.
func handDown(dir string) error {
	file := filepath.Join(dir, "cgroup.subtree_control")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if slices.Contains(strings.Fields(string(text)), "cpu") {
		return nil
	}
	return writeFile(file, "+cpu")
}

// create makes a group, whose parent must be there. A group with subgroups (inner) has no processes.
func (h *hierarchy) create(group string, inner bool) error {
	for _, root := range h.roots() {
		if err := h.mkdir(filepath.Join(root, group)); err != nil {
			return err
		}
	}
	if inner && h.v2 {
		return handDown(filepath.Join(h.cpu, group))
	}
	return nil
}

// limit gives a group a quota of so much CPU time in each period.
func (h *hierarchy) limit(group string, quota, period time.Duration) error {
	dir := filepath.Join(h.cpu, group)
	if h.v2 {
		return writeFile(filepath.Join(dir, "cpu.max"), fmt.Sprintf("%d %d", quota.Microseconds(), period.Microseconds()))
	}
	// The period first: together with the default period the quota could be out of bounds.
	if err := writeFile(filepath.Join(dir, "cpu.cfs_period_us"), strconv.Itoa(int(period.Microseconds()))); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, "cpu.cfs_quota_us"), strconv.Itoa(int(quota.Microseconds())))
}

// weigh makes a group count as so many against its siblings.
func (h *hierarchy) weigh(group string, count int) error {
	if h.v2 {
		return writeFile(filepath.Join(h.cpu, group, "cpu.weight"), strconv.Itoa(min(100*count, 10_000)))
	}
	return writeFile(filepath.Join(h.cpu, group, "cpu.shares"), strconv.Itoa(min(1024*count, 262_144)))
}

// entrances are the files that move a process into a group when its number, or 0 for the writer, is written to them.
func (h *hierarchy) entrances(group string) []string {
	var files []string
	for _, root := range h.roots() {
		files = append(files, filepath.Join(root, group, "cgroup.procs"))
	}
	return files
}

// used is the CPU time that a group and all below it have used.
func (h *hierarchy) used(group string) (time.Duration, error) {
	if !h.v2 {
		text, err := os.ReadFile(filepath.Join(h.acct, group, "cpuacct.usage"))
		if err != nil {
			return 0, err
		}
		ns, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		return time.Duration(ns), err
	}
	stat, err := readStat(filepath.Join(h.cpu, group, "cpu.stat"))
	return time.Duration(stat["usage_usec"]) * time.Microsecond, err
}

// throttling is how a group's quota has been used.
type throttling struct {
	periods, throttled int64
	time               time.Duration
}

func (h *hierarchy) throttling(group string) (throttling, error) {
	stat, err := readStat(filepath.Join(h.cpu, group, "cpu.stat"))
	t := throttling{periods: stat["nr_periods"], throttled: stat["nr_throttled"]}
	if h.v2 {
		t.time = time.Duration(stat["throttled_usec"]) * time.Microsecond
	} else {
		t.time = time.Duration(stat["throttled_time"])
	}
	return t, err
}

// readStat reads lines of a key and a number.
func readStat(file string) (map[string]int64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	stat := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if stat[key], err = strconv.ParseInt(value, 10, 64); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return stat, nil
}

// remove kills what runs in a group and below it, and removes them; a group that is not there is removed already.
func (h *hierarchy) remove(group string) error {
	var errs []error
	for _, root := range h.roots() {
		errs = append(errs, h.removeTree(filepath.Join(root, group)))
	}
	return errors.Join(errs...)
}

// dying is how long killed processes may take to be gone. They need CPU time for it, of which a group with a small
// quota has little.
const dying = 10 * time.Second

func (h *hierarchy) removeTree(top string) error {
	deadline := time.Now().Add(dying)
	for {
		dirs, err := below(top)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, dir := range slices.Backward(dirs) {
			if err = killAll(dir); err != nil {
				return err
			}
			if err = h.rmdir(dir); errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
		}
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s cannot be removed: %w", top, err)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// end kills what runs in a group and below it, and waits until it is gone. The group stays.
func (h *hierarchy) end(group string) error {
	deadline := time.Now().Add(dying)
	for {
		left := 0
		for _, root := range h.roots() {
			dirs, err := below(filepath.Join(root, group))
			if err != nil {
				return err
			}
			for _, dir := range dirs {
				pids, err := processes(dir)
				if err != nil {
					return err
				}
				left += len(pids)
				if err := killAll(dir); err != nil {
					return err
				}
			}
		}
		if left == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d processes in group %s have not ended %v after they were killed", left, group, dying)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// below lists a folder and the folders below it, outer ones first.
func below(top string) ([]string, error) {
	var dirs []string
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && path != top: // gone since it was listed
			return nil
		case err != nil:
			return err
		case d.IsDir():
			dirs = append(dirs, path)
		}
		return nil
	})
	return dirs, err
}

// processes are those in the group itself, not below it.
func processes(dir string) ([]int, error) {
	file, err := os.Open(filepath.Join(dir, "cgroup.procs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	var pids []int
	for lines := bufio.NewScanner(file); lines.Scan(); {
		pid, err := strconv.Atoi(lines.Text())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.Name(), err)
		}
		if pid > 0 { // 0: in another PID namespace, out of our reach
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// killAll kills the processes in the group itself. Between looking and killing, a number may have passed to another
// process; so it is held by a descriptor, and looked for in the group once more.
func killAll(dir string) error {
	pids, err := processes(dir)
	if err != nil {
		return err
	}
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if errors.Is(err, unix.ESRCH) {
			continue
		}
		if err != nil {
			return fmt.Errorf("process %d in %s: %w", pid, dir, err)
		}
		still, err := processes(dir)
		if err == nil && slices.Contains(still, pid) {
			if err = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); errors.Is(err, unix.ESRCH) {
				err = nil
			}
		}
		_ = unix.Close(fd)
		if err != nil {
			return fmt.Errorf("killing process %d in %s: %w", pid, dir, err)
		}
	}
	return nil
}

// writeFile writes to a file that must be there, in one write, as the kernel's files want it.
func writeFile(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
