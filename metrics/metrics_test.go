package metrics_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/comm/sim"
	"shiftwork/dist"
	"shiftwork/hooks"
	"shiftwork/internal/heatloop"
	"shiftwork/lb"
	"shiftwork/metrics"
)

// run is a loop in virtual time on three ranks, the second of which is slow.
func run(t *testing.T, to hooks.Recorder) *hooks.Report {
	t.Helper()
	machine := sim.Config{Ranks: 3, Alpha: 1e-5, Speed: [][]sim.Step{sim.Constant(2), sim.Constant(1), sim.Constant(2)}}
	rep := heatloop.Run(t, machine, 300, to, lb.Auto())
	require.NotZero(t, rep.Shifts)
	return rep
}

// values reads a file as Prometheus does: by name, and rank where there is one.
func values(t *testing.T, path string) map[string]float64 {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(bytes.NewReader(b))
	require.NoError(t, err)
	all := map[string]float64{}
	for name, family := range families {
		for _, m := range family.Metric {
			key := name
			for _, l := range m.Label {
				if l.GetName() == "rank" {
					key += " " + l.GetValue()
				} else {
					assert.Equal(t, "loop heat", l.GetName()+" "+l.GetValue())
				}
			}
			all[key] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return all
}

func requireReport(t *testing.T, rep *hooks.Report, path string) {
	t.Helper()
	v := values(t, path)
	assert.Zero(t, v["shiftwork_running"])
	assert.EqualValues(t, rep.Interactions, v["shiftwork_interactions_total"])
	assert.EqualValues(t, rep.Shifts, v["shiftwork_shifts_total"])
	assert.Positive(t, v["shiftwork_iterations_moved_total"])
	assert.Positive(t, v["shiftwork_period_seconds"])
	for i, rank := range []string{" 0", " 1", " 2"} {
		r := rep.Ranks[i]
		assert.EqualValues(t, r.Iterations, v["shiftwork_rank_iterations"+rank])
		assert.InDelta(t, r.Units, v["shiftwork_rank_units_total"+rank], 1e-9)
		assert.InDelta(t, r.Compute, v["shiftwork_rank_compute_seconds_total"+rank], 1e-9)
		assert.InDelta(t, r.Wait(), v["shiftwork_rank_wait_seconds_total"+rank], 1e-9)
		assert.InDelta(t, r.Move, v["shiftwork_rank_move_seconds_total"+rank], 1e-9)
		assert.InDelta(t, []float64{2000, 1000, 2000}[i], v["shiftwork_rank_rate"+rank], 50)
	}
}

func TestTheFileSaysWhatTheReportSays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "heat.prom")
	file := metrics.New(path)
	rep := run(t, file)
	require.NoError(t, file.Close())
	requireReport(t, rep, path)
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, left, 1, "no temporary file stays")
}

func decision(units float64) hooks.Event {
	return hooks.Event{Kind: "decision", Loop: "heat", Decision: &lb.Decision{}, Statuses: []lb.Status{{Units: units}}}
}

func end(units float64) hooks.Event {
	return hooks.Event{Kind: "end", Loop: "heat", Report: &hooks.Report{Ranks: []hooks.RankReport{{Units: units}}}}
}

// A loop that runs again goes on counting. To Prometheus a counter that falls has begun anew.
func TestTotalsNeverFall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "heat.prom")
	file := metrics.New(path)
	start := hooks.Event{Kind: "start", Loop: "heat"}
	for i, step := range []struct {
		event hooks.Event
		total float64
	}{
		{start, 0}, {decision(10), 10}, {end(12), 12},
		{start, 12}, {decision(10), 22}, {end(12), 24},
		{start, 24}, {decision(10), 34}, {end(9), 34}, // the statuses said too much: 33
		{start, 34}, {decision(0.5), 34}, {decision(5), 38.5}, // a run that does not end
		{start, 38.5}, {decision(1), 39.5}, {end(3), 41.5},
		{end(4), 45.5}, // without balancing
	} {
		file.Record(step.event)
		require.NoError(t, file.Flush())
		assert.Equal(t, step.total, values(t, path)["shiftwork_rank_units_total 0"], "event %d", i)
	}
}

// It ends no run: what is no label is made one, and what no counter can take is not counted.
func TestEventsThatSayAnything(t *testing.T) {
	path := filepath.Join(t.TempDir(), "heat.prom")
	file := metrics.New(path)
	d := decision(1)
	d.Decision.Transfers = []dist.Transfer{{Iterations: 5}, {Iterations: -3}}
	file.Record(d)
	for _, x := range []float64{-1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		d := decision(x)
		d.Statuses[0].Compute, d.Statuses[0].Wait, d.Statuses[0].MoveTime = x, x, x
		file.Record(d)
		e := end(x)
		e.Report.Ranks[0].Compute, e.Report.Ranks[0].Elapsed = x, x // and so no wait
		file.Record(e)
	}
	require.NoError(t, file.Flush())
	v := values(t, path)
	assert.EqualValues(t, 5, v["shiftwork_iterations_moved_total"])
	assert.EqualValues(t, 1, v["shiftwork_rank_units_total 0"])
	for _, name := range []string{"compute", "wait", "move"} {
		assert.Zero(t, v["shiftwork_rank_"+name+"_seconds_total 0"], name)
	}

	file.Record(hooks.Event{Kind: "start", Loop: "heat\xff"})
	require.NoError(t, file.Close())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Contains(t, string(b), "shiftwork_running{loop=\"heat\uFFFD\"} 1")
}

func TestAFileThatCannotBeWritten(t *testing.T) {
	file := metrics.New(filepath.Join(t.TempDir(), "missing", "heat.prom"))
	run(t, file)
	assert.ErrorContains(t, file.Close(), "no such file")
}

// A recording that grows, at first not there, its last line now and then half written.
func TestFollow(t *testing.T) {
	dir := t.TempDir()
	path, record := filepath.Join(dir, "heat.prom"), filepath.Join(dir, "run.jsonl")
	var whole bytes.Buffer
	lines := hooks.NewJSONL(&whole)
	rep := run(t, lines)
	require.NoError(t, lines.Err())
	b := whole.Bytes()
	file := metrics.New(path)
	looks := 0
	seen := map[float64]bool{}
	err := metrics.Follow(t.Context(), record, 20*time.Millisecond, file, func() error {
		if looks++; looks > 1 && len(b) > 0 { // a tenth and some bytes
			out, err := os.OpenFile(record, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
			require.NoError(t, err)
			n := min(len(b), whole.Len()/10+7)
			_, err = out.Write(b[:n])
			require.NoError(t, err)
			require.NoError(t, out.Close())
			b = b[n:]
		}
		if err := file.Flush(); err != nil || looks < 4 {
			return err
		}
		seen[values(t, path)["shiftwork_interactions_total"]] = true
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, file.Close())
	assert.Greater(t, len(seen), 3, "it was up to date in between")
	requireReport(t, rep, path)
}

// times are those of the events recorded.
type times []float64

func (s *times) Record(e hooks.Event) { *s = append(*s, e.Time) }

// A recording in the place of another one, between two looks, whether it is shorter by then or not.
func TestFollowANewRecording(t *testing.T) {
	recording := func(first float64, events int) (text []byte, at times) {
		var b bytes.Buffer
		lines := hooks.NewJSONL(&b)
		for i := range events {
			e := hooks.Event{Kind: "decision", Loop: "heat", Time: first + float64(i), Decision: &lb.Decision{}}
			if i == events-1 {
				e.Kind, e.Decision = "end", nil
			}
			lines.Record(e)
			at.Record(e)
		}
		require.NoError(t, lines.Err())
		return b.Bytes(), at
	}
	before, first := recording(0.25, 4)
	for _, events := range []int{2, 4, 40} {
		path := filepath.Join(t.TempDir(), "run.jsonl")
		require.NoError(t, os.WriteFile(path, before, 0o644))
		after, second := recording(0.0625, events)
		var seen times
		looks := 0
		require.NoError(t, metrics.Follow(t.Context(), path, 20*time.Millisecond, &seen, func() error {
			if looks++; looks == 1 {
				return os.WriteFile(path, after, 0o644)
			}
			return nil
		}))
		assert.Equal(t, slices.Concat(first, second), seen, "%d events", events)
	}
}

func TestFollowRefusesWhatIsNoRecording(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl")
	for content, says := range map[string]string{
		"hello\n": "line 1: not a recording",
		"{\"schema\":\"shiftwork\",\"version\":1}\n":                                                  "version 1, accepted is",
		fmt.Sprintf("{\"schema\":\"shiftwork\",\"version\":%d}\n{\"kind\":5}\n", hooks.RecordVersion): "line 2",
	} {
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
		err := metrics.Follow(t.Context(), path, time.Millisecond, metrics.New(filepath.Join(t.TempDir(), "x.prom")), func() error { return nil })
		assert.ErrorContains(t, err, says)
	}
}

// It ends when it is told to, though the recording never comes.
func TestFollowEndsWhenItIsTold(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	assert.NoError(t, metrics.Follow(ctx, filepath.Join(t.TempDir(), "none"), time.Millisecond, metrics.New("unused"), func() error { return nil }))
}
