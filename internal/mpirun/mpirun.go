// Package mpirun starts programs under the real mpirun for tests and experiments.
//
// The flags are those that a small or shared machine needs: more ranks than cores are allowed, ranks that wait yield, and
// root may run (containers, CI). A time limit ends the job, so that a rank that hangs fails a test instead of
// stopping it.
//
// MPIRUN in the environment names another mpirun than the one in PATH, as scripts/env.sh exports it: MPICH's takes other
// flags, and needs none of these.
package mpirun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Program is the mpirun that MPIRUN in the environment names, or else the one in PATH.
func Program() string {
	if p := os.Getenv("MPIRUN"); p != "" {
		return p
	}
	return "mpirun"
}

// OpenMPI says whether Program is Open MPI's, as far as it can be asked.
var OpenMPI = sync.OnceValue(func() bool {
	out, err := exec.Command(Program(), "--version").Output()
	return err != nil || strings.Contains(string(out), "Open MPI") || strings.Contains(string(out), "OpenRTE")
})

// Command is Program with its arguments for n ranks, up to the program that they run.
func Command(n int, more ...string) []string {
	if OpenMPI() {
		return append([]string{Program()}, Flags(n, more...)...)
	}
	return append(append([]string{Program()}, more...), "-np", strconv.Itoa(n))
}

// Flags are Open MPI's arguments for n ranks, up to the program.
func Flags(n int, more ...string) []string {
	flags := []string{"--oversubscribe", "--mca", "mpi_yield_when_idle", "1"}
	if os.Geteuid() == 0 {
		flags = append(flags, "--allow-run-as-root")
	}
	return append(append(flags, more...), "-np", strconv.Itoa(n))
}

// Result is how a job ended.
type Result struct {
	Stdout, Stderr string
	Code           int // exit code of mpirun
	Elapsed        time.Duration
}

// Run starts n ranks of the command and waits for the end of the job. It fails when mpirun cannot be started
// or the limit has passed; what the program does with its exit code is in the Result.
func Run(limit time.Duration, n int, env []string, command ...string) (Result, error) {
	return run(limit, append(Command(n), command...), env)
}

// RunFlags is Run with further flags for mpirun.
func RunFlags(limit time.Duration, n int, flags, env []string, command ...string) (Result, error) {
	return run(limit, append(Command(n, flags...), command...), env)
}

func run(limit time.Duration, command, env []string) (Result, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	// mpirun passes SIGTERM on to the ranks; a kill would leave them behind.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = append(os.Environ(), env...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	err := cmd.Run()
	r := Result{Stdout: stdout.String(), Stderr: stderr.String(), Elapsed: time.Since(began)}
	if ctx.Err() != nil {
		return r, fmt.Errorf("%s: not done after %v; stderr: %s", strings.Join(command, " "), limit, r.Stderr)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		r.Code = exit.ExitCode()
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("mpirun: %w (make setup installs Open MPI)", err)
	}
	return r, nil
}

// Fields are the fields of the last result line in a program's output; nil if there is none.
func Fields(output string) map[string]string {
	var fields map[string]string
	for line := range strings.Lines(output) {
		rest, ok := strings.CutPrefix(line, "result: ")
		if !ok {
			continue
		}
		fields = map[string]string{}
		for _, field := range strings.Fields(rest) {
			if key, value, ok := strings.Cut(field, "="); ok {
				fields[key] = value
			}
		}
	}
	return fields
}
