package trace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"shiftwork/comm"
	"shiftwork/dist"
	"shiftwork/hooks"
)

// Options say where the trace goes and how much of it there may be.
type Options struct {
	Path  string // of the file, on rank 0's machine; the parts lie beside it, on each rank's
	Limit int    // spans of a rank; 0: DefaultLimit
}

// DefaultLimit is some 12 MB of JSON a rank.
const DefaultLimit = 100_000

const (
	// leastGap is the shortest time between two spans that is drawn as waiting: most of those that are shorter are the time
	// that it takes to read the clock and to call the hook.
	leastGap = time.Microsecond
	// writeEvery is the time between two writings of a part.
	writeEvery = time.Second
	// sampleEvery is the time between two samples of the counters, at first.
	sampleEvery = 50 * time.Millisecond
	// fewer is the part of the limit that each of the other kinds of events has.
	fewer = 10
)

// Trace collects the spans of one rank. It is a hooks.Tracer: the Record of a loop, or one of a hooks.Tee there, on every
// rank. Its methods are called by the goroutine that uses the Comm.
type Trace struct {
	c       comm.Comm
	program string
	path    string
	host    string
	clock   clock
	began   time.Duration // this rank's clock: the beginning of all times in here

	spans spans
	loops []string
	loop  uint16
	last  time.Duration // the end of the last span; -1: outside of a loop
	total [len(kindNames)]time.Duration

	units   float64 // computed since the last sample
	busy    time.Duration
	sampled time.Duration
	every   time.Duration // between samples
	samples []sample

	decisions []decision // rank 0
	leftOut   int        // decisions

	gc   *pauses
	part *part
	next time.Duration // when the part is due to be written
}

var _ hooks.Tracer = (*Trace)(nil)

// sample is one value of each counter of a rank.
type sample struct {
	at         time.Duration
	rate       float64 // work units/s of computing
	iterations int     // in a phase
}

// decision is one of the balancer's.
type decision struct {
	at                    time.Duration
	number, iterations    int
	transfers             int
	imbalance, cost, gain float64
	period                float64
	reason                string
}

// Start begins a trace; every rank calls it, with the same options. It fails, on all ranks, where the file cannot be written.
func Start(c comm.Comm, program string, o Options) (*Trace, error) {
	if o.Limit == 0 {
		o.Limit = DefaultLimit
	}
	t := &Trace{c: c, program: program, path: o.Path, spans: newSpans(o.Limit), last: -1, every: sampleEvery}
	var err error
	if c.Rank() == 0 {
		err = writable(o.Path)
	}
	if err := comm.Agree(c, err); err != nil {
		return nil, err
	}
	if t.clock.first, err = measureClock(c); err != nil {
		return nil, err
	}
	// One beginning for all ranks: rank 0's, when it has answered the last of them.
	origin := encodeTime(c.Now())
	if err := comm.Bcast(c, 0, origin); err != nil {
		return nil, err
	}
	at, err := decodeTime(origin)
	if err != nil {
		return nil, err
	}
	t.began = at + t.clock.first.ahead
	if !comm.IsVirtual(c) && (c.Transport() != "local" || c.Rank() == 0) { // goroutine ranks have one collector for all
		t.gc = newPauses(c.Now() - t.began)
	}
	t.host, _ = os.Hostname() // nameless, where the system does not say
	t.part = startPart(PartPath(o.Path, c.Rank()), encoder{pid: c.Rank(), host: t.host, time: func(t time.Duration) time.Duration { return t }})
	t.next = writeEvery
	return t, nil
}

// writable finds out whether a file can be created beside path.
func writable(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// PartPath is where a rank keeps what it has traced until the trace is written: run.rank3.json of run.json.
func PartPath(path string, rank int) string {
	ext := filepath.Ext(path)
	return fmt.Sprintf("%s.rank%d%s", strings.TrimSuffix(path, ext), rank, ext)
}

// Begin begins a loop.
func (t *Trace) Begin(loop string, at time.Duration) {
	t.loop = 0
	for int(t.loop) < len(t.loops) && t.loops[t.loop] != loop && int(t.loop) < maxLoops-1 {
		t.loop++
	}
	switch {
	case int(t.loop) == len(t.loops):
		t.loops = append(t.loops, loop)
	case t.loops[t.loop] != loop:
		t.loops = slices.Clone(t.loops) // the part may be reading it
		t.loops[t.loop] = "other loops"
	}
	t.last = max(0, at-t.began)
	t.sampled, t.units, t.busy = t.last, 0, 0
}

// End ends the loop: what comes until the next one begins is not waiting.
func (t *Trace) End(at time.Duration) {
	if at -= t.began; t.last >= 0 && at-t.last >= leastGap {
		t.add(span{kind: waiting, start: t.last, end: at})
	}
	t.last = -1
}

// Span takes in what package hooks tells.
func (t *Trace) Span(s hooks.Span) {
	start, end := s.Start-t.began, s.End-t.began
	coarser := false
	if t.last >= 0 && start-t.last >= leastGap {
		coarser = t.add(span{kind: waiting, start: t.last, end: start})
	}
	t.last = end
	if t.add(span{kind: kind(s.Kind), start: start, end: end, number: s.Number, iterations: s.Iterations, units: s.Units}) {
		coarser = true
	}
	if s.Kind != hooks.Computing {
		return // a movement tells its spans when it has ended
	}
	t.units += s.Units
	t.busy += end - start
	if end-t.sampled >= t.every {
		t.sample(end, s.Iterations)
	}
	if end >= t.next {
		t.write(end)
		coarser = true
	}
	if coarser {
		t.worked()
	}
}

func (t *Trace) add(s span) (coarser bool) {
	s.loop = t.loop
	t.total[s.kind] += s.end - s.start
	if coarser = t.spans.add(s); coarser {
		t.part.again()
	}
	return coarser
}

// worked makes the time since the last span one of this package, if there was any.
func (t *Trace) worked() {
	if now := t.c.Now() - t.began; now-t.last >= leastGap {
		from := t.last
		t.last = now
		t.add(span{kind: tracing, start: from, end: now})
	}
}

func (t *Trace) sample(at time.Duration, done dist.Range) {
	s := sample{at: at, iterations: done.Len()}
	if t.busy > 0 {
		s.rate = t.units / t.busy.Seconds()
	}
	t.sampled, t.units, t.busy = at, 0, 0
	if t.samples = append(t.samples, s); len(t.samples) >= max(2, t.spans.limit/fewer) {
		kept := t.samples[:0]
		for i := 1; i < len(t.samples); i += 2 {
			kept = append(kept, t.samples[i])
		}
		t.samples, t.every = kept, 2*t.every
	}
}

// Record takes in a decision, on rank 0.
func (t *Trace) Record(e hooks.Event) {
	d := e.Decision
	if d == nil {
		return
	}
	if most := max(2, t.spans.limit/fewer); len(t.decisions) == most {
		kept := t.decisions[:0]
		for _, old := range t.decisions {
			if old.transfers > 0 {
				kept = append(kept, old)
			}
		}
		t.leftOut += most - len(kept)
		if t.decisions = kept; len(kept) == most {
			t.leftOut++
			return
		}
	}
	one := decision{
		at: t.c.Now() - t.began, number: d.Interaction, transfers: len(d.Transfers),
		imbalance: d.Imbalance, cost: d.Cost, gain: d.Benefit, period: d.Period, reason: d.Reason,
	}
	for _, v := range d.Transfers {
		one.iterations += v.Iterations
	}
	t.decisions = append(t.decisions, one)
}

// write gives what is new to the part.
func (t *Trace) write(now time.Duration) {
	t.next = now + writeEvery
	if t.gc != nil {
		t.gc.read()
	}
	t.part.offer(&t.spans, t.loops)
}

// Abandon ends the trace of a run that has failed, on this rank alone: the part stays, with all spans until now.
func (t *Trace) Abandon() { t.part.close(&t.spans, t.loops) }

// Discard ends the trace of a run that has not begun, on this rank alone: nothing stays.
func (t *Trace) Discard() {
	t.part.close(&t.spans, t.loops)
	_ = t.part.remove() // why the run has not begun is what matters
}
