package trace_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"shiftwork/comm"
	"shiftwork/comm/local"
	"shiftwork/comm/sim"
	"shiftwork/dist"
	"shiftwork/hooks"
	"shiftwork/lb"
	"shiftwork/trace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// event is one of the file.
type event struct {
	Ph, Name, Cat string
	Pid, Tid      int
	Ts, Dur       float64 // µs
	Args          map[string]any
}

func (e event) end() float64 { return e.Ts + e.Dur }

type file struct {
	TraceEvents []event
	OtherData   trace.Summary
}

func read(t *testing.T, path string) file {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	var f file
	require.NoError(t, json.Unmarshal(b, &f))
	return f
}

// readPart reads a part, which has no end.
func readPart(t *testing.T, path string) []event {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	var all []event
	require.NoError(t, json.Unmarshal(append(b, ']'), &all))
	return all
}

// spans are those of a rank's loops, in order, without overlap, µs.
func spans(t *testing.T, events []event, rank int) []event {
	t.Helper()
	var all []event
	for _, e := range events {
		if e.Ph == "X" && e.Pid == rank && e.Tid == 0 {
			all = append(all, e)
		}
	}
	for i := 1; i < len(all); i++ {
		require.LessOrEqual(t, all[i-1].end(), all[i].Ts+1e-3, "rank %d: %+v and %+v", rank, all[i-1], all[i])
	}
	return all
}

func sum(all []event, name string) (us float64) {
	for _, e := range all {
		if e.Name == name {
			us += e.Dur
		}
	}
	return us
}

// simulate traces f in virtual time, with clocks that are hours apart, and returns the file and the reports.
func simulate(t *testing.T, cfg sim.Config, o trace.Options, f func(c *sim.Comm, t *trace.Trace) (*hooks.Report, error)) (file, *hooks.Report) {
	t.Helper()
	if o.Path == "" {
		o.Path = filepath.Join(t.TempDir(), "run.json")
	}
	for r := range cfg.Ranks {
		cfg.ClockOffset = append(cfg.ClockOffset, time.Duration((r*r*7)%5-2)*1000*time.Hour)
	}
	var rep *hooks.Report
	res, err := sim.Run(cfg, func(c *sim.Comm) error {
		tr, err := trace.Start(c, "test", o)
		if err != nil {
			return err
		}
		own, err := f(c, tr)
		if err != nil {
			return err
		}
		if own != nil {
			rep = own
		}
		sum, err := tr.Close()
		if (sum != nil) != (c.Rank() == 0) {
			return fmt.Errorf("rank %d has the summary %v", c.Rank(), sum)
		}
		return err
	})
	require.NoError(t, err)
	require.Empty(t, res.Leaks)
	left, err := filepath.Glob(filepath.Join(filepath.Dir(o.Path), "*"))
	require.NoError(t, err)
	require.Equal(t, []string{o.Path}, left, "nothing but the file is left")
	return read(t, o.Path), rep
}

// steps runs a loop whose ranks meet after each of them.
func steps(c *sim.Comm, loop hooks.Loop, cfg lb.Config, steps int, unit float64) (*hooks.Report, error) {
	h, err := hooks.New(c, loop, cfg)
	if err != nil {
		return nil, err
	}
	for range steps {
		h.Compute(func() {
			for _, own := range h.Ranges() {
				c.Work(unit * float64(own.Len()))
			}
		})
		if err := comm.Barrier(c); err != nil {
			return nil, err
		}
		if _, err := h.Hook(); err != nil {
			return nil, err
		}
	}
	return h.Finish()
}

// Two ranks, the second twice as fast, on a machine whose messages take no time: each time is known to the ns.
func TestTimesAreExact(t *testing.T) {
	cfg := sim.Config{Ranks: 2, Speed: [][]sim.Step{sim.Constant(1), sim.Constant(2)}}
	f, _ := simulate(t, cfg, trace.Options{}, func(c *sim.Comm, tr *trace.Trace) (*hooks.Report, error) {
		return steps(c, hooks.Loop{Name: `a "loop"`, Iterations: dist.Span(10, 30), Adjacent: true, Record: tr}, lb.Config{Policy: lb.Off}, 3, 0.1)
	})
	first, second := spans(t, f.TraceEvents, 0), spans(t, f.TraceEvents, 1)
	require.Len(t, first, 3)
	require.Len(t, second, 6)
	for k := range 3 {
		at := first[0].Ts + float64(k)*1e6
		assert.Equal(t, event{
			Ph: "X", Name: "compute", Cat: `a "loop"`, Ts: at, Dur: 1e6,
			Args: map[string]any{"phase": float64(k), "iterations": "10-19", "units": 10.0, "spans": 1.0},
		}, first[k])
		assert.Equal(t, event{
			Ph: "X", Name: "compute", Cat: `a "loop"`, Pid: 1, Ts: at, Dur: 5e5,
			Args: map[string]any{"phase": float64(k), "iterations": "20-29", "units": 10.0, "spans": 1.0},
		}, second[2*k])
		assert.Equal(t, event{Ph: "X", Name: "wait", Cat: `a "loop"`, Pid: 1, Ts: at + 5e5, Dur: 5e5, Args: map[string]any{"spans": 1.0}}, second[2*k+1])
	}
	require.Len(t, f.OtherData.Ranks, 2)
	for r, s := range f.OtherData.Ranks {
		assert.Equal(t, []any{r, 0.0, 0.0}, []any{s.Rank, s.Resolution, s.Drift})
		assert.InDelta(t, []float64{3, 1.5}[r], s.Compute, 1e-9)
		assert.InDelta(t, []float64{0, 1.5}[r], s.Wait, 1e-9)
	}
	assert.InDelta(t, 1000*3600, f.OtherData.Ranks[1].Ahead-f.OtherData.Ranks[0].Ahead, 5000*3600)
	assert.Zero(t, f.OtherData.LeftOut)
	var rates []float64
	for _, e := range f.TraceEvents {
		if e.Ph == "C" && e.Name == "rate" && e.Pid == 1 {
			rates = append(rates, e.Args["units/s"].(float64))
		}
	}
	assert.Equal(t, []float64{20, 20, 20}, rates)
}

// Messages take time, and work moves for no reason: what the trace shows adds up to what the report says, on one time
// axis, and every movement is there.
func TestTheTraceAgreesWithTheReport(t *testing.T) {
	const ranks, n = 4, 40
	for _, adjacent := range []bool{true, false} {
		t.Run(fmt.Sprint("adjacent=", adjacent), func(t *testing.T) {
			cfg := sim.Config{Ranks: ranks, Alpha: 1e-4, Beta: 1e-8, SendOverhead: 1e-6, Rendezvous: sim.AlwaysRendezvous}
			f, rep := simulate(t, cfg, trace.Options{}, func(c *sim.Comm, tr *trace.Trace) (*hooks.Report, error) {
				u := newRows(n)
				loop := hooks.Loop{Name: "rows", Iterations: dist.Span(0, n), Adjacent: adjacent, Arrays: []hooks.Array{u}, Record: tr}
				return steps(c, loop, lb.Config{Policy: lb.Rotate, Period: 1e-9}, 60, 1e-3)
			})
			moved := 0.0
			for _, r := range rep.Ranks {
				all := spans(t, f.TraceEvents, r.Rank)
				assert.InDelta(t, r.Compute*1e6, sum(all, "compute"), 0.1)
				assert.InDelta(t, r.Move*1e6, sum(all, "move"), 0.1)
				whole := all[len(all)-1].end() - all[0].Ts
				assert.InDelta(t, whole, sum(all, "compute")+sum(all, "move")+sum(all, "wait")+sum(all, "interact")+sum(all, "trace"), 200)
				for _, e := range all {
					if e.Name == "move" {
						moved += e.Args["units"].(float64)
					}
				}
				s := f.OtherData.Ranks[r.Rank]
				assert.Equal(t, len(all), s.Spans)
				assert.InDelta(t, r.Compute, s.Compute, 1e-9)
			}
			require.Positive(t, rep.IterationsMoved)
			assert.InDelta(t, 2*rep.IterationsMoved, moved, 1e-6, "each moves out of one rank and into another")
			assert.Len(t, slices.DeleteFunc(f.TraceEvents, func(e event) bool { return e.Cat != "decision" }), rep.Interactions)
		})
	}
}

// After a barrier nobody begins before the last has come: the axis is one for all, though the clocks are hours apart.
func TestNobodyIsEarly(t *testing.T) {
	cfg := sim.Config{Ranks: 3, Alpha: 1e-4, Speed: [][]sim.Step{sim.Constant(1), sim.Constant(5), sim.Constant(2)}}
	f, _ := simulate(t, cfg, trace.Options{}, func(c *sim.Comm, tr *trace.Trace) (*hooks.Report, error) {
		return steps(c, hooks.Loop{Iterations: dist.Span(0, 30), Adjacent: true, Record: tr}, lb.Config{Policy: lb.Off}, 20, 1e-3)
	})
	var phases [][]event // by phase
	for r := range 3 {
		for _, e := range spans(t, f.TraceEvents, r) {
			if e.Name == "compute" {
				k := int(e.Args["phase"].(float64))
				for len(phases) <= k {
					phases = append(phases, nil)
				}
				phases[k] = append(phases[k], e)
			}
		}
	}
	require.Len(t, phases, 20)
	for k := 1; k < len(phases); k++ {
		last := 0.0
		for _, e := range phases[k-1] {
			last = max(last, e.end())
		}
		for _, e := range phases[k] {
			assert.GreaterOrEqual(t, e.Ts+1, last)
			assert.Less(t, e.Ts, last+1000)
		}
	}
}

// Ranks that never wait for each other: chunks, transfers and what is left.
func TestAFreeLoopIsTraced(t *testing.T) {
	const n = 400
	cfg := sim.Config{Ranks: 3, Alpha: 1e-5, Beta: 1e-9, Speed: [][]sim.Step{sim.Constant(1), sim.Constant(4), sim.Constant(2)}}
	f, rep := simulate(t, cfg, trace.Options{}, func(c *sim.Comm, tr *trace.Trace) (*hooks.Report, error) {
		l, err := hooks.NewFree(c, hooks.FreeLoop{Name: "tiles", Iterations: dist.Span(0, n), Repeat: 2, Arrays: []hooks.Array{newRows(n)}, Record: tr}, lb.Auto())
		if err != nil {
			return nil, err
		}
		for {
			_, rows, ok, err := l.Next()
			if err != nil {
				return nil, err
			}
			if !ok {
				return l.Finish()
			}
			c.Work(0.01 * float64(rows.Len()))
		}
	})
	require.Positive(t, rep.IterationsMoved)
	done := 0.0
	for _, r := range rep.Ranks {
		all := spans(t, f.TraceEvents, r.Rank)
		assert.InDelta(t, r.Compute*1e6, sum(all, "compute"), 0.1)
		assert.InDelta(t, r.Elapsed*1e6, sum(all, "compute")+sum(all, "move")+sum(all, "wait")+sum(all, "interact"), 0.02*r.Elapsed*1e6)
		for _, e := range all {
			if e.Name == "compute" {
				done += e.Args["units"].(float64)
			}
		}
	}
	assert.InDelta(t, 2*n, done, 1e-6)
}

// A run of more spans than the limit: they are drawn together, and the file says so.
func TestTheLimitIsKeptAndSaid(t *testing.T) {
	const limit = 200
	f, rep := simulate(t, sim.Config{Ranks: 2, Alpha: 1e-5}, trace.Options{Limit: limit}, func(c *sim.Comm, tr *trace.Trace) (*hooks.Report, error) {
		return steps(c, hooks.Loop{Iterations: dist.Span(0, 20), Adjacent: true, Record: tr}, lb.Config{Policy: lb.Rotate, Period: 1e-9}, 5000, 1e-4)
	})
	for _, r := range rep.Ranks {
		all := spans(t, f.TraceEvents, r.Rank)
		assert.Less(t, len(all), limit)
		assert.Greater(t, len(all), limit/8)
		assert.InDelta(t, r.Compute*1e6, sum(all, "compute"), 1)
		s := f.OtherData.Ranks[r.Rank]
		assert.Greater(t, s.Seen, 10000)
		assert.Positive(t, s.Resolution)
		made := 0.0
		for _, e := range all {
			made += e.Args["spans"].(float64)
		}
		assert.Equal(t, s.Seen, int(made))
	}
	kept := len(slices.DeleteFunc(f.TraceEvents, func(e event) bool { return e.Cat != "decision" }))
	assert.Equal(t, limit/10, kept)
	assert.Equal(t, rep.Interactions-kept, f.OtherData.LeftOut)
	assert.Regexp(t, `^\d+ spans drawn as \d+ \(at most 200 a rank\): those within [0-9.]+ms are drawn together; \d+ decisions and 0 pauses`, f.OtherData.Note())
}

// What a run has that does not come to its end: a part for each rank that can be read, up to the last second or, where the
// rank itself knows that it fails, up to the end; also when spans have been drawn together meanwhile.
func TestPartsOfARunThatFails(t *testing.T) {
	for _, knows := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "run.json")
		var tr [2]*trace.Trace
		_, err := sim.Run(sim.Config{Ranks: 2, Alpha: 1e-5}, func(c *sim.Comm) error {
			var err error
			if tr[c.Rank()], err = trace.Start(c, "test", trace.Options{Path: path, Limit: 200}); err != nil {
				return err
			}
			_, err = steps(c, hooks.Loop{Iterations: dist.Span(0, 20), Adjacent: true, Record: tr[c.Rank()]}, lb.Config{Policy: lb.Off}, 3000, 1e-3)
			if knows {
				tr[c.Rank()].Abandon()
			}
			return err
		})
		require.NoError(t, err)
		for r := range 2 {
			part := filepath.Join(filepath.Dir(path), fmt.Sprintf("run.rank%d.json", r))
			if !knows { // the writer has had its second at once, in virtual time: give it a real one
				require.Eventually(t, func() bool {
					b, err := os.ReadFile(part)
					return err == nil && strings.Contains(string(b), `"compute"`)
				}, 5*time.Second, time.Millisecond)
			}
			all := spans(t, readPart(t, part), r)
			if knows {
				assert.InDelta(t, 30e6, sum(all, "compute"), 1)
				assert.Less(t, len(all), 200)
			}
			tr[r].Abandon()
		}
		assert.NoFileExists(t, path)
	}
}

func TestWhatCannotBeWritten(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing", "run.json")
	_, err := sim.Run(sim.Config{Ranks: 3}, func(c *sim.Comm) error {
		_, err := trace.Start(c, "test", trace.Options{Path: missing})
		assert.ErrorContains(t, err, "no such file or directory")
		return nil
	})
	require.NoError(t, err)

	// A rank that has no place for its part goes on without, and the file says why.
	path := filepath.Join(t.TempDir(), "run.json")
	blocked := filepath.Join(filepath.Dir(path), "run.rank1.json")
	require.NoError(t, os.Mkdir(blocked, 0o755))
	_, err = sim.Run(sim.Config{Ranks: 2}, func(c *sim.Comm) error {
		tr, err := trace.Start(c, "test", trace.Options{Path: path})
		if err != nil {
			return err
		}
		if _, err := steps(c, hooks.Loop{Iterations: dist.Span(0, 20), Record: tr}, lb.Config{Policy: lb.Off}, 3, 1); err != nil {
			return err
		}
		_, err = tr.Close()
		return err
	})
	require.NoError(t, err)
	f := read(t, path)
	assert.Empty(t, f.OtherData.Ranks[0].Part)
	assert.Contains(t, f.OtherData.Ranks[1].Part, "is a directory")
	assert.Len(t, spans(t, f.TraceEvents, 1), 3)
	assert.DirExists(t, blocked, "not ours")
}

// In real time, with goroutines for ranks: the pauses of the garbage collector are there, in a row of their own.
func TestPausesOfTheGarbageCollector(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.json")
	require.NoError(t, local.Run(2, func(c comm.Comm) error {
		tr, err := trace.Start(c, "test", trace.Options{Path: path})
		if err != nil {
			return err
		}
		h, err := hooks.New(c, hooks.Loop{Iterations: dist.Span(0, 20), Quantum: 0.004, Record: tr}, lb.Config{Policy: lb.Off})
		if err != nil {
			return err
		}
		for range 5 {
			h.Compute(collect)
			if err := comm.Barrier(c); err != nil {
				return err
			}
			if _, err := h.Hook(); err != nil {
				return err
			}
		}
		if _, err := h.Finish(); err != nil {
			return err
		}
		_, err = tr.Close()
		return err
	}))
	f := read(t, path)
	all := spans(t, f.TraceEvents, 0)
	begin, end := all[0].Ts, all[len(all)-1].end()
	drawn, within := 0, 0 // the runtime may also collect before the loop and behind it
	for _, e := range f.TraceEvents {
		if e.Name == "GC pause" {
			drawn++
			assert.Equal(t, []int{0, 1}, []int{e.Pid, e.Tid})
			if e.Ts > begin-1000 && e.end() < end+1000 {
				within++
			}
		}
	}
	assert.GreaterOrEqual(t, within, 5)
	assert.Equal(t, f.OtherData.Ranks[0].Pauses, drawn)
}
