package report

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"shiftwork/comm/sim"
	"shiftwork/dist"
	"shiftwork/hooks"
	"shiftwork/internal/heatloop"
	"shiftwork/lb"
)

// recorded is a recording, made in virtual time with the real run time, of a loop over three ranks, one of which is slow for a
// while, and its report.
func recorded(t testing.TB, cfg lb.Config) ([]byte, *hooks.Report) {
	t.Helper()
	var out bytes.Buffer
	lines := hooks.NewJSONL(&out)
	machine := sim.Config{Ranks: 3, Alpha: 1e-5, SendOverhead: 1e-6, Speed: [][]sim.Step{{{Speed: 1}}, {{Speed: 1}, {From: 1, Speed: 0.3}, {From: 3, Speed: 1}}, {{Speed: 1}}}}
	report := heatloop.Run(t, machine, 150, lines, cfg)
	require.NoError(t, lines.Err())
	return out.Bytes(), report
}

func read(t testing.TB, recording []byte) *Run {
	t.Helper()
	run, err := Read(bytes.NewReader(recording))
	require.NoError(t, err)
	return run
}

// world is a long run as it would be recorded: ranks whose rates change, and the real balancer, whose instructions are obeyed
// at once. It hands each event to the recorder.
func world(t testing.TB, ranks, interactions int, to hooks.Recorder) {
	t.Helper()
	const rows = 6400
	cfg := lb.Auto()
	setup := lb.Loop{Ranks: ranks, Start: dist.Even(dist.Span(0, rows), ranks, 0), Movement: lb.Adjacent, Quantum: 4e-3, Interact: 1e-4}
	balancer, err := lb.New(cfg, setup)
	require.NoError(t, err)
	to.Record(hooks.Event{Kind: "start", Loop: "long", Config: &cfg, Setup: &setup})
	own := setup.Start.Clone()
	statuses, sums := make([]lb.Status, ranks), make([]hooks.RankReport, ranks)
	now, obeyed := 0.0, -1
	for k := range interactions {
		longest := 0.0
		for r := range statuses {
			units := float64(own.Range(r).Len())
			statuses[r] = lb.Status{
				Rank: r, Interaction: k, Obeyed: obeyed, Units: units, Phases: 1, PhasesLeft: -1, Compute: units / rateOf(r, k), Owned: units,
				OwnedIterations: own.Range(r).Len(), MoveTime: sums[r].Move,
			}
			longest = max(longest, statuses[r].Compute+sums[r].Move)
		}
		now += longest
		for r := range statuses {
			s := &statuses[r]
			s.Elapsed = longest
			s.Wait = longest - s.Compute - s.MoveTime
			sums[r].Compute += s.Compute
			sums[r].Units += s.Units
			sums[r].Interact += s.MoveTime // kept here: Move is that of this interaction
			sums[r].Move = 0
		}
		d := balancer.Decide(statuses)
		to.Record(hooks.Event{Kind: "decision", Loop: "long", Time: now, Statuses: statuses, Decision: &d})
		for _, m := range d.Transfers {
			sums[m.From].Move, sums[m.To].Move = 0.01, 0.01
		}
		own, obeyed = d.To.Clone(), k
	}
	rep := &hooks.Report{Interactions: interactions, Iterations: rows, Settings: hooks.Settings{Balance: "on"}}
	for r, s := range sums {
		rep.Ranks = append(rep.Ranks, hooks.RankReport{Rank: r, Host: "node" + string(rune('a'+r%4)), Units: s.Units, Compute: s.Compute, Move: s.Interact, Elapsed: now, Iterations: own.Range(r).Len()})
	}
	to.Record(hooks.Event{Kind: "end", Loop: "long", Time: now, Report: rep})
}

// rateOf is the rate of a rank at an interaction: a load comes and goes on every third.
func rateOf(r, k int) float64 {
	rate := 900 + 20*float64(r%7) + 15*math.Sin(float64(k*(r+3)))
	if r%3 == 1 && (k/(400+37*r))%2 == 1 {
		rate /= 2
	}
	return rate
}

// straight feeds a loop without the detour through JSON.
type straight struct{ l *Loop }

func (s straight) Record(e hooks.Event) {
	if err := s.l.event(e); err != nil {
		panic(err)
	}
}

// long is a run that was not written down.
func long(t testing.TB, ranks, interactions int) *Run {
	l := &Loop{Name: "long"}
	world(t, ranks, interactions, straight{l})
	l.thin()
	return &Run{Loops: []*Loop{l}}
}

func pageOf(t testing.TB, run *Run) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, Page(&b, run, "run.jsonl"))
	return b.String()
}

// dataOf is what the page's script will read.
func dataOf(t testing.TB, page string) data {
	t.Helper()
	_, rest, found := strings.Cut(page, `<script type="application/json" class="data">`)
	require.True(t, found)
	text, _, found := strings.Cut(rest, "</script>")
	require.True(t, found)
	var d data
	require.NoError(t, json.Unmarshal([]byte(text), &d))
	return d
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
