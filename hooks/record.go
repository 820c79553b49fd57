package hooks

import (
	"encoding/json"
	"io"
	"math"
	"slices"
	"sync"

	"shiftwork/lb"
)

// RecordVersion is the schema version of recorded events: the first line of a recording carries it.
const RecordVersion = 1

// Event is one thing that happened on the master: what the balancer was told and what it decided.
type Event struct {
	Kind     string       `json:"kind"`             // "start", "decision" or "end"
	Loop     string       `json:"loop,omitempty"`   // Loop.Name
	Time     float64      `json:"t"`                // s since the loop began, the master's clock
	Config   *lb.Config   `json:"config,omitempty"` // start
	Setup    *lb.Loop     `json:"setup,omitempty"`  // start
	Statuses []lb.Status  `json:"statuses,omitempty"`
	Decision *lb.Decision `json:"decision,omitempty"`
	Report   *Report      `json:"report,omitempty"` // end
}

// Recorder receives the events of a run, on the master, in order. The slices inside an Event are only valid during the
// call.
type Recorder interface{ Record(Event) }

// Tee records every event with each of the recorders.
func Tee(to ...Recorder) Recorder { return tee(to) }

type tee []Recorder

func (t tee) Record(e Event) {
	for _, r := range t {
		r.Record(e)
	}
}

// JSONL writes events to w, one JSON object a line, the schema version first. It is safe for
// several loops at once. The first write error is kept and returned by Err.
type JSONL struct {
	mu  sync.Mutex
	enc *json.Encoder
	err error
}

// NewJSONL writes the header line {"schema":"shiftwork","version":1} at once.
func NewJSONL(w io.Writer) *JSONL {
	j := &JSONL{enc: json.NewEncoder(w)}
	j.err = j.enc.Encode(struct {
		Schema  string `json:"schema"`
		Version int    `json:"version"`
	}{"shiftwork", RecordVersion})
	return j
}

// Record writes one line.
func (j *JSONL) Record(e Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		j.err = j.enc.Encode(writable(e))
	}
}

// Err is the first error met while writing.
func (j *JSONL) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// writable is e as JSON can hold it. What a decision predicts may be infinite (a rank without a rate never ends); the
// largest number stands for that. Statuses are measured, and an infinite one is a fault that the writer should meet.
func writable(e Event) Event {
	if e.Decision == nil {
		return e
	}
	d := *e.Decision // the balancer's, as are its slices: they stay as they are
	d.Raw, d.Filtered, d.Targets = allFinite(d.Raw), allFinite(d.Filtered), allFinite(d.Targets)
	for _, x := range []*float64{&d.Period, &d.Imbalance, &d.Threshold, &d.Cost, &d.Benefit} {
		*x = finite(*x)
	}
	d.Transfers = slices.Clone(d.Transfers)
	for i := range d.Transfers {
		d.Transfers[i].Units = finite(d.Transfers[i].Units)
	}
	e.Decision = &d
	return e
}

func allFinite(values []float64) []float64 {
	values = slices.Clone(values)
	for i, x := range values {
		values[i] = finite(x)
	}
	return values
}

// finite is x, or the largest number of its sign where it is infinite, or 0 where it is no number.
func finite(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return 0
	case math.IsInf(x, 0):
		return math.Copysign(math.MaxFloat64, x)
	}
	return x
}
