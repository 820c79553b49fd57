package jobs

import (
	"math/rand/v2"
	"syscall"
	"time"

	"shiftwork/internal/mpirun"
)

// Trial is a rank of a job that is killed or stopped at some moment.
type Trial struct {
	Command []string
	Env     []string
	Ranks   int
	Rank    int           // whose turn it is
	After   time.Duration // since all ranks are connected
	Within  time.Duration // after which a job that has not ended hangs: since the kill, or since the start of a job that is paused
}

// Draw returns a random moment up to a time.
func Draw(random *rand.Rand, latest time.Duration) time.Duration {
	return time.Duration(random.Float64() * float64(latest))
}

// Outcome is what became of the job.
type Outcome struct {
	Missed   bool          // the job had ended before its rank's turn came: it says nothing
	Hangs    bool          // the job did not end by itself
	Took     time.Duration // from the signal (SIGKILL) or SIGCONT to the end of mpirun
	Code     int           // exit code
	Messages []string
	Stdout   string
	Left     []int // ranks whose processes outlived mpirun
}

// findWithin is how long a job may take to start on a busy machine.
const findWithin = time.Minute

// begin starts the job and waits for the moment; nil if the job has ended before.
func (t Trial) begin() (*Job, error) {
	j, err := Start(t.Ranks, t.Env, t.Command...)
	if err != nil {
		return nil, err
	}
	err = j.Find(findWithin)
	if err == nil {
		err = j.Connected(findWithin)
	}
	if err != nil {
		j.Close()
		return nil, err
	}
	select {
	case <-j.Ended():
		j.Close()
		return nil, nil
	case <-time.After(t.After):
		return j, nil
	}
}

// Kill runs the trial with SIGKILL.
func (t Trial) Kill() (Outcome, error) {
	j, err := t.begin()
	if j == nil {
		return Outcome{Missed: true}, err
	}
	defer j.Close()
	began := time.Now()
	if err := j.Signal(t.Rank, syscall.SIGKILL); err != nil {
		return Outcome{Missed: true}, nil
	}
	return t.end(j, began)
}

// Pause runs the trial with SIGSTOP and, a while later, SIGCONT.
func (t Trial) Pause(length time.Duration) (Outcome, error) {
	j, err := t.begin()
	if j == nil {
		return Outcome{Missed: true}, err
	}
	defer j.Close()
	if err := j.Signal(t.Rank, syscall.SIGSTOP); err != nil {
		return Outcome{Missed: true}, nil
	}
	select {
	case <-j.Ended():
		r := j.Result()
		return Outcome{Code: r.Code, Messages: append(Messages(r), "the job ended while its rank was stopped"), Stdout: r.Stdout}, nil
	case <-time.After(length):
	}
	began := time.Now()
	if err := j.Signal(t.Rank, syscall.SIGCONT); err != nil {
		return Outcome{}, err
	}
	return t.end(j, began)
}

// end waits for the end of the job.
func (t Trial) end(j *Job, began time.Time) (Outcome, error) {
	select {
	case <-j.Ended():
	case <-time.After(t.Within):
		printed := mpirun.Result{Stdout: j.stdout.String(), Stderr: j.stderr.String()}
		return Outcome{Hangs: true, Took: time.Since(began), Messages: Messages(printed), Stdout: printed.Stdout}, nil
	}
	o := Outcome{Took: time.Since(began), Left: j.Left(5 * time.Second)}
	r := j.Result()
	o.Code, o.Messages, o.Stdout = r.Code, Messages(r), r.Stdout
	return o, nil
}
