package loops_test

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"shiftwork/checkpoint"
	"shiftwork/comm"
	"shiftwork/comm/sim"
	"shiftwork/hooks"
	"shiftwork/lb"
	"shiftwork/loops"
)

// checks is how many loops a property tries that writes files: each of them waits for the disk.
func checks(t *testing.T, n int) {
	old := flag.Lookup("rapid.checks").Value.String()
	require.NoError(t, flag.Set("rapid.checks", fmt.Sprint(n)))
	t.Cleanup(func() { _ = flag.Set("rapid.checks", old) })
}

// resumable is a DOACROSS or a DOALL loop of these tests that may be stopped and gone on with.
type resumable interface {
	// resume runs the loop and compares what the rank owns at the end with a serial run of as many steps. stop is asked with the
	// number of steps of this run that the rank has begun.
	resume(c comm.Comm, cfg lb.Config, k loops.Checkpoint, stop func(begun int) string) (*loops.Report, error)
	steps() int
}

func (x relaxation) steps() int { return x.done() }

func (x relaxation) after(sweeps int) []*loops.Matrix {
	u := x.matrices(x.span())
	for range sweeps {
		x.body(u, x.span(), x.strip())
	}
	return u
}

func (x relaxation) resume(c comm.Comm, cfg lb.Config, k loops.Checkpoint, stop func(begun int) string) (*loops.Report, error) {
	own := loops.Initial(c, x.span(), cfg)
	u := x.matrices(own)
	count := newCounters(own)
	j := newJitter(c)
	begun, after, largest := 0, 0, 0
	first, last := x.sweeps, -1 // sweeps of this rank
	if stop != nil {
		k.Stop = func() string { return stop(begun) }
	}
	// The state is the last row that a rank of this run has done anything to, and how often After was called.
	k.Save = func() ([]byte, error) {
		all, err := comm.AllreduceMax(c, float64(largest))
		return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(all)), uint64(after)), err
	}
	k.Restore = func(state []byte) error {
		largest, after = int(binary.LittleEndian.Uint64(state)), int(binary.LittleEndian.Uint64(state[8:]))
		return nil
	}
	d := loops.DOACROSS{
		Outer: x.sweeps, Rows: x.span(), Strip: x.strip(), Weights: x.weights, Block: x.block, Quantum: 0.004,
		Checkpoint: k, Reach: x.reach,
		Bodies: func(parts []loops.Part) {
			for _, p := range parts {
				if p.Strip.Lo == x.strip().Lo {
					if x.reach == 0 {
						count.more(p.Rows)
					}
					begun++
				}
				largest = max(largest, p.Rows.Hi)
				first, last = min(first, p.Sweep), max(last, p.Sweep)
				x.body(u, p.Rows, p.Strip)
				each := 1e-4
				if x.reach > 0 {
					each = 1e-6 // short sweeps lean
				}
				work(c, each*x.weights.Units(p.Rows)*float64(p.Strip.Len())*j.factor())
			}
		},
	}
	if x.reach == 0 {
		d.Local = []hooks.Array{count}
	}
	for _, m := range u {
		d.Arrays = append(d.Arrays, m)
	}
	x.meets(&d)
	if x.stop > 0 {
		d.After = func(sweeps int) (bool, error) {
			after++
			if sweeps != x.called(after) {
				return false, fmt.Errorf("After is called the %dth time after %d sweeps", after, sweeps)
			}
			return sweeps >= x.stop, nil
		}
	}
	rep, err := d.Run(c, cfg)
	if err != nil {
		return nil, err
	}
	if largest > 0 && rep.Steps > 0 && x.cols > 0 {
		if all, err := comm.AllreduceMax(c, float64(largest)); err != nil || int(all) != x.span().Hi {
			return nil, fmt.Errorf("state %v, should be %d; %w", all, x.span().Hi, err)
		}
	} else if _, err := comm.AllreduceMax(c, 0); err != nil {
		return nil, err
	}
	if last >= 0 && (first < rep.Resumed || last >= rep.Steps) {
		return nil, fmt.Errorf("rank %d swept from sweep %d to %d, should be from %d to %d at most", c.Rank(), first, last, rep.Resumed, rep.Steps-1)
	}
	if err := checkOwners(c, x.span(), rep.Own); err != nil {
		return nil, err
	}
	want := x.after(rep.Steps)
	for _, r := range rep.Own {
		for i := range u {
			if err := sameRows(u[i], want[i], r); err != nil {
				return nil, fmt.Errorf("rank %d, array %d: %w", c.Rank(), i, err)
			}
		}
	}
	if x.cols > 0 && x.reach == 0 {
		err = count.check(rep.Own, rep.Steps)
	}
	return rep, err
}

func (x stencil) steps() int { return x.done() }

func (x stencil) resume(c comm.Comm, cfg lb.Config, k loops.Checkpoint, stop func(begun int) string) (*loops.Report, error) {
	u := x.matrices(loops.Initial(c, x.span(), cfg))
	j := newJitter(c)
	begun := 0
	if stop != nil {
		k.Stop = func() string { return stop(begun) }
	}
	d := loops.DOALL{
		Repeat: x.repeat, Rows: x.span(), Weights: x.weights, Arrays: []loops.Array{u[0], u[1]}, Halo: x.halo, Overlap: x.overlap, Quantum: 0.004,
		Checkpoint: k,
		Body: func(repetition int, rows loops.Range) {
			begun = max(begun, repetition)
			x.body(u, repetition, rows)
			work(c, 1e-3*x.weights.Units(rows)*j.factor())
		},
	}
	if x.stop > 0 {
		d.After = func(repetition int) (bool, error) { return repetition+1 >= x.stop, nil }
	}
	rep, err := d.Run(c, cfg)
	if err != nil {
		return nil, err
	}
	if err := checkOwners(c, x.span(), rep.Own); err != nil {
		return nil, err
	}
	want := x.matrices(x.span())
	for repetition := range rep.Steps {
		x.body(want, repetition, x.span())
	}
	for _, r := range rep.Own {
		for i := range u {
			if err := sameRows(u[i], want[i], r); err != nil {
				return nil, fmt.Errorf("rank %d, array %d: %w", c.Rank(), i, err)
			}
		}
	}
	return rep, nil
}

// same returns an error unless all ranks stopped after the same step, for the same reason.
func same(c comm.Comm, rep *loops.Report) error {
	var e comm.Encoder
	e.Int(rep.Steps)
	e.Int(rep.Resumed)
	e.Int(rep.Checkpoints)
	e.Text(rep.Stopped)
	all, err := comm.AllGather(c, e.Message())
	for r, b := range all {
		if string(b) != string(e.Message()) {
			return fmt.Errorf("rank %d ended otherwise than rank %d, after %d steps: %q", r, c.Rank(), rep.Steps, rep.Stopped)
		}
	}
	return err
}

// goesOn stops a loop, on any rank's wish or at a deadline, and goes on with it, again and again, each time on as many ranks as is drawn.
func goesOn(t *rapid.T, base string, x resumable, movements ...lb.Movement) (leaned, stops int) {
	dir, err := os.MkdirTemp(base, "")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	dir = filepath.Join(dir, "c")
	restart, resumed := rapid.SampledFrom([]string{"", dir}).Draw(t, "restart"), 0
	for runs, last := 0, false; ; runs++ {
		ranks := rapid.IntRange(1, 6).Draw(t, "ranks")
		cfg := drawConfig(t, ranks, movements...)
		network := rapid.IntRange(-3, 2).Draw(t, "network")
		every := rapid.SampledFrom([]time.Duration{0, time.Nanosecond, 30 * time.Millisecond}).Draw(t, "every")
		who, when := rapid.IntRange(0, ranks-1).Draw(t, "who"), rapid.IntRange(0, x.steps()+3).Draw(t, "when")
		limit := time.Duration(0)
		if rapid.Bool().Draw(t, "limited") {
			limit = time.Duration(rapid.IntRange(1, 200).Draw(t, "ms")) * time.Millisecond
		}
		last = runs >= 3
		var first *loops.Report
		err := everywhere(network, ranks, func(c comm.Comm) error {
			k := loops.Checkpoint{Dir: dir, Every: every, Restart: restart, Program: "this"}
			if !last {
				k.Limit = limit
			}
			rep, err := x.resume(c, cfg, k, func(begun int) string {
				if !last && c.Rank() == who && begun >= when {
					return "test"
				}
				return ""
			})
			if err == nil {
				err = same(c, rep)
			}
			if err == nil && c.Rank() == 0 {
				first = rep
			}
			return err
		})
		require.NoError(t, err)
		require.Equal(t, resumed, first.Resumed)
		leaned += first.Lean
		all, err := checkpoint.Generations(dir)
		require.NoError(t, err)
		require.LessOrEqual(t, len(all), 2)
		if first.Stopped == "" {
			require.Equal(t, x.steps(), first.Steps)
			return leaned, stops
		}
		require.Contains(t, []string{"test", loops.StoppedByTime}, first.Stopped)
		stops++
		restart, resumed = dir, first.Steps
		m, err := checkpoint.Newest(dir)
		require.NoError(t, err)
		require.Equal(t, resumed, m.Step)
		if runs == 0 && rapid.Bool().Draw(t, "damage") && len(all) == 2 { // then the one before is gone on from
			older, err := checkpoint.Read(dir, all[1])
			require.NoError(t, err)
			resumed = older.Step
			part := filepath.Join(dir, fmt.Sprintf("gen-%08d", m.Generation), m.Parts[len(m.Parts)-1].File)
			require.NoError(t, os.WriteFile(part, []byte("damaged"), 0o666))
		}
	}
}

// A DOACROSS loop that is stopped at any time, for any reason, and gone on with on any number of ranks, under any policy, comes to the
// bits of the serial loop, with all of its data and the program's own state.
func TestDOACROSSGoesOnWhereItStopped(t *testing.T) {
	checks(t, 60)
	base, stops := scratch(t), 0
	rapid.Check(t, func(t *rapid.T) {
		x := drawRelaxation(t)
		x.sweeps *= 3
		_, n := goesOn(t, base, x, lb.Adjacent)
		stops += n
	})
	assert.Greater(t, stops, 15)
}

// The same where blocks lean, which have to stand upright when ranks meet.
func TestLeaningGoesOnWhereItStopped(t *testing.T) {
	checks(t, 40)
	base, stops, leaned := scratch(t), 0, 0
	rapid.Check(t, func(t *rapid.T) {
		x := relaxation{
			rows:   rapid.IntRange(100, 250).Draw(t, "rows"),
			cols:   rapid.IntRange(1, 12).Draw(t, "cols"),
			arrays: rapid.IntRange(1, 2).Draw(t, "arrays"),
			sweeps: rapid.IntRange(0, 60).Draw(t, "sweeps"),
			block:  rapid.IntRange(0, 5).Draw(t, "block"),
			reach:  rapid.IntRange(1, 3).Draw(t, "reach"),
		}
		if rapid.Bool().Draw(t, "after") {
			x.every, x.stop = rapid.IntRange(1, 30).Draw(t, "every"), rapid.IntRange(1, 80).Draw(t, "stop")
			x.growing = rapid.Bool().Draw(t, "growing")
		}
		rows, n := goesOn(t, base, x, lb.Adjacent)
		leaned += rows
		stops += n
	})
	assert.Positive(t, stops)
	assert.Positive(t, leaned)
}

// The same for a DOALL loop in its kinds: with a halo, with After, and with neither.
func TestDOALLGoesOnWhereItStopped(t *testing.T) {
	checks(t, 240)
	base, stops := scratch(t), 0
	rapid.Check(t, func(t *rapid.T) {
		x := stencil{
			rows: rapid.IntRange(0, 60).Draw(t, "rows"), cols: rapid.IntRange(1, 6).Draw(t, "cols"), repeat: rapid.IntRange(2, 60).Draw(t, "repeat"),
			halo: rapid.Bool().Draw(t, "halo"),
		}
		x.overlap = x.halo && rapid.Bool().Draw(t, "overlap")
		if rapid.Bool().Draw(t, "after") {
			x.stop = rapid.IntRange(1, 50).Draw(t, "stop")
		}
		movements := []lb.Movement{lb.Adjacent}
		if !x.halo {
			movements = append(movements, lb.Direct)
		}
		_, n := goesOn(t, base, x, movements...)
		stops += n
	})
	assert.Greater(t, stops, 60)
}

// steady is a DOACROSS loop whose sweeps take 10 ms of virtual time on each of the ranks that have rows.
func steady(c comm.Comm, sweeps int, cfg lb.Config, k loops.Checkpoint) (*loops.Report, error) {
	const n = 120
	u := loops.NewMatrix(n, n)
	workers := c.Size()
	if cfg.DedicatedMaster {
		workers--
	}
	return loops.DOACROSS{
		Outer: sweeps, Rows: loops.Span(0, n), Strip: loops.Span(0, n), Block: 10, Arrays: []loops.Array{u}, Quantum: 0.004, Checkpoint: k,
		Body: func(rows, strip loops.Range) {
			work(c, 0.01*float64(rows.Len()*workers)/n*float64(strip.Len())/n)
		},
	}.Run(c, cfg)
}

// Being ready to stop costs nothing: the leader's messages are there before they are needed.
func TestBeingReadyToStopCostsNothing(t *testing.T) {
	for _, dedicated := range []bool{false, true} {
		time := func(k loops.Checkpoint) float64 {
			took := 0.0
			_, err := sim.Run(machine(0, 5), func(c *sim.Comm) error {
				rep, err := steady(c, 300, lb.Config{DedicatedMaster: dedicated}, k)
				if err == nil && c.Rank() == 0 {
					took = rep.Time
				}
				return err
			})
			require.NoError(t, err)
			return took
		}
		without, with := time(loops.Checkpoint{}), time(loops.Checkpoint{Stop: func() string { return "" }})
		assert.InDelta(t, without, with, 0.001*without, "dedicated master: %v", dedicated)
		assert.NotEqual(t, without, with, "messages were sent")
	}
}

// A wish to stop is heard within twice the interval of 50 ms and the ranks' lag, on whichever rank it is, also beside a dedicated
// master without balancing, which has nothing to wait for.
func TestStopsSoon(t *testing.T) {
	const at = time.Second
	for _, who := range []int{0, 4} {
		for _, cfg := range []lb.Config{{}, {Policy: lb.Off}, {DedicatedMaster: true}, {DedicatedMaster: true, Policy: lb.Off}} {
			_, err := sim.Run(machine(0, 5), func(c *sim.Comm) error {
				began := c.Now()
				rep, err := steady(c, 500, cfg, loops.Checkpoint{Stop: func() string {
					if c.Rank() == who && c.Now()-began >= at {
						return "enough"
					}
					return ""
				}})
				if err != nil {
					return err
				}
				if rep.Stopped != "enough" || rep.Steps < 90 || rep.Steps > 125 {
					return fmt.Errorf("stopped for %q after %d sweeps", rep.Stopped, rep.Steps)
				}
				return same(c, rep)
			})
			assert.NoError(t, err, "rank %d, %+v", who, cfg)
		}
	}
}

// The loop ends within its limit, and not much earlier.
func TestStopsWithinTheLimit(t *testing.T) {
	for _, limit := range []time.Duration{time.Nanosecond, 300 * time.Millisecond, 3 * time.Second} {
		_, err := sim.Run(machine(0, 4), func(c *sim.Comm) error {
			began := c.Now()
			rep, err := steady(c, 1000, lb.Config{}, loops.Checkpoint{Limit: limit})
			if err != nil {
				return err
			}
			// Calibrating comes first, and is not stopped; the last rank drains the pipeline.
			left := began + limit - c.Now()
			// At least one sweep, or runs that go on from each other would never come to an end.
			if rep.Stopped != loops.StoppedByTime || rep.Steps == 0 || left < -100*time.Millisecond || left > 150*time.Millisecond {
				return fmt.Errorf("stopped for %q after %d sweeps, %v before the limit", rep.Stopped, rep.Steps, left)
			}
			return same(c, rep)
		})
		assert.NoError(t, err, "%v", limit)
	}
}

// Without a folder a loop stops, too; and a loop that has a folder and is not stopped writes as often as it is told.
func TestCheckpointsComeWhenDue(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	_, err := sim.Run(machine(0, 3), func(c *sim.Comm) error {
		rep, err := steady(c, 200, lb.Config{}, loops.Checkpoint{Dir: dir, Every: 300 * time.Millisecond})
		if err == nil && (rep.Checkpoints < 4 || rep.Checkpoints > 7) { // 2 s, but for the intervals of 50 ms
			err = fmt.Errorf("%d checkpoints", rep.Checkpoints)
		}
		return err
	})
	assert.NoError(t, err)
}

// A checkpoint that cannot be written ends nothing as long as the loop goes on; but a loop that stops must say so.
func TestACheckpointThatCannotBeWritten(t *testing.T) {
	for _, stops := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "c")
		var said error
		_, err := sim.Run(machine(0, 3), func(c *sim.Comm) error {
			sweeps := 0
			k := loops.Checkpoint{Dir: dir, Every: 200 * time.Millisecond, Failed: func(err error) { said = err }}
			if stops {
				k.Stop = func() string {
					if sweeps++; sweeps > 5 {
						return "enough"
					}
					return ""
				}
			}
			k.Save = func() ([]byte, error) { // the moment before writing
				return nil, errors.Join(comm.Barrier(c), os.RemoveAll(dir))
			}
			rep, err := steady(c, 100, lb.Config{}, k)
			if stops {
				if err == nil {
					return errors.New("it stopped without a checkpoint and did not say so")
				}
				if rep == nil || rep.Stopped != "enough" || rep.Steps == 0 || len(rep.Own) != 1 {
					return fmt.Errorf("what else there is was lost: %+v", rep)
				}
				assert.ErrorContains(t, err, "checkpoint after step")
				assert.ErrorContains(t, err, "no such file")
				return nil
			}
			if err == nil && (rep.Steps != 100 || rep.Checkpoints != 0) {
				err = fmt.Errorf("%d sweeps, %d checkpoints", rep.Steps, rep.Checkpoints)
			}
			return err
		})
		assert.NoError(t, err)
		if !stops {
			assert.ErrorContains(t, said, "checkpoint after step")
		}
	}
}

// What cannot be gone on from is refused on all ranks, with the reason.
func TestRefusedRestarts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	x := relaxation{rows: 20, cols: 10, arrays: 1, sweeps: 30, block: 4}
	write := func(c comm.Comm) error {
		_, err := x.resume(c, lb.Config{}, loops.Checkpoint{Dir: dir, Program: "p"}, func(begun int) string { return map[bool]string{true: "test"}[begun >= 9] })
		return err
	}
	require.NoError(t, everywhere(0, 3, write))
	for _, refused := range []struct {
		says    string
		change  func(x *relaxation, k *loops.Checkpoint)
		restart string
	}{
		{"rows [1,21)", func(x *relaxation, _ *loops.Checkpoint) { x.rows++ }, dir},
		{"strip [2,12)", func(x *relaxation, _ *loops.Checkpoint) { x.cols++ }, dir},
		{"1 and 1 arrays", func(x *relaxation, _ *loops.Checkpoint) { x.arrays++ }, dir},
		{"; p; this is", func(_ *relaxation, k *loops.Checkpoint) { k.Program = "q" }, dir},
		{"asked for are 3 in all", func(x *relaxation, _ *loops.Checkpoint) { x.sweeps = 3 }, dir},
		{"no checkpoint in", func(*relaxation, *loops.Checkpoint) {}, t.TempDir()},
		{"no checkpoint in", func(*relaxation, *loops.Checkpoint) {}, filepath.Join(dir, "none")},
	} {
		x, k := x, loops.Checkpoint{Restart: refused.restart, Program: "p"}
		refused.change(&x, &k)
		seen := 0
		err := everywhere(0, 4, func(c comm.Comm) error {
			_, err := x.resume(c, lb.Config{}, k, nil)
			var folder *loops.FolderError
			if !errors.As(err, &folder) {
				return fmt.Errorf("rank %d: %w", c.Rank(), err)
			}
			seen++
			assert.ErrorContains(t, err, "restart from "+refused.restart)
			assert.ErrorContains(t, err, refused.says)
			return nil
		})
		assert.NoError(t, err)
		assert.Equal(t, 4, seen)
	}
	// Whoever takes the refusal for what it is may begin anew.
	assert.NoError(t, everywhere(0, 4, func(c comm.Comm) error {
		own := loops.NewMatrix(20, 10)
		d := loops.DOACROSS{Outer: 30, Rows: loops.Span(1, 19), Strip: loops.Span(1, 9), Arrays: []loops.Array{own}, Quantum: 0.004, Reach: 1, Body: func(_, _ loops.Range) { work(c, 1e-3) }}
		d.Checkpoint = loops.Checkpoint{Dir: filepath.Join(dir, "other"), Stop: func() string { return "test" }}
		if _, err := d.Run(c, lb.Config{}); err != nil {
			return err
		}
		d.Checkpoint = loops.Checkpoint{Restart: filepath.Join(dir, "other"), Restore: func([]byte) error { return errTrouble }}
		_, err := d.Run(c, lb.Config{})
		var folder *loops.FolderError
		if !errors.As(err, &folder) || !errors.Is(err, errTrouble) && c.Rank() == 0 {
			return fmt.Errorf("rank %d: %w", c.Rank(), err)
		}
		d.Checkpoint = loops.Checkpoint{}
		rep, err := d.Run(c, lb.Config{})
		if err == nil && rep.Steps != 30 {
			err = fmt.Errorf("%d sweeps", rep.Steps)
		}
		return err
	}))
}

// A run does not replace the checkpoints of another; one that goes on is told from where, and what it could not use.
func TestAFolderThatHasCheckpoints(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	k := loops.Checkpoint{Dir: dir, Every: 30 * time.Millisecond, Stop: func() string { return "" }}
	run := func() error {
		return everywhere(0, 3, func(c comm.Comm) error { _, err := steady(c, 12, lb.Config{}, k); return err })
	}
	require.NoError(t, run())
	all, err := checkpoint.Generations(dir)
	require.NoError(t, err)
	require.Len(t, all, 2)
	var folder *loops.FolderError
	err = run()
	require.ErrorAs(t, err, &folder)
	require.ErrorContains(t, err, "checkpoints in "+dir+": there are checkpoints already, the newest is gen-")

	var resumed []int
	var passed error
	k.Restart, k.Resumed = dir, func(step int, why error) { resumed, passed = append(resumed, step), why }
	require.NoError(t, run())
	require.NoError(t, passed)
	newest, err := checkpoint.Newest(dir)
	require.NoError(t, err)
	damaged := filepath.Join(dir, fmt.Sprintf("gen-%08d", newest.Generation), newest.Parts[0].File)
	require.NoError(t, os.Truncate(damaged, 10))
	require.NoError(t, run())
	require.ErrorContains(t, passed, damaged)
	require.Len(t, resumed, 2)
	require.Less(t, resumed[1], newest.Step)
}

func TestBadCheckpoints(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o666))
	for says, k := range map[string]loops.Checkpoint{
		"every -1s":                       {Dir: file, Every: -time.Second},
		"the folder is missing":           {Every: time.Second},
		"a time limit":                    {Limit: -1},
		"checkpoints in " + file:          {Dir: file},
		"checkpoints in " + file + "/a/b": {Dir: file + "/a/b"},
	} {
		err := everywhere(0, 3, func(c comm.Comm) error {
			_, err := steady(c, 3, lb.Config{}, k)
			assert.ErrorContains(t, err, says)
			return nil
		})
		assert.NoError(t, err)
	}
	err := everywhere(0, 3, func(c comm.Comm) error {
		_, err := loops.DOALL{Rows: loops.Span(0, 10), Body: func(int, loops.Range) {}, Checkpoint: loops.Checkpoint{Dir: file}}.Run(c, lb.Config{})
		assert.ErrorContains(t, err, "done once")
		return nil
	})
	assert.NoError(t, err)
}

// Ranks that differ in what they were given get an error, and do not wait for each other.
func TestRanksThatDifferInTheirCheckpoints(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	for _, k := range []loops.Checkpoint{{}, {Dir: dir + "2"}, {Dir: dir, Every: time.Second}, {Dir: dir, Program: "p"}, {Dir: dir, Restart: dir}} {
		err := everywhere(1, 3, func(c comm.Comm) error {
			mine := loops.Checkpoint{Dir: dir}
			if c.Rank() == 1 {
				mine = k
			}
			_, err := steady(c, 3, lb.Config{}, mine)
			assert.ErrorContains(t, err, "another configuration")
			return nil
		})
		assert.NoError(t, err)
	}
}

// scratch is a folder in memory, if there is such a thing here: the properties bring thousands of files to the disk.
func scratch(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "shiftwork-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
