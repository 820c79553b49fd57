package replay_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"shiftwork/apps/shiftwork/internal/replay"
	"shiftwork/hooks"
	"shiftwork/lb"
)

// run replays a recording that is one.
func run(t testing.TB, recording []byte, o replay.Options) *replay.Result {
	t.Helper()
	r, err := replay.Run(bytes.NewReader(recording), o)
	require.NoError(t, err)
	return r
}

// scenes are loops of all kinds under all policies and settings.
func scenes() []scene {
	var all []scene
	for _, kind := range []string{blocks, direct, free} {
		for _, w := range []scene{{}, {weighted: true}, {hidden: true}} {
			for _, cfg := range []lb.Config{
				{},
				{Interaction: lb.Synchronous},
				{DedicatedMaster: true},
				{Policy: lb.Rotate, Interaction: lb.Synchronous, DedicatedMaster: true},
				{Policy: lb.Rotate},
				{Policy: lb.Random, Seed: 7},
				{Policy: lb.Random, Seed: 1 << 63, Interaction: lb.Synchronous},
				{NoCostBenefit: true, Filter: "fixed:0.3", Threshold: 0.05},
				{NoThreshold: true, Filter: "raw"},
				{Filter: "state", Period: 0.2},
			} {
				steps := 120
				if kind == free {
					steps = 40
				}
				all = append(all, scene{kind, w.weighted, w.hidden, cfg, steps})
			}
		}
	}
	return all
}

// A recorded run gives the same decisions: all of them, in all fields.
func TestARecordedRunReplaysIdentically(t *testing.T) {
	moves, plans := map[string]int{}, map[string]bool{}
	for _, s := range scenes() {
		recording, report := play(t, s)
		r := run(t, recording, replay.Options{All: true})
		require.True(t, r.Identical(), "%v: %+v", s, r.Loops[0].First)
		assert.False(t, r.Truncated)
		require.Len(t, r.Loops, 1)
		l := r.Loops[0]
		assert.Equal(t, s.kind, l.Name)
		assert.Equal(t, ranks, l.Ranks)
		assert.Equal(t, report.Interactions, l.Interactions, s)
		assert.Equal(t, l.Interactions, l.Identical)
		assert.Equal(t, report.Shifts, l.Recorded.Moves)
		assert.Equal(t, l.Recorded, l.Replayed)
		assert.Len(t, l.Rows, l.Interactions)
		assert.Empty(t, l.Settings)
		moves[s.kind] += l.Recorded.Moves
		for _, row := range l.Rows {
			plans[row.Recorded.Plan] = true
		}
	}
	for _, kind := range []string{blocks, direct, free} {
		assert.Greater(t, moves[kind], 50, "%s: or there was little to decide", kind)
	}
	assert.Greater(t, len(plans), 3, "or few plans were weighed: %v", slices.Collect(maps.Keys(plans)))
}

// lines are those of a recording, without their ends.
func lines(recording []byte) []string {
	return strings.Split(strings.TrimSuffix(string(recording), "\n"), "\n")
}

func recordingOf(lines []string) []byte { return []byte(strings.Join(lines, "\n") + "\n") }

// leaves calls change for each number, text and truth value below v, with its path; it replaces it by what that returns.
func leaves(v any, path string, change func(path string, v any) any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			name := key
			if path != "" {
				name = path + "." + key
			}
			v[key] = leaves(v[key], name, change)
		}
		return v
	case []any:
		for i := range v {
			v[i] = leaves(v[i], fmt.Sprintf("%s[%d]", path, i), change)
		}
		return v
	case nil:
		return nil
	}
	return change(path, v)
}

// Whatever is changed in a recorded decision is found, where it is.
func TestATamperedDecisionIsFound(t *testing.T) {
	for _, kind := range []string{blocks, direct, free} {
		recording, _ := play(t, scene{kind: kind, steps: 60})
		all := lines(recording)
		at := slices.IndexFunc(all, func(line string) bool { // a decision with transfers
			return strings.Contains(line, `"Transfers":[{`)
		})
		require.Positive(t, at)
		fields := 0
		for field := 0; ; field++ {
			var e map[string]any
			d := json.NewDecoder(strings.NewReader(all[at]))
			d.UseNumber()
			require.NoError(t, d.Decode(&e))
			k, changed := 0, ""
			leaves(e["decision"], "", func(path string, v any) any {
				if k++; k-1 != field {
					return v
				}
				changed = path
				switch v := v.(type) {
				case bool:
					return !v
				case string:
					return v + "?"
				case json.Number:
					if i, err := v.Int64(); err == nil {
						return i + 1
					}
					x, err := v.Float64()
					require.NoError(t, err)
					return math.Nextafter(x, 2*x) // its last bit
				}
				require.Fail(t, "unknown", "%s %T", path, v)
				return v
			})
			if changed == "" {
				break
			}
			fields++
			b, err := json.Marshal(e)
			require.NoError(t, err)
			tampered := slices.Clone(all)
			tampered[at] = string(b)
			r := run(t, recordingOf(tampered), replay.Options{})
			require.False(t, r.Identical(), changed)
			l := r.Loops[0]
			assert.Equal(t, changed, l.First.Field)
			assert.Equal(t, at-2, l.First.Interaction, "behind the header and the start")
			assert.Equal(t, l.Interactions-1, l.Identical, "the others are as they were")
			assert.NotEqual(t, l.First.Recorded, l.First.Replayed)
		}
		assert.Greater(t, fields, 30, "all fields were tried")
	}
}

// So is what is changed in what the decision comes from.
func TestTamperedStatusesAndSettingsAreFound(t *testing.T) {
	recording, _ := play(t, scene{kind: blocks, weighted: true, steps: 100})
	all := lines(recording)
	for _, c := range []struct{ what, old, new string }{
		{"units done", `"Units":`, `"Units":1`},
		{"computing time", `"Compute":`, `"Compute":1`},
		{"filter", `"Filter":""`, `"Filter":"raw"`},
		{"threshold", `"Threshold":0,`, `"Threshold":0.3,`},
		{"weights", `"units":[0.3,`, `"units":[0.4,`},
		{"quantum", `"Quantum":0.004`, `"Quantum":0.005`},
		{"start", `"Bounds":[0,`, `"Bounds":[1,`},
	} {
		tampered := slices.Clone(all)
		i := slices.IndexFunc(tampered, func(line string) bool { return strings.Contains(line, c.old) })
		require.Positive(t, i, c.what)
		tampered[i] = strings.Replace(tampered[i], c.old, c.new, 1)
		assert.False(t, run(t, recordingOf(tampered), replay.Options{}).Identical(), c.what)
	}
}

// Numbers that are none: a rank whose clock is broken does not make a recording that cannot be replayed.
func TestInfiniteStatusesReplay(t *testing.T) {
	recording, _ := play(t, scene{kind: direct, steps: 60})
	for _, tampered := range []bool{false, true} {
		var out bytes.Buffer
		j := hooks.NewJSONL(&out)
		var b *lb.Balancer
		for i, line := range lines(recording)[1:] {
			var e hooks.Event
			require.NoError(t, json.Unmarshal([]byte(line), &e))
			switch e.Kind {
			case "start":
				var err error
				b, err = lb.New(*e.Config, *e.Setup)
				require.NoError(t, err)
			case "decision":
				s := &e.Statuses[i%ranks]
				s.Units, s.Compute, s.Elapsed = math.Inf(1), math.NaN(), math.Inf(-1)
				d := b.Decide(e.Statuses)
				if tampered {
					d.Cost = math.Inf(1)
				}
				e.Decision = &d
			}
			j.Record(e)
		}
		require.NoError(t, j.Err())
		require.Contains(t, out.String(), `"statuses[0].Compute":"NaN"`)
		l := run(t, out.Bytes(), replay.Options{}).Loops[0]
		if !tampered {
			assert.Nil(t, l.First)
			continue
		}
		require.NotNil(t, l.First)
		assert.Equal(t, "Cost", l.First.Field)
		assert.Equal(t, "+Inf", l.First.Recorded)
	}
}

// Up to and with the first choice that differs, a replay with other settings says what a run with them does.
func TestOtherSettingsForeseeARunUntilTheyDiffer(t *testing.T) {
	const period = 0.1 // s: the same interactions
	differed := 0
	for _, kind := range []string{blocks, direct} {
		for _, other := range []lb.Config{
			{Threshold: 0.3}, {NoCostBenefit: true}, {Filter: "raw", Threshold: 0.1, NoCostBenefit: true}, {Policy: lb.Random, Seed: 3}, {Policy: lb.Rotate},
		} {
			for _, interaction := range []lb.Interaction{lb.Pipelined, lb.Synchronous} {
				was := lb.Config{Period: period, Interaction: interaction}
				other.Period, other.Interaction = period, interaction
				here, _ := play(t, scene{kind: kind, cfg: was, steps: 100})
				there, _ := play(t, scene{kind: kind, cfg: other, steps: 100})
				foreseen := run(t, here, replay.Options{All: true, Change: func(c lb.Config) lb.Config {
					assert.Equal(t, was, c)
					return other
				}}).Loops[0]
				happened := run(t, there, replay.Options{All: true}).Loops[0]
				for i, row := range foreseen.Rows {
					require.Equal(t, happened.Rows[i].Recorded, row.Replayed, "%v: interaction %d", other, i)
					if row.Changed {
						differed++
						break
					}
				}
			}
		}
	}
	assert.Greater(t, differed, 10, "or the settings change nothing")
}

func TestOtherSettings(t *testing.T) {
	recording, report := play(t, scene{kind: blocks, steps: 300})
	as := func(change func(c *lb.Config)) *replay.Loop {
		return run(t, recording, replay.Options{Change: func(c lb.Config) lb.Config {
			change(&c)
			return c
		}}).Loops[0]
	}
	l := as(func(c *lb.Config) { c.Policy = lb.Off })
	assert.Equal(t, report.Shifts, l.Changed)
	assert.Len(t, l.Rows, report.Shifts, "only these")
	assert.Equal(t, report.Shifts, l.Recorded.Moves)
	assert.Zero(t, l.Replayed.Moves)
	assert.Zero(t, l.Replayed.Units)
	assert.Equal(t, []replay.Setting{{"balance", "on", "off"}}, l.Settings)

	l = as(func(c *lb.Config) {
		c.Filter, c.NoThreshold, c.Period, c.NoCostBenefit, c.Interaction = "fixed:0.5", true, 2, true, lb.Synchronous
	})
	assert.Equal(t, []replay.Setting{
		{"filter", "auto", "fixed:0.5"}, {"threshold", "auto", "0"}, {"period", "auto", "2s"}, {"cost-benefit", "on", "off"},
		{"interaction", "pipelined", "synchronous"},
	}, l.Settings)
	assert.EqualValues(t, 2, l.Replayed.Period)
	assert.Greater(t, l.Replayed.Moves, l.Recorded.Moves)

	l = as(func(*lb.Config) {})
	assert.Zero(t, l.Changed)
	assert.Empty(t, l.Settings)
	assert.Empty(t, l.Rows)
}

// Loops one after the other, also of the same name, and side by side; one of them was not balanced.
func TestSeveralLoops(t *testing.T) {
	one, _ := play(t, scene{kind: blocks, steps: 60})
	two, _ := play(t, scene{kind: free, steps: 60})
	a, b := lines(one), lines(two)
	mixed := slices.Clone(a[:1])
	for i := 1; i < max(len(a), len(b)); i++ {
		if i < len(a) {
			mixed = append(mixed, a[i])
		}
		if i < len(b) {
			mixed = append(mixed, b[i])
		}
	}
	mixed = append(mixed, a[1:]...)
	mixed = append(mixed, `{"kind":"end","loop":"quiet","t":1,"report":{"ranks":[{},{}]}}`)
	r := run(t, recordingOf(mixed), replay.Options{})
	assert.True(t, r.Identical())
	names := []string{}
	for _, l := range r.Loops {
		names = append(names, fmt.Sprintf("%s %v", l.Name, l.Interactions > 0))
	}
	assert.Equal(t, []string{blocks + " true", free + " true", blocks + " true", "quiet false"}, names)
	assert.Equal(t, r.Loops[0].Recorded, r.Loops[2].Recorded)
	assert.Equal(t, 2, r.Loops[3].Ranks)
}

// A run may be killed at any moment: what is there is replayed, wherever it ends.
func TestATruncatedRecording(t *testing.T) {
	recording, _ := play(t, scene{kind: blocks, steps: 40})
	header := bytes.IndexByte(recording, '\n')
	decisions := 0
	const stride = 97 // bytes, but every one at the beginning and around the ends of lines
	for cut := range recording {
		if cut > 2*header && cut%stride != 0 && !bytes.Contains(recording[cut-2:min(cut+2, len(recording))], []byte("\n")) {
			continue
		}
		r, err := replay.Run(bytes.NewReader(recording[:cut]), replay.Options{})
		if cut < header {
			require.Error(t, err, cut)
			continue
		}
		require.NoError(t, err, cut)
		require.True(t, r.Identical(), cut)
		between := cut == header || recording[cut-1] == '\n' || recording[cut] == '\n'
		require.Equal(t, !between, r.Truncated, "cut at %d", cut)
		if len(r.Loops) > 0 {
			require.GreaterOrEqual(t, r.Loops[0].Interactions, decisions)
			decisions = r.Loops[0].Interactions
		}
	}
	assert.Equal(t, run(t, recording, replay.Options{}).Loops[0].Interactions, decisions)
}

func TestWhatIsNoRecording(t *testing.T) {
	recording, _ := play(t, scene{kind: direct, steps: 40})
	all := lines(recording)
	with := func(i int, line string) []string {
		changed := slices.Clone(all)
		changed[i] = line
		return changed
	}
	for _, c := range []struct {
		lines []string
		says  string
	}{
		{[]string{""}, `it does not begin with {"schema":"shiftwork","version":2}`},
		{[]string{strings.Repeat("x", 10000)}, "no recording"},
		{[]string{`{"schema":"shiftwork report","version":1}`}, "no recording"},
		{with(0, `{"schema":"shiftwork","version":1}`), "version 1, not 2"},
		{with(0, `{"schema":"shiftwork","version":3}`), "version 3, not 2"},
		{with(0, `{"schema":"shiftwork"}`), "version 0, not 2"},
		{with(3, `{"kind":`), "line 4: unexpected end"},
		{with(3, ``), "line 4: unexpected end"},
		{with(3, `{"kind":"decision","loop":5}`), "line 4: "},
		{with(3, `{"kind":"dec\nision"}`), `line 4: loop "": an event of kind "dec\nision", known are`},
		{with(1, `{"kind":"start","loop":"direct"}`), "line 2: loop \"direct\": a start without"},
		{with(3, `{"kind":"decision","loop":"direct"}`), "a decision that is missing"},
		{with(3, `{"kind":"decision","loop":"direct","decision":{},"statuses":[{}]}`), "1 statuses of 4 ranks"},
		{with(3, `{"kind":"decision","loop":"other","decision":{}}`), "a decision before the loop's start"},
		{slices.Delete(slices.Clone(all), 4, 5), "line 5: loop \"direct\": rank 0, interaction 3 where rank 0, interaction 2 belongs: lines are missing"},
		{with(1, strings.Replace(all[1], `"Movement":2`, `"Movement":0`, 1)), "the balancer refuses the loop: lb: movement"},
		{with(1, strings.Replace(all[1], `"Threshold":0`, `"Threshold":7`, 1)), "the balancer refuses the loop: lb: threshold is 7"},
	} {
		_, err := replay.Run(bytes.NewReader(recordingOf(c.lines)), replay.Options{})
		if assert.ErrorContains(t, err, c.says) {
			assert.NotContains(t, err.Error(), "\n")
		}
	}
	_, err := replay.Run(strings.NewReader(""), replay.Options{})
	assert.ErrorContains(t, err, "the file is empty")

	two := strings.Replace(strings.Replace(all[1], `"Threshold":0`, `"Threshold":7`, 1), `"Movement":2`, `"Movement":0`, 1)
	_, err = replay.Run(bytes.NewReader(recordingOf(with(1, two))), replay.Options{})
	assert.ErrorContains(t, err, "; lb: ", "two faults in one line")

	broken := errors.New("input/output error")
	for _, n := range []int{0, 10, 100, len(recording) / 2} {
		_, err = replay.Run(io.MultiReader(bytes.NewReader(recording[:n]), iotest.ErrReader(broken)), replay.Options{})
		assert.ErrorIs(t, err, broken)
	}
}

// Events that are well formed and make no sense: lb need not stand them, the replay must.
func TestSenselessEvents(t *testing.T) {
	var recordings [][]string
	for _, s := range []scene{
		{kind: blocks, weighted: true, steps: 20}, {kind: direct, steps: 20}, {kind: free, steps: 20},
		{kind: blocks, cfg: lb.Config{Policy: lb.Rotate}, steps: 20}, {kind: direct, cfg: lb.Config{Policy: lb.Random}, steps: 20},
		{kind: free, weighted: true, cfg: lb.Config{Policy: lb.Random}, steps: 20},
	} {
		recording, _ := play(t, s)
		recordings = append(recordings, lines(recording))
	}
	rapid.Check(t, func(t *rapid.T) {
		all := slices.Clone(rapid.SampledFrom(recordings).Draw(t, "recording"))
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			i := rapid.IntRange(0, len(all)-1).Draw(t, "line")
			var e any
			d := json.NewDecoder(strings.NewReader(all[i]))
			d.UseNumber()
			require.NoError(t, d.Decode(&e))
			count := 0
			leaves(e, "", func(_ string, v any) any {
				count++
				return v
			})
			at := rapid.IntRange(0, count-1).Draw(t, "leaf")
			value := rapid.SampledFrom([]any{-1, 0, 1, 5, 1e-300, 1e300, -1e300, math.MaxInt64, math.MinInt64, "x", nil, true, []int{}}).Draw(t, "value")
			leaves(e, "", func(path string, v any) any {
				if at--; at == -1 {
					return value
				}
				return v
			})
			b, err := json.Marshal(e)
			require.NoError(t, err)
			all[i] = string(b)
		}
		check(t, recordingOf(all))
	})
}

// check replays what may be a recording: there is a result that can be shown, or an error of one line.
func check(t require.TestingT, recording []byte) {
	r, err := replay.Run(bytes.NewReader(recording), replay.Options{All: true})
	if err != nil {
		require.NotContains(t, err.Error(), "\n")
		return
	}
	for _, l := range r.Loops {
		require.Equal(t, l.First == nil, l.Identical == l.Interactions)
		require.Len(t, l.Rows, l.Interactions)
	}
	require.NoError(t, replay.Write(io.Discard, r, true, true))
	_, err = json.Marshal(r)
	require.NoError(t, err)
}

func FuzzRun(f *testing.F) {
	for _, kind := range []string{blocks, direct, free} {
		recording, _ := play(f, scene{kind: kind, weighted: true, steps: 3})
		f.Add(recording)
	}
	f.Add([]byte("{\"schema\":\"shiftwork\",\"version\":2}\n{\"kind\":\"decision\",\"decision\":{},\"nonfinite\":{\"decision.Cost\":\"NaN\"}}"))
	f.Fuzz(func(t *testing.T, recording []byte) { check(t, recording) })
}
