package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMain lets the test binary be the program itself, in a process that can be given signals and has a CPU time of its own.
func TestMain(m *testing.M) {
	if os.Getenv("LOAD_TEST_IS_PROGRAM") == "1" {
		fmt.Println("started")
		main()
	}
	os.Exit(m.Run())
}

func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), "LOAD_TEST_IS_PROGRAM=1")
	return cmd
}

// used reads the last line.
func used(t *testing.T, output string) (cpu, elapsed float64) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(output), "\n")
	_, err := fmt.Sscanf(lines[len(lines)-1], "load: cpu_s=%f elapsed_s=%f", &cpu, &elapsed)
	require.NoError(t, err, output)
	return cpu, elapsed
}

func TestComputesAllTheTime(t *testing.T) {
	out, err := program(t, "--for", "600ms").Output()
	require.NoError(t, err)
	cpu, elapsed := used(t, string(out))
	assert.GreaterOrEqual(t, elapsed, 0.6)
	assert.Greater(t, cpu, 0.1, "a busy machine may leave it less than a core, but not nothing")
	assert.LessOrEqual(t, cpu, 1.3*elapsed, "one thread")
}

func TestSleepsInBetween(t *testing.T) {
	out, err := program(t, "--on", "10ms", "--off", "90ms", "--for", "800ms").Output()
	require.NoError(t, err)
	cpu, elapsed := used(t, string(out))
	assert.GreaterOrEqual(t, elapsed, 0.8)
	assert.Greater(t, cpu, 0.005)
	assert.Less(t, cpu, 0.4*elapsed, "a tenth, and the start of the process")
}

// Told to stop, it stops at once, computing or sleeping, and reports.
func TestSignals(t *testing.T) {
	for name, c := range map[string]struct {
		signal os.Signal
		args   []string
	}{
		"computing": {syscall.SIGTERM, nil},
		"sleeping":  {syscall.SIGINT, []string{"--on", "1ms", "--off", "1h"}},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := program(t, c.args...)
			pipe, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			lines := bufio.NewScanner(pipe)
			require.True(t, lines.Scan(), "started")
			time.Sleep(300 * time.Millisecond) // into the run; it would not end by itself
			sent := time.Now()
			require.NoError(t, cmd.Process.Signal(c.signal))
			require.True(t, lines.Scan())
			_, elapsed := used(t, lines.Text())
			require.NoError(t, cmd.Wait(), "exit code 0")
			assert.Greater(t, elapsed, 0.0)
			assert.Less(t, time.Since(sent), 10*time.Second)
		})
	}
}

// A busy part shorter than looking at the clock must not make it deaf.
func TestTinyPeriodsEnd(t *testing.T) {
	var stdout, stderr bytes.Buffer
	for _, off := range []string{"0s", "1ns"} {
		assert.Zero(t, run(t.Context(), []string{"--on", "1ns", "--off", off, "--for", "20ms"}, &stdout, &stderr))
	}
	assert.Empty(t, stderr.String())
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{"--on", "0s"}, {"--on", "-1s"}, {"--off", "-1s"}, {"--for", "-1s"}, {"--on", "5"}, {"--what"}, {"5s"},
	} {
		var stdout, stderr bytes.Buffer
		assert.Equal(t, 2, run(t.Context(), args, &stdout, &stderr), args)
		assert.Empty(t, stdout.String(), args)
		assert.Equal(t, 1, strings.Count(stderr.String(), "\n"), "one line: %s", stderr.String())
		assert.Contains(t, stderr.String(), strings.TrimPrefix(args[0], "--"))
	}
	var stdout, stderr bytes.Buffer
	assert.Zero(t, run(t.Context(), []string{"--help"}, &stdout, &stderr))
	assert.Contains(t, stdout.String(), "--off=DURATION")
	assert.Empty(t, stderr.String())
}

// What is printed to nobody is a failure.
func TestTheResultIsLost(t *testing.T) {
	for _, args := range [][]string{{"--for", "1ms"}, {"--help"}} {
		var stderr bytes.Buffer
		assert.Equal(t, 1, run(t.Context(), args, fullDisk{}, &stderr))
		assert.Contains(t, stderr.String(), "no space left on device")
		assert.Equal(t, 1, strings.Count(stderr.String(), "\n"))
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }
