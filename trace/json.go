package trace

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"shiftwork/dist"
)

// Rows of a process.
const (
	rowLoop = 0
	rowGC   = 1
)

// encoder writes events in the format of Chrome's trace viewer, each behind a comma.
type encoder struct {
	b    []byte
	pid  int
	host string
	time func(time.Duration) time.Duration // from this rank's to what is written

	names [][]byte // of loops, as JSON
}

func quoted(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // no string does that
	}
	return b
}

func (e *encoder) loops(names []string) {
	e.names = e.names[:0]
	for _, n := range names {
		e.names = append(e.names, quoted(n))
	}
}

func (e *encoder) text(s string)   { e.b = append(e.b, s...) }
func (e *encoder) number(n int)    { e.b = strconv.AppendInt(e.b, int64(n), 10) }
func (e *encoder) quoted(s string) { e.b = append(e.b, quoted(s)...) }

// float writes a finite number; JSON has no others.
func (e *encoder) float(x float64) {
	if x-x != 0 {
		e.text("null")
		return
	}
	e.b = strconv.AppendFloat(e.b, x, 'g', 6, 64)
}

// micro writes a time in µs, to the ns.
func (e *encoder) micro(d time.Duration) {
	if d < 0 {
		e.text("-")
		d = -d
	}
	e.b = strconv.AppendInt(e.b, int64(d/1000), 10)
	ns := int(d % 1000)
	e.b = append(e.b, '.', byte('0'+ns/100), byte('0'+ns/10%10), byte('0'+ns%10))
}

// begin writes what all events have; at is when it is, on this rank's clock.
func (e *encoder) begin(phase string, row int, at time.Duration) {
	e.text(",\n{\"ph\":\"")
	e.text(phase)
	e.text(`","pid":`)
	e.number(e.pid)
	e.text(`,"tid":`)
	e.number(row)
	e.text(`,"ts":`)
	e.micro(e.time(at))
}

// heading names the process and its rows. It is the first of a file and has no comma in front.
func (e *encoder) heading() {
	name := "rank " + strconv.Itoa(e.pid)
	if e.host != "" {
		name += " on " + e.host
	}
	first := len(e.b)
	e.meta("process_name", rowLoop, name)
	e.b = slices.Delete(e.b, first, first+1) // the comma
	e.text(",\n{\"ph\":\"M\",\"pid\":")
	e.number(e.pid)
	e.text(`,"tid":0,"name":"process_sort_index","args":{"sort_index":`)
	e.number(e.pid)
	e.text("}}")
	e.meta("thread_name", rowLoop, "loops")
}

func (e *encoder) meta(what string, row int, name string) {
	e.text(",\n{\"ph\":\"M\",\"pid\":")
	e.number(e.pid)
	e.text(`,"tid":`)
	e.number(row)
	e.text(`,"name":"`)
	e.text(what)
	e.text(`","args":{"name":`)
	e.quoted(name)
	e.text("}}")
}

func (e *encoder) rows(r dist.Range) {
	e.text(`,"iterations":"`)
	e.number(r.Lo)
	e.text("-")
	e.number(r.Hi - 1)
	e.text(`"`)
}

var numberNames = [...]string{computing: "phase", moving: "interaction", interacting: "interaction"}

func (e *encoder) span(s *span) {
	e.begin("X", rowLoop, s.start)
	e.text(`,"dur":`)
	e.micro(e.time(s.end) - e.time(s.start))
	e.text(`,"name":"`)
	e.text(kindNames[s.kind])
	e.text(`","cat":`)
	e.b = append(e.b, e.names[s.loop]...)
	e.text(`,"args":{"spans":`)
	e.number(int(s.count))
	if int(s.kind) < len(numberNames) {
		e.text(`,"`)
		e.text(numberNames[s.kind])
		e.text(`":`)
		e.number(s.number)
		if !s.iterations.Empty() {
			e.rows(s.iterations)
		}
		if s.kind != interacting {
			e.text(`,"units":`)
			e.float(s.units)
		}
	}
	e.text("}}")
}

func (e *encoder) pause(p pause) {
	e.begin("X", rowGC, p.end-p.took)
	e.text(`,"dur":`)
	e.micro(p.took)
	e.text(`,"name":"GC pause","cat":"go"}`)
}

func (e *encoder) sample(s sample) {
	e.begin("C", rowLoop, s.at)
	e.text(`,"name":"rate","args":{"units/s":`)
	e.float(s.rate)
	e.text("}}")
	if s.iterations > 0 {
		e.begin("C", rowLoop, s.at)
		e.text(`,"name":"iterations a phase","args":{"iterations":`)
		e.number(s.iterations)
		e.text("}}")
	}
}

func (e *encoder) decision(d *decision) {
	e.begin("i", rowLoop, d.at)
	e.text(`,"s":"p","name":`)
	if d.transfers > 0 {
		e.quoted("move " + strconv.Itoa(d.iterations) + " iterations")
	} else {
		e.quoted("stay")
	}
	e.text(`,"cat":"decision","args":{"reason":`)
	e.quoted(d.reason)
	e.text(`,"interaction":`)
	e.number(d.number)
	for _, v := range []struct {
		name  string
		value float64
	}{{"imbalance", d.imbalance}, {"cost_s", d.cost}, {"benefit_s", d.gain}, {"period_s", d.period}} {
		e.text(`,"` + v.name + `":`)
		e.float(v.value)
	}
	e.text(`,"transfers":`)
	e.number(d.transfers)
	e.text("}}")
}
