//go:build linux

package e2e

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
)

// limited runs a program by way of a shell.
func limited(t *testing.T, script, program string, args ...string) outcome {
	t.Helper()
	return start(t, nil, "sh", append([]string{"-c", script, filepath.Join(programs, program)}, args...)...)
}

// Whatever keeps a process from having its grids, the user reads one line and not what Go's runtime says of it.
func TestGridsThatDoNotFit(t *testing.T) {
	for program, says := range map[string]string{"sor": "a grid of 30000 x 30000 numbers takes 7.2 GB", "mm": "3 grids of up to 30000 x 30000 numbers take 21.6 GB"} {
		for _, ranks := range []int{1, 3} {
			limited(t, `ulimit -v 6000000 && exec "$0" "$@"`, program, "--n", "30000", "--ranks", fmt.Sprint(ranks)).
				refused(t, says+" on each rank, ", "what a process may have here in all (ulimit -v); accepted are fewer rows or columns")
		}
	}
	limited(t, `ulimit -v 6000000 && exec "$0" "$@"`, "sor", "--n", "20000", "--ranks", "1", "--verify").
		refused(t, "2 grids of up to 20000 x 20000 numbers take 6.4 GB on rank 0, ", "or no --verify")
}

// Output that goes nowhere is a failure, told once.
func TestStandardOutputIsFull(t *testing.T) {
	for _, args := range [][]string{{"sor", "--n", "40", "--quiet"}, {"mm", "--n", "40"}, {"sor", "--help"}} {
		o := limited(t, `exec "$0" "$@" >/dev/full`, args[0], append(args[1:], "--ranks", "3")...)
		assert.Equal(t, 1, o.code, args)
		lines := ours(o.stderr)
		if assert.Len(t, lines, 1, o.stderr) {
			assert.Regexp(t, `^`+args[0]+`: rank 0: .*write /dev/stdout: no space left on device$`, lines[0])
		}
	}
}
