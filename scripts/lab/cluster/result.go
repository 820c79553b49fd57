package cluster

import (
	"bytes"
	"cmp"
	"io"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"shiftwork/internal/mpirun"
)

// Job is a program to run under mpirun, one rank on each workstation, and what competes with it.
type Job struct {
	Command     []string // program and arguments; a path is relative to the working folder
	Env         []string // added to this process's environment, as name=value
	Loads       []Load
	LoadProgram string // the path of apps/load's program; needed where there are Loads
	// Stdout and Stderr get what the program prints, while it runs; nil discards it. They may be the same writer.
	Stdout, Stderr io.Writer
}

// Result is how a job ended. CPU times are those between the start of mpirun and the end of the job.
type Result struct {
	Code    int           // exit code of mpirun, which is the program's
	Elapsed time.Duration // from the start of mpirun to its end

	// Line is the result line of the program, by key; nil if it printed none.
	Line map[string]string
	// Began and Ended are when the program's time_s began and ended, since the start of mpirun: the result line came finish_s
	// after Ended, by the program; without that key both are too late where checksum, output or traces take long. 0 without
	// a result line.
	Began, Ended time.Duration

	Workstations []Usage
	Master       time.Duration // CPU time of a master with a place of its own
	Launch       time.Duration // CPU time of mpirun and its daemons, which have a place outside the workstations
	Samples      []Sample
}

// Usage is what was used of one workstation.
type Usage struct {
	App, Load time.Duration // CPU time
	Compete   time.Duration // CPU time of the loads between Began and Ended
	Periods   int64         // quota periods in which something wanted to run
	Throttled int64         // those of them in which the quota was used up
	// ThrottledTime is how long it waited for the next period. The kernel adds up its CPUs, so it can exceed the run.
	ThrottledTime time.Duration
}

// Sample is what had been used by a time since the start of mpirun, by workstation.
type Sample struct {
	At        time.Duration
	App, Load []time.Duration
}

// TimeSeconds is the program's time_s in seconds, and false if there is none.
func (r *Result) TimeSeconds() (float64, bool) {
	t, err := strconv.ParseFloat(r.Line["time_s"], 64)
	return t, err == nil && t > 0
}

// finish is the program's finish_s, 0 if there is none.
func (r *Result) finish() time.Duration {
	s, err := strconv.ParseFloat(r.Line["finish_s"], 64)
	if err != nil || !(s > 0) {
		return 0
	}
	return time.Duration(s * float64(time.Second))
}

// compete is the CPU time of each workstation's loads between two times, linear between samples.
func compete(samples []Sample, from, to time.Duration, workstations int) []time.Duration {
	used := make([]time.Duration, workstations)
	for k := range used {
		used[k] = loadAt(samples, to, k) - loadAt(samples, from, k)
	}
	return used
}

func loadAt(samples []Sample, at time.Duration, k int) time.Duration {
	if len(samples) == 0 {
		return 0
	}
	i, found := slices.BinarySearchFunc(samples, at, func(s Sample, at time.Duration) int { return cmp.Compare(s.At, at) })
	switch {
	case found || i == 0:
		return samples[i].Load[k]
	case i == len(samples):
		return samples[i-1].Load[k]
	}
	a, b := samples[i-1], samples[i]
	part := float64(at-a.At) / float64(b.At-a.At)
	return a.Load[k] + time.Duration(part*float64(b.Load[k]-a.Load[k]))
}

// lineReader passes everything on to a writer, if there is one, and tells of each whole line.
type lineReader struct {
	out  io.Writer
	rest []byte // of an unfinished line
	tell func(line string)
}

// maxLine bounds what is kept of an unfinished line; result lines are shorter.
const maxLine = 64 << 10

func (f *lineReader) Write(p []byte) (int, error) {
	for _, b := range p {
		if b != '\n' {
			if len(f.rest) < maxLine {
				f.rest = append(f.rest, b)
			}
			continue
		}
		f.tell(string(f.rest))
		f.rest = f.rest[:0]
	}
	if f.out == nil {
		return len(p), nil
	}
	return f.out.Write(p)
}

// resultFinder notes the last result line and when it came.
type resultFinder struct {
	lineReader
	line map[string]string
	at   time.Duration
}

func newResultFinder(out io.Writer, began time.Time) *resultFinder {
	f := &resultFinder{}
	f.lineReader = lineReader{out: out, tell: func(line string) {
		if values := mpirun.Fields(line); values != nil {
			f.line, f.at = values, time.Since(began)
		}
	}}
	return f
}

// loopFinder notes when the first line of --progress came.
type loopFinder struct {
	lineReader
	begun chan struct{} // closed then
	at    time.Time
}

var progressLine = regexp.MustCompile(`^\S+: +[0-9.]+ s  `)

func newLoopFinder(out io.Writer) *loopFinder {
	f := &loopFinder{begun: make(chan struct{})}
	f.lineReader = lineReader{out: out, tell: func(line string) {
		if f.at.IsZero() && progressLine.MatchString(line) {
			f.at = time.Now()
			close(f.begun)
		}
	}}
	return f
}

// together lets several writers share one, and locks it.
type together struct {
	lock *sync.Mutex
	out  io.Writer
}

func (w together) Write(p []byte) (int, error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.out.Write(p)
}

// without passes on what is written, less the lines with a text. A line is one write, or the text is not found.
type without struct {
	out  io.Writer
	text string
}

func (w without) Write(p []byte) (int, error) {
	if !bytes.Contains(p, []byte(w.text)) {
		return w.out.Write(p)
	}
	var kept []byte
	for line := range bytes.Lines(p) {
		if !bytes.Contains(line, []byte(w.text)) {
			kept = append(kept, line...)
		}
	}
	if _, err := w.out.Write(kept); err != nil {
		return 0, err
	}
	return len(p), nil
}
