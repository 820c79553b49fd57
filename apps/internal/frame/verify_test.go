package frame

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/apps/internal/cli"
	"shiftwork/apps/internal/result"
	"shiftwork/comm"
	"shiftwork/comm/local"
	"shiftwork/hooks"
	"shiftwork/loops"
)

// rowsOf are two rows of three values on each of three ranks, each value the row's index; own changes them.
func rowsOf(rank int) []Rows {
	lo := 2 * rank
	a, b := float64(lo), float64(lo+1)
	return []Rows{{loops.Span(lo, lo+1), []float64{a, a, a}}, {loops.Span(lo+1, lo+2), []float64{b, b, b}}}
}

// A wrong value in any row of any rank is found, also where only a bit differs, and the rows behind it are right.
func TestVerifyFindsEachWrongRow(t *testing.T) {
	for wrong := -1; wrong < 6; wrong++ {
		require.NoError(t, local.Run(3, func(c comm.Comm) error {
			own := rowsOf(c.Rank())
			if wrong >= 0 && wrong/2 == c.Rank() {
				v := &own[wrong%2].Values[2]
				if *v = math.Nextafter(*v, 10); wrong == 0 {
					*v = math.Copysign(0, -1)
				}
			}
			same, err := Verify(c, own, func() (func(int) []float64, error) {
				return func(i int) []float64 { v := float64(i); return []float64{v, v, v} }, nil
			})
			if c.Rank() == 0 {
				assert.Equal(t, wrong < 0, same, "row %d is wrong", wrong)
			}
			return err
		}))
	}
}

func TestChecksumWantsEachRowOnce(t *testing.T) {
	sum := func(change func(rank int, own []Rows) []Rows) error {
		return local.Run(3, func(c comm.Comm) error {
			_, err := Checksum(c, 6, change(c.Rank(), rowsOf(c.Rank())))
			return comm.Agree(c, err)
		})
	}
	assert.NoError(t, sum(func(_ int, own []Rows) []Rows { return own }))
	assert.ErrorContains(t, sum(func(r int, own []Rows) []Rows {
		if r == 2 {
			own[0].Lo, own[0].Hi = 1, 2
		}
		return own
	}), "row 1 of 6 is on rank 2 and on another")
	assert.ErrorContains(t, sum(func(r int, own []Rows) []Rows {
		if r == 2 {
			return own[:1]
		}
		return own
	}), "row 5 of 6 is on no rank")
}

func TestAWrongResultFails(t *testing.T) {
	printTo(t, "/dev/null")
	wrong := false
	failsAs(t, "rank 0: the result differs from the serial run's", func(c comm.Comm) error {
		return Finish(c, &cli.Shared{Quiet: true}, result.Line{Verified: &wrong}, &loops.Report{}, nil)
	})
}

// A result that cannot be written leaves nothing.
func TestAnOutputThatFailsLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	err := local.Run(1, func(c comm.Comm) error {
		return Write(c, filepath.Join(dir, "out.npy"), 4, 2, []Rows{{loops.Span(3, 9), make([]float64, 12)}})
	})
	require.ErrorContains(t, err, "out.npy: ")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// Who follows a recording sees events soon.
func TestARecordingIsNotFarBehind(t *testing.T) {
	r := &recording{path: filepath.Join(t.TempDir(), "run.jsonl")}
	r.Record(hooks.Event{Kind: "start"})
	text, err := os.ReadFile(r.path)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"kind":"start"`)
	assert.NoError(t, r.close(nil))
}
