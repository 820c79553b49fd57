package jobs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"shiftwork/internal/mpirun"
)

// Job is a program that runs under mpirun.
type Job struct {
	cmd            *exec.Cmd
	ranks          int
	pids           []int    // by rank, once they are known
	starts         []string // when these processes were started
	stdout, stderr text
	ended          chan struct{}
	elapsed        time.Duration // until mpirun ended
}

// text is a buffer that is read while a process writes to it.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *text) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(b)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// Start starts the command on so many ranks, with additions to the environment.
func Start(ranks int, env []string, command ...string) (*Job, error) {
	args := append(mpirun.Command(ranks), command...)
	j := &Job{cmd: exec.Command(args[0], args[1:]...), ranks: ranks, ended: make(chan struct{})}
	j.cmd.Env = append(os.Environ(), env...)
	j.cmd.Stdout, j.cmd.Stderr = &j.stdout, &j.stderr
	j.cmd.WaitDelay = 5 * time.Second // for ranks that hold the pipes open though mpirun is gone
	began := time.Now()
	if err := j.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = j.cmd.Wait() // the exit code is in ProcessState
		j.elapsed = time.Since(began)
		close(j.ended)
	}()
	return j, nil
}

// Ended is closed when mpirun has ended.
func (j *Job) Ended() <-chan struct{} { return j.ended }

// Result is what the job has printed, its exit code and how long it took. It may be asked for after Ended.
func (j *Job) Result() mpirun.Result {
	<-j.ended
	return mpirun.Result{Stdout: j.stdout.String(), Stderr: j.stderr.String(), Code: j.cmd.ProcessState.ExitCode(), Elapsed: j.elapsed}
}

// Find waits until all ranks run, and notes their processes.
func (j *Job) Find(within time.Duration) error {
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		select {
		case <-j.ended:
			return fmt.Errorf("the job ended before all ranks ran: %s%s", j.stdout.String(), j.stderr.String())
		default:
		}
		if pids, starts := j.look(); pids != nil {
			j.pids, j.starts = pids, starts
			return nil
		}
	}
	return fmt.Errorf("not all of the %d ranks run after %v", j.ranks, within)
}

// look returns the process ids by rank, and when these were started, or nil if some are missing.
func (j *Job) look() (pids []int, starts []string) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, nil
	}
	found := 0
	pids, starts = make([]int, j.ranks), make([]string, j.ranks)
	for _, path := range stats {
		parent, start, ok := statOf(path)
		if !ok || parent != j.cmd.Process.Pid {
			continue
		}
		rank, ok := rankOf(filepath.Dir(path))
		if !ok || rank >= j.ranks || pids[rank] != 0 {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		pids[rank], starts[rank] = pid, start
		found++
	}
	if found < j.ranks {
		return nil, nil
	}
	return pids, starts
}

// statOf reads the parent and when the process was started, in ticks, from /proc/PID/stat: pid (name) state parent ..., the start as field 22; the name may contain anything.
func statOf(path string) (parent int, start string, ok bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, "", false // it has ended
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 20 {
		return 0, "", false
	}
	parent, err = strconv.Atoi(fields[1])
	return parent, fields[19], err == nil
}

// rankOf reads the rank from the environment of a process, which mpirun's child has once it runs the program.
func rankOf(dir string) (int, bool) {
	env, err := os.ReadFile(filepath.Join(dir, "environ"))
	if err != nil {
		return 0, false
	}
	for _, v := range strings.Split(string(env), "\x00") {
		if value, ok := strings.CutPrefix(v, "OMPI_COMM_WORLD_RANK="); ok {
			rank, err := strconv.Atoi(value)
			return rank, err == nil && rank >= 0
		}
	}
	return 0, false
}

// Connected waits until all ranks have come so far in MPI's set-up that each shares memory with each other; Find must have found
// them. Where a rank is lost before, others may speak of files that are gone, and a mpirun of Open MPI 4.1 that loses one while it makes
// its first contact may say so and then wait for ever by itself.
func (j *Job) Connected(within time.Duration) error {
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		select {
		case <-j.ended:
			return nil
		default:
		}
		ready := 0
		for _, pid := range j.pids {
			maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
			// Each rank maps a segment of each rank, under Open MPI 4 and 5.
			if err == nil && bytes.Count(maps, []byte("vader_segment"))+bytes.Count(maps, []byte("sm_segment")) >= j.ranks {
				ready++
			}
		}
		if ready == j.ranks {
			return nil
		}
	}
	return fmt.Errorf("not all of the %d ranks share memory after %v: is it Open MPI on one machine?", j.ranks, within)
}

// Signal sends a signal to a rank. Find must have found it.
func (j *Job) Signal(rank int, s syscall.Signal) error { return syscall.Kill(j.pids[rank], s) }

// Memory is what a rank has of the machine's memory, in bytes.
type Memory struct {
	Resident int64 // all that is in memory now, pages of files included: the kernel drops those when it likes
	Kept     int64 // what only the program can give back: private memory, in memory or swapped out, and shared memory
}

// Memory looks at a rank.
func (j *Job) Memory(rank int) (Memory, error) {
	name := fmt.Sprintf("/proc/%d/status", j.pids[rank])
	data, err := os.ReadFile(name)
	if err != nil {
		return Memory{}, err
	}
	m, err := memoryOf(string(data))
	if err != nil {
		return m, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

// memoryOf reads the text of /proc/PID/status. A rank that has ended has no memory there.
func memoryOf(status string) (Memory, error) {
	kb := map[string]int64{}
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(line, ":")
		if n, ok := strings.CutSuffix(strings.TrimSpace(value), " kB"); ok {
			size, err := strconv.ParseInt(strings.TrimSpace(n), 10, 64)
			if err != nil {
				return Memory{}, err
			}
			kb[name] = size << 10
		}
	}
	for _, name := range []string{"VmRSS", "RssAnon", "RssShmem", "VmSwap"} {
		if _, there := kb[name]; !there {
			return Memory{}, fmt.Errorf("no %s", name)
		}
	}
	return Memory{Resident: kb["VmRSS"], Kept: kb["RssAnon"] + kb["RssShmem"] + kb["VmSwap"]}, nil
}

// Left waits until all ranks have gone and returns those that have not within the time.
func (j *Job) Left(within time.Duration) []int {
	for deadline := time.Now().Add(within); ; time.Sleep(10 * time.Millisecond) {
		var left []int
		for rank, pid := range j.pids {
			if !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
				left = append(left, rank)
			}
		}
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
	}
}

// Close ends what is left of the job.
func (j *Job) Close() {
	select {
	case <-j.ended:
	default:
		_ = j.cmd.Process.Kill()
		<-j.ended
	}
	for rank := range j.pids {
		// Whoever has its number now may be another process: of those that mpirun has left behind the parent says nothing.
		if _, start, ok := statOf(fmt.Sprintf("/proc/%d/stat", j.pids[rank])); ok && start == j.starts[rank] {
			_ = j.Signal(rank, syscall.SIGKILL)
		}
	}
}

// preface begins a block that Open MPI's mpirun puts before the one that says what has happened.
const preface = "Primary job"

// Messages are what a user reads when a job has failed: each block of mpirun between two lines of dashes is one, and so is each
// line that stands outside. A block that only announces the next one does not count, nor does mpirun's word that it was sent a
// signal itself, as when somebody stops and continues it.
func Messages(r mpirun.Result) []string {
	var all, block []string
	inside := false
	for line := range strings.Lines(r.Stderr + "\n" + r.Stdout) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "-----"):
			if inside && !strings.HasPrefix(strings.Join(block, " "), preface) {
				all = append(all, strings.Join(block, " "))
			}
			block = nil
			inside = !inside
		case line == "" || strings.HasPrefix(line, "mpirun: Forwarding signal"):
		case inside:
			block = append(block, line)
		default:
			all = append(all, line)
		}
	}
	return all
}
