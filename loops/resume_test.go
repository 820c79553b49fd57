package loops_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/checkpoint"
	"shiftwork/comm/sim"
	"shiftwork/dist"
	"shiftwork/lb"
	"shiftwork/loops"
)

// A stop that leaning blocks must know long before is not put off by the decisions that come in between.
func TestStopsSoonWhereBlocksLean(t *testing.T) {
	const n = 400
	_, err := sim.Run(machine(0, 3), func(c *sim.Comm) error {
		began := c.Now()
		u := loops.NewMatrix(n, n)
		rep, err := loops.DOACROSS{
			Outer: 300, Rows: loops.Span(0, n), Strip: loops.Span(0, n), Block: 40, Reach: 1, Arrays: []loops.Array{u}, Quantum: 0.004,
			Body: func(rows, strip loops.Range) {
				work(c, 0.02*float64(rows.Len()*3)/n*float64(strip.Len())/n)
			},
			Checkpoint: loops.Checkpoint{Stop: func() string {
				if c.Now()-began >= time.Second {
					return "enough"
				}
				return ""
			}},
		}.Run(c, lb.Config{})
		if err == nil && (rep.Stopped != "enough" || rep.Steps > 100) {
			err = fmt.Errorf("stopped for %q after %d sweeps", rep.Stopped, rep.Steps)
		}
		return err
	})
	assert.NoError(t, err)
}

// After a checkpoint that one rank could not write the next one is written.
func TestACheckpointAfterOneThatFailed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	var said []error
	_, err := sim.Run(machine(0, 3), func(c *sim.Comm) error {
		saves := 0
		rep, err := steady(c, 100, lb.Config{}, loops.Checkpoint{
			Dir: dir, Every: 200 * time.Millisecond, Failed: func(err error) { said = append(said, err) },
			Save: func() ([]byte, error) {
				if saves++; saves == 1 && c.Rank() == 1 {
					return nil, errors.New("no ink")
				}
				return nil, nil
			},
		})
		if err == nil && rep.Checkpoints < 2 {
			err = fmt.Errorf("%d checkpoints", rep.Checkpoints)
		}
		return err
	})
	assert.NoError(t, err)
	assert.Len(t, said, 1)
	left, _ := filepath.Glob(filepath.Join(dir, "*.part"))
	assert.Empty(t, left)
}

// The last checkpoint, too, is written within the limit.
func TestTheCheckpointAtTheLimitIsWithinIt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	_, err := sim.Run(machine(0, 3), func(c *sim.Comm) error {
		began := c.Now()
		rep, err := steady(c, 1000, lb.Config{}, loops.Checkpoint{
			Dir: dir, Every: 700 * time.Millisecond, Limit: 3 * time.Second,
			Save: func() ([]byte, error) { work(c, 0.5); return nil, nil },
		})
		if left := began + 3*time.Second - c.Now(); err == nil && (rep.Stopped != loops.StoppedByTime || left < -100*time.Millisecond) {
			err = fmt.Errorf("%q, %v left", rep.Stopped, left)
		}
		return err
	})
	assert.NoError(t, err)
}

// The generation that a restart has found good stays until there are two newer ones.
func TestWhatWasGoneOnFromIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	run := func(k loops.Checkpoint) {
		_, err := sim.Run(machine(0, 3), func(c *sim.Comm) error {
			_, err := steady(c, 100, lb.Config{}, k)
			return err
		})
		require.NoError(t, err)
	}
	run(loops.Checkpoint{Dir: dir, Every: 200 * time.Millisecond})
	all, err := checkpoint.Generations(dir)
	require.NoError(t, err)
	require.Len(t, all, 2)
	path := filepath.Join(dir, fmt.Sprintf("gen-%08d", all[0]), "part-00001")
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	b[7] ^= 1 // as long as it was
	require.NoError(t, os.WriteFile(path, b, 0o666))
	run(loops.Checkpoint{Dir: dir, Restart: dir, Stop: func() string { return "test" }})
	now, err := checkpoint.Generations(dir)
	require.NoError(t, err)
	assert.Equal(t, []int{all[0] + 1, all[1]}, now)
}

func TestOnlyRankZeroIsToldOfAFailure(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	var mu sync.Mutex
	var told []int
	_, err := sim.Run(machine(0, 3), func(c *sim.Comm) error {
		_, err := steady(c, 60, lb.Config{}, loops.Checkpoint{
			Dir: dir, Every: 200 * time.Millisecond,
			Failed: func(error) { mu.Lock(); told = append(told, c.Rank()); mu.Unlock() },
			Save:   func() ([]byte, error) { return nil, fmt.Errorf("no ink") },
		})
		return err
	})
	assert.NoError(t, err)
	assert.NotEmpty(t, told)
	assert.NotContains(t, told, 1)
	assert.NotContains(t, told, 2)
}

// A generation without some of the rows is refused, and not gone on from with others.
func TestACheckpointWithoutSomeRowsIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	run := func(k loops.Checkpoint) error {
		_, err := sim.Run(machine(0, 3), func(c *sim.Comm) error {
			_, err := steady(c, 100, lb.Config{}, k)
			return err
		})
		return err
	}
	require.NoError(t, run(loops.Checkpoint{Dir: dir, Stop: func() string { return "test" }}))
	m, err := checkpoint.Newest(dir)
	require.NoError(t, err)
	s, err := checkpoint.Open(dir)
	require.NoError(t, err)
	w, err := checkpoint.CreatePart(dir, s.Next(), 0)
	require.NoError(t, err)
	w.Begin(0, dist.Span(0, 119)) // of 120
	_, err = w.Write(make([]byte, 119*120*8))
	require.NoError(t, err)
	part, err := w.Close()
	require.NoError(t, err)
	m.Parts = []checkpoint.Part{part}
	require.NoError(t, s.Commit(m))
	require.NoError(t, s.Close())
	assert.ErrorContains(t, run(loops.Checkpoint{Restart: dir}), "1 rows are missing")
}
