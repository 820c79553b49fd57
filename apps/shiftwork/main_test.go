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
)

const nests = "internal/advisor/testdata/"

// start runs the program without whatever SHIFTWORK_ variables the tester has.
func start(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	for _, e := range os.Environ() {
		if name, value, _ := strings.Cut(e, "="); strings.HasPrefix(name, "SHIFTWORK_") {
			require.NoError(t, os.Unsetenv(name))
			t.Cleanup(func() { _ = os.Setenv(name, value) })
		}
	}
	var out, err bytes.Buffer
	code = run(args, &out, &err)
	return code, out.String(), err.String()
}

func TestHooks(t *testing.T) {
	code, out, stderr := start(t, "hooks", nests+"sor.go")
	assert.Zero(t, code, stderr)
	assert.Contains(t, out, nests+"sor.go:9: loop j of sor, pipelined")
	assert.Contains(t, out, "take lbhook1a: ")
	assert.Contains(t, out, "loops.DOACROSS{")
	assert.Empty(t, stderr)

	_, out, _ = start(t, "hooks", "--bare", nests+"sor.go")
	for _, s := range []string{"hooks.New(", "h.Range()", "h.EndPart(", "h.Hook()", "h.Finish()"} {
		assert.Contains(t, out, s)
	}
}

func TestHooksJSON(t *testing.T) {
	take := func(args ...string) (strip int, name string) {
		code, out, stderr := start(t, append([]string{"hooks", "--json", nests + "mm.go"}, args...)...)
		require.Zero(t, code, stderr)
		var advice []struct {
			File, Function, Take, Code, Order string
			Line                              int
			Positions                         []struct {
				Name, Verdict string
				Strip         int
			}
		}
		require.NoError(t, json.Unmarshal([]byte(out), &advice))
		require.Len(t, advice, 3)
		assert.Equal(t, "mmSmall", advice[1].Function)
		assert.Equal(t, "free", advice[1].Order)
		assert.Contains(t, advice[1].Code, "hooks.NewFree(")
		for _, p := range advice[1].Positions {
			if p.Name == advice[1].Take {
				assert.Equal(t, "accepted", p.Verdict)
				return p.Strip, p.Name
			}
		}
		return 0, ""
	}
	usual, name := take()
	assert.Equal(t, "lbhook0a", name)
	dear, _ := take("--hook-cost", "600ns")
	assert.InDelta(t, 10*usual, dear, 10)
	cheap, _ := take("--op-cost", "2")
	assert.InDelta(t, usual, 10*cheap, 10)
}

func TestHelp(t *testing.T) {
	code, out, _ := start(t, "hooks", "--help")
	assert.Zero(t, code)
	for _, s := range []string{"--hook-cost", "--op-cost", "--ranks", "--trips", "--bare", "--json",
		"SHIFTWORK_HOOK_COST"} {
		assert.Contains(t, out, s)
	}
	code, out, _ = start(t, "--help")
	assert.Zero(t, code)
	assert.Contains(t, out, "hooks")
}

// A mistake of the user ends with one line that says what is accepted, and exit code 2.
func TestMistakes(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken.go")
	require.NoError(t, os.WriteFile(broken, []byte("package p\nfunc {"), 0o600))
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "expected"}, {[]string{"hook"}, "hook"}, {[]string{"hooks"}, "<path>"},
		{[]string{"hooks", "nowhere"}, "nowhere: no such file or directory: accepted are a Go file"},
		{[]string{"hooks", broken}, "broken.go:2:6: not Go source"},
		{[]string{"hooks", "main.go"}, "main.go: no loop is marked: accepted is a line //shiftwork:distribute"},
		{[]string{"hooks", "--hook-cost", "0s", nests}, "--hook-cost"}, {[]string{"hooks", "--hook-cost", "5", nests},
			"--hook-cost"},
		{[]string{"hooks", "--op-cost", "-1", nests}, "--op-cost"}, {[]string{"hooks", "--op-cost", "NaN", nests},
			"--op-cost"},
		{[]string{"hooks", "--ranks", "0", nests}, "--ranks"}, {[]string{"hooks", "--trips", "x", nests}, "--trips"},
		{[]string{"hooks", nests, "more"}, "more"},
	} {
		code, out, stderr := start(t, c.args...)
		assert.Equal(t, 2, code, c.args)
		assert.Empty(t, out, c.args)
		assert.Contains(t, stderr, c.says, c.args)
		assert.True(t, strings.HasPrefix(stderr, "shiftwork: "), stderr)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
}

// broken cannot be written to.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestFailure(t *testing.T) {
	var stderr bytes.Buffer
	assert.Equal(t, 1, run([]string{"hooks", nests + "mm.go"}, brokenPipe{}, &stderr))
	assert.Equal(t, 1, run([]string{"hooks", "--json", nests + "mm.go"}, brokenPipe{}, &stderr))
	assert.Contains(t, stderr.String(), "shiftwork: ")
}
