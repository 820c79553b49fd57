package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"shiftwork/internal/jobs"
	"shiftwork/internal/mpirun"
)

type options struct {
	program    string
	signal     string
	runs       int
	ranks      int
	n          int
	iterations int
	balance    string
	length     time.Duration
	within     time.Duration
	latest     time.Duration
	seed       uint64

	checksum string // what each job whose rank was stopped must come to
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("killing", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.program, "program", "./sor", "the program")
	flags.StringVar(&o.signal, "signal", "kill", "kill, or stop (and continue)")
	flags.IntVar(&o.runs, "runs", 50, "jobs")
	flags.IntVar(&o.ranks, "ranks", 4, "ranks of a job")
	flags.IntVar(&o.n, "n", 1000, "rows and columns")
	flags.IntVar(&o.iterations, "iterations", 4000, "sweeps of a job whose rank is stopped; one whose rank is killed has no end of its own")
	flags.StringVar(&o.balance, "balance", "random", "--balance of the program")
	flags.DurationVar(&o.length, "length", 10*time.Second, "how long a rank is stopped")
	flags.DurationVar(&o.within, "within", 15*time.Second, "a job whose rank was killed must end within this time")
	flags.DurationVar(&o.latest, "latest", 2*time.Second, "the moments are up to so long after all ranks are connected")
	flags.Uint64Var(&o.seed, "seed", 1, "of the random moments")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if err := o.check(flags.Args()); err != nil {
		_, _ = fmt.Fprintln(stderr, "killing:", err)
		return 2
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM) // the job under way ends first: none is left behind
	ok, err := o.all(stdout, stop)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "killing:", err)
		return 1
	}
	if !ok {
		return 1
	}
	return 0
}

func (o options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("%q is no flag", rest[0])
	case o.signal != "kill" && o.signal != "stop":
		return fmt.Errorf("--signal %s: kill or stop is accepted", o.signal)
	case o.runs < 1 || o.ranks < 2 || o.n < 3 || o.iterations < 1:
		return errors.New("--runs and --iterations are at least 1, --ranks 2, --n 3")
	case o.length <= 0 || o.within <= 0 || o.latest <= 0:
		return errors.New("--length, --within and --latest are above 0")
	}
	_, err := os.Stat(o.program)
	return err
}

// all does the runs and says whether all were good.
func (o options) all(w io.Writer, stop <-chan os.Signal) (bool, error) {
	random := rand.New(rand.NewPCG(o.seed, 0))
	iterations := o.iterations
	if o.signal == "kill" {
		iterations = 1 << 40
	}
	command := []string{o.program, "--n", strconv.Itoa(o.n), "--iterations", strconv.Itoa(iterations), "--balance", o.balance, "--quiet"}
	if o.signal == "stop" {
		var err error
		if o.checksum, err = reference(o.program, command[1:]); err != nil {
			return false, err
		}
	}
	bad, missed := 0, 0
	var times []time.Duration
	for done := 0; done < o.runs; {
		t := jobs.Trial{Command: command, Ranks: o.ranks, Rank: done % o.ranks, After: jobs.Draw(random, o.latest), Within: 4 * o.within}
		select {
		case <-stop:
			return false, errors.New("interrupted")
		default:
		}
		out, err := o.one(t)
		if err != nil {
			return false, err
		}
		if out.Missed {
			if missed++; missed > o.runs {
				return false, fmt.Errorf("%d jobs have ended before their moment came: more --iterations, or an earlier --latest", missed)
			}
			continue
		}
		done++
		verdict := o.judge(out)
		if verdict != "" {
			bad++
		} else {
			verdict = "good"
		}
		times = append(times, out.Took)
		_, err = fmt.Fprintf(w, "run %d: rank %d after %.3f s: ended %.2f s later, code %d, %s\n", done, t.Rank, t.After.Seconds(), out.Took.Seconds(), out.Code, verdict)
		if err != nil {
			return false, err
		}
	}
	slices.Sort(times)
	_, err := fmt.Fprintf(w, "%s: %d runs, %d bad, %d missed; from the signal to the end %.2f s (median), %.2f s (longest)\n", o.signal, o.runs, bad, missed,
		times[len(times)/2].Seconds(), times[len(times)-1].Seconds())
	return bad == 0, err
}

// reference runs the program on one rank, which compares its result with a serial run, and returns the checksum as the result line
// has it.
func reference(program string, args []string) (string, error) {
	args = append(slices.Clone(args), "--ranks", "1", "--verify")
	out, err := exec.Command(program, args...).Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", program, strings.Join(args, " "), err)
	}
	fields := mpirun.Fields(string(out))
	if fields["checksum"] == "" || fields["verified"] != "true" {
		return "", fmt.Errorf("the run of one rank printed %q", out)
	}
	return "checksum=" + fields["checksum"], nil
}

func (o options) one(t jobs.Trial) (jobs.Outcome, error) {
	if o.signal == "kill" {
		return t.Kill()
	}
	t.Within = 10 * time.Minute // a busy machine may take long
	return t.Pause(o.length)
}

// judge says what was wrong, or "".
func (o options) judge(out jobs.Outcome) string {
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if out.Hangs {
		fault("it hangs: %q", out.Messages)
		return faults[0]
	}
	if len(out.Left) > 0 {
		fault("ranks %v are left", out.Left)
	}
	if o.signal == "kill" {
		if out.Code == 0 {
			fault("exit code 0")
		}
		if out.Took > o.within {
			fault("more than %v", o.within)
		}
		if len(out.Messages) != 1 {
			fault("%d messages: %q", len(out.Messages), out.Messages)
		}
		if strings.Contains(out.Stdout, "result:") {
			fault("a result line")
		}
		return strings.Join(faults, "; ")
	}
	if out.Code != 0 {
		fault("exit code %d: %q", out.Code, out.Messages)
	} else if !strings.Contains(out.Stdout, o.checksum) {
		fault("not the result of a single rank, %s: %q", o.checksum, out.Stdout)
	}
	return strings.Join(faults, "; ")
}
