package replay_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/apps/shiftwork/internal/replay"
)

func written(t *testing.T, r *replay.Result, other, all bool) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, replay.Write(&b, r, other, all))
	for line := range strings.Lines(b.String()) {
		assert.LessOrEqual(t, len([]rune(line)), 121, "it fits a terminal: %s", line)
		assert.Equal(t, strings.TrimRight(line, " \n")+"\n", line)
	}
	return b.String()
}

// changed is a loop in which another choice was made at n interactions.
func changed(n int) *replay.Result {
	l := &replay.Loop{
		Name: "sor", Ranks: 4, Interactions: 3 * n, Time: 12.5, Changed: n,
		Settings: []replay.Setting{{Name: "filter", Recorded: "auto", Replayed: "fixed:0.5"}},
		Recorded: replay.Totals{Moves: 1, Units: 12, Period: 0.5}, Replayed: replay.Totals{Moves: n, Units: 30, Period: 0.25},
	}
	for i := range n {
		l.Rows = append(l.Rows, replay.Row{
			Interaction: 3 * i, Time: 1.5, Changed: true,
			Recorded: replay.Choice{Reason: "balanced: imbalance 0.021, threshold 0.100"},
			Replayed: replay.Choice{Transfers: 2, Units: 15, Reason: "imbalance 0.121; moving costs 0.01 s and brings 1 s", Final: i == 1},
		})
	}
	return &replay.Result{Loops: []*replay.Loop{l}}
}

func TestChoicesStandSideBySide(t *testing.T) {
	assert.Equal(t, `sor: 6 interactions on 4 ranks in 12.500 s, 1 move
  --filter fixed:0.5 instead of auto
  another choice at 2 of 6 interactions

interaction     time s  recorded                                        with these settings
          0      1.500  stays: balanced: imbalance 0.021, threshold     moves 15 units in 2 transfers: imbalance
                        0.100                                           0.121; moving costs 0.01 s and brings 1 s
          3      1.500  stays: balanced: imbalance 0.021, threshold     moves 15 units in 2 transfers, the last
                        0.100                                           instruction: imbalance 0.121; moving costs
                                                                        0.01 s and brings 1 s

               recorded  with these settings
moves                 1                    2
units moved          12                   30
mean period s       0.5                 0.25
Nobody obeyed the other choices: after interaction 0 the statuses are not those that would have been measured.
`, written(t, changed(2), true, false))
}

// Ten thousand interactions stay readable, unless all are asked for.
func TestLongTablesAreCutOff(t *testing.T) {
	r := changed(10000)
	short := written(t, r, true, false)
	assert.Less(t, strings.Count(short, "\n"), 140)
	assert.Contains(t, short, "\n... and 9960 more: --all lists every interaction\n")
	long := written(t, r, true, true)
	assert.Greater(t, strings.Count(long, "\n"), 20000)
	assert.NotContains(t, long, "more")
	assert.Equal(t, 1, strings.Count(written(t, &replay.Result{Loops: []*replay.Loop{{Name: "a"}}}, false, false), "\n"))
}

func TestVerdicts(t *testing.T) {
	r := &replay.Result{Loops: []*replay.Loop{
		{Name: "sor", Ranks: 4, Interactions: 312, Identical: 312, Time: 12.3456, Recorded: replay.Totals{Moves: 5}},
		{Name: "mm", Ranks: 1, Interactions: 1, Time: 1, First: &replay.Difference{Time: 0.5, Field: "Plans[1].Cost", Recorded: "0.1", Replayed: "0.2"}},
	}}
	assert.Equal(t, `sor: 312 interactions on 4 ranks in 12.346 s, 5 moves; 312 decisions, all identical
mm: 1 interaction on 1 rank in 1.000 s, 0 moves; 0 of 1 decision identical
  first difference: interaction 0, 0.500 s, Plans[1].Cost: recorded 0.1, replayed 0.2
`, written(t, r, false, false))
	assert.Equal(t, "The last line of the recording is cut off: what stands before it is replayed.\nThe recording holds no loop.\n",
		written(t, &replay.Result{Truncated: true}, false, false))
	assert.Contains(t, written(t, &replay.Result{Loops: []*replay.Loop{{Name: "sor"}}}, true, false), "these settings are the recorded ones")
}

// With the recorded settings there is nothing to stand beside the decisions.
func TestEveryDecisionWithItsReason(t *testing.T) {
	recording, _ := play(t, scene{kind: blocks, steps: 40})
	r := run(t, recording, replay.Options{All: true})
	out := written(t, r, false, true)
	assert.Contains(t, out, "time s  decision\n")
	for _, row := range r.Loops[0].Rows {
		assert.Contains(t, strings.Join(strings.Fields(out), " "), row.Recorded.String())
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestWriteReportsErrors(t *testing.T) {
	assert.ErrorContains(t, replay.Write(broken{}, changed(3), true, true), "no space left")
}
