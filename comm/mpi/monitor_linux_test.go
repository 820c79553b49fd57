//go:build cgo && !nompi

package mpi_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"shiftwork/internal/mpirun"
)

// A rank that is bound to one core has a second P, or else Go's monitor takes its only one at each wait (monitor.go); but not against the user's will.
func TestASpareProcessor(t *testing.T) {
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
	for asked, want := range map[string]int{"": 2, "1": 1} {
		r, err := mpirun.Run(time.Minute, 2, []string{rankEnv + "=processors", "GOMAXPROCS=" + asked}, exe)
		require.NoError(t, err)
		require.Equal(t, 0, r.Code, r.Stderr)
		require.Contains(t, r.Stdout, fmt.Sprintf("rank 0 has %d\n", want), "GOMAXPROCS=%s", asked)
	}
}
