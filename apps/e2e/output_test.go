package e2e

import (
	"bufio"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/hooks"
)

func TestRecord(t *testing.T) {
	for _, program := range [][]string{{"sor", "--n", "97", "--iterations", "20"}, {"mm", "--n", "97", "--repeat", "10"}} {
		path := filepath.Join(t.TempDir(), "run.jsonl")
		l := alone(t, program[0], append(program[1:], "--ranks", "3", "--balance", "random", "--period", "1us", "--record", path)...).line(t)
		lines := strings.Split(strings.TrimSuffix(content(t, path), "\n"), "\n")
		assert.JSONEq(t, `{"schema":"shiftwork","version":2}`, lines[0])
		decisions, last := 0, 0.0
		for i, line := range lines[1:] {
			var e hooks.Event
			require.NoError(t, json.Unmarshal([]byte(line), &e), line)
			assert.Equal(t, program[0], e.Loop)
			switch {
			case i == 0:
				assert.Equal(t, "start", e.Kind)
				require.NotNil(t, e.Setup)
				assert.Equal(t, 3, e.Setup.Ranks)
			case i == len(lines)-2:
				assert.Equal(t, "end", e.Kind)
				require.NotNil(t, e.Report)
				assert.Equal(t, l.Moved, e.Report.IterationsMoved)
			default:
				assert.Equal(t, "decision", e.Kind)
				require.NotNil(t, e.Decision)
				assert.Equal(t, decisions, e.Decision.Interaction)
				assert.Len(t, e.Statuses, 3)
				assert.GreaterOrEqual(t, e.Time, last)
				decisions, last = decisions+1, e.Time
			}
		}
		assert.Positive(t, decisions)
	}
}

func TestReport(t *testing.T) {
	dir := t.TempDir()
	for _, program := range []string{"sor", "mm"} {
		path := filepath.Join(dir, "report.json")
		o := alone(t, program, "--n", "97", "--ranks", "3", "--report", path)
		l := o.line(t)
		var report struct {
			Schema string
			Result struct {
				App, Checksum string
				Time          float64 `json:"time_s"`
			}
			Run struct{ Ranks []struct{ Iterations int } }
		}
		require.NoError(t, json.Unmarshal([]byte(content(t, path)), &report))
		assert.Equal(t, "shiftwork report", report.Schema)
		assert.Equal(t, program, report.Result.App)
		assert.Equal(t, l.Checksum.String(), report.Result.Checksum)
		assert.InDelta(t, l.Time.Seconds(), report.Result.Time, 0.001)
		assert.Len(t, report.Run.Ranks, 3)

		path = filepath.Join(dir, "report.txt")
		o = alone(t, program, "--n", "97", "--ranks", "3", "--report", path)
		written := content(t, path)
		for _, line := range strings.SplitAfter(o.stdout, "\n") {
			_, rest, found := strings.Cut(written, line)
			assert.True(t, found, "the table and the result line, with more between them for sor: %q", line)
			written = rest
		}
	}
}

// The table comes first, unless it was not wanted; the result line is last in any case.
func TestQuiet(t *testing.T) {
	for _, program := range []string{"sor", "mm"} {
		o := alone(t, program, "--n", "60", "--ranks", "2")
		assert.Contains(t, o.stdout, "share of work")
		o.line(t)
		o = alone(t, program, "--n", "60", "--ranks", "2", "--quiet")
		assert.Equal(t, 1, strings.Count(o.stdout, "\n"), o.stdout)
		assert.Nil(t, o.line(t).Verified, "nobody asked")
	}
}

func TestHelp(t *testing.T) {
	for _, program := range []string{"sor", "mm"} {
		o := alone(t, program, "--help", "--ranks", "4")
		assert.Zero(t, o.code)
		assert.Empty(t, o.stderr)
		assert.Equal(t, 1, strings.Count(o.stdout, "Usage: "+program))
		assert.Contains(t, o.stdout, "SHIFTWORK_COST_BENEFIT")
	}
}

func TestEnvironment(t *testing.T) {
	env := []string{"SHIFTWORK_N=55", "SHIFTWORK_RANKS=3", "SHIFTWORK_BALANCE=off", "SHIFTWORK_QUIET=true", "SHIFTWORK_VERIFY=true"}
	for _, program := range []string{"sor", "mm"} {
		l := start(t, env, filepath.Join(programs, program), "--ranks", "2").verified(t)
		assert.Equal(t, 55, l.N)
		assert.Equal(t, 2, l.Ranks, "the command line wins")
		assert.Equal(t, "off", l.Balance)
		start(t, []string{"SHIFTWORK_BLOCK=none"}, filepath.Join(programs, program)).refused(t, "SHIFTWORK_BLOCK", "none")
	}
}

var progressLine = regexp.MustCompile(`^sor: +[0-9.]+ s  sweep [0-9]+ of 100000000  [0-9.e+]+ points/s(  imbalance [0-9.]+%)?  [0-9hms]+ left` +
	`(  [0-9]+ shifts?)?(  last decision: (shift|stay) \(.+\)  share of work( +[0-9.]+%){3})?$`)

// Progress is on standard error, a line when the loop begins and then one a second at most. The run would last for hours; it is stopped when enough was seen.
func TestProgress(t *testing.T) {
	t.Run("balance on", func(t *testing.T) { assert.Contains(t, watched(t, "on"), "share of work") })
	t.Run("balance off", func(t *testing.T) { assert.NotContains(t, watched(t, "off"), "decision") })
}

// watched returns the third line of a run, the first being printed when its loop begins.
func watched(t *testing.T, balance string) (line string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(programs, "sor"), endless("--ranks", "3", "--balance", balance)...)
	cmd.Env = environment()
	var stdout strings.Builder
	cmd.Stdout = &stdout
	pipe, err := cmd.StderrPipe()
	require.NoError(t, err)
	began := time.Now()
	require.NoError(t, cmd.Start())
	watchdog := time.AfterFunc(limit, func() { _ = cmd.Process.Kill() }) // ends the scan below
	defer watchdog.Stop()
	lines := 0
	for scan := bufio.NewScanner(pipe); lines < 3 && scan.Scan(); lines++ {
		line = scan.Text()
		if lines == 0 {
			assert.Equal(t, "sor:   0.0 s  sweep 1 of 100000000  0 points/s", line)
			continue
		}
		assert.Regexp(t, progressLine, line)
	}
	assert.Equal(t, 3, lines)
	assert.GreaterOrEqual(t, time.Since(began), 2*time.Second)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	assert.Error(t, cmd.Wait(), "it was told to stop")
	assert.Empty(t, stdout.String(), "no result line without a result")
	return line
}

// endless are the flags of a sor that lasts for hours and shows its progress.
func endless(more ...string) []string {
	return append([]string{"--n", "300", "--iterations", "100000000", "--progress"}, more...)
}
