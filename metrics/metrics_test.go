package metrics_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/comm/sim"
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
