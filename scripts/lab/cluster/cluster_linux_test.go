package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
	"golang.org/x/sys/unix"

	"shiftwork/scripts/internal/arguments"
)

// made is a real cluster; the test is skipped where the machine cannot have any (not root, cgroups that are read-only).
func made(t *testing.T, cfg Config) *Cluster {
	t.Helper()
	c, err := New(cfg)
	if errors.Is(err, arguments.ErrRefused) {
		t.Skip("no workstations here: ", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, c.Close())
		assert.Empty(t, remains(t, c.Name()))
	})
	return c
}

// remains is what is there of a cluster.
func remains(t *testing.T, name string) []string {
	t.Helper()
	h, err := findHierarchy(cgroupRoot)
	require.NoError(t, err)
	var found []string
	for _, root := range append(h.roots(), stateRoot, sharedRoot, netnsRoot) {
		paths, err := filepath.Glob(filepath.Join(root, name+"*"))
		require.NoError(t, err)
		found = append(found, paths...)
	}
	return found
}

func shell(code string) []string { return []string{"sh", "-c", code} }

// spinner is a load program that only spins.
func spinner(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "spin")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\nwhile :; do :; done\n"), 0o755))
	return path
}

func run(t *testing.T, c *Cluster, job Job) *Result {
	t.Helper()
	var stderr bytes.Buffer
	job.Stderr = &stderr
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := c.Run(ctx, job)
	require.NoError(t, err, stderr.String())
	return r
}

// Each rank is in the group of its workstation, whose quota is the one asked for; mpirun is in none of them.
func TestRanksAreInTheirWorkstations(t *testing.T) {
	c := made(t, Config{CPU: []float64{0.3, 0.15}, Period: 20 * time.Millisecond, Master: true})
	var out bytes.Buffer
	r := run(t, c, Job{Stdout: &out, Command: shell(
		`groups=$(grep -E ':(cpu|cpuacct|cpu,cpuacct)?:/.*swlab' /proc/self/cgroup | sed 's/.*://' | sort -u)
		echo "$OMPI_COMM_WORLD_RANK:$groups"`)})
	assert.Zero(t, r.Code)
	for rank, group := range []string{c.master(), c.app(0), c.app(1)} {
		assert.Contains(t, out.String(), fmt.Sprintf("%d:/%s\n", rank, group))
	}
	for k, want := range []string{"6000 20000", "3000 20000"} {
		dir := filepath.Join(c.groups.cpu, c.workstation(k))
		if c.groups.v2 {
			assert.Equal(t, want+"\n", content(t, dir, "cpu.max"))
			continue
		}
		quota, period := content(t, dir, "cpu.cfs_quota_us"), content(t, dir, "cpu.cfs_period_us")
		assert.Equal(t, want, strings.TrimSpace(quota)+" "+strings.TrimSpace(period))
	}
	assert.Positive(t, r.Launch)
	assert.Positive(t, r.Master)
}

// Without quotas there is none in the group, and nothing is throttled.
func TestUnlimited(t *testing.T) {
	c := made(t, Config{CPU: []float64{0.1, 0.1}, Unlimited: true})
	var out bytes.Buffer
	r := run(t, c, Job{Stdout: &out, Command: shell("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done")})
	assert.Zero(t, r.Code)
	for _, w := range r.Workstations {
		assert.Positive(t, w.App)
		assert.Zero(t, w.Throttled)
		assert.Zero(t, w.ThrottledTime)
	}
	limited := made(t, Config{CPU: []float64{0.1, 0.1}})
	r = run(t, limited, Job{Command: shell("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done")})
	assert.Positive(t, r.Workstations[0].Throttled, "the same loop uses up a quota of 1 ms")
}

// A rank that computes all the time gets its share, and half of it beside a load. Other users of the machine can take
// from both alike, so the bounds above are sharp and those below are not. Halves need a quota of a few slices.
func TestSharesOfApplicationAndLoad(t *testing.T) {
	for _, pin := range []bool{false, true} {
		t.Run(fmt.Sprintf("pin=%t", pin), func(t *testing.T) {
			c := made(t, Config{CPU: []float64{0.2, 0.2}, Pin: pin, Period: 50 * time.Millisecond})
			r := run(t, c, Job{
				Command: shell(`timeout 1.5 sh -c 'while :; do :; done'
					[ $OMPI_COMM_WORLD_RANK = 0 ] && echo "result: time_s=1.5"; exit 0`),
				Loads: []Load{{Workstation: 1}}, LoadProgram: spinner(t),
			})
			// In the time in which the application computes; before and after it the load has everything.
			var app []Sample
			for _, s := range r.Samples {
				app = append(app, Sample{At: s.At, Load: s.App})
			}
			own := compete(app, r.Began, r.Ended, 2)
			alone, beside, load := own[0], own[1], r.Workstations[1].Compete
			const share = 0.2 * 1.5 // s
			assert.Less(t, alone.Seconds(), 1.2*share)
			assert.Greater(t, alone.Seconds(), 0.2*share)
			assert.Less(t, (beside + load).Seconds(), 1.2*share)
			// On two CPUs, other users of the machine may disturb one of the two only.
			tolerance := 0.4
			if pin {
				tolerance = 0.15
			}
			assert.InDelta(t, 0.5, beside.Seconds()/(beside+load).Seconds(), tolerance)
			assert.Zero(t, r.Workstations[0].Load)
			assert.GreaterOrEqual(t, r.Workstations[1].Load, load)
			usage := r.Workstations[1]
			assert.Positive(t, usage.Throttled)
			assert.LessOrEqual(t, usage.Throttled, usage.Periods)
			assert.Positive(t, usage.ThrottledTime)
			assert.InDelta(t, 1.5, (r.Ended - r.Began).Seconds(), 0.001)
			assert.Greater(t, len(r.Samples), 5)
		})
	}
}

// Loads may wait for the program's loop, which --progress tells of.
func TestLoadsBeginWithTheLoop(t *testing.T) {
	c := made(t, Config{CPU: []float64{0.9, 0.9}})
	dir := t.TempDir()
	program := filepath.Join(dir, "note")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\ndate +%s%N >>"+dir+"/calls\nexec sleep 60\n"), 0o755))
	job := Job{LoadProgram: program, Loads: []Load{{Workstation: 1, FromLoop: true, From: 200 * time.Millisecond}}}
	job.Command = shell(`sleep 0.5; [ $OMPI_COMM_WORLD_RANK = 0 ] && date +%s%N >` + dir + `/began && echo "sor:   0.0 s  sweep 0 of 9" >&2; sleep 1`)
	run(t, c, job)
	stamp := func(file string) time.Time {
		ns, err := strconv.ParseInt(strings.TrimSpace(content(t, dir, file)), 10, 64)
		require.NoError(t, err)
		return time.Unix(0, ns)
	}
	late := stamp("calls").Sub(stamp("began")).Seconds()
	assert.Greater(t, late, 0.15)
	assert.Less(t, late, 0.9, "on a machine that others use it may take a while, but not as long as the program goes on")

	job.Command = shell("sleep 0.1")
	_, err := c.Run(t.Context(), job)
	assert.NotErrorIs(t, err, arguments.ErrRefused, "by then it has run")
	assert.ErrorContains(t, err, "--progress")
}

// Loads run when their scripts say, several at once.
func TestLoadsFollowTheirScripts(t *testing.T) {
	c := made(t, Config{CPU: []float64{0.9, 0.9}}) // a shell takes a while to start in a small part of a CPU
	dir := t.TempDir()
	program := filepath.Join(dir, "note")
	code := "#!/bin/sh\necho \"$(date +%s%N) $*\" >>" + dir + "/calls\n[ $# -eq 6 ] || exec sleep 60\n"
	require.NoError(t, os.WriteFile(program, []byte(code), 0o755))
	began := time.Now()
	run(t, c, Job{Command: shell("sleep 1.5"), LoadProgram: program, Loads: []Load{
		{Workstation: 0, From: 0},
		{Workstation: 0, From: 400 * time.Millisecond, On: 20 * time.Millisecond, Off: 30 * time.Millisecond},
		{Workstation: 1, From: 700 * time.Millisecond, To: 900 * time.Millisecond},
		{Workstation: 1, From: time.Hour},
	}})
	calls := strings.Split(strings.TrimSpace(content(t, dir, "calls")), "\n")
	require.Len(t, calls, 3, "the last starts after the end")
	for i, want := range []struct {
		from time.Duration
		args string
	}{
		{0, " --on 1s --off 0s"},
		{400 * time.Millisecond, " --on 20ms --off 30ms"},
		{700 * time.Millisecond, " --on 1s --off 0s --for "},
	} {
		stamp, args, _ := strings.Cut(calls[i], " ")
		assert.True(t, strings.HasPrefix(" "+args, want.args), calls[i])
		ns, err := strconv.ParseInt(stamp, 10, 64)
		require.NoError(t, err)
		assert.InDelta(t, want.from.Seconds(), time.Unix(0, ns).Sub(began).Seconds(), 0.35)
	}
	length, err := time.ParseDuration(calls[2][strings.LastIndexByte(calls[2], ' ')+1:])
	require.NoError(t, err)
	assert.InDelta(t, 0.2, length.Seconds(), 0.1)
}

// What ends badly ends, says so and leaves nothing behind; and the cluster can be used again.
func TestFailures(t *testing.T) {
	c := made(t, Config{CPU: []float64{0.2, 0.2}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	empty := func() {
		t.Helper()
		dirs, err := below(filepath.Join(c.groups.cpu, c.name))
		require.NoError(t, err)
		for _, dir := range dirs {
			pids, err := processes(dir)
			require.NoError(t, err)
			assert.Empty(t, pids, dir)
			assert.NotContains(t, filepath.Base(dir), "load")
		}
	}
	r := run(t, c, Job{Command: shell("exit 7")})
	assert.Equal(t, 7, r.Code)
	assert.Nil(t, r.Line)
	empty()

	_, err := c.Run(ctx, Job{Command: shell("sleep 50"), Loads: []Load{{}}, LoadProgram: "/bin/true"})
	assert.ErrorContains(t, err, "it ended before the program did")
	empty()
	_, err = c.Run(ctx, Job{Command: shell("sleep 50"), Loads: []Load{{}}, LoadProgram: "/bin/false"})
	assert.ErrorContains(t, err, "exit status 1")
	empty()

	// Interrupted, with a rank that does not listen to signals.
	short, stop := context.WithTimeout(ctx, 700*time.Millisecond)
	defer stop()
	began := time.Now()
	deaf := shell("trap '' TERM INT; sleep 50 & sleep 50")
	_, err = c.Run(short, Job{Command: deaf, Loads: []Load{{}}, LoadProgram: spinner(t)})
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Less(t, time.Since(began), 20*time.Second)
	empty()

	// A process that a rank leaves behind is ended with the job.
	run(t, c, Job{Command: shell("setsid sleep 50 >/dev/null 2>&1 & sleep 0.1")})
	empty()

	yes := shell("true")
	for says, job := range map[string]Job{
		"no program":                      {},
		"program cannot be run":           {Command: []string{"/nowhere/sor"}},
		"load program cannot be run":      {Command: yes, Loads: []Load{{}}, LoadProgram: "/nowhere/load"},
		"no workstation 2":                {Command: yes, Loads: []Load{{Workstation: 2}}, LoadProgram: "/bin/true"},
		"to 1s is not after from 2s":      {Command: yes, Loads: []Load{{From: 2e9, To: 1e9}}, LoadProgram: "/bin/true"},
		"on 0s: 1ms or more is accepted":  {Command: yes, Loads: []Load{{Off: 1e9}}, LoadProgram: "/bin/true"},
		"from -1ns is before the start: ": {Command: yes, Loads: []Load{{From: -1}}, LoadProgram: "/bin/true"},
	} {
		_, err := c.Run(ctx, job)
		assert.ErrorIs(t, err, arguments.ErrRefused)
		assert.ErrorContains(t, err, says)
	}
	empty()
	require.NoError(t, c.Close())
	_, err = c.Run(ctx, Job{Command: shell("true")})
	assert.ErrorContains(t, err, "closed")
	assert.NoError(t, c.Close())
}

// Each rank sees its own address and nothing of the machine's network, and reaches the others.
func TestNetwork(t *testing.T) {
	c := made(t, Config{CPU: []float64{0.4, 0.4, 0.4}, Network: true, Bandwidth: 1e7, Master: true})
	var out bytes.Buffer
	r := run(t, c, Job{Stdout: &out, Command: shell(
		`read host </proc/sys/kernel/hostname
		case $OMPI_COMM_WORLD_RANK.$host in 1.ws0|2.ws1|3.ws2) ;; 0.ws*|[123].*) echo wrong host name $host; exit 1 ;; esac
		echo "$OMPI_COMM_WORLD_RANK:" $(ip -br -4 addr | grep -v '^lo' | sed 's/@[^ ]*//') $(tc qdisc show dev lab0)`)})
	assert.Zero(t, r.Code, out.String())
	for rank, host := range []int{1, 2, 3, 4} {
		want := fmt.Sprintf("%d: lab0 UP %s/16", rank, address(host))
		assert.Contains(t, out.String(), want)
	}
	assert.Equal(t, 3, strings.Count(out.String(), "tbf"), "the master has no limit")
	assert.Equal(t, 3, strings.Count(out.String(), "rate 10Mbit"))
	assert.Len(t, strings.Split(strings.TrimSpace(out.String()), "\n"), 4)

	// 500 kB at 10 Mbit/s take 0.4 s, less what the bucket holds at the start.
	script := fmt.Sprintf(`import os, socket, time
rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
if rank == 1:
    s = socket.create_server(("%[1]s", 7000)); c, _ = s.accept(); c.sendall(bytes(500000)); c.close()
elif rank == 2:
    for attempt in range(200): # until rank 1 listens
        try:
            began = time.time(); c = socket.create_connection(("%[1]s", 7000)); break
        except ConnectionRefusedError:
            time.sleep(0.05)
    n = 0
    while (b := c.recv(65536)): n += len(b)
    print("took", n, time.time() - began, flush=True)
`, workstationAddress(0))
	python, err := exec.LookPath("python3")
	if err != nil {
		return // the limit itself is the kernel's
	}
	out.Reset()
	run(t, c, Job{Stdout: &out, Command: []string{python, "-c", script}})
	var n int
	var seconds float64
	_, err = fmt.Sscanf(out.String(), "took %d %g", &n, &seconds)
	require.NoError(t, err, out.String())
	assert.Equal(t, 500000, n)
	assert.Greater(t, seconds, 0.3, "at 10 Mbit/s")
}

// The slice reaches ranks, and no process outside.
func TestSlice(t *testing.T) {
	const slice = 700 * time.Microsecond
	c := made(t, Config{CPU: []float64{0.2}, Slice: slice})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := c.Run(ctx, Job{Command: []string{"sleep", "600"}})
		done <- err
	}()
	var pids []int
	require.Eventually(t, func() bool {
		var err error
		pids, err = processes(filepath.Join(c.groups.cpu, c.app(0)))
		return err == nil && len(pids) == 1 &&
			strings.HasPrefix(content(t, fmt.Sprintf("/proc/%d/cmdline", pids[0])), "sleep")
	}, 20*time.Second, 10*time.Millisecond)
	attr, err := unix.SchedGetAttr(pids[0], 0)
	require.NoError(t, err)
	assert.Equal(t, uint64(slice), attr.Runtime)
	own, err := unix.SchedGetAttr(os.Getpid(), 0)
	require.NoError(t, err)
	assert.NotEqual(t, uint64(slice), own.Runtime)
	cancel()
	assert.ErrorIs(t, <-done, context.Canceled)
}

// What an owner that was killed left is removed by the next cluster, with the processes in its groups, and with no
// other. While the owner lives, it stays.
func TestLeftovers(t *testing.T) {
	made(t, Config{CPU: []float64{0.1}}) // or skip
	h, err := findHierarchy(cgroupRoot)
	require.NoError(t, err)
	owner, inside, outside := sleeper(t), sleeper(t), sleeper(t)
	start, err := startOf(owner.Process.Pid)
	require.NoError(t, err)
	name := fmt.Sprintf("%s%d-%d-1", prefix, owner.Process.Pid, start)
	t.Cleanup(func() { assert.NoError(t, removeAll(h, name)) })
	require.NoError(t, h.create(name, true))
	require.NoError(t, h.create(name+"/ws0", false))
	for _, file := range h.entrances(name + "/ws0") {
		require.NoError(t, writeFile(file, strconv.Itoa(inside.Process.Pid)))
	}
	require.NoError(t, os.Mkdir(filepath.Join(stateRoot, name), 0o700))
	require.NoError(t, os.Mkdir(filepath.Join(sharedRoot, name), 0o700))
	require.NoError(t, makeNetwork(name, 2, 1e6))
	all := remains(t, name)
	assert.Len(t, all, len(h.roots())+2+3)

	made(t, Config{CPU: []float64{0.1}})
	assert.Equal(t, all, remains(t, name), "its owner lives")
	assert.True(t, alive(t, inside.Process.Pid))

	require.NoError(t, owner.Process.Kill())
	_ = owner.Wait()
	made(t, Config{CPU: []float64{0.1}})
	assert.Empty(t, remains(t, name))
	var status syscall.WaitStatus
	_, err = syscall.Wait4(inside.Process.Pid, &status, 0, nil)
	require.NoError(t, err)
	assert.Equal(t, syscall.SIGKILL, status.Signal())
	assert.True(t, alive(t, outside.Process.Pid))
}

// What goes wrong while a cluster is made leaves nothing.
func TestNewThatFails(t *testing.T) {
	made(t, Config{CPU: []float64{0.1}}) // or skip
	before := sequence.Load()
	name := func(i int64) string {
		start, err := startOf(os.Getpid())
		require.NoError(t, err)
		return fmt.Sprintf("%s%d-%d-%d", prefix, os.Getpid(), start, i)
	}
	// The folder in shared memory is the last before the network.
	block := filepath.Join(sharedRoot, name(before+1))
	require.NoError(t, os.Mkdir(block, 0o700))
	_, err := New(Config{CPU: []float64{0.1}, Network: true})
	assert.ErrorContains(t, err, "file exists")
	assert.Empty(t, remains(t, name(before+1)))

	t.Setenv("PATH", t.TempDir())
	_, err = New(Config{CPU: []float64{0.1}})
	assert.ErrorIs(t, err, arguments.ErrRefused)
	assert.ErrorContains(t, err, "mpirun is not there")
	_, err = New(Config{CPU: []float64{0.1, 2}})
	assert.ErrorIs(t, err, arguments.ErrRefused)
}

// Where v2 is mounted without a cpu controller, because v1 has it, its groups still hold processes and accounts.
func TestRealV2(t *testing.T) {
	dir := ""
	for _, d := range []string{cgroupRoot, filepath.Join(cgroupRoot, "unified")} {
		if _, err := os.Stat(filepath.Join(d, "cgroup.controllers")); err == nil {
			dir = d
		}
	}
	h := &hierarchy{
		v2: true, cpu: dir, acct: dir,
		mkdir: func(path string) error { return os.Mkdir(path, 0o755) }, rmdir: os.Remove,
	}
	name, err := newName()
	require.NoError(t, err)
	if dir == "" || os.Geteuid() != 0 || h.create(name, false) != nil {
		t.Skip("no cgroup v2 that this user may write to")
	}
	t.Cleanup(func() { assert.NoError(t, h.remove(name)) })
	require.NoError(t, h.create(name+"/app", false))
	cmd := exec.Command("sh", "-c", "while :; do :; done")
	require.NoError(t, cmd.Start())
	for _, file := range h.entrances(name + "/app") {
		require.NoError(t, writeFile(file, strconv.Itoa(cmd.Process.Pid)))
	}
	require.Eventually(t, func() bool {
		used, err := h.used(name)
		return err == nil && used > 100*time.Millisecond
	}, 20*time.Second, 10*time.Millisecond)
	require.NoError(t, h.remove(name))
	assert.ErrorContains(t, cmd.Wait(), "killed")
	assert.NoDirExists(t, filepath.Join(dir, name))
}
