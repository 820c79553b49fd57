package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/internal/mpirun"
)

// shiftwork builds the tool, which needs no MPI, and returns its path.
func shiftwork(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shiftwork")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-tags=nompi", "-o", path, "shiftwork/apps/shiftwork")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return path
}

// Runs of hundreds of interactions, in real time and under MPI where this build has it, replay identically.
func TestReplay(t *testing.T) {
	tool, dir := shiftwork(t), t.TempDir()
	for _, c := range []struct {
		name    string
		program []string
		atLeast int // interactions
	}{
		// A period shorter than a strip: the ranks interact at every hook, however fast the machine is.
		{"sor", []string{"sor", "--n", "62", "--m", "113", "--iterations", "60", "--block", "20", "--period", "1us"}, 300},
		{"random", []string{"sor", "--n", "97", "--m", "113", "--iterations", "60", "--block", "20", "--period", "1us", "--balance", "random",
			"--interaction", "synchronous"}, 200},
		{"mm", []string{"mm", "--n", "301", "--repeat", "2000", "--period", "1ms", "--master", "dedicated"}, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(dir, c.name+".jsonl")
			program, flags := filepath.Join(programs, c.program[0]), append(c.program[1:], "--record", path)
			var l outcome
			if withMPI {
				command := slices.Concat(mpirun.Command(4), []string{program}, flags)
				l = start(t, nil, command[0], command[1:]...)
			} else {
				l = start(t, nil, program, append(flags, "--ranks", "4")...)
			}
			line := l.line(t)
			require.GreaterOrEqual(t, line.Interactions, c.atLeast)
			o := start(t, nil, tool, "replay", path)
			assert.Zero(t, o.code, o.stdout+o.stderr)
			assert.Empty(t, o.stderr)
			assert.Regexp(t, `^`+c.program[0]+`: \d+ interactions on 4 ranks in [0-9.]+ s, \d+ moves?; \d+ decisions, all identical\n$`, o.stdout)
			t.Log(strings.TrimSpace(o.stdout))

			o = start(t, nil, tool, "replay", "--balance", "off", path)
			assert.Zero(t, o.code, o.stderr)
			assert.Contains(t, o.stdout, "mean period s")
		})
	}
	start(t, nil, tool, "replay", filepath.Join(dir, "sor.json")).refused(t, "sor.json: no such file", "--record")
}
