//go:build unix

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/apps/internal/result"
	"shiftwork/checkpoint"
)

// tooMany iterations are never done: the run has to be stopped.
const tooMany = "100000000"

// A run that stops at its time limit goes on, on other numbers of ranks, to the result of an uninterrupted one.
func TestTimeLimitAndRestart(t *testing.T) {
	for _, program := range [][]string{
		{"sor", "--n", "150", "--m", "170", "--iterations"},
		{"sor", "--n", "600", "--tolerance", "1e-9", "--balance", "random", "--period", "1us", "--iterations"},
		{"mm", "--n", "60", "--repeat"},
	} {
		dir := filepath.Join(t.TempDir(), "c")
		run := func(iterations string, more ...string) result.Line {
			return alone(t, program[0], append(append(program[1:len(program):len(program)], iterations), more...)...).line(t)
		}
		first := run(tooMany, "--ranks", "3", "--checkpoint", dir, "--every", "20ms", "--time-limit", "500ms", "--restart", dir+"/")
		assert.Equal(t, "time-limit", first.Stopped)
		second := run(fmt.Sprint(first.Iterations+90), "--ranks", "4", "--restart", dir, "--checkpoint", dir)
		assert.Empty(t, second.Stopped)
		assert.Equal(t, first.Iterations+90, second.Iterations)
		assert.Less(t, second.Setup+second.Time, 5*time.Second)
		whole := run(fmt.Sprint(first.Iterations+90), "--ranks", "2")
		assert.Equal(t, whole.Checksum, second.Checksum, "%v", program)
		assert.Equal(t, whole.Iterations, second.Iterations)
	}
}

// Without a folder the limit stops the run all the same, and its result is written and verified.
func TestTimeLimitWithoutCheckpoint(t *testing.T) {
	file := filepath.Join(t.TempDir(), "u.npy")
	l := alone(t, "sor", "--n", "100", "--iterations", tooMany, "--ranks", "2", "--time-limit", "200ms", "--output", file, "--verify").verified(t)
	assert.Equal(t, "time-limit", l.Stopped)
	assert.FileExists(t, file)
}

// launchedJob is a program under way that writes checkpoints.
type launchedJob struct {
	cmd            *exec.Cmd
	stdout, stderr strings.Builder
	dir            string
}

// startJob starts a command with --checkpoint and waits for the first one.
func startJob(t *testing.T, dir string, command ...string) *launchedJob {
	t.Helper()
	j := &launchedJob{cmd: exec.Command(command[0], append(command[1:], "--checkpoint", dir)...), dir: dir}
	j.cmd.Env = environment()
	j.cmd.Stdout, j.cmd.Stderr = &j.stdout, &j.stderr
	j.cmd.WaitDelay = 10 * time.Second
	before := j.newest()
	require.NoError(t, j.cmd.Start())
	t.Cleanup(func() { _ = j.cmd.Process.Kill() })
	require.Eventually(t, func() bool { return j.newest() > before }, limit, 10*time.Millisecond, "no checkpoint")
	return j
}

func (j *launchedJob) newest() int {
	all, err := checkpoint.Generations(j.dir)
	if err != nil || len(all) == 0 {
		return -1
	}
	return all[0]
}

// signal sends a signal and waits for the end.
func (j *launchedJob) signal(t *testing.T, s os.Signal) outcome {
	t.Helper()
	require.NoError(t, j.cmd.Process.Signal(s))
	_ = j.cmd.Wait() // the exit code tells
	var said []string
	for line := range strings.Lines(j.stderr.String()) {
		if !strings.HasPrefix(line, "mpirun: Forwarding signal") {
			said = append(said, line)
		}
	}
	return outcome{j.stdout.String(), strings.Join(said, ""), j.cmd.ProcessState.ExitCode()}
}

// A warning and, where there are checkpoints, also SIGTERM stop the run as it should be: with a checkpoint and a result.
func TestSignalsStopARun(t *testing.T) {
	for _, s := range []os.Signal{syscall.SIGUSR1, syscall.SIGTERM} {
		dir := filepath.Join(t.TempDir(), "c")
		sor := []string{filepath.Join(programs, "sor"), "--n", "200", "--ranks", "3", "--iterations"}
		l := startJob(t, dir, append(sor, tooMany, "--every", "30ms")...).signal(t, s).line(t)
		assert.Equal(t, "signal", l.Stopped)
		m, err := checkpoint.Newest(dir)
		require.NoError(t, err)
		assert.Equal(t, l.Iterations, m.Step)
		restarted := alone(t, "sor", "--n", "200", "--ranks", "2", "--iterations", fmt.Sprint(l.Iterations), "--restart", dir).line(t)
		assert.Equal(t, l.Checksum, restarted.Checksum)
	}
}

func TestRefusedCheckpoints(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	alone(t, "sor", "--n", "50", "--ranks", "2", "--iterations", tooMany, "--checkpoint", dir, "--time-limit", "100ms").line(t)
	none := filepath.Join(t.TempDir(), "none")
	for _, r := range []refusal{
		{"nothing there", []string{"sor", "--restart", none}, []string{"--restart", "no checkpoint in " + none}},
		{"another size", []string{"sor", "--n", "60", "--restart", dir}, []string{"restart from " + dir, "of another run", "50 x 50", "60 x 60"}},
		{"another factor", []string{"sor", "--n", "50", "--omega", "1.5", "--restart", dir}, []string{"omega 1.972", "omega 1.5"}},
		{"other fixed rows", []string{"sor", "--n", "50", "--input", "{steep.npy}", "--restart", dir}, []string{"fixed rows"}},
		{"fewer sweeps", []string{"sor", "--n", "50", "--iterations", "1", "--restart", dir}, []string{"asked for are 1 in all"}},
		{"another program", []string{"mm", "--n", "50", "--repeat", "2", "--restart", dir}, []string{"of another run", `DOALL "mm"`}},
		{"no checkpoint here", []string{"sor", "--restart", "."}, []string{"--restart", "no checkpoint in ."}},
		{"a single loop", []string{"mm", "--checkpoint", none}, []string{"--checkpoint", "--repeat above 1"}},
		{"a single loop", []string{"mm", "--time-limit", "1s"}, []string{"--time-limit", "--repeat above 1"}},
		{"no folder", []string{"sor", "--checkpoint", filepath.Join(none, "c")}, []string{"--checkpoint", "in a folder that exists"}},
		{"in use", []string{"sor", "--n", "50", "--checkpoint", dir}, []string{"--checkpoint", "only a folder without checkpoints"}},
		{"every", []string{"sor", "--checkpoint", none, "--every", "0s"}, []string{"--every", `"0s"`, "above 0"}},
		{"limit", []string{"sor", "--time-limit", "5"}, []string{"--time-limit", `"5"`, "with its unit"}},
	} {
		t.Run(r.name, func(t *testing.T) {
			inputs := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(inputs, "steep.npy"), npy("<f8", "(50, 50)", 50*50*8), 0o600))
			args := r.args
			for i, a := range args {
				if a == "{steep.npy}" {
					args[i] = filepath.Join(inputs, "steep.npy")
				}
			}
			earlier := filepath.Join(inputs, "earlier.jsonl")
			require.NoError(t, os.WriteFile(earlier, []byte("a recording"), 0o600))
			args = append(args, "--ranks", "3", "--record", earlier, "--trace", filepath.Join(inputs, "trace.json"))
			alone(t, args[0], args[1:]...).refused(t, r.says...)
			assert.NoDirExists(t, none)
			text, err := os.ReadFile(earlier)
			require.NoError(t, err)
			assert.Equal(t, "a recording", string(text), "it is of a run that was not refused")
			left, err := filepath.Glob(filepath.Join(inputs, "trace*"))
			require.NoError(t, err)
			assert.Empty(t, left)
		})
	}
	// The factors of a product are input, and belong to the run.
	inputs := t.TempDir()
	for name, last := range map[string]byte{"zero": 0, "other": 0x40} {
		values := npy("<f8", "(50, 50)", 50*50*8)
		values[len(values)-1] = last
		require.NoError(t, os.WriteFile(filepath.Join(inputs, name), values, 0o600))
	}
	products := filepath.Join(inputs, "products")
	multiply := func(a, b string, more ...string) outcome {
		return alone(t, "mm", append([]string{"--ranks", "2", "--repeat", "1000000", "--a", filepath.Join(inputs, a), "--b", filepath.Join(inputs, b)}, more...)...)
	}
	multiply("zero", "zero", "--checkpoint", products, "--time-limit", "100ms").line(t)
	multiply("zero", "zero", "--restart", products, "--time-limit", "100ms").line(t)
	multiply("other", "zero", "--restart", products).refused(t, "of another run")
	multiply("zero", "other", "--restart", products).refused(t, "of another run")
	damaged, err := filepath.Glob(filepath.Join(dir, "gen-*", "part-00001"))
	require.NoError(t, err)
	require.NotEmpty(t, damaged)
	for _, d := range damaged {
		require.NoError(t, os.Truncate(d, 100))
	}
	alone(t, "sor", "--n", "50", "--ranks", "3", "--iterations", tooMany, "--restart", dir).refused(t, "that is good", damaged[0], "has 100 bytes")
}

// A stop whose checkpoint cannot be written costs the checkpoint, and not the result.
func TestAResultWithoutItsCheckpoint(t *testing.T) {
	for _, program := range [][]string{{"sor", "--n", "100", "--iterations", tooMany}, {"mm", "--n", "60", "--repeat", tooMany}} {
		dir, file := filepath.Join(t.TempDir(), "c"), filepath.Join(t.TempDir(), "u.npy")
		j := startJob(t, dir, append([]string{filepath.Join(programs, program[0])}, append(program[1:], "--ranks", "2", "--every", "50ms", "--time-limit", "2s", "--output", file, "--verify")...)...)
		require.NoError(t, os.RemoveAll(dir))
		assert.Error(t, j.cmd.Wait())
		assert.Equal(t, 1, j.cmd.ProcessState.ExitCode())
		l, err := result.Find(j.stdout.String())
		require.NoError(t, err, "%s", j.stderr.String())
		assert.Equal(t, "time-limit", l.Stopped)
		assert.True(t, *l.Verified)
		assert.FileExists(t, file)
		lines := strings.Split(strings.TrimSpace(j.stderr.String()), "\n")
		assert.Contains(t, lines[0], "going on, the one after step ")
		assert.Regexp(t, "^"+program[0]+": rank 0: checkpoint after step .*no such file", lines[len(lines)-1])
	}
}
