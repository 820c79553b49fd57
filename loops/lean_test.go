package loops_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"shiftwork/comm"
	"shiftwork/comm/local"
	"shiftwork/comm/sim"
	"shiftwork/lb"
	"shiftwork/loops"
)

// lean runs the loop with blocks that lean, and compares rows and counts on one rank.
// batched is how often Body was called for a sweep lower and farther to the left than the call before it: the next one of a batch.
func (x relaxation) lean(c comm.Comm, cfg lb.Config, each float64, want []*loops.Matrix) (rep *loops.Report, batched int, err error) {
	u := x.matrices(loops.Initial(c, x.span(), cfg))
	times := make([]float64, x.rows+1)
	j := newJitter(c)
	var before struct{ rows, strip loops.Range }
	d := loops.DOACROSS{
		Outer: x.sweeps, Rows: x.span(), Strip: x.strip(), Weights: x.weights, Block: x.block, Quantum: 0.004,
		Reach: x.reach,
		Body: func(rows, strip loops.Range) {
			x.body(u, rows, strip)
			if left := before.strip.Lo - strip.Lo; rows.Lo == before.rows.Lo-1 && (left == x.reach || left == x.reach+x.reach%2) { // as wide strips do
				batched++
			}
			before.rows, before.strip = rows, strip
			if strip.Lo == x.strip().Lo {
				for i := rows.Lo; i < rows.Hi; i++ {
					times[i]++
				}
			}
			work(c, each*x.weights.Units(rows)*float64(strip.Len())*j.factor())
		},
	}
	swept := make([]float64, x.sweeps*(x.rows+1)) // columns of each row in each sweep, by this rank
	if x.atOnce {
		body := d.Body
		d.Body, d.Bodies = nil, func(parts []loops.Part) {
			for _, p := range parts {
				body(p.Rows, p.Strip)
				for i := p.Rows.Lo; i < p.Rows.Hi; i++ {
					swept[p.Sweep*(x.rows+1)+i] += float64(p.Strip.Len())
				}
			}
		}
	}
	x.meets(&d)
	for _, m := range u {
		d.Arrays = append(d.Arrays, m)
	}
	calls := 0
	if x.stop > 0 {
		d.After = func(sweeps int) (bool, error) {
			calls++
			if sweeps != x.called(calls) {
				return false, fmt.Errorf("After is called the %dth time after %d sweeps", calls, sweeps)
			}
			return sweeps >= x.stop, nil
		}
	}
	rep, err = d.Run(c, cfg)
	if err != nil {
		return nil, 0, err
	}
	if x.atOnce {
		if err := x.sweptOnce(c, swept); err != nil {
			return nil, 0, err
		}
	}
	if err := checkOwners(c, x.span(), rep.Own); err != nil {
		return nil, 0, err
	}
	for _, r := range rep.Own {
		for k := range u {
			if err := sameRows(u[k], want[k], r); err != nil {
				return nil, 0, err
			}
		}
	}
	for i := x.span().Lo; i < x.span().Hi; i++ {
		all, err := comm.AllGather(c, comm.BytesOf(times[i:i+1]))
		if err != nil {
			return nil, 0, err
		}
		sum := 0.0
		for _, b := range all {
			n := make([]float64, 1)
			copy(comm.BytesOf(n), b)
			sum += n[0]
		}
		if sum != float64(x.done()) {
			return nil, 0, fmt.Errorf("row %d was done %g times, should be %d", i, sum, x.done())
		}
	}
	return rep, batched, nil
}

// sweptOnce is an error unless all ranks together have done each column of each row once in each sweep.
func (x relaxation) sweptOnce(c comm.Comm, swept []float64) error {
	all, err := comm.AllGather(c, comm.BytesOf(swept))
	if err != nil {
		return err
	}
	sum, n := make([]float64, len(swept)), make([]float64, len(swept))
	for _, b := range all {
		copy(comm.BytesOf(n), b)
		for i, columns := range n {
			sum[i] += columns
		}
	}
	for sweep := range x.done() {
		for i := x.span().Lo; i < x.span().Hi; i++ {
			if columns := sum[sweep*(x.rows+1)+i]; columns != float64(x.cols) {
				return fmt.Errorf("%g of the %d columns of row %d were done in sweep %d", columns, x.cols, i, sweep)
			}
		}
	}
	return nil
}

// Whatever moves and however far blocks lean, the result is the serial loop's and every row is done once a sweep.
func TestLeaningIsTheSerialLoop(t *testing.T) {
	leaned, moved, batched := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(2, 5).Draw(t, "ranks")
		x := relaxation{
			rows:   ranks*32*rapid.IntRange(1, 4).Draw(t, "lean") + rapid.IntRange(0, 50).Draw(t, "rows"),
			cols:   rapid.OneOf(rapid.IntRange(1, 12), rapid.IntRange(64, 140)).Draw(t, "cols"),
			arrays: rapid.IntRange(1, 2).Draw(t, "arrays"),
			sweeps: rapid.IntRange(0, 60).Draw(t, "sweeps"),
			block:  rapid.OneOf(rapid.IntRange(0, 5), rapid.IntRange(64, 70)).Draw(t, "block"),
			reach:  rapid.IntRange(1, 4).Draw(t, "reach"),
			atOnce: rapid.Bool().Draw(t, "at once"),
		}
		x.weights = drawWeights(t, x.span())
		if rapid.Bool().Draw(t, "after") {
			x.every, x.stop = rapid.IntRange(1, 30).Draw(t, "every"), rapid.IntRange(1, 60).Draw(t, "stop")
			x.growing = rapid.Bool().Draw(t, "growing")
		}
		cfg := drawConfig(t, ranks, lb.Adjacent)
		network := rapid.IntRange(-3, len(networks)-1).Draw(t, "network")
		each := rapid.SampledFrom([]float64{1e-8, 1e-6, 1e-5}).Draw(t, "each")
		defer loops.SetTile(rapid.SampledFrom([]int{1, 200, 1000, 1 << 20}).Draw(t, "tile"))()
		want := x.serial()
		require.NoError(t, everywhere(network, ranks, func(c comm.Comm) error {
			rep, n, err := x.lean(c, cfg, each, want)
			if err == nil && c.Rank() == 0 {
				batched += n
				leaned += rep.Lean
				moved += rep.IterationsMoved
			}
			return err
		}))
	})
	require.Positive(t, leaned)
	require.Positive(t, moved)
	require.Positive(t, batched)
}

// Where strips are wide, all of their parts, in all sweeps and tiles, begin at an even distance from the first column, and so with a vector if the matrix lets the first column
// do so. Narrow ones go no farther to the left than they must.
func TestWideStripsBeginWithVectors(t *testing.T) {
	const rows, cols, first = 300, 502, 1
	for _, c := range []struct {
		block, tile int
		even        bool
	}{{130, 1 << 20, true}, {130, 1 << 14, true}, {60, 1 << 20, false}} {
		t.Run(fmt.Sprintf("%d columns, %d bytes", c.block, c.tile), func(t *testing.T) {
			defer loops.SetTile(c.tile)()
			u, begins := loops.NewMatrixAt(rows, cols, first), map[int]bool{}
			require.NoError(t, local.Run(1, func(rank comm.Comm) error {
				_, err := loops.DOACROSS{
					Outer: 100, Rows: loops.Span(1, rows-1), Strip: loops.Span(first, cols-1), Block: c.block, Reach: 1, Arrays: []loops.Array{u},
					Body: func(_, strip loops.Range) { begins[strip.Lo] = true },
				}.Run(rank, lb.Config{})
				return err
			}))
			require.Greater(t, len(begins), (cols-2)/c.block+1, "strips of later sweeps lie to the left of the first one's")
			odd := 0
			for lo := range begins {
				odd += (lo - first) % 2
			}
			assert.Equal(t, c.even, odd == 0, "%d of %d begin between vectors", odd, len(begins))
		})
	}
}

// Blocks begin to lean by a dozen rows, and later farther: a rank then has nothing of the rows that it comes to, neither strips nor what is beside them.
func TestBlocksLeanFartherLater(t *testing.T) {
	t.Parallel()
	for _, policy := range []lb.Policy{lb.Off, lb.Rotate} {
		x := relaxation{rows: 1200, cols: 4, arrays: 2, sweeps: 300, reach: 1}
		want := x.serial()
		require.NoError(t, everywhere(0, 2, func(c comm.Comm) error {
			rep, _, err := x.lean(c, lb.Config{Policy: policy}, 1e-8, want)
			if err == nil && c.Rank() == 0 && rep.Lean <= 12 {
				err = fmt.Errorf("blocks lean by %d rows only", rep.Lean)
			}
			return err
		}))
	}
}

// pairs is a machine on which each processor has two ranks.
type pairs struct{ *sim.Comm }

func (pairs) Crowding() float64 { return 2 }

// A network that is slower than one rank, but not than two that share a processor, does not set the pace of these: strips are as few as the
// turns of blocks allow, not as many as the network hides.
func TestRanksThatShareAProcessorShareItsPace(t *testing.T) {
	t.Parallel()
	strips := func(world func(c *sim.Comm) comm.Comm) int {
		rep := reportIn(t, sim.Config{Ranks: 2, Alpha: 2e-6, Beta: 2.4e-8}, func(c *sim.Comm) (*loops.Report, error) {
			return loops.DOACROSS{
				Outer: 200, Rows: loops.Span(0, 256), Strip: loops.Span(0, 2000), Quantum: 0.004, Reach: 1, Arrays: []loops.Array{loops.NewMatrix(256, 2000)},
				Body: func(rows, strip loops.Range) { c.Work(2e-6 + 1e-9*float64(rows.Len()*strip.Len())) }, // 1.3e-7 s a column, and 1.9e-7 on its way
			}.Run(world(c), lb.Config{Policy: lb.Off})
		})
		require.NotEmpty(t, rep.Tunings)
		return (2000 + rep.Tunings[0].Block - 1) / rep.Tunings[0].Block
	}
	alone := strips(func(c *sim.Comm) comm.Comm { return c })
	shared := strips(func(c *sim.Comm) comm.Comm { return pairs{c} })
	t.Logf("%d strips where each rank has its processor, %d where two share one", alone, shared)
	require.Greater(t, alone, shared)
}

// onOff is a rank that has its core to itself for half of the time, in slices.
func onOff(slice, until float64) []sim.Step {
	var steps []sim.Step
	for k := 0; float64(k)*2*slice < until; k++ {
		at := float64(k) * 2 * slice
		steps = append(steps, sim.Step{From: at, Speed: 1}, sim.Step{From: at + slice, Speed: 1e-6})
	}
	return append(steps, sim.Step{From: until + 2*slice, Speed: 1})
}

// Two ranks, one of which is on its core for 4 ms of every 8; ideally divided, sweeps take 2/3 of a millisecond each on average.
// Blocks that stand still stall: a rank can be ahead by a sweep only. Blocks that lean come near to the ideal.
func TestLeaningHidesSlices(t *testing.T) {
	const sweeps, ideal = 3000, 3000 * 2.0 / 3e3
	for loaded := range 2 {
		run := func(reach int) *loops.Report {
			speed := [][]sim.Step{sim.Constant(1), sim.Constant(1)}
			speed[loaded] = onOff(0.004, 10)
			return reportIn(t, sim.Config{Ranks: 2, Alpha: 2e-6, Beta: 1e-10, SendOverhead: 2e-7, Speed: speed}, func(c *sim.Comm) (*loops.Report, error) {
				u := loops.NewMatrix(1000, 64)
				return loops.DOACROSS{
					Outer: sweeps, Rows: loops.Span(0, 1000), Strip: loops.Span(0, 64), Quantum: 0.004, Reach: reach,
					Arrays: []loops.Array{u},
					Body:   func(rows, strip loops.Range) { c.Work(1e-3 / 64 / 1000 * float64(rows.Len()*strip.Len())) },
				}.Run(c, lb.Auto())
			})
		}
		still, leaning := run(0), run(1)
		t.Logf("load on rank %d: upright %.3f s, leaning by %d rows %.3f s, ideal %.3f s", loaded, still.Time, leaning.Lean, leaning.Time, ideal)
		assert.Zero(t, still.Lean)
		assert.Positive(t, leaning.Lean)
		assert.Less(t, leaning.Time, 0.8*still.Time)
		assert.Less(t, leaning.Time, 1.25*ideal)
	}
}

// Four ranks, the second of which shares its core, by slices of 10 ms, for half of every cycle. Blocks lean for several
// balancing periods, but work moves within, and where the rank is that gives it: loads are answered soon, whenever in a cycle the loop begins.
func TestLeansAnswerALoadSoon(t *testing.T) {
	for _, want := range []struct{ cycle, first, least, mean float64 }{{6, 0.88, 0.80, 0.87}, {2, 0.75, 0.68, 0.77}} {
		t.Run(fmt.Sprint(want.cycle), func(t *testing.T) {
			t.Parallel()
			const phases = 8
			sum, moves := 0.0, 0
			for phase := range phases {
				load := swinging{cycle: want.cycle, began: want.cycle * float64(phase) / phases}
				off := lb.Config{Policy: lb.Off}
				still, moving := load.beside(t, off), load.beside(t, lb.Auto())
				removed := (still.Time - moving.Time) / (still.Time - load.ideal(swingSweep*swingSweeps))
				t.Logf("begun %.2f s after the load: %.2f s, balanced %.2f s, %d movements, leaning by %d rows: %.2f of what can be removed",
					load.began, still.Time, moving.Time, moving.Shifts, moving.Lean, removed)
				assert.Greater(t, moving.Lean, 24)
				if assert.Greater(t, removed, want.least); phase == 0 {
					assert.Greater(t, removed, want.first)
				}
				sum, moves = sum+removed, moves+moving.Shifts
			}
			t.Logf("%.3f on average, %d movements in all", sum/phases, moves)
			assert.Greater(t, sum/phases, want.mean)
		})
	}
}

// swinging is a load on rank 1 of 4 that is busy for the first half of each cycle, and has been for so many s when the loop begins.
type swinging struct{ cycle, began float64 }

// What four ranks do beside it: sweeps that take each of them so long alone.
const (
	swingSweep, swingSweeps = 2.5e-3, 4000 // s
	swingSlice              = 0.01         // s
)

func (l swinging) busy(at float64) bool { return math.Mod(l.began+at, l.cycle) < l.cycle/2 }

// speed is how fast rank 1 is that has every second time slice while the load is busy.
func (l swinging) speed() (steps []sim.Step) {
	for at := 0.0; at < 60; at += 2 * swingSlice {
		steps = append(steps, sim.Step{From: at, Speed: 1})
		if l.busy(at) {
			steps = append(steps, sim.Step{From: at + swingSlice})
		}
	}
	return steps
}

// ideal is how long a loop of so many s takes, in s, where everybody always has the right share of the work.
func (l swinging) ideal(alone float64) (took float64) {
	for done := 0.0; done < alone; took += swingSlice {
		if done += swingSlice; l.busy(took) {
			done -= swingSlice / 8 // half of a quarter of the ranks
		}
	}
	return took
}

// beside is the loop beside the load.
func (l swinging) beside(t *testing.T, cfg lb.Config) *loops.Report {
	return reportIn(t, sim.Config{Ranks: 4, Alpha: 2e-6, Beta: 1e-10, SendOverhead: 2e-7, Speed: [][]sim.Step{1: l.speed(), 3: nil}}, func(c *sim.Comm) (*loops.Report, error) {
		u := loops.NewMatrix(4000, 64)
		return loops.DOACROSS{
			Outer: swingSweeps, Rows: loops.Span(0, 4000), Strip: loops.Span(0, 64), Quantum: swingSlice, Reach: 1,
			Arrays: []loops.Array{u},
			Body:   func(rows, strip loops.Range) { c.Work(swingSweep * 4 / 64 / 4000 * float64(rows.Len()*strip.Len())) },
		}.Run(c, cfg)
	})
}

// Blocks lean less where a rank has few rows because it is slow, and farther again when it has recovered; and it keeps as few
// as it likes.
func TestALeanLeavesRows(t *testing.T) {
	t.Parallel()
	run := func(speed []sim.Step) (rep *loops.Report, own int) {
		_, err := sim.Run(sim.Config{Ranks: 3, Alpha: 2e-6, Speed: [][]sim.Step{sim.Constant(1), speed, sim.Constant(1)}}, func(c *sim.Comm) error {
			u := loops.NewMatrix(960, 64)
			r, err := loops.DOACROSS{
				Outer: 12000, Rows: loops.Span(0, 960), Strip: loops.Span(0, 64), Quantum: 0.004, Reach: 1, Arrays: []loops.Array{u},
				Body: func(rows, strip loops.Range) { c.Work(1e-8 * float64(rows.Len()*strip.Len())) },
			}.Run(c, lb.Auto())
			switch {
			case err != nil:
			case c.Rank() == 0:
				rep = r
			case c.Rank() == 1:
				own = r.Own[0].Len()
			}
			return err
		})
		require.NoError(t, err)
		return rep, own
	}
	even, _ := run(sim.Constant(1))
	slow, few := run(sim.Constant(1e-3))
	again, many := run([]sim.Step{{From: 0, Speed: 1}, {From: 0.1, Speed: 1e-2}, {From: 2, Speed: 1}})
	t.Logf("lean %d; beside a slow rank %d, which has %d rows; after it has recovered %d and %d rows", even.Lean, slow.Lean, few, again.Lean, many)
	assert.Equal(t, 20, even.Lean, "960/3/16: 41 sweeps in three batches")
	assert.Zero(t, slow.Lean)
	assert.LessOrEqual(t, few, 3)
	assert.Equal(t, even.Lean, again.Lean)
	assert.Greater(t, many, 250)
}

// A rank that is seven times as fast as each of seven others, as one with a core of its own beside seven that share one: most of its work has to pass through all of them, and
// each boundary goes no farther at a time than where its neighbours are.
func TestLeansPassWorkThroughRanks(t *testing.T) {
	const ranks, rows, columns = 8, 2501, 256
	cfg := machine(0, ranks)
	cfg.MaxOps = 1e8
	for range ranks - 1 {
		cfg.Speed = append(cfg.Speed, sim.Constant(1.0/7))
	}
	cfg.Speed = append(cfg.Speed, sim.Constant(1))
	const sweep = 25e-3 // s on the fast rank
	rep := reportIn(t, cfg, func(c *sim.Comm) (*loops.Report, error) {
		return loops.DOACROSS{
			Outer: 200, Rows: loops.Span(0, rows), Strip: loops.Span(0, columns), Quantum: 0.004, Reach: 1,
			Arrays: []loops.Array{loops.NewMatrix(rows, columns)},
			Body: func(block, strip loops.Range) {
				c.Work(sweep / columns / rows * float64(block.Len()*strip.Len()))
			},
		}.Run(c, lb.Auto())
	})
	assert.Less(t, rep.Time, 1.1*200*sweep/2)
}

// A rank that is a hundred times slower than the other keeps hardly any rows. Leans become shorter, but what is handed over is as wide as those of the batch that is
// under way, and rows of as many sweeps must be there for it.
func TestLeansThatBecomeShorterWhileRowsMove(t *testing.T) {
	x := relaxation{rows: 300, cols: 20, arrays: 1, sweeps: 60, reach: 1}
	want := x.serial()
	cfg := machine(0, 2)
	cfg.Speed = [][]sim.Step{sim.Constant(1), sim.Constant(0.01)}
	_, err := sim.Run(cfg, func(c *sim.Comm) error {
		_, _, err := x.lean(c, lb.Auto(), 20e-3/300/20, want)
		return err
	})
	require.NoError(t, err)
}
