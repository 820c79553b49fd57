//go:build cgo && !nompi

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/internal/mpirun"
)

// under runs a program with real MPI.
func under(t *testing.T, ranks int, program string, args ...string) outcome {
	t.Helper()
	return launch(t, nil, ranks, filepath.Join(programs, program), args...)
}

func launch(t *testing.T, env []string, ranks int, path string, args ...string) outcome {
	t.Helper()
	command := slices.Concat(mpirun.Command(ranks), []string{path}, args)
	return start(t, env, command[0], command[1:]...)
}

// Under mpirun the programs give what they give alone, for every number of ranks, policy, master and interaction.
func TestMPIGivesTheSameAnswer(t *testing.T) {
	for _, program := range [][]string{
		{"sor", "--n", "997", "--m", "1013", "--iterations", "6", "--period", "20ms"},
		{"mm", "--n", "311", "--period", "1ms"},
	} {
		want := alone(t, program[0], append(program[1:], "--ranks", "1", "--verify")...).verified(t)
		for _, c := range []struct {
			ranks int
			flags []string
		}{
			{1, nil},
			{2, []string{"--balance", "rotate"}},
			{3, []string{"--balance", "random", "--interaction", "synchronous"}},
			{5, []string{"--balance", "off", "--master", "dedicated"}},
			{7, []string{"--balance", "random", "--master", "dedicated"}},
			{8, nil},
			{8, []string{"--balance", "rotate", "--interaction", "synchronous"}},
		} {
			args := slices.Concat(program[1:], []string{"--verify"}, c.flags)
			l := under(t, c.ranks, program[0], args...).verified(t)
			assert.Equal(t, want.Checksum, l.Checksum, "%d ranks %v", c.ranks, c.flags)
			assert.Equal(t, "mpi", l.Transport)
			assert.Equal(t, c.ranks, l.Ranks)
		}
	}
}

// A thousand interactions, each of which moves work.
func TestMPIMovesWork(t *testing.T) {
	for _, balance := range []string{"rotate", "random"} {
		l := under(t, 3, "sor", "--n", "33", "--m", "113", "--iterations", "260", "--block", "20", "--balance", balance,
			"--period", "1us", "--verify").verified(t)
		assert.GreaterOrEqual(t, l.Interactions, 1000)
		assert.GreaterOrEqual(t, l.Shifts, l.Interactions-1)
		assert.GreaterOrEqual(t, l.Moved, l.Shifts)
		l = under(t, 2, "mm", "--n", "401", "--repeat", "10", "--balance", balance, "--period", "1ms", "--verify").verified(t)
		assert.Positive(t, l.Moved, "%v", l)
	}
}

// Several processes write one file, which is the one that a single rank writes.
func TestMPIWritesTheSameFile(t *testing.T) {
	dir := t.TempDir()
	one, many := filepath.Join(dir, "one.npy"), filepath.Join(dir, "many.npy")
	flags := []string{"--input", plate(), "--iterations", "30", "--quiet", "--output"}
	alone(t, "sor", append(flags, one, "--ranks", "1")...).line(t)
	under(t, 5, "sor", append(flags, many, "--balance", "random", "--period", "1us", "--record", filepath.Join(dir, "run.jsonl"),
		"--report", filepath.Join(dir, "run.json"))...).line(t)
	assert.True(t, content(t, one) == content(t, many))
	assert.True(t, strings.HasPrefix(content(t, filepath.Join(dir, "run.jsonl")), `{"schema":"shiftwork","version":2}`+"\n"))
	assert.Contains(t, content(t, filepath.Join(dir, "run.json")), `"transport": "mpi"`)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 4, "no temporary files are left")
}

// What is refused alone is refused under mpirun, by one rank's voice. One case for each place where it may be found out.
func TestMPIRefused(t *testing.T) {
	dir, outputs := prepare(t)
	found := 0
	for _, r := range refusals() {
		if !slices.Contains([]string{"unknown flag", "adjacent mm", "truncated", "inner dimensions", "no folders at all", "too many numbers", "record is input"}, r.name) {
			continue
		}
		found++
		t.Run(r.name, func(t *testing.T) {
			t.Parallel() // mpirun waits most of the time
			args := r.commandLine(dir, outputs)
			under(t, 3, args[0], args[1:]...).refused(t, r.says...)
			nothingIn(t, outputs)
		})
	}
	assert.Equal(t, 7, found)
}

func TestMPIHelpIsShownOnce(t *testing.T) {
	o := under(t, 3, "sor", "--help")
	assert.Zero(t, o.code)
	assert.Empty(t, ours(o.stderr))
	assert.Equal(t, 1, strings.Count(o.stdout, "Usage: sor"))
}

// A program that was built without MPI says so under mpirun.
func TestMPIWithAProgramWithoutIt(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, build(dir, "nompi"))
	launch(t, nil, 3, filepath.Join(dir, "sor"), "--n", "50").refused(t, "built without MPI")
	assert.Zero(t, start(t, nil, filepath.Join(dir, "sor"), "--n", "50", "--ranks", "3").code)
}

func TestMPIFailures(t *testing.T) {
	for i, f := range failures {
		t.Run(f.how, func(t *testing.T) {
			t.Parallel()
			checkFailure(t, i, launch(t, []string{fmt.Sprintf("%s=%s", rankEnv, f.how)}, 3, os.Args[0]))
		})
	}
}

// job is a long sor under mpirun.
type job struct {
	cmd            *exec.Cmd
	stdout, stderr locked
	ended          chan error
	ranks          []int // process ids
}

// locked is a buffer that is read while a process writes to it.
type locked struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// run starts the job and returns when its loop is running.
func run(t *testing.T, ranks int) *job {
	t.Helper()
	j := &job{ended: make(chan error, 1)}
	command := slices.Concat(mpirun.Command(ranks), []string{filepath.Join(programs, "sor")}, endless())
	j.cmd = exec.Command(command[0], command[1:]...)
	j.cmd.Env = environment()
	j.cmd.Stdout, j.cmd.Stderr = &j.stdout, &j.stderr
	j.cmd.WaitDelay = 10 * time.Second
	require.NoError(t, j.cmd.Start())
	go func() { j.ended <- j.cmd.Wait() }()
	t.Cleanup(func() {
		_ = j.cmd.Process.Kill() // all of them are gone unless the test has failed
		for _, pid := range j.ranks {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	require.Eventually(t, func() bool { return strings.Contains(j.stderr.String(), "share of work") }, limit, 50*time.Millisecond,
		"no progress")
	j.ranks = children(t, j.cmd.Process.Pid)
	if !mpirun.OpenMPI() { // MPICH's starts them through a daemon
		require.Len(t, j.ranks, 1)
		j.ranks = children(t, j.ranks[0])
	}
	require.Len(t, j.ranks, ranks)
	return j
}

// children are the processes that a process has started, by their id.
func children(t *testing.T, parent int) []int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	var found []int
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// pid (name) state parent ...; the name may contain anything.
		fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
		if fields[1] == strconv.Itoa(parent) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			require.NoError(t, err)
			found = append(found, pid)
		}
	}
	return found
}

// end waits for the end of the job and of every rank, and returns mpirun's error.
func (j *job) end(t *testing.T, within time.Duration) error {
	t.Helper()
	var err error
	select {
	case err = <-j.ended:
	case <-time.After(within):
		require.Fail(t, "the job still runs", "after %v; stderr: %s", within, j.stderr.String())
	}
	for _, pid := range j.ranks {
		assert.Eventually(t, func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }, within, 20*time.Millisecond,
			"process %d still runs", pid)
	}
	return err
}

// A rank that is killed takes the job with it, and the user learns why.
func TestMPIKilledRank(t *testing.T) {
	t.Parallel()
	j := run(t, 3)
	require.NoError(t, syscall.Kill(j.ranks[1], syscall.SIGKILL))
	err := j.end(t, 20*time.Second)
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	assert.NotZero(t, exit.ExitCode())
	assert.Regexp(t, `process rank \d+ .*exited on signal 9 \(Killed\)|EXIT STRING: Killed \(signal 9\)`, j.stdout.String()+j.stderr.String())
	assert.NotContains(t, j.stdout.String(), "result:")
}

// Ending mpirun ends every rank.
func TestMPITerminated(t *testing.T) {
	t.Parallel()
	j := run(t, 3)
	require.NoError(t, j.cmd.Process.Signal(syscall.SIGTERM))
	assert.Error(t, j.end(t, 20*time.Second))
	assert.NotContains(t, j.stdout.String(), "result:")
}
