package hooks

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"shiftwork/lb"
)

// RecordVersion is the schema version of recorded events: the first line of a recording carries it.
//
// Version 2 holds the weights of the iterations, the plans that were considered with the outlook by which they were
// compared, and every number that JSON cannot hold.
const RecordVersion = 2

// Event is one thing that happened on the master: what the balancer was told and what it decided. Config and Setup, once a
// loop, and the Statuses of all interactions are all that the decisions come from: lb gives the same ones again.
//
// In JSON, where numbers are finite, the largest number of its sign stands for an infinite one, and 0 for what is no number.
// "nonfinite" says by path which numbers these are, such as {"decision.Raw[2]":"+Inf"}; reading puts them back.
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

// NewJSONL writes the header line {"schema":"shiftwork","version":2} at once.
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
		j.err = j.enc.Encode(e)
	}
}

// Err is the first error met while writing.
func (j *JSONL) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// event is an Event without methods.
type event Event

// eventJSON is what an Event is in JSON.
type eventJSON struct {
	event
	Nonfinite map[string]string `json:"nonfinite,omitempty"`
}

// MarshalJSON writes the event, whatever its numbers.
func (e Event) MarshalJSON() ([]byte, error) {
	out := eventJSON{event: event(e)}
	b, err := json.Marshal(out)
	if nonfinite := (*json.UnsupportedValueError)(nil); !errors.As(err, &nonfinite) {
		return b, err
	}
	// The decision and the statuses are the balancer's and the master's, and stay as they are.
	out.Nonfinite = map[string]string{}
	out.event = replaced(reflect.ValueOf(out.event), "", func(path string, x float64) float64 {
		if y := finite(x); y != x {
			out.Nonfinite[path] = strconv.FormatFloat(x, 'g', -1, 64)
			return y
		}
		return x
	}).Interface().(event)
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (e *Event) UnmarshalJSON(data []byte) error {
	var in eventJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	if len(in.Nonfinite) > 0 {
		var err error
		left := len(in.Nonfinite)
		in.event = replaced(reflect.ValueOf(in.event), "", func(path string, x float64) float64 {
			text, listed := in.Nonfinite[path]
			if !listed {
				return x
			}
			left--
			y, fault := strconv.ParseFloat(text, 64)
			err = errors.Join(err, fault)
			return y
		}).Interface().(event)
		if err != nil || left > 0 {
			return fmt.Errorf("hooks: nonfinite %v: want paths of numbers, with NaN, +Inf or -Inf", in.Nonfinite)
		}
	}
	*e = Event(in.event)
	return nil
}

// replaced is a copy of v, without memory in common, in which each number x is f(path, x). Paths are made of the names
// that JSON has. What is not exported is not looked at.
func replaced(v reflect.Value, path string, f func(path string, x float64) float64) reflect.Value {
	to := reflect.New(v.Type()).Elem()
	to.Set(v)
	switch v.Kind() {
	case reflect.Float64:
		to.SetFloat(f(path, v.Float()))
	case reflect.Pointer:
		if !v.IsNil() {
			to.Set(replaced(v.Elem(), path, f).Addr())
		}
	case reflect.Slice:
		if !v.IsNil() {
			to.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		}
		for i := range v.Len() {
			to.Index(i).Set(replaced(v.Index(i), fmt.Sprintf("%s[%d]", path, i), f))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if !field.IsExported() {
				continue
			}
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "" {
				name = field.Name
			}
			if path != "" {
				name = path + "." + name
			}
			to.Field(i).Set(replaced(v.Field(i), name, f))
		}
	}
	return to
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
