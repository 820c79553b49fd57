package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/apps/internal/result"
	"shiftwork/internal/testcache"
)

// limit is when a run counts as hanging; all of them take seconds at most on an idle machine.
const limit = 2 * time.Minute

// programs is the folder with the programs, built once.
var programs string

// TestMain builds the programs; a process that is to be a rank of a test's own program becomes that.
func TestMain(m *testing.M) {
	if os.Getenv(rankEnv) != "" {
		mainRank()
	}
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "shiftwork-e2e-")
	if err == nil {
		defer os.RemoveAll(dir)
		programs = dir
		err = errors.Join(testcache.Depend("../.."), build(dir, tags))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// build puts sor, mm and load into the folder.
func build(dir, tags string) error {
	args := []string{"build", "-tags=" + tags, "-o", dir + string(filepath.Separator)}
	cgo := "1"
	if tags == "nompi" {
		cgo = "0"
	}
	cmd := exec.Command("go", append(args, "shiftwork/apps/sor", "shiftwork/apps/mm", "shiftwork/apps/load")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}

// environment is that of the tests without what would change the programs, and with what a test adds.
func environment(more ...string) []string {
	var env []string
	for _, e := range os.Environ() {
		if name, _, _ := strings.Cut(e, "="); !strings.HasPrefix(name, "SHIFTWORK_") && !strings.HasPrefix(name, "OMPI_") &&
			!strings.HasPrefix(name, "PMI_") && !strings.HasPrefix(name, "PMIX_") && !strings.HasPrefix(name, "SLURM_") {
			env = append(env, e)
		}
	}
	return append(env, more...)
}

// outcome is what a user sees of a run.
type outcome struct {
	stdout, stderr string
	code           int
}

// start runs a command to its end.
func start(t *testing.T, env []string, name string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = environment(env...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	require.NoError(t, ctx.Err(), "%s %v hangs; stderr: %s", name, args, stderr.String())
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// alone runs a program without a launcher.
func alone(t *testing.T, program string, args ...string) outcome {
	t.Helper()
	return start(t, nil, filepath.Join(programs, program), args...)
}

// line is the result line of a run that did well and was not chatty on standard error.
func (o outcome) line(t *testing.T) result.Line {
	t.Helper()
	require.Zero(t, o.code, "stdout: %s\nstderr: %s", o.stdout, o.stderr)
	assert.Empty(t, ours(o.stderr))
	l, err := result.Find(o.stdout)
	require.NoError(t, err)
	return l
}

// verified is the result line of a run with --verify.
func (o outcome) verified(t *testing.T) result.Line {
	t.Helper()
	l := o.line(t)
	require.NotNil(t, l.Verified)
	assert.True(t, *l.Verified)
	return l
}

// abortOfMPICH is the line in which MPICH tells of an abort.
var abortOfMPICH = regexp.MustCompile(`^Abort\(\d+\) on node \d+ \(rank \d+ in comm \d+\): application called MPI_Abort`)

// ours are the lines of standard error that mpirun has not added: its own stand between lines of dashes, or begin with the
// name of the host in brackets, or are MPICH's about an abort.
func ours(stderr string) []string {
	var lines []string
	theirs := false
	for line := range strings.Lines(stderr) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "-----"):
			theirs = !theirs
		case theirs || line == "" || strings.HasPrefix(line, "[") || abortOfMPICH.MatchString(line):
		default:
			lines = append(lines, line)
		}
	}
	return lines
}

// refused checks that a run ended as bad usage does: exit code 2, nothing on standard output, one line that says all of this.
func (o outcome) refused(t *testing.T, says ...string) {
	t.Helper()
	assert.Equal(t, 2, o.code, "stdout: %s\nstderr: %s", o.stdout, o.stderr)
	assert.Empty(t, strings.TrimSpace(withoutNotes(o.stdout)))
	lines := ours(o.stderr)
	if assert.Len(t, lines, 1, o.stderr) {
		for _, s := range says {
			assert.Contains(t, lines[0], s)
		}
	}
}

// withoutNotes leaves out mpirun's own lines, some of which it writes to standard output.
func withoutNotes(stdout string) string { return strings.Join(ours(stdout), "\n") }

// root is the folder of go.mod.
const root = "../.."
