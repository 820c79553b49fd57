//go:build cgo && !nompi

package mpi_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"shiftwork/comm/mpi"
	"shiftwork/internal/mpirun"
)

// While a rank waits, Go's monitor sleeps 10 ms at a time: it came after each of the wait's sleeps, some thousand times a second (monitor.go).
func TestTheMonitorComesSeldom(t *testing.T) {
	runtime.LockOSThread() // for good: the thread that is bound here, and what it starts with it, ends with the test
	var cores unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &cores))
	first := 0
	for !cores.IsSet(first) {
		first++
	}
	cores.Zero()
	cores.Set(first)
	require.NoError(t, unix.SchedSetaffinity(0, &cores))
	exe, err := os.Executable()
	require.NoError(t, err)
	r, err := mpirun.Run(time.Minute, 2, []string{rankEnv + "=seldom"}, exe)
	require.NoError(t, err)
	require.Equal(t, 0, r.Code, r.Stderr)
	_, text, found := strings.Cut(r.Stdout, "others ran ")
	require.True(t, found, r.Stdout)
	count, err := strconv.Atoi(strings.Fields(text)[0])
	require.NoError(t, err)
	require.Less(t, count, 500)
	require.Greater(t, count, 0)
}

// countOthers prints how often threads other than that of rank 0 have run while it waited for a second.
func countOthers(c *mpi.Comm) error {
	if c.Rank() == 1 {
		time.Sleep(time.Second)
		return c.Send(0, 0, nil)
	}
	before, err := switches()
	if err != nil {
		return err
	}
	if _, err := c.Recv(1, 0, nil); err != nil {
		return err
	}
	after, err := switches()
	if err != nil {
		return err
	}
	_, err = fmt.Printf("others ran %d times\n", after-before)
	return err
}

// switches is how often threads of this process other than this one have gone to sleep.
func switches() (sum int, err error) {
	threads, err := filepath.Glob("/proc/self/task/*")
	for _, thread := range threads {
		text, err := os.ReadFile(filepath.Join(thread, "status"))
		if err != nil || filepath.Base(thread) == strconv.Itoa(unix.Gettid()) {
			continue // it may have ended
		}
		for line := range strings.Lines(string(text)) {
			if n, found := strings.CutPrefix(line, "voluntary_ctxt_switches:"); found {
				count, err := strconv.Atoi(strings.TrimSpace(n))
				if err != nil {
					return 0, err
				}
				sum += count
			}
		}
	}
	return sum, err
}
