package metrics

import (
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"shiftwork/hooks"
)

// every is the least time between two writings of the file.
const every = time.Second

// File is a hooks.Recorder that writes a file for Prometheus. It is safe for several loops at once.
type File struct {
	path string

	mu      sync.Mutex
	all     *prometheus.Registry
	written time.Time
	changed bool
	err     error

	running, elapsed, imbalance, period *prometheus.GaugeVec
	interactions, shifts, moved         *prometheus.CounterVec
	rate, iterations                    *prometheus.GaugeVec
	units, compute, wait, move          *prometheus.CounterVec
	totals                              map[key]*total // of these four
}

type key struct {
	of         *prometheus.CounterVec
	rank, loop string
}

// total is a rank's counter over all runs of a loop, each of which counts by its statuses until a report says better. Where that
// is less, the counter waits: one that fell would be one that began anew, to Prometheus.
type total struct {
	counter            prometheus.Counter
	before, now, shown float64 // of the runs before, of this one, and what the counter says
}

func (t *total) add(x float64) {
	t.now += amount(x)
	t.show()
}

func (t *total) end(sum float64) {
	t.before, t.now = t.before+amount(sum), 0
	t.show()
}

func (t *total) show() {
	if sum := t.before + t.now; sum > t.shown {
		t.counter.Add(sum - t.shown)
		t.shown = sum
	}
}

var _ hooks.Recorder = (*File)(nil)

// New makes a file of that name, by the first event on. The textfile collector wants a name that ends in .prom.
func New(path string) *File {
	f := &File{path: path, all: prometheus.NewRegistry(), totals: map[key]*total{}}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "shiftwork", Name: name, Help: help}, append(labels, "loop"))
		f.all.MustRegister(v)
		return v
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "shiftwork", Name: name, Help: help}, append(labels, "loop"))
		f.all.MustRegister(v)
		return v
	}
	f.running = gauge("running", "1 from the loop's beginning to its end, then 0.")
	f.elapsed = gauge("elapsed_seconds", "Time since the loop began, at the last event.")
	f.imbalance = gauge("imbalance_ratio", "Part of the time that a perfect distribution would save, at the last decision.")
	f.period = gauge("period_seconds", "Target period between interactions.")
	f.interactions = counter("interactions_total", "Decisions of the master.")
	f.shifts = counter("shifts_total", "Decisions that moved work.")
	f.moved = counter("iterations_moved_total", "Iterations moved, as decided.")
	f.rate = gauge("rank_rate", "Filtered rate, work units per second of computing.", "rank")
	f.iterations = gauge("rank_iterations", "Iterations owned.", "rank")
	f.units = counter("rank_units_total", "Work units done.", "rank")
	f.compute = counter("rank_compute_seconds_total", "Time spent computing.", "rank")
	f.wait = counter("rank_wait_seconds_total", "Time spent waiting.", "rank")
	f.move = counter("rank_move_seconds_total", "Time spent moving work.", "rank")
	return f
}

// Record takes in an event, and writes the file if that is a second old, or if a loop begins or ends.
func (f *File) Record(e hooks.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changed = true
	e.Loop = strings.ToValidUTF8(e.Loop, "\uFFFD") // no other is a label
	f.elapsed.WithLabelValues(e.Loop).Set(e.Time)
	switch {
	case e.Kind == "start":
		f.start(e)
	case e.Report != nil:
		f.end(e)
	case e.Decision != nil:
		f.decided(e)
	}
	if e.Decision == nil || time.Since(f.written) >= every {
		f.write()
	}
}

func (f *File) start(e hooks.Event) {
	f.running.WithLabelValues(e.Loop).Set(1)
	for k, t := range f.totals {
		if k.loop == e.Loop { // a run that never ended stays counted
			t.before, t.now = t.before+t.now, 0
		}
	}
}

func (f *File) decided(e hooks.Event) {
	d := e.Decision
	f.running.WithLabelValues(e.Loop).Set(1)
	f.interactions.WithLabelValues(e.Loop).Inc()
	f.imbalance.WithLabelValues(e.Loop).Set(d.Imbalance)
	f.period.WithLabelValues(e.Loop).Set(d.Period)
	if d.Moved() {
		f.shifts.WithLabelValues(e.Loop).Inc()
	}
	moved := f.moved.WithLabelValues(e.Loop)
	for _, t := range d.Transfers {
		moved.Add(amount(float64(t.Iterations)))
	}
	for i, s := range e.Statuses {
		rank := strconv.Itoa(s.Rank)
		if i < len(d.Filtered) {
			f.rate.WithLabelValues(rank, e.Loop).Set(d.Filtered[i])
		}
		f.iterations.WithLabelValues(rank, e.Loop).Set(float64(s.OwnedIterations))
		f.total(f.units, rank, e.Loop).add(s.Units)
		f.total(f.compute, rank, e.Loop).add(s.Compute)
		f.total(f.wait, rank, e.Loop).add(s.Wait)
		f.total(f.move, rank, e.Loop).add(s.MoveTime)
	}
}

// end puts the report's numbers, which are of the whole loop, in the place of the sums of the statuses.
func (f *File) end(e hooks.Event) {
	f.running.WithLabelValues(e.Loop).Set(0)
	for _, r := range e.Report.Ranks {
		rank := strconv.Itoa(r.Rank)
		f.iterations.WithLabelValues(rank, e.Loop).Set(float64(r.Iterations))
		f.rate.WithLabelValues(rank, e.Loop).Set(r.Rate())
		f.total(f.units, rank, e.Loop).end(r.Units)
		f.total(f.compute, rank, e.Loop).end(r.Compute)
		f.total(f.wait, rank, e.Loop).end(r.Wait())
		f.total(f.move, rank, e.Loop).end(r.Move)
	}
}

func (f *File) total(of *prometheus.CounterVec, rank, loop string) *total {
	k := key{of, rank, loop}
	t := f.totals[k]
	if t == nil {
		t = &total{counter: of.WithLabelValues(rank, loop)}
		f.totals[k] = t
	}
	return t
}

// Flush writes the file, if anything has changed, and returns the first error of any writing.
func (f *File) Flush() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.changed {
		f.write()
	}
	return f.err
}

// Close writes the last values. The file stays, for the collector reads it later.
func (f *File) Close() error { return f.Flush() }

func (f *File) write() {
	if err := prometheus.WriteToTextfile(f.path, f.all); err != nil && f.err == nil {
		f.err = err
	}
	f.written, f.changed = time.Now(), false
}

// amount is x, or 0 where it is negative or not finite, which no counter takes: a recording may say anything.
func amount(x float64) float64 {
	if x >= 0 && x <= math.MaxFloat64 {
		return x
	}
	return 0
}
