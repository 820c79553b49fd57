package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// prefix starts the name of everything that a cluster makes.
const prefix = "swlab-"

// nameOf takes a name apart: PID, start and sequence of the cluster, and what follows.
var nameOf = regexp.MustCompile(`^(` + prefix + `([0-9]+)-([0-9]+)-[0-9]+)(-.*)?$`)

var sequence atomic.Int64

// newName is a name that no other cluster has, on this machine and since its start.
func newName() (string, error) {
	start, err := startOf(os.Getpid())
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s%d-%d-%d", prefix, os.Getpid(), start, sequence.Add(1)), nil
}

// startOf is when a process was started, in ticks since the machine's start: field 22 of its stat file.
func startOf(pid int) (int64, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, err
	}
	// Field 2 is the name in brackets, which may hold spaces and brackets.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 20 {
		return 0, fmt.Errorf("/proc/%d/stat has an unknown form", pid)
	}
	return strconv.ParseInt(fields[19], 10, 64)
}

// orphan is the cluster that a name belongs to, if its owner is gone.
func orphan(name string) (cluster string, ok bool) {
	part := nameOf.FindStringSubmatch(name)
	if part == nil {
		return "", false
	}
	pid, err := strconv.Atoi(part[2])
	if err != nil {
		return "", false
	}
	start, err := startOf(pid)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return part[1], true
	case err != nil: // it is there, and cannot be looked at
		return "", false
	}
	return part[1], strconv.FormatInt(start, 10) != part[3]
}

// stateRoot holds the scripts of clusters: a folder that only root writes to, and that is empty after a start of the
// machine. sharedRoot holds what ranks share in memory.
const (
	stateRoot  = "/run"
	sharedRoot = "/dev/shm"
	netnsRoot  = "/run/netns"
)

// removeLeftovers removes what clusters of owners that are gone left behind.
func removeLeftovers(h *hierarchy) error {
	var names []string
	for _, root := range append(h.roots(), stateRoot, sharedRoot, netnsRoot) {
		entries, err := os.ReadDir(root)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			if name, ok := orphan(e.Name()); ok && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	var errs []error
	for _, name := range names {
		errs = append(errs, removeAll(h, name))
	}
	return errors.Join(errs...)
}

// removeAll removes everything that bears a cluster's name. Processes go first: they hold the rest.
func removeAll(h *hierarchy, name string) error {
	return errors.Join(
		h.remove(name),
		removeNamespaces(name),
		os.RemoveAll(filepath.Join(sharedRoot, name)),
		os.RemoveAll(filepath.Join(stateRoot, name)))
}
