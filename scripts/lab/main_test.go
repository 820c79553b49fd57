//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/scripts/internal/arguments"
	"shiftwork/scripts/lab/cluster"
	"shiftwork/scripts/lab/measure"
)

// TestMain lets the test binary be the program itself, in a process that can be killed.
func TestMain(m *testing.M) {
	if os.Getenv("LAB_TEST_IS_PROGRAM") == "1" {
		main()
	}
	os.Exit(m.Run())
}

func lab(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), "LAB_TEST_IS_PROGRAM=1")
	return cmd
}

// needWorkstations skips the test, with the reason, where this machine cannot have any.
func needWorkstations(t *testing.T) {
	t.Helper()
	c, err := cluster.New(cluster.Config{CPU: []float64{0.1}})
	if err != nil {
		require.ErrorIs(t, err, arguments.ErrRefused)
		t.Skip("no workstations here: ", err)
	}
	require.NoError(t, c.Close())
}

// remains is what is there of the lab that process pid ran, or runs.
func remains(t *testing.T, pid int) []string {
	t.Helper()
	var found []string
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/*", "/run", "/run/netns", "/dev/shm"} {
		paths, err := filepath.Glob(filepath.Join(root, "swlab-"+strconv.Itoa(pid)+"-*"))
		require.NoError(t, err)
		found = append(found, paths...)
	}
	return found
}

// running are the processes with a word on their command line.
func running(t *testing.T, word string) []string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	var found []string
	for _, path := range paths {
		if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte(word)) {
			found = append(found, path)
		}
	}
	return found
}

func script(t *testing.T, code string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+code), 0o755))
	return path
}

// Bad input gets one line and exit code 2, whoever asks and wherever.
func TestRefusedBeforeAnythingStarts(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "<program>"},
		{[]string{"--what", "--", "true"}, "unknown flag --what"},
		{[]string{"--workstations", "x", "--", "true"}, "--workstations"},
		{[]string{"--workstations=-1", "--", "true"}, "--workstations=-1"},
		{[]string{"--cpu", "0", "--", "true"}, "--cpu=0: a share above 0 up to 1"},
		{[]string{"--cpu", "NaN", "--", "true"}, "--cpu=NaN"},
		{[]string{"--cpu", "2", "--", "true"}, "--cpu=2"},
		{[]string{"--speeds", "1:x", "--", "true"}, `"x" is not a speed`},
		{[]string{"--speeds", "1:0", "--", "true"}, `"0" is not a speed`},
		{[]string{"--speeds", "1:2", "--workstations", "3", "--", "true"}, "2 speeds for 3 workstations"},
		{[]string{"--load", "ws=0 from=then", "--", "true"}, "from=then is not a duration"},
		{[]string{"--load", "ws=4", "--", "true"}, "there is no workstation 4: 0 to 3"},
		{[]string{"--load", "ws=0,ws=1", "--", "true"}, "ws=0,ws=1 is not a workstation"},
		{[]string{"--bandwidth", "fast", "--network", "--", "true"}, "--bandwidth=fast: a rate such as 10mbit"},
		{[]string{"--bandwidth", "100", "--network", "--", "true"}, "--bandwidth=100"},
		{[]string{"--bandwidth", "bit", "--network", "--", "true"}, "--bandwidth=bit"},
		{[]string{"--compare", "-1", "--", "true"}, "--compare"},
		{[]string{"--compare", "1", "--", "./sor", "--balance", "on"}, "--balance is set by the comparison"},
		{[]string{"--sequential", "soon", "--", "true"}, "--sequential=soon"},
		{[]string{"--sequential", "0", "--", "true"}, "--sequential=0"},
		{[]string{"--master", "gone", "--", "true"}, "--master"},
	} {
		var stdout, stderr bytes.Buffer
		assert.Equal(t, 2, run(t.Context(), c.args, &stdout, &stderr), "%v", c.args)
		assert.Empty(t, stdout.String())
		assert.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
		assert.True(t, strings.HasPrefix(stderr.String(), "lab: "), stderr.String())
		assert.Contains(t, stderr.String(), c.says)
	}
	assert.Empty(t, remains(t, os.Getpid()))
}

// What only the machine can tell is refused in the same way.
func TestRefusedByTheMachine(t *testing.T) {
	needWorkstations(t)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--workstations", "1000", "--cpu", "1", "--", "true"}, "need 1000 CPUs together"},
		{[]string{"--speeds", "1:3", "--", "true"}, "workstation 1 has 1.2"},
		{[]string{"--workstations", "1", "--cpu", "0.05", "--", "true"}, "less than 1ms, the least quota"},
		{[]string{"--workstations", "1", "--period", "1us", "--", "true"}, "quota period 1µs"},
		{[]string{"--workstations", "1", "--bandwidth", "1mbit", "--", "true"}, "a bandwidth needs a network"},
		{[]string{"--workstations", "1", "--", "/nowhere/sor"}, "the program cannot be run"},
		{[]string{"--workstations", "1", "--load", "ws=0", "--load-program", "/nowhere", "--", "true"}, "make build makes ./load"},
	} {
		var stdout, stderr bytes.Buffer
		assert.Equal(t, 2, run(t.Context(), c.args, &stdout, &stderr), "%v", c.args)
		assert.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
		assert.Contains(t, stderr.String(), c.says)
		assert.Empty(t, remains(t, os.Getpid()))
	}
}

func TestNotRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		var stdout, stderr bytes.Buffer
		assert.Equal(t, 2, run(t.Context(), []string{"--", "true"}, &stdout, &stderr))
		assert.Equal(t, 1, strings.Count(stderr.String(), "\n"))
		return
	}
	// As another user, who can run a copy of this program.
	dir, err := os.MkdirTemp("", "lab")
	require.NoError(t, err)
	defer func() { _ = os.RemoveAll(dir) }()
	require.NoError(t, os.Chmod(dir, 0o755))
	program, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	copied := filepath.Join(dir, "lab")
	require.NoError(t, os.WriteFile(copied, program, 0o755))
	cmd := lab(t, "--", "true")
	cmd.Path, cmd.Dir = copied, dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.Error(t, cmd.Run())
	assert.Equal(t, 2, cmd.ProcessState.ExitCode())
	assert.Equal(t, "lab: only root can make workstations: run as root\n", stderr.String())
}

func TestHelp(t *testing.T) {
	var stdout, stderr bytes.Buffer
	assert.Zero(t, run(t.Context(), []string{"--help"}, &stdout, &stderr))
	assert.Contains(t, stdout.String(), "--load=SCRIPT")
	assert.Empty(t, stderr.String())
}

func TestParseSpeedsAndBandwidth(t *testing.T) {
	speeds, err := parseSpeeds("1:2.5:4")
	require.NoError(t, err)
	assert.Equal(t, []float64{1, 2.5, 4}, speeds)
	for text, want := range map[string]float64{"100mbit": 1e8, "1.5gbit": 1.5e9, "500kbit": 5e5, "64000bit": 64000} {
		got, err := parseBandwidth(text)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

// Lines and JSON say the same.
func TestReport(t *testing.T) {
	c := &cluster.Result{
		Code: 0, Elapsed: 12 * time.Second, Began: time.Second, Ended: 11 * time.Second, Launch: time.Millisecond,
		Line: map[string]string{"time_s": "10", "master_cpu_s": "0.25", "checksum": "ab"},
		Workstations: []cluster.Usage{
			{
				App: 2 * time.Second, Load: 3 * time.Second, Compete: 2 * time.Second,
				Periods: 1200, Throttled: 1100, ThrottledTime: 5 * time.Second,
			},
			{App: 4 * time.Second},
		},
	}
	cfg := cluster.Config{CPU: []float64{0.4, 0.8}, Period: 10 * time.Millisecond}
	s := measure.Setting{Cluster: still{cfg}, Reference: 0.4, Sequential: 20}
	r := reportRun(s, c)
	var text bytes.Buffer
	require.NoError(t, r.writeLines(&text))
	// (2'): 20 / (10 - 2/0.4 + 2·10)
	assert.Equal(t, `workstation: ws=0 cpu=0.4 speed=1 app_cpu_s=2 load_cpu_s=3 compete_s=5 master_cpu_s=0.25 periods=1200 throttled_periods=1100 throttled_s=5
workstation: ws=1 cpu=0.8 speed=2 app_cpu_s=4 load_cpu_s=0 compete_s=0 periods=0 throttled_periods=0 throttled_s=0
lab: workstations=2 cpus=1.2 period_s=0.01 pin=false network=false loads=0 code=0 elapsed_s=12 app_cpu_s=6 load_cpu_s=3 launch_cpu_s=0.001 began_s=1 time_s=10 sequential_s=20 efficiency=0.8 checksum=ab
`, text.String())
	text.Reset()
	require.NoError(t, r.writeJSON(&text))
	var object struct {
		Lab          map[string]any
		Workstations []map[string]any
		Program      map[string]string
	}
	require.NoError(t, json.Unmarshal(text.Bytes(), &object))
	assert.Equal(t, 0.8, object.Lab["efficiency"])
	assert.Equal(t, 5.0, object.Workstations[0]["compete_s"])
	assert.Equal(t, "ab", object.Program["checksum"])
}

type still struct{ cfg cluster.Config }

func (s still) Config() cluster.Config                                  { return s.cfg }
func (still) Run(context.Context, cluster.Job) (*cluster.Result, error) { return nil, nil }

// A program that keeps the contract, whose times follow from the flags.
const contract = `time=2
for arg; do case $arg in on) time=1.2 ;; esac; done
[ "$OMPI_COMM_WORLD_SIZE" = 1 ] && time=3.9
[ "$OMPI_COMM_WORLD_RANK" = 0 ] && echo "result: app=x time_s=$time checksum=ab"
exit 0
`

func TestCompareEndToEnd(t *testing.T) {
	needWorkstations(t)
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"--workstations", "2", "--cpu", "0.2", "--load", "ws=0",
		"--load-program", script(t, "exec sleep 600"), "--compare", "2",
		"--", script(t, contract), "--n", "4"}, &stdout, &stderr)
	require.Zero(t, code, stderr.String())
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	require.Len(t, lines, 3, stdout.String())
	assert.Equal(t, "round 1: off 2.000 s, on 1.200 s, dedicated 2.000 s", lines[0])
	// Ideal: 2 s of 2 workstations at 1.5.
	for _, want := range []string{
		"lab: workstations=2 ", " rounds=2 ", " off_s=2 ", " on_s=1.2 ", " dedicated_s=2 ", " ideal_s=2.667 ",
		" on_over_off=0.6 ", " sequential_s=3.9 ", " efficiency_dedicated=0.975 ", " checksum=ab",
	} {
		assert.Contains(t, lines[2], want)
	}
	assert.NotContains(t, lines[2], "penalty_removed", "the run without balancing was as fast as the dedicated one")
	assert.Empty(t, remains(t, os.Getpid()))
}

// The program's exit code is the lab's, and its output comes first.
func TestExitCodeOfTheProgram(t *testing.T) {
	needWorkstations(t)
	var stdout, stderr bytes.Buffer
	args := []string{"--workstations", "1", "--json", "--", script(t, "echo hello; exit 3")}
	assert.Equal(t, 3, run(t.Context(), args, &stdout, &stderr))
	assert.Contains(t, stderr.String(), "hello\n")
	assert.True(t, json.Valid(stdout.Bytes()), stdout.String())
	assert.Contains(t, stdout.String(), `"code":3`)
}

// launched is a lab in the middle of a run with a namespace and a load, and the name of its program.
func launched(t *testing.T) (cmd *exec.Cmd, word string, stderr *bytes.Buffer) {
	t.Helper()
	word = "lab-test-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	stderr = &bytes.Buffer{}
	cmd = lab(t, "--workstations", "2", "--cpu", "0.3", "--network", "--load", "ws=1",
		"--load-program", script(t, "exec sleep 600 # "+word), "--",
		"sh", "-c", "trap '' INT TERM; while sleep 1; do :; done # "+word)
	cmd.Stderr = stderr
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool {
		ranks := 0
		for _, path := range running(t, word) {
			if text, err := os.ReadFile(path); err == nil && bytes.HasPrefix(text, []byte("sh\x00-c\x00trap")) {
				ranks++
			}
		}
		return ranks == 2
	}, 30*time.Second, 20*time.Millisecond, "%v", stderr)
	require.NotEmpty(t, remains(t, cmd.Process.Pid))
	return cmd, word, stderr
}

// Ctrl-C and kill leave nothing, although the ranks do not listen.
func TestSignalsLeaveNothing(t *testing.T) {
	needWorkstations(t)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			cmd, word, stderr := launched(t)
			require.NoError(t, cmd.Process.Signal(signal))
			require.Error(t, cmd.Wait())
			assert.Equal(t, 1, cmd.ProcessState.ExitCode(), stderr.String())
			assert.Contains(t, stderr.String(), "lab: interrupted; everything was removed\n")
			assert.Empty(t, remains(t, cmd.Process.Pid))
			assert.Empty(t, running(t, word))
		})
	}
}

// After kill -9 in the middle, the next start removes everything, also ranks that run on.
func TestKillIsCleanedUpByTheNextStart(t *testing.T) {
	needWorkstations(t)
	cmd, word, _ := launched(t)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.NotEmpty(t, remains(t, cmd.Process.Pid), "there is something to remove")
	out, err := lab(t, "--workstations", "1", "--", "true").CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Empty(t, remains(t, cmd.Process.Pid))
	assert.Empty(t, running(t, word))
}

// A reader of the output that goes away, as in lab ... | head -1, ends the lab, and leaves nothing.
func TestBrokenPipeLeavesNothing(t *testing.T) {
	needWorkstations(t)
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	cmd := lab(t, "--workstations", "1", "--", "sh", "-c", "while echo word; do sleep 0.05; done")
	cmd.Stdout = writer
	require.NoError(t, cmd.Start())
	require.NoError(t, writer.Close())
	word := make([]byte, 5)
	_, err = reader.Read(word)
	require.NoError(t, err)
	require.NotEmpty(t, remains(t, cmd.Process.Pid))
	require.NoError(t, reader.Close())
	require.Error(t, cmd.Wait())
	assert.Equal(t, 1, cmd.ProcessState.ExitCode())
	assert.Empty(t, remains(t, cmd.Process.Pid))
}
