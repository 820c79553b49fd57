//go:build linux && cgo && !nompi

package e2e

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/internal/jobs"
	"shiftwork/internal/mpirun"
)

// trial is a run of sor on three ranks, with work that moves all the time, whose rank's turn comes after a while.
func trial(rank int, after time.Duration, args ...string) jobs.Trial {
	command := append([]string{filepath.Join(programs, "sor"), "--n", "300", "--balance", "random", "--period", "1ms", "--quiet"}, args...)
	return jobs.Trial{Command: command, Ranks: 3, Rank: rank, After: after, Within: limit}
}

func needsOpenMPI(t *testing.T) {
	t.Helper()
	if !mpirun.OpenMPI() {
		t.Skip("ranks are found by the environment that Open MPI gives them")
	}
}

// Whichever rank is killed, the master's included, at the end of set-up or in the loop: the job ends within 15 s, says so once, and
// leaves no process. scripts/killing does it at 50 random moments.
func TestMPIKilledRanks(t *testing.T) {
	needsOpenMPI(t)
	for rank, after := range []time.Duration{300 * time.Millisecond, 0, 50 * time.Millisecond} {
		t.Run(fmt.Sprint("rank ", rank), func(t *testing.T) {
			t.Parallel()
			o, err := trial(rank, after, "--iterations", "1000000000").Kill()
			require.NoError(t, err)
			require.False(t, o.Missed || o.Hangs, "%+v", o)
			assert.NotZero(t, o.Code)
			assert.Less(t, o.Took, 15*time.Second)
			assert.Len(t, o.Messages, 1, "%q", o.Messages)
			assert.Empty(t, o.Left, "ranks that still run")
			assert.NotContains(t, o.Stdout, "result:")
		})
	}
}

// A rank that is stopped and goes on delays the others, and no more. scripts/killing does it for 10 s at 50 random moments.
func TestMPIStoppedRanks(t *testing.T) {
	needsOpenMPI(t)
	for rank := range 3 {
		t.Run(fmt.Sprint("rank ", rank), func(t *testing.T) {
			t.Parallel()
			o, err := trial(rank, 30*time.Millisecond, "--iterations", "3000", "--verify").Pause(time.Second)
			require.NoError(t, err)
			require.False(t, o.Missed || o.Hangs, "%+v", o)
			assert.Zero(t, o.Code, "%q", o.Messages)
			assert.Contains(t, o.Stdout, " verified=true")
		})
	}
}
