package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"shiftwork/internal/mpirun"
	"shiftwork/scripts/internal/arguments"
)

const (
	// sampling is the time between samples: reading the accounts of four workstations takes some 50 µs.
	sampling = 100 * time.Millisecond
	// ending is how long mpirun may take to end its ranks when the job is cut short.
	ending = 5 * time.Second
)

// harmless is in a line that Open MPI prints when an agent was faster than the process that started it, which is of no
// consequence.
const harmless = "plm:rsh: Warning: setpgid("

// Run runs a job and returns when everything that it started has ended. The exit code of the program is in the result
// and is no error. The error is an arguments.ErrRefused where the job cannot be started; if ctx ends, or a load fails, the job is
// ended and the error says why.
func (c *Cluster) Run(ctx context.Context, job Job) (*Result, error) {
	if !c.job.TryLock() {
		return nil, errors.New("the cluster runs another job")
	}
	defer c.job.Unlock()
	if c.closed {
		return nil, errors.New("the cluster is closed")
	}
	if err := c.check(job); err != nil {
		return nil, err
	}
	r := &running{c: c, job: job, result: &Result{}}
	for i, l := range job.Loads {
		group := c.load(l.Workstation, i)
		if err := c.groups.create(group, false); err != nil {
			return nil, err
		}
		defer func() { _ = c.groups.remove(group) }() // what it leaves, Close removes
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := r.run(ctx, cancel); err != nil {
		return nil, err
	}
	return r.result, nil
}

// check says what is wrong with a job.
func (c *Cluster) check(job Job) error {
	if len(job.Command) == 0 {
		return arguments.Refuse("there is no program to run")
	}
	if _, err := exec.LookPath(job.Command[0]); err != nil {
		return arguments.Refuse("the program cannot be run: %v", err)
	}
	for _, l := range job.Loads {
		if err := l.check(len(c.cfg.CPU)); err != nil {
			return arguments.Refuse("load %q: %v", l.String(), err)
		}
	}
	if len(job.Loads) > 0 {
		if _, err := exec.LookPath(job.LoadProgram); err != nil {
			return arguments.Refuse("the load program cannot be run: %v (make build makes ./load)", err)
		}
	}
	return nil
}

// running is a job on its way.
type running struct {
	c      *Cluster
	job    Job
	base   accounts
	began  time.Time
	result *Result
	loop   *loopFinder
}

// accounts are the counters of a cluster at one time.
type accounts struct {
	app, load      []time.Duration // of each workstation
	throttling     []throttling
	master, launch time.Duration
}

func (r *running) run(ctx context.Context, fail context.CancelCauseFunc) (err error) {
	if r.base, err = r.read(true); err != nil {
		return err
	}
	rank := append([]string{"sh", r.c.script("rank")}, r.job.Command...)
	args := slices.Concat([]string{r.c.script("launch"), "mpirun"}, r.mpiFlags(), rank)
	cmd := exec.Command("sh", args...)
	cmd.Env = append(os.Environ(), r.job.Env...)
	r.began = time.Now()
	finder := newResultFinder(nil, r.began)
	cmd.Stdout = finder
	var lock sync.Mutex
	if r.job.Stdout != nil {
		finder.out = together{&lock, r.job.Stdout}
	}
	r.loop = newLoopFinder(nil)
	if r.job.Stderr != nil {
		r.loop.out = without{together{&lock, r.job.Stderr}, harmless}
	}
	cmd.Stderr = r.loop
	cmd.WaitDelay = ending // a rank that outlives mpirun holds its output
	if err := r.c.starter.start(cmd, syscall.SIGTERM); err != nil {
		return err
	}

	// The group is ended last, whatever happened: nothing of the job outlives it.
	beside, stop := context.WithCancel(ctx)
	var others sync.WaitGroup
	for i, l := range r.job.Loads {
		others.Go(func() {
			if err := r.compete(beside, i, l); err != nil {
				fail(fmt.Errorf("load %q: %w", l.String(), err))
			}
		})
	}
	others.Go(func() {
		if err := r.sample(beside); err != nil {
			fail(err)
		}
	})
	waited := make(chan error, 1)
	go func() { waited <- cmd.Wait() }()
	var failure error
	select {
	case failure = <-waited:
	case <-ctx.Done():
		_ = cmd.Process.Signal(syscall.SIGTERM) // mpirun ends its ranks
		select {
		case failure = <-waited:
		case <-time.After(ending):
			err = r.c.groups.end(r.c.name)
			failure = <-waited
		}
	}
	r.result.Elapsed = time.Since(r.began)
	stop()
	others.Wait()
	err = errors.Join(err, r.c.groups.end(r.c.name))
	if ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	if err != nil {
		return err
	}
	var exit *exec.ExitError
	switch {
	case errors.As(failure, &exit):
		if r.result.Code = exit.ExitCode(); r.result.Code < 0 {
			return fmt.Errorf("mpirun: %w", failure)
		}
	case failure != nil && !errors.Is(failure, exec.ErrWaitDelay):
		return fmt.Errorf("mpirun: %w", failure)
	}
	return r.finish(finder)
}

// mpiFlags are mpirun's arguments: a rank a workstation, free to run on any CPU, in order of the workstations.
func (r *running) mpiFlags() []string {
	c := r.c
	flags := []string{
		"--bind-to", "none",
		"--mca", "orte_tmpdir_base", c.state(),
		"--mca", "btl_vader_backing_directory", c.shared(),
		"--mca", "pml", "ob1", // what Open MPI takes here, after it has looked for other hardware for 0.2 s
	}
	if c.cfg.Network {
		var hosts []string
		if c.cfg.Master {
			hosts = append(hosts, bridgeAddress()+":1")
		}
		for k := range c.cfg.CPU {
			hosts = append(hosts, workstationAddress(k)+":1")
		}
		flags = append(flags,
			"--host", strings.Join(hosts, ","), "--map-by", "slot",
			"--mca", "plm", "rsh", "--mca", "plm_rsh_agent", "/bin/sh "+c.script("agent"), "--mca", "plm_rsh_no_tree_spawn", "1",
			"--mca", "oob_tcp_if_include", device, "--mca", "btl_tcp_if_include", device,
			"--mca", "btl", "tcp,self") // no shared memory between workstations
	} else {
		flags = append(flags, "--mca", "btl", "self,vader") // what it takes here, too: a fifth less to do for ranks that begin under a quota
	}
	return mpirun.Flags(c.cfg.Ranks(), flags...)
}

// compete runs load i from its start to its end or the job's.
func (r *running) compete(ctx context.Context, i int, l Load) error {
	began := r.began
	if l.FromLoop {
		select {
		case <-ctx.Done():
			return nil
		case <-r.loop.begun:
			began = r.loop.at
		}
	}
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(time.Until(began.Add(l.From))):
	}
	busy := l.On
	if l.Off == 0 {
		busy = time.Second // of any length
	}
	program := []string{r.job.LoadProgram, "--on", busy.String(), "--off", l.Off.String()}
	if l.To != 0 {
		program = append(program, "--for", time.Until(began.Add(l.To)).String())
	}
	if r.c.cores != nil {
		program = append([]string{"taskset", "-c", strconv.Itoa(r.c.cores[l.Workstation])}, program...)
	}
	enter := r.c.enter(r.c.load(l.Workstation, i)) + ` && exec "$0" "$@"`
	cmd := exec.Command("sh", append([]string{"-c", enter}, program...)...)
	var complaint strings.Builder
	cmd.Stderr, cmd.WaitDelay = &complaint, ending
	if err := r.c.starter.start(cmd, syscall.SIGKILL); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case <-ctx.Done():
		_ = cmd.Process.Kill()
		<-done
		return nil
	case err := <-done:
		if err != nil {
			return fmt.Errorf("%w: %s", err, strings.TrimSpace(complaint.String()))
		}
		if l.To == 0 {
			return errors.New("it ended before the program did")
		}
		return nil
	}
}

// sample reads the accounts at equal times, at the start and at the end.
func (r *running) sample(ctx context.Context) error {
	ticks := time.NewTicker(sampling)
	defer ticks.Stop()
	for {
		ended := ctx.Err() != nil
		if err := r.sampleNow(); err != nil || ended {
			return err
		}
		select {
		case <-ctx.Done():
		case <-ticks.C:
		}
	}
}

func (r *running) sampleNow() error {
	now, err := r.read(false)
	if err != nil {
		return err
	}
	s := Sample{At: time.Since(r.began), App: since(now.app, r.base.app), Load: now.load}
	r.result.Samples = append(r.result.Samples, s)
	return nil
}

// read reads the accounts; those that only the end needs if all is true.
func (r *running) read(all bool) (a accounts, err error) {
	h, c := r.c.groups, r.c
	var errs []error
	used := func(group string) time.Duration {
		t, err := h.used(group)
		errs = append(errs, err)
		return t
	}
	a.load = make([]time.Duration, len(c.cfg.CPU)) // groups of loads are made for the job
	for i, l := range r.job.Loads {
		a.load[l.Workstation] += used(c.load(l.Workstation, i))
	}
	for k := range c.cfg.CPU {
		a.app = append(a.app, used(c.app(k)))
		if all {
			t, err := h.throttling(c.workstation(k))
			errs = append(errs, err)
			a.throttling = append(a.throttling, t)
		}
	}
	if all {
		a.launch = used(c.launch())
		if c.cfg.Master {
			a.master = used(c.master())
		}
	}
	return a, errors.Join(errs...)
}

// since subtracts element by element.
func since(now, base []time.Duration) []time.Duration {
	d := make([]time.Duration, len(now))
	for k := range now {
		d[k] = now[k] - base[k]
	}
	return d
}

// finish fills in the result.
func (r *running) finish(finder *resultFinder) error {
	end, err := r.read(true)
	if err != nil {
		return err
	}
	res := r.result
	competed := make([]time.Duration, len(end.app))
	res.Line = finder.line
	for _, l := range r.job.Loads {
		if l.FromLoop && res.Code == 0 && r.loop.at.IsZero() {
			return fmt.Errorf("load %q waits for the program's loop, and the program has not said when it begins: it must be run with --progress", l.String())
		}
	}
	if seconds, ok := res.TimeSeconds(); ok {
		res.Ended = finder.at - res.finish()
		res.Began = max(0, res.Ended-time.Duration(seconds*float64(time.Second)))
		competed = compete(res.Samples, res.Began, res.Ended, len(end.app))
	}
	app := since(end.app, r.base.app)
	for k := range app {
		t, base := end.throttling[k], r.base.throttling[k]
		res.Workstations = append(res.Workstations, Usage{
			App: app[k], Load: end.load[k], Compete: competed[k],
			Periods: t.periods - base.periods, Throttled: t.throttled - base.throttled, ThrottledTime: t.time - base.time,
		})
	}
	res.Master, res.Launch = end.master-r.base.master, end.launch-r.base.launch
	return nil
}
