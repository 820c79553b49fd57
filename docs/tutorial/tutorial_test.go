package tutorial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// steps is how many there are.
const steps = 6

// programs is the folder with the steps, built once.
var programs string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "shiftwork-tutorial-")
	if err == nil {
		defer os.RemoveAll(dir)
		programs = dir
		cmd := exec.Command("go", "build", "-tags="+tags, "-o", dir+string(filepath.Separator), "./...")
		cmd.Env = append(os.Environ(), cgo)
		var out []byte
		if out, err = cmd.CombinedOutput(); err != nil {
			err = fmt.Errorf("%w\n%s", err, out)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// run runs a step without a launcher and returns what it prints.
func run(t *testing.T, step string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(programs, step), args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s %v: %s", step, args, stderr.String())
	return string(out)
}

// All steps print what the first one does, for every number of ranks, however rows move.
func TestStepsAgree(t *testing.T) {
	want, short := run(t, "step1"), run(t, "step1", "--sweeps", "12")
	require.Regexp(t, `^n=402 sweeps=50 checksum=[0-9a-f]{16}\n$`, want)
	for step := 2; step <= steps; step++ {
		program := fmt.Sprintf("step%d", step)
		for ranks := 1; ranks <= 4; ranks++ {
			flags := []string{"--ranks", strconv.Itoa(ranks)}
			assert.Equal(t, want, run(t, program, flags...), "step %d, %d ranks", step, ranks)
			if step >= 4 && ranks > 1 {
				flags = append(flags, "--sweeps", "12", "--balance", "random")
				assert.Equal(t, short, run(t, program, flags...), "step %d, %d ranks, random", step, ranks)
			}
		}
	}
	assert.NotEqual(t, want, run(t, "step3", "--sweeps", "51"), "the checksum tells plates apart")
}

// Rows do move where they should agree though, and their history with them: a row of step 5 has been on more than one rank.
func TestStepsMoveRows(t *testing.T) {
	for _, c := range []struct{ step, says string }{
		{"step4", `rank r begins with row \[1 \d+ \d+ 401\]: a random distribution`},
		{"step5", `rank \d has rows \d+ to \d+; the first was computed by ranks \[\d \d`},
		{"step6", `[1-9]\d* rows moved in [1-9]\d* shifts`},
	} {
		cmd := exec.CommandContext(t.Context(), filepath.Join(programs, c.step), "--ranks", "3", "--sweeps", "12", "--balance", "random")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err)
		assert.True(t, regexp.MustCompile(c.says).Match(out), "%s does not say %s", c.step, c.says)
	}
}

func TestStepsRefuse(t *testing.T) {
	for _, args := range [][]string{{"--n", "9"}, {"--sweeps", "0"}, {"--ranks", "-1"}, {"--balance", "maybe"}, {"more"}} {
		cmd := exec.CommandContext(t.Context(), filepath.Join(programs, "step1"), args...)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		require.True(t, errors.As(err, &exit), "%v", args)
		assert.Equal(t, 2, exit.ExitCode(), "%v", args)
		assert.Regexp(t, `^accepted: .*\n$`, string(out), "%v", args)
	}
}

// The code in the prose is the code of the step under whose heading it stands, to the letter, and so is what a step prints.
func TestTheProseShowsTheSteps(t *testing.T) {
	prose, err := os.ReadFile("README.md")
	require.NoError(t, err)
	sections := regexp.MustCompile(`(?m)^## Step `).Split(string(prose), -1)
	require.Len(t, sections, steps+1)
	for i, section := range sections[1:] {
		step := i + 1
		require.True(t, strings.HasPrefix(section, strconv.Itoa(step)+":"), "step %d has its heading", step)
		file := fmt.Sprintf("step%d/main.go", step)
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Contains(t, section, "("+file+")", "the whole step is a click away")
		blocks := strings.Split(section, "```go\n")[1:]
		require.NotEmpty(t, blocks, file)
		for _, block := range blocks {
			code, _, closed := strings.Cut(block, "```")
			require.True(t, closed)
			if strings.HasPrefix(code, "// Relax") { // the one thing that is shown of the problem itself
				problem, err := os.ReadFile("plate/plate.go")
				require.NoError(t, err)
				assert.Contains(t, string(problem), code)
				continue
			}
			assert.Contains(t, string(source), code, file)
		}
	}
	assert.Contains(t, string(prose), run(t, "step1"))
}
