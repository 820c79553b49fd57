package summary

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"shiftwork/hooks"
)

// three ranks, the last of which computed longest, for less of the work.
func three() *hooks.Report {
	return &hooks.Report{
		Interactions: 40, Shifts: 2, IterationsMoved: 41, Iterations: 1000, Period: 0.25, Interact: 1e-4,
		Ranks: []hooks.RankReport{
			{Rank: 0, Host: "node1", Iterations: 400, Units: 4000, Elapsed: 10, Compute: 8, Move: 0.5, Interact: 0.1, RateMin: 450, RateMax: 520},
			{Rank: 1, Host: "node1", Iterations: 400, Units: 4000, Elapsed: 10, Compute: 7, Move: 0.5, Interact: 0.1, RateMin: 500, RateMax: 600},
			{Rank: 2, Host: "node3", Iterations: 200, Units: 2000, Elapsed: 10, Compute: 9, Move: 0.25, Interact: 0.125, RateMin: 200, RateMax: 500},
		},
		Settings: hooks.Settings{Balance: "on", Filter: "auto", Interaction: "pipelined", Movement: "adjacent", CostBenefit: true, Limit: "quantum", Quantum: 0.025, Threshold: 0.1, AutoFound: true},
		Gain:     &hooks.Gain{Periods: 41, Compute: 9, Start: 16, Even: 8, Overhead: 0.5, Slowed: []float64{0, 0.1, 0.9}},
		Build:    hooks.Build{Version: "v1.2.0", Commit: "0123456789abcdef+changes", Go: "go1.26", Transport: "mpi", MPI: "Open MPI v4.1.4"},
	}
}

func TestDefinitions(t *testing.T) {
	s := Of(three())
	assert.InDelta(t, 8.0/9, s.Balance.Value, 1e-12, s.Balance.Definition)
	assert.InDelta(t, 0.9, s.Communication.Value, 1e-12, s.Communication.Definition)
	assert.InDelta(t, 0.8, s.Parallel.Value, 1e-12, s.Parallel.Definition)
	assert.Equal(t, 2, s.Slowest)
	for name, pair := range map[string][2]float64{
		"total": {2, s.Lost.Total}, "imbalance": {1, s.Lost.Imbalance}, "moving": {0.25, s.Lost.Moving}, "balancing": {0.125, s.Lost.Balancing},
		"waiting": {0.625, s.Lost.Waiting}, "moved": {0.041, s.Moved}, "removed": {1 - 1.5/8, s.Gain.Removed},
	} {
		assert.InDelta(t, pair[0], pair[1], 1e-12, name)
	}
	assert.Equal(t, []Host{{"node1", 2}, {"node3", 1}}, s.Hosts)
	assert.Equal(t, Row{Rank: 2, Host: "node3", Owned: 200, Units: 2000, Share: 0.2, RateMin: 200, Rate: 2000 / 9.0, RateMax: 500, Compute: 9, Wait: 0.75, Move: 0.25, Interact: 0.125}, s.Ranks[2])
}

// Efficiencies are the product that they are said to be, and the parts of the time that was lost add up, whatever was measured.
func TestPartsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rep := &hooks.Report{}
		time := func(most float64, name string) float64 { return rapid.Float64Range(0, most).Draw(t, name) }
		for r := range rapid.IntRange(1, 6).Draw(t, "ranks") {
			elapsed := time(100, "elapsed")
			compute := time(elapsed, "compute")
			rest := elapsed - compute
			rep.Ranks = append(rep.Ranks, hooks.RankReport{Rank: r, Elapsed: elapsed, Compute: compute, Move: time(rest, "move"), Interact: time(rest, "interact")})
		}
		s := Of(rep)
		assert.InDelta(t, s.Parallel.Value, s.Balance.Value*s.Communication.Value, 1e-9)
		assert.InDelta(t, s.Lost.Total, s.Elapsed-s.MeanCompute, 1e-9)
		assert.InDelta(t, s.Lost.Total, s.Lost.Imbalance+s.Lost.Waiting+s.Lost.Moving+s.Lost.Balancing, 1e-9)
		for _, x := range []float64{s.Lost.Imbalance, s.Lost.Waiting, s.Lost.Moving, s.Lost.Balancing, 1 - s.Parallel.Value, 1 - s.Balance.Value} {
			assert.GreaterOrEqual(t, x, -1e-9)
		}
		_, err := json.Marshal(s)
		assert.NoError(t, err)
	})
}

func TestSentence(t *testing.T) {
	for _, c := range []struct {
		change func(r *hooks.Report)
		says   string
	}{
		{func(*hooks.Report) {}, "Balancing removed 81% of the time that the load on rank 2 on node3 would have cost (6.5 of 8 s); it moved 4.1% of the rows."},
		{func(r *hooks.Report) { r.Ranks[2].Host = "node1" }, "Balancing removed 81% of the time that the load on rank 2 would have cost (6.5 of 8 s); it moved 4.1% of the rows."},
		{func(r *hooks.Report) { r.Gain.Slowed = []float64{0.4, 0.1, 0.5} }, "the loads on rank 2 on node3 and rank 0 on node1 would have cost"},
		{func(r *hooks.Report) { r.Gain.Slowed = []float64{0.34, 0.33, 0.33} }, "the loads on several ranks would have cost"},
		{func(r *hooks.Report) { r.IterationsMoved = 2500 }, "it moved each row 2.5 times on average."},
		{func(r *hooks.Report) { r.Gain.Start = 8.1; r.IterationsMoved = 0 }, "The load was even: with the starting shares it would have cost 1.0% of the time; balancing moved nothing."},
		{func(r *hooks.Report) { r.Gain.Start = 9; r.Gain.Overhead = 3 }, "Balancing could not make up for the load on rank 2 on node3: it would have cost 1 s, and cost 4 s; balancing moved 4.1% of the rows."},
		{func(r *hooks.Report) { r.IterationsMoved = 0 }, "Balancing moved nothing; the load on rank 2 on node3 cost 1.5 s, by the rates that were measured."},
		{func(r *hooks.Report) { r.Gain = nil }, "The ranks never talked to the balancer, so nothing is known of what it would have brought; rank 2 on node3 computed longest, 12.5% more than the mean."},
		{func(r *hooks.Report) { r.Gain, r.Settings.Balance = nil, "off" }, "Balancing was off, so nothing is known of what it would have brought; rank 2 on node3 computed longest, 12.5% more than the mean."},
		{func(r *hooks.Report) { r.Settings.Balance = "random" }, "the policy random asks for: nothing can be said"},
		{func(r *hooks.Report) { r.Settings.Balance = "" }, "An older version made the recording"},
		{func(r *hooks.Report) { r.Ranks = r.Ranks[:1] }, "There was one rank, and nothing to balance."},
	} {
		rep := three()
		c.change(rep)
		assert.Contains(t, Of(rep).Sentence, c.says)
	}
}

func TestParametersTellWhy(t *testing.T) {
	why := func(rep *hooks.Report, name string) string {
		for _, p := range Of(rep, Parameter{"block", "36 columns", "minimum of the predicted time"}).Parameters {
			if p.Name == name {
				return p.Value + ": " + p.Why
			}
		}
		return ""
	}
	rep := three()
	assert.Equal(t, "0.25 s: ten times the scheduling quantum of 0.025 s or more, so that a rate is right to 10%", why(rep, "period"))
	assert.Contains(t, why(rep, "threshold"), "10.0%: found from how much rates scatter")
	assert.Equal(t, "36 columns: minimum of the predicted time", why(rep, "block"))
	for limit, says := range map[string]string{"fixed": "as asked for", "interaction": "one took 0.0001 s", "movement": "do not come too often", "": "the end of the loop"} {
		rep.Settings.Limit = limit
		assert.Contains(t, why(rep, "period"), says)
	}
	rep.Settings.AutoFound, rep.Settings.CostBenefit, rep.Settings.Filter, rep.Settings.Interaction = false, false, "state", "synchronous"
	for _, name := range []string{"threshold", "cost-benefit", "filter", "interaction"} {
		assert.Contains(t, why(rep, name), ": as asked for")
	}
	rep.Settings.Balance = "off"
	assert.Empty(t, why(rep, "period"), "nothing was chosen")
}

func TestText(t *testing.T) {
	var b strings.Builder
	require.NoError(t, Of(three()).Write(&b, false))
	for _, s := range []string{
		"  rank  iterations  share of work  rate min  mean  max 1/s  compute s  wait s  move s  host\n",
		"     2         200          20.0%       200   222      500      9.000   0.750   0.250  node3\n",
		"parallel efficiency 80.0% = load balance 88.9% x communication efficiency 90.0%\n  load balance: mean compute / longest compute; communication efficiency: longest compute / elapsed\n",
		"lost 2.000 s of 10.000 s: imbalance 1.000 s, waiting 0.625 s, moving 0.250 s, balancing 0.125 s\n",
		"slowest: rank 2 on node3, computed 9.000 s, 12.5% more than the mean, for 20.0% of the work\n",
		"estimate: uneven shares would have cost 8.000 s and cost 1.500 s; removed 81.2% = " + DefineRemoved,
		"shiftwork v1.2.0, commit 0123456789ab+changes, go1.26, Open MPI v4.1.4, 3 ranks on 2 hosts: node1 (2), node3 (1)\nBalancing removed 81%",
	} {
		assert.Contains(t, b.String(), s)
	}
	for line := range strings.Lines(b.String()) {
		assert.LessOrEqual(t, len([]rune(line)), 132, "it fits a wide terminal: %s", line)
	}

	even := three()
	even.Gain.Start = even.Gain.Even + 0.1
	b.Reset()
	require.NoError(t, Of(even).Write(&b, false))
	assert.Contains(t, b.String(), "uneven shares would have cost 0.100 s and cost 1.500 s; too little to say which part of it was removed\n")

	many := three()
	for r := 3; r < 100; r++ {
		many.Ranks = append(many.Ranks, hooks.RankReport{Rank: r, Host: fmt.Sprint("n", r), Units: 1, Compute: 1, Elapsed: 10})
	}
	b.Reset()
	require.NoError(t, Of(many).Write(&b, false))
	assert.Contains(t, b.String(), "... and 36 more ranks: --report has them all\n")
	assert.Contains(t, b.String(), "node1 (2), node3 (1), n3 (1), n4 (1), 95 more\n")
	b.Reset()
	require.NoError(t, Of(many).Write(&b, true))
	assert.NotContains(t, b.String(), "more ranks")
	assert.Contains(t, b.String(), "\n    99 ")

	b.Reset()
	one := three()
	one.Ranks = one.Ranks[:1]
	require.NoError(t, Of(one).Write(&b, false))
	assert.Empty(t, b.String(), "of one rank the result line says all")
	assert.ErrorContains(t, Of(three()).Write(broken{}, false), "no space left")
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestShort(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 0.25: "0.25", 1234: "1234", 123456: "123456", 2.5e7: "2.5e+07", 1e-5: "1e-05", 999.6: "1000"} {
		assert.Equal(t, want, short(x))
	}
}
