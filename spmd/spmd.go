package spmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"shiftwork/comm"
	"shiftwork/comm/local"
	"shiftwork/hooks"
)

// UsageError is bad usage or input: the program ends with exit code 2 and this one line. A run function returns it
// on every rank, as it does when all ranks look at the same arguments and files, or after comm.Agree. Where only some ranks do, MPI's others may be
// waiting for them: after 3 s the lowest of those that do says so and ends the job.
type UsageError struct{ Err error }

// Error is one line, also where Err joins several faults.
func (e *UsageError) Error() string {
	return strings.Join(strings.FieldsFunc(e.Err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
func (e *UsageError) Unwrap() error { return e.Err }

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// Main runs the program on every rank and ends the process: under mpirun or srun each process is a rank of MPI,
// otherwise the ranks are goroutines of this process, as many as ranks says (0: one a core). It does not return.
//
// A run that fails on one rank ends the whole job, with the error and the rank printed once: exit code 1, or 2 for a
// *UsageError. A panic counts as a failure and is printed with its stack.
func Main(ranks int, run func(c comm.Comm) error) {
	program := filepath.Base(os.Args[0])
	if l, ok := launched(os.Getenv); ok {
		os.Exit(mainMPI(program, l, run))
	}
	os.Exit(mainLocal(program, ranks, run))
}

func mainLocal(program string, ranks int, run func(c comm.Comm) error) int {
	if ranks <= 0 {
		ranks = runtime.NumCPU()
	}
	err := local.Run(ranks, run)
	if err == nil {
		return exitDone
	}
	var usage *UsageError
	if errors.As(err, &usage) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", program, usage)
		return exitUsage
	}
	var abort *comm.AbortError
	if errors.As(err, &abort) {
		return abort.Code
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", program, failure(err))
	return exitFailed
}

// failure is err, or the panic in it, which says by itself on which rank it was.
func failure(err error) error {
	var panicked *hooks.PanicError
	if errors.As(err, &panicked) {
		return panicked
	}
	return err
}

// launch is what the launcher says about this process.
type launch struct {
	launcher   string
	rank, size int
}

// launched reads what mpirun (Open MPI, MPICH and its relatives) or srun put into the environment of each rank. srun is
// asked last: where mpirun starts its daemons through it, the ranks inherit the variables of those, one a node.
func launched(env func(string) string) (launch, bool) {
	for _, v := range []struct{ launcher, rank, size string }{
		{"mpirun of Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
		{"mpirun of MPICH or a relative", "PMI_RANK", "PMI_SIZE"},
		{"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
	} {
		size, err := strconv.Atoi(env(v.size))
		if err != nil || size < 1 {
			continue
		}
		rank, err := strconv.Atoi(env(v.rank))
		if err != nil {
			rank = 0
		}
		return launch{v.launcher, rank, size}, true
	}
	return launch{}, false
}

// transport is what a build's MPI offers; nil in builds without MPI.
type transport interface {
	comm.Comm
	Stop()
}

func mainMPI(program string, l launch, run func(c comm.Comm) error) int {
	// Only the launcher's rank 0 speaks before the ranks know each other.
	say := func(format string, args ...any) {
		if l.rank == 0 {
			fmt.Fprintf(os.Stderr, program+": "+format+"\n", args...)
		}
	}
	c, err := startMPI()
	if err != nil {
		say("%v", err)
		return exitUsage
	}
	if c.Size() != l.size {
		say("the launcher (%s) started %d ranks, but in MPI each of them is rank %d of %d: start the program with the mpirun of the MPI that it is linked with (%s)", l.launcher, l.size, c.Rank(), c.Size(), linkedMPI())
		c.Stop()
		return exitUsage
	}
	panicked, err := protect(c, run)
	if err == nil {
		c.Stop()
		return exitDone
	}
	var usage *UsageError
	if errors.As(err, &usage) {
		heard := c.Rank() != 0 && hears(c, usageGrace+time.Duration(c.Rank())*usageGrace/time.Duration(10*c.Size()))
		if !heard {
			fmt.Fprintf(os.Stderr, "%s: %v\n", program, usage)
		}
		// Rank 0 must have spoken before mpirun sees the first exit code.
		switch {
		case heard && c.Send(0, tagHeard, nil) == nil, c.Rank() == 0 && heardByAll(c):
			c.Stop()
		default:
			c.Abort(exitUsage)
		}
		return exitUsage
	}
	// Where all ranks fail for one reason rank 0 says so, and the others do not add their voices. After a panic another thread may be using c still.
	switch {
	case c.Rank() == 0:
	case panicked:
		time.Sleep(failureGrace)
	case hears(c, failureGrace):
		time.Sleep(usageGrace) // rank 0 ends the job
		return exitFailed
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", program, failure(&comm.RankError{Rank: c.Rank(), Err: err}))
	if !panicked && c.Rank() == 0 {
		tellSpoken(c)
	}
	c.Abort(exitFailed)
	return exitFailed
}

const (
	tagSpoken = hooks.MaxTag - 28 // below those of loops, and above the program's
	tagHeard  = hooks.MaxTag - 29
	// usageGrace is how long ranks with a UsageError wait for the others; a little longer the higher the rank, for the first to give up ends the job.
	usageGrace = 3 * time.Second
	// failureGrace is how long a rank that has failed waits for rank 0 to say so first.
	failureGrace = 300 * time.Millisecond
)

// tellSpoken tells the others that rank 0 has said what is wrong. Who does not hear it says it again.
func tellSpoken(c comm.Comm) {
	for r := 1; r < c.Size(); r++ {
		_, _ = c.Isend(r, tagSpoken, nil)
	}
}

// hears reports whether rank 0 tells within that time that it has spoken.
func hears(c comm.Comm, within time.Duration) bool { return comes(c, 0, tagSpoken, c.Now()+within) }

// heardByAll tells the others that rank 0 has spoken, and reports whether all of them answer within usageGrace.
func heardByAll(c comm.Comm) bool {
	tellSpoken(c)
	deadline := c.Now() + usageGrace
	for range c.Size() - 1 {
		if !comes(c, comm.Any, tagHeard, deadline) {
			return false
		}
	}
	return true
}

// comes receives an empty message, if one comes in time.
func comes(c comm.Comm, from, tag int, deadline time.Duration) bool {
	for ; ; time.Sleep(time.Millisecond) {
		st, there, err := c.Iprobe(from, tag)
		if there && err == nil {
			_, err = c.Recv(st.Source, tag, nil)
		}
		if there || err != nil || c.Now() >= deadline {
			return there && err == nil
		}
	}
}

// protect turns a panic into an error, and tells that it was one; loops do so too.
func protect(c comm.Comm, run func(c comm.Comm) error) (panicked bool, err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case *hooks.PanicError:
			err = v
		default:
			panicked, err = true, fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
		var annotated *hooks.PanicError
		panicked = panicked || errors.As(err, &annotated)
	}()
	return false, run(c)
}
