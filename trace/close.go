package trace

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"shiftwork/comm"
)

// Version is the schema version of what stands beside the events: "otherData" of the file.
const Version = 1

// Summary says what is in a file, and how good it is.
type Summary struct {
	Schema  string        `json:"schema"` // "shiftwork trace"
	Version int           `json:"version"`
	Program string        `json:"program"`
	Limit   int           `json:"limit"` // spans of a rank
	Ranks   []RankSummary `json:"ranks"`
	LeftOut int           `json:"decisions_left_out"`
}

// RankSummary is one rank's part. Times are this rank's own clock's, and exact whatever was drawn together.
type RankSummary struct {
	Rank       int     `json:"rank"`
	Host       string  `json:"host"`
	Spans      int     `json:"spans"`          // in the file
	Seen       int     `json:"spans_measured"` // that these were made of
	Resolution float64 `json:"resolution_us"`  // spans within windows of so many µs are drawn together; 0: none are
	Ahead      float64 `json:"clock_ahead_s"`  // of rank 0's clock, at Start
	Drift      float64 `json:"clock_drift"`    // s/s, corrected
	ClockError float64 `json:"clock_error_us"` // times may be wrong by so much
	Compute    float64 `json:"compute_s"`
	Move       float64 `json:"move_s"`
	Interact   float64 `json:"interact_s"`
	Wait       float64 `json:"wait_s"`  // gaps of 1 µs and more
	Trace      float64 `json:"trace_s"` // spent by this package, as far as it is 1 µs or more at once
	Pauses     int     `json:"gc_pauses"`
	Missed     int     `json:"gc_pauses_left_out"`
	Part       string  `json:"part,omitempty"` // why this rank kept no part while it ran
}

// Note says in a line what the file does not show; "" if it shows all.
func (s *Summary) Note() string {
	spans, seen, missed := 0, 0, 0
	coarsest := 0.0
	for _, r := range s.Ranks {
		spans, seen, missed = spans+r.Spans, seen+r.Seen, missed+r.Missed
		coarsest = max(coarsest, r.Resolution)
	}
	note := ""
	if coarsest > 0 {
		note = fmt.Sprintf("%d spans drawn as %d (at most %d a rank): those within %v are drawn together",
			seen, spans, s.Limit, time.Duration(coarsest*1000))
	}
	if s.LeftOut+missed > 0 {
		if note != "" {
			note += "; "
		}
		note += fmt.Sprintf("%d decisions and %d pauses of the garbage collector left out", s.LeftOut, missed)
	}
	return note
}

// Close ends the trace; every rank calls it when its loops have ended. Rank 0 writes the file, which appears under its name
// when it is complete, and gets the summary; the others get nil. An error is every rank's.
func (t *Trace) Close() (*Summary, error) {
	t.part.close(&t.spans, t.loops)
	if t.gc != nil {
		t.gc.read()
	}
	var err error
	if t.clock.last, err = measureClock(t.c); err != nil {
		return nil, err
	}
	sum, err := t.summarise()
	if err != nil {
		return nil, err
	}
	if t.c.Rank() == 0 {
		err = t.writeFile(sum)
	} else if failed := t.events(func(b []byte) error { return t.c.Send(0, tagFile, b) }); failed != nil {
		return nil, failed
	} else if failed := t.c.Send(0, tagFile, nil); failed != nil {
		return nil, failed
	}
	if err := comm.Agree(t.c, err); err != nil {
		return nil, err // the parts stay
	}
	return sum, comm.Agree(t.c, t.part.remove())
}

// summarise gathers what each rank has to say, on rank 0.
func (t *Trace) summarise() (*Summary, error) {
	r := RankSummary{
		Rank: t.c.Rank(), Host: t.host, Spans: len(t.spans.list), Seen: t.spans.seen,
		Resolution: micros(t.spans.resolution()), Ahead: t.clock.first.ahead.Seconds(), Drift: t.clock.drift(),
		ClockError: micros(max(t.clock.first.error, t.clock.last.error)),
		Compute:    t.total[computing].Seconds(), Move: t.total[moving].Seconds(), Interact: t.total[interacting].Seconds(),
		Wait: t.total[waiting].Seconds(), Trace: t.total[tracing].Seconds(),
	}
	if t.gc != nil {
		r.Pauses, r.Missed = len(t.gc.list), t.gc.lost
	}
	if t.part.err != nil {
		r.Part = t.part.err.Error()
	}
	b, err := json.Marshal(r)
	if err := comm.Agree(t.c, err); err != nil {
		return nil, err
	}
	all, err := comm.Gather(t.c, 0, b)
	if err != nil || t.c.Rank() != 0 {
		return nil, err
	}
	sum := &Summary{
		Schema: "shiftwork trace", Version: Version, Program: t.program, Limit: t.spans.limit,
		Ranks: make([]RankSummary, len(all)), LeftOut: t.leftOut,
	}
	for i, b := range all {
		if err := json.Unmarshal(b, &sum.Ranks[i]); err != nil {
			return nil, fmt.Errorf("trace of rank %d: %w", i, err)
		}
	}
	return sum, nil
}

func micros(d time.Duration) float64 { return float64(d) / 1000 }

// pieceBytes is how much of the file travels at once.
const pieceBytes = 256 << 10

// events encodes all of this rank's events, piece by piece.
func (t *Trace) events(emit func([]byte) error) error {
	origin := t.began - t.clock.first.ahead // rank 0's clock
	e := encoder{pid: t.c.Rank(), host: t.host, time: func(at time.Duration) time.Duration {
		return t.clock.time(at+t.began) - origin
	}}
	e.loops(t.loops)
	var err error
	flush := func(least int) {
		if len(e.b) >= least && err == nil {
			err = emit(e.b)
			e.b = e.b[:0]
		}
	}
	if e.heading(); t.c.Rank() != 0 {
		e.b = append([]byte(","), e.b...)
	}
	for i := range t.spans.list {
		e.span(&t.spans.list[i])
		flush(pieceBytes)
	}
	for _, s := range t.samples {
		e.sample(s)
		flush(pieceBytes)
	}
	for i := range t.decisions {
		e.decision(&t.decisions[i])
		flush(pieceBytes)
	}
	if t.gc != nil && len(t.gc.list) > 0 {
		name := "Go's garbage collector"
		if t.c.Transport() == "local" {
			name += ", of all ranks"
		}
		e.meta("thread_name", rowGC, name)
		for _, p := range t.gc.list {
			e.pause(p)
			flush(pieceBytes)
		}
	}
	flush(1)
	return err
}

// writeFile writes rank 0's events and those that the others send, whatever becomes of the file.
func (t *Trace) writeFile(sum *Summary) error {
	f, err := os.CreateTemp(filepath.Dir(t.path), "."+filepath.Base(t.path)+".*")
	var w io.Writer = io.Discard
	var out *bufio.Writer
	if err == nil {
		out = bufio.NewWriter(f)
		w = out
	}
	put := func(b []byte) error {
		if _, failed := w.Write(b); failed != nil {
			err, w = errors.Join(err, failed), io.Discard
		}
		return nil
	}
	_ = put([]byte(`{"displayTimeUnit":"ms","traceEvents":[`))
	_ = t.events(put)
	if received := t.receive(put); received != nil {
		err = errors.Join(err, received)
	}
	other, failed := json.Marshal(sum)
	_ = put(fmt.Appendf(nil, "\n],\n\"otherData\":%s}\n", other))
	if err = errors.Join(err, failed); f == nil {
		return err
	}
	err = errors.Join(err, out.Flush(), f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), t.path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error is the one that matters
	}
	return err
}

// receive takes in the events of the other ranks.
func (t *Trace) receive(put func([]byte) error) error {
	b := make([]byte, 2*pieceBytes)
	for r := 1; r < t.c.Size(); r++ {
		for {
			st, err := t.c.Probe(r, tagFile)
			if err != nil {
				return err
			}
			if st.Len > len(b) {
				b = make([]byte, st.Len)
			}
			if _, err := t.c.Recv(r, tagFile, b); err != nil {
				return err
			}
			if st.Len == 0 {
				break
			}
			_ = put(b[:st.Len])
		}
	}
	return nil
}
