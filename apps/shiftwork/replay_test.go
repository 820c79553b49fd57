package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/comm/sim"
	"shiftwork/hooks"
	"shiftwork/internal/heatloop"
	"shiftwork/lb"
)

// recorded is a recording, made in virtual time, of a loop on three ranks one of which becomes slow.
func recorded(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	lines := hooks.NewJSONL(&out)
	cfg := sim.Config{Ranks: 3, Alpha: 1e-5, Speed: [][]sim.Step{{{Speed: 1}}, {{Speed: 1}, {From: 1, Speed: 0.3}}, {{Speed: 1}}}}
	heatloop.Run(t, cfg, 150, lines, lb.Auto())
	require.NoError(t, lines.Err())
	path := filepath.Join(t.TempDir(), "run.jsonl")
	require.NoError(t, os.WriteFile(path, out.Bytes(), 0o600))
	return path
}

// rewritten is a file with a text replaced wherever it stands.
func rewritten(t *testing.T, path, old, new string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(b), old)
	other := filepath.Join(t.TempDir(), "other.jsonl")
	require.NoError(t, os.WriteFile(other, []byte(strings.ReplaceAll(string(b), old, new)), 0o600))
	return other
}

func replayed(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(append([]string{"replay"}, args...), &out, &err)
	return code, out.String(), err.String()
}

func TestReplay(t *testing.T) {
	path := recorded(t)
	code, out, stderr := replayed(path)
	assert.Zero(t, code)
	assert.Empty(t, stderr)
	assert.Regexp(t, `^heat: \d+ interactions on 3 ranks in [0-9.]+ s, [1-9]\d* moves?; \d+ decisions, all identical\n$`, out)

	code, out, stderr = replayed(rewritten(t, path, `"Limit":"quantum"`, `"Limit":"movement"`))
	assert.Equal(t, 1, code)
	assert.Equal(t, "shiftwork: the replay gives other decisions than the recording\n", stderr)
	assert.Contains(t, out, `first difference: interaction 0`)
	assert.Contains(t, out, `Limit: recorded "movement", replayed "quantum"`)

	code, out, _ = replayed("--all", path)
	assert.Zero(t, code)
	assert.Contains(t, out, "time s  decision\n")
}

// What is set in the environment for programs does not change what is replayed.
func TestReplayLooksAtTheCommandLineOnly(t *testing.T) {
	t.Setenv("SHIFTWORK_FILTER", "raw")
	t.Setenv("SHIFTWORK_BALANCE", "off")
	t.Setenv("SHIFTWORK_PERIOD", "1h")
	code, out, _ := replayed(recorded(t))
	assert.Zero(t, code)
	assert.Contains(t, out, "all identical")
}

func TestReplayWithOtherSettings(t *testing.T) {
	path := recorded(t)
	for _, c := range []struct {
		args []string
		says []string
	}{
		{[]string{"--balance", "off"}, []string{"--balance off instead of on", "stays: balancing is off", "Nobody obeyed"}},
		{[]string{"--filter", "fixed:0.9"}, []string{"--filter fixed:0.9 instead of auto"}},
		{[]string{"--threshold", "0"}, []string{"--threshold 0 instead of auto"}},
		{[]string{"--threshold", "0.25"}, []string{"--threshold 0.25 instead of auto"}},
		{[]string{"--period", "1500ms"}, []string{"--period 1.5s instead of auto", "mean period s", " 1.5\n"}},
		{[]string{"--cost-benefit", "off"}, []string{"--cost-benefit off instead of on"}},
		{[]string{"--interaction", "synchronous"}, []string{"--interaction synchronous instead of pipelined"}},
		{[]string{"--filter", "auto", "--threshold", "auto", "--period", "auto", "--balance", "on"}, []string{"these settings are the recorded ones", "another choice at 0 of "}},
	} {
		code, out, stderr := replayed(append(c.args, path)...)
		assert.Zero(t, code, c.args)
		assert.Empty(t, stderr)
		for _, s := range append(c.says, "units moved", "with these settings") {
			assert.Contains(t, out, s, c.args)
		}
	}
}

func TestReplayJSON(t *testing.T) {
	path := recorded(t)
	code, out, stderr := replayed("--json", "--all", "--balance", "off", path)
	require.Zero(t, code, stderr)
	var r struct {
		Truncated bool
		Loops     []struct {
			Loop                                    string
			Ranks, Interactions, Changed, Identical int
			Recorded, Replayed                      struct {
				Moves int
				Units float64 `json:"units_moved"`
			}
			Settings []struct{ Name, Recorded, Replayed string }
			Rows     []struct {
				Interaction        int
				Changed            bool
				Recorded, Replayed struct {
					Transfers int
					Reason    string
				}
			}
		}
	}
	d := json.NewDecoder(strings.NewReader(out))
	require.NoError(t, d.Decode(&r))
	require.Len(t, r.Loops, 1)
	l := r.Loops[0]
	assert.Equal(t, "heat", l.Loop)
	assert.Len(t, l.Rows, l.Interactions)
	assert.Positive(t, l.Recorded.Moves)
	assert.Positive(t, l.Recorded.Units)
	assert.Zero(t, l.Replayed.Moves)
	assert.Equal(t, l.Recorded.Moves, l.Changed)
	assert.Equal(t, "off", l.Settings[0].Replayed)
	assert.Equal(t, "balancing is off", l.Rows[0].Replayed.Reason)

	code, out, _ = replayed("--json", rewritten(t, path, `"Limit":"quantum"`, `"Limit":"fixed"`))
	assert.Equal(t, 1, code)
	assert.Contains(t, out, `"field": "Limit"`)
}

func TestReplayRefuses(t *testing.T) {
	path := recorded(t)
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.jsonl")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for _, c := range []struct {
		args []string
		says []string
	}{
		{nil, []string{"<recording>"}},
		{[]string{filepath.Join(dir, "no.jsonl")}, []string{"no.jsonl: no such file", "accepted is what a program has written for --record"}},
		{[]string{dir}, []string{dir + ": is a directory"}},
		{[]string{empty}, []string{"empty.jsonl: the file is empty", "accepted is"}},
		{[]string{"main.go"}, []string{"main.go: no recording", `{"schema":"shiftwork","version":2}`}},
		{[]string{rewritten(t, path, `"version":2`, `"version":7`)}, []string{"other.jsonl: a recording of version 7, not 2"}},
		{[]string{rewritten(t, path, `"kind":"decision"`, `"kind":"guess"`)}, []string{"other.jsonl: line 3: ", `"guess"`}},
		{[]string{"--threshold", "1", path}, []string{"--threshold", `"1"`, "from 0 to below 1"}},
		{[]string{"--filter", "fixed:2", path}, []string{"--filter", "fixed:H with 0 <= H <= 1"}},
		{[]string{"--period", "5", path}, []string{"--period", "with its unit"}},
		{[]string{"--balance", "maybe", path}, []string{"--balance", `"maybe"`, `"rotate"`}},
		{[]string{"--cost-benefit", "x", path}, []string{"--cost-benefit", `"on","off"`}},
		{[]string{"--interaction", "x", path}, []string{"--interaction", `"pipelined","synchronous"`}},
	} {
		code, out, stderr := replayed(c.args...)
		assert.Equal(t, 2, code, c.args)
		assert.Empty(t, out)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
		for _, s := range c.says {
			assert.Contains(t, stderr, s, c.args)
		}
	}
}

func TestReplayOfAKilledRun(t *testing.T) {
	path := recorded(t)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path, info.Size()*2/3))
	code, out, _ := replayed(path)
	assert.Zero(t, code)
	assert.Regexp(t, `^The last line of the recording is cut off: what stands before it is replayed.\nheat: .* all identical\n$`, out)
}
