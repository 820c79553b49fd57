//go:build cgo && !nompi

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/apps/internal/result"
	"shiftwork/checkpoint"
	"shiftwork/internal/mpirun"
)

// sorJob starts sor under mpirun, going on from where the folder is, if it is anywhere.
func sorJob(t *testing.T, dir string, ranks int) *launchedJob {
	t.Helper()
	command := slices.Concat(mpirun.Command(ranks), []string{filepath.Join(programs, "sor"), "--n", "250", "--iterations", tooMany, "--every", "30ms"})
	if all, err := checkpoint.Generations(dir); err == nil && len(all) > 0 {
		command = append(command, "--restart", dir)
	}
	return startJob(t, dir, command...)
}

// whole is the result of an uninterrupted run of so many iterations.
func whole(t *testing.T, iterations int) result.Line {
	t.Helper()
	return alone(t, "sor", "--n", "250", "--ranks", "2", "--iterations", fmt.Sprint(iterations)).line(t)
}

// SIGUSR1, which batch systems send to mpirun and mpirun passes on, stops all ranks after the same sweep. The run goes on with another
// number of ranks, and comes to the bits of one that was never stopped.
func TestMPIWarned(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "c")
	l := sorJob(t, dir, 4).signal(t, syscall.SIGUSR1).line(t)
	assert.Equal(t, "signal", l.Stopped)
	assert.Equal(t, whole(t, l.Iterations).Checksum, l.Checksum)
	again := sorJob(t, dir, 3).signal(t, syscall.SIGUSR1).line(t)
	assert.Equal(t, "signal", again.Stopped)
	assert.Greater(t, again.Iterations, l.Iterations)
	more := again.Iterations + 50
	end := under(t, 2, "sor", "--n", "250", "--iterations", fmt.Sprint(more), "--restart", dir).line(t)
	assert.Empty(t, end.Stopped)
	assert.Equal(t, more, end.Iterations)
	assert.Equal(t, whole(t, more).Checksum, end.Checksum)
}

// A warning to one rank alone stops them all.
func TestMPIOneRankWarned(t *testing.T) {
	t.Parallel()
	if !mpirun.OpenMPI() {
		t.Skip("MPICH's mpirun starts ranks through a daemon: which process is which rank is not known")
	}
	j := sorJob(t, filepath.Join(t.TempDir(), "c"), 3)
	ranks := children(t, j.cmd.Process.Pid)
	require.Len(t, ranks, 3)
	require.NoError(t, syscall.Kill(slices.Max(ranks), syscall.SIGUSR1))
	require.NoError(t, j.cmd.Wait(), j.stderr.String())
	assert.Equal(t, "signal", outcome{j.stdout.String(), j.stderr.String(), 0}.line(t).Stopped)
}

// SIGTERM gives ranks a moment, SIGKILL of a rank or of mpirun none. A restart goes on from a good checkpoint either way, each time from a
// later one, and the end is right.
func TestMPIKilledAndRestarted(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "c")
	last := -1
	for round, how := range []struct {
		name string
		end  func(j *launchedJob)
	}{
		{"SIGTERM to mpirun", func(j *launchedJob) { _ = j.cmd.Process.Signal(syscall.SIGTERM) }},
		{"SIGKILL of a rank", func(j *launchedJob) { kill(t, j, 1) }},
	} {
		j := sorJob(t, dir, 2+round%2)
		time.Sleep(time.Duration(50+37*round) * time.Millisecond)
		how.end(j)
		_ = j.cmd.Wait() // it was killed
		m, err := checkpoint.Newest(dir)
		require.NoError(t, err, how.name)
		require.Greater(t, m.Step, last, how.name)
		last = m.Step
	}
	end := under(t, 3, "sor", "--n", "250", "--iterations", fmt.Sprint(last+20), "--restart", dir, "--checkpoint", dir).line(t)
	assert.Equal(t, whole(t, last+20).Checksum, end.Checksum)
}

// kill kills one of the processes that mpirun has started.
func kill(t *testing.T, j *launchedJob, which int) {
	t.Helper()
	ranks := children(t, j.cmd.Process.Pid)
	if !mpirun.OpenMPI() {
		ranks = children(t, ranks[0])
	}
	slices.Sort(ranks)
	p, err := os.FindProcess(ranks[which])
	require.NoError(t, err)
	require.NoError(t, p.Kill())
}
