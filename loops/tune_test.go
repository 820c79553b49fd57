package loops_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"shiftwork/comm"
	"shiftwork/comm/local"
	"shiftwork/comm/sim"
	"shiftwork/internal/faulttest"
	"shiftwork/lb"
	"shiftwork/loops"
)

// plate is a DOACROSS loop in virtual time, without values: only its costs count.
type plate struct {
	ranks, rows, cols, sweeps, block int
	network                          sim.Config
	policy                           lb.Policy
	column                           func(rank, sweep int) float64 // s per row and column
	strip                            float64                       // s per row for each strip
}

// run returns the loop's report and the strips of rank 0 in the order in which it did them.
func (p plate) run(t require.TestingT) (rep *loops.Report, strips []loops.Range) {
	cfg := p.network
	cfg.Ranks, cfg.MaxOps = p.ranks, 3e7
	res, err := sim.Run(cfg, func(c *sim.Comm) error {
		u := loops.NewMatrix(p.rows, p.cols)
		sweep := -1
		r, err := loops.DOACROSS{
			Outer: p.sweeps, Rows: loops.Span(0, p.rows), Strip: loops.Span(0, p.cols), Block: p.block, Quantum: 0.004,
			Arrays: []loops.Array{u},
			Body: func(rows, strip loops.Range) {
				if strip.Lo == 0 {
					sweep++
				}
				if c.Rank() == 0 {
					strips = append(strips, strip)
				}
				c.Work(float64(rows.Len()) * (p.column(c.Rank(), sweep)*float64(strip.Len()) + p.strip))
			},
		}.Run(c, lb.Config{Policy: p.policy, Period: 1e-3})
		if c.Rank() == 0 {
			rep = r
		}
		return err
	})
	require.NoError(t, err)
	require.Empty(t, res.Leaks)
	return rep, strips
}

func constant(s float64) func(int, int) float64 { return func(int, int) float64 { return s } }

// meshes are networks whose messages are cheap, dear to start, and dear for each byte.
var meshes = map[string]sim.Config{
	"cheap":        {Alpha: 1e-6, Beta: 1e-11, SendOverhead: 2e-7},
	"dear t_fixed": {Alpha: 2e-4, Beta: 1e-10, SendOverhead: 1e-4},
	"dear t_incr":  {Alpha: 1e-5, Beta: 1e-7, SendOverhead: 2e-6},
	"rendezvous":   {Alpha: 2e-5, Beta: 1e-9, SendOverhead: 2e-6, Rendezvous: sim.AlwaysRendezvous},
}

// The block size that a loop chooses by itself takes at most 5 % more time than the best of all block sizes.
func TestTheChosenBlockSizeIsWithinFivePercentOfTheBest(t *testing.T) {
	t.Parallel()
	for name, network := range meshes {
		for _, ranks := range []int{2, 4} {
			for _, perStrip := range []float64{0, 2e-6} {
				if perStrip > 0 && name != "cheap" {
					continue
				}
				p := plate{ranks: ranks, rows: 64, cols: 120, sweeps: 40, network: network, policy: lb.Off, column: constant(1e-6), strip: perStrip}
				best, at := math.Inf(1), 0
				for b := 1; b <= p.cols; b++ {
					if b > 1 && (p.cols+b-1)/b == (p.cols+b-2)/(b-1) && b < p.cols {
						continue // as many strips as the size before, and longer ones
					}
					p.block = b
					if rep, _ := p.run(t); rep.Time < best {
						best, at = rep.Time, b
					}
				}
				p.block = 0
				auto, _ := p.run(t)
				p.block = auto.Block
				chosen, _ := p.run(t)
				t.Logf("%s, %d ranks, %g s per strip and row: best %d (%.4f s), chosen %d (%+.2f %%, the whole run %+.2f %%)",
					name, ranks, perStrip, at, best, auto.Block, 100*(chosen.Time/best-1), 100*(auto.Time/best-1))
				assert.LessOrEqual(t, chosen.Time, 1.05*best, "%s, %d ranks: block size %d, best %d", name, ranks, auto.Block, at)
			}
		}
	}
}

// Where messages cost nothing, a loop that finds its block size loses next to nothing to filling and measuring, although
// strips cost something in the body: 0.98 of what one fill a run allows.
func TestSweepsStreamWhileTheBlockSizeIsChosen(t *testing.T) {
	for _, perStrip := range []float64{0, 1e-6, 3e-6} {
		p := plate{ranks: 4, rows: 40, cols: 320, sweeps: 40, policy: lb.Off, column: constant(1e-6), strip: perStrip}
		rep, _ := p.run(t)
		require.NotEmpty(t, rep.Tunings)
		strips := (p.cols + rep.Block - 1) / rep.Block
		rows := float64(p.rows / p.ranks)
		strip := rows * (1e-6*float64(rep.Block) + perStrip)
		ideal := float64(p.sweeps)*rows*(1e-6*float64(p.cols)+perStrip*float64(strips)) + float64(p.ranks-1)*strip
		t.Logf("%g s per strip and row: block size %d, efficiency %.4f", perStrip, rep.Block, ideal/rep.Time)
		assert.GreaterOrEqual(t, ideal/rep.Time, 0.98, "%g s per strip and row, block size %d", perStrip, rep.Block)
	}
}

// After 20 sweeps columns take a fiftieth of the time: strips become longer, within some sweeps, and the run is faster than
// with the block size that was right before.
func TestTheBlockSizeFollowsTheCosts(t *testing.T) {
	p := plate{ranks: 4, rows: 64, cols: 240, sweeps: 400, network: sim.Config{Alpha: 1e-5, SendOverhead: 1e-5}, policy: lb.Off, column: func(_, sweep int) float64 {
		if sweep < 20 {
			return 1e-5
		}
		return 2e-7
	}}
	rep, strips := p.run(t)
	require.GreaterOrEqual(t, len(rep.Tunings), 2)
	require.Empty(t, rep.Untuned)
	first, last := rep.Tunings[0], rep.Tunings[len(rep.Tunings)-1]
	assert.Less(t, first.Sweep, 5)
	assert.Greater(t, last.Sweep, 20)
	assert.Less(t, last.Sweep, 120)
	assert.Equal(t, rep.Block, last.Block)
	assert.Equal(t, first.Block, rep.Tunings[1].Before)
	assert.Greater(t, last.Block, 2*first.Block)
	assert.InEpsilon(t, 2e-7*16, last.Iteration[0], 0.01)
	assert.Equal(t, last.Block, strips[len(strips)-2].Len())
	covered(t, strips, p.sweeps, p.cols)
	p.block = first.Block
	before, _ := p.run(t)
	assert.Less(t, rep.Time, 0.96*before.Time)
}

// covered fails unless the strips are sweeps, one behind the other, of all columns.
func covered(t require.TestingT, strips []loops.Range, sweeps, cols int) {
	at, done := 0, 0
	for _, s := range strips {
		require.Equal(t, at, s.Lo)
		if at = s.Hi; at == cols {
			at, done = 0, done+1
		}
	}
	require.Zero(t, at)
	require.Equal(t, sweeps, done)
}

// Rows that move all the time are counted where they are: what the ranks tell of their times adds up to that of all rows.
func TestTuningKnowsEachRanksRows(t *testing.T) {
	moved := 0
	for _, policy := range []lb.Policy{lb.Rotate, lb.Random} {
		p := plate{ranks: 4, rows: 40, cols: 120, sweeps: 60, policy: policy, network: meshes["cheap"],
			column: func(_, sweep int) float64 {
				if sweep < 10 {
					return 3e-6
				}
				return 1e-7
			}}
		rep, strips := p.run(t)
		covered(t, strips, p.sweeps, p.cols)
		require.GreaterOrEqual(t, len(rep.Tunings), 2)
		moved += rep.IterationsMoved
		for _, c := range rep.Tunings {
			sum := 0.0
			for _, s := range c.Iteration {
				sum += s
			}
			want := 40 * 1e-7
			if c.Sweep < 10 {
				want = 40 * 3e-6
			}
			assert.InEpsilon(t, want, sum, 0.01, "%v, sweep %d", policy, c.Sweep)
		}
	}
	require.Positive(t, moved)
}

// The same strips in the same sweeps on all ranks, each once, and the results of the serial loop, while rows move all the
// time and costs change so that the block size does, too.
func TestRetuningIsTheSerialLoop(t *testing.T) {
	t.Parallel()
	changes := 0
	rapid.Check(t, func(t *rapid.T) {
		x := relaxation{
			rows:   rapid.IntRange(1, 24).Draw(t, "rows"),
			cols:   rapid.IntRange(1, 36).Draw(t, "cols"),
			arrays: rapid.IntRange(1, 2).Draw(t, "arrays"),
			sweeps: rapid.IntRange(0, 80).Draw(t, "sweeps"),
		}
		if rapid.Bool().Draw(t, "after") {
			x.every, x.stop = rapid.IntRange(1, 20).Draw(t, "every"), rapid.IntRange(1, 60).Draw(t, "stop")
		}
		ranks := rapid.IntRange(1, 6).Draw(t, "ranks")
		cfg := drawConfig(t, ranks, lb.Adjacent)
		network := rapid.IntRange(0, len(networks)-1).Draw(t, "network")
		factor := rapid.SampledFrom([]float64{1e-3, 1e-2, 0.1, 1, 10, 1e3}).Draw(t, "factor")
		at := rapid.IntRange(3, 12).Draw(t, "at")
		want := x.serial()
		require.NoError(t, everywhere(network, ranks, func(c comm.Comm) error {
			u := x.matrices(loops.Initial(c, x.span(), cfg))
			sweep := 0
			var strips comm.Encoder
			d := loops.DOACROSS{
				Outer: x.sweeps, Rows: x.span(), Strip: x.strip(), Quantum: 0.004, Every: x.every,
				Body: func(rows, strip loops.Range) {
					strips.Int(strip.Lo)
					strips.Int(strip.Hi)
					x.body(u, rows, strip)
					each := 1e-6
					if sweep >= at {
						each *= factor
					}
					work(c, each*float64(rows.Len()*strip.Len()))
					if strip.Hi == x.strip().Hi {
						sweep++
					}
				},
			}
			for _, m := range u {
				d.Arrays = append(d.Arrays, m)
			}
			if x.stop > 0 {
				d.After = func(sweeps int) (bool, error) { return sweeps >= x.stop, nil }
			}
			rep, err := d.Run(c, cfg)
			if err != nil {
				return err
			}
			for _, r := range rep.Own {
				for k := range u {
					if err := sameRows(u[k], want[k], r); err != nil {
						return err
					}
				}
			}
			if (c.Rank() == 0) != (len(rep.Tunings) > 0 || rep.Untuned != "") {
				return fmt.Errorf("rank %d: %d tunings, %q", c.Rank(), len(rep.Tunings), rep.Untuned)
			}
			changes += max(0, len(rep.Tunings)-1)
			all, err := comm.AllGather(c, strips.Message())
			if err != nil {
				return err
			}
			var some []byte // of a rank that has rows
			for r, b := range all {
				switch {
				case len(b) == 0:
				case some == nil:
					some = b
				case string(b) != string(some):
					return fmt.Errorf("rank %d has other strips than a rank before it", r)
				}
			}
			var list []loops.Range
			for d, n := comm.NewDecoder(some), len(some); n > 0; n -= 16 {
				list = append(list, loops.Span(d.Int()-2, d.Int()-2))
			}
			covered(t, list, x.done(), x.cols)
			return nil
		}))
	})
	if !faulttest.Race { // fewer loops
		require.Positive(t, changes, "the block size must have changed for this test to say something")
	}
}

// What the loop tells of a choice is enough to draw the model's curve and to see which costs it rests on.
func TestATuningTells(t *testing.T) {
	network := sim.Config{Alpha: 1e-4, Beta: 1e-8, SendOverhead: 1e-5}
	p := plate{ranks: 4, rows: 40, cols: 160, sweeps: 40, network: network, policy: lb.Off, column: constant(1e-6), strip: 3e-6}
	rep, _ := p.run(t)
	require.Len(t, rep.Tunings, 1)
	c := rep.Tunings[0]
	assert.Empty(t, c.Doubts)
	assert.InDeltaSlice(t, []float64{1e-5, 1e-5, 1e-5, 1e-5}, c.Iteration, 1e-10)
	assert.InEpsilon(t, 3e-5, c.PerStrip, 1e-4)
	assert.InEpsilon(t, 2e-5, c.Fixed, 1e-4, "two sends of a middle rank")
	assert.InDelta(t, 0, c.Incr, 1e-12, "the network, not the processor, carries the bytes")
	assert.InEpsilon(t, 1e-4, c.Delay, 1e-4)
	assert.InEpsilon(t, 8e-8, c.DelayIncr, 1e-4)
	assert.Equal(t, rep.Block, c.Block)
	assert.NotEmpty(t, c.Reason)
	chosen, last := 0, 0
	for _, q := range c.Curve {
		assert.Greater(t, q.Block, last)
		last = q.Block
		if q.Chosen {
			chosen++
			assert.Equal(t, c.Block, q.Block)
			assert.InEpsilon(t, c.Time, q.Time, 1e-9)
		}
		assert.GreaterOrEqual(t, q.Time, c.Time/1.016, "no block size is better than the chosen one, but for slack")
	}
	assert.Equal(t, 1, chosen)
	assert.Equal(t, p.cols, last)
	assert.InEpsilon(t, rep.Time/float64(p.sweeps), c.Time, 0.03)
	_, err := json.Marshal(c)
	require.NoError(t, err)
}

// A competing load lengthens every other strip by chance, and slows a rank while messages are measured: the smallest
// samples do not know.
func TestCalibrationSurvivesACompetingLoad(t *testing.T) {
	network := sim.Config{Alpha: 1e-4, SendOverhead: 1e-5, Speed: [][]sim.Step{nil, {{Speed: 0.2}, {From: 0.004, Speed: 1}}}}
	random := rand.New(rand.NewPCG(1, 2))
	p := plate{ranks: 2, rows: 40, cols: 160, sweeps: 200, network: network, policy: lb.Off, column: func(int, int) float64 {
		return []float64{1e-6, 1e-6, 3e-6, 5e-6}[random.IntN(4)]
	}}
	rep, _ := p.run(t)
	c := rep.Tunings[0]
	assert.Empty(t, c.Doubts)
	assert.InDeltaSlice(t, []float64{2e-5, 2e-5}, c.Iteration, 1e-10)
	assert.InEpsilon(t, 1e-5, c.Fixed, 1e-3)
	assert.LessOrEqual(t, rep.Calibrate, 0.051)
}

// What cannot be measured is told.
func TestALoopTellsWhatItCouldNotMeasure(t *testing.T) {
	wild := rand.New(rand.NewPCG(1, 2))
	base := plate{ranks: 2, rows: 8, cols: 16, sweeps: 100, network: meshes["cheap"], policy: lb.Off, column: constant(1e-6)}
	for name, c := range map[string]struct {
		change  func(p *plate)
		untuned string
		doubt   string
	}{
		"block size given":                       {func(p *plate) { p.block = 3 }, "given", ""},
		"one rank":                               {func(p *plate) { p.ranks = 1 }, "one rank", ""},
		"few sweeps":                             {func(p *plate) { p.sweeps = 2 }, "too few sweeps", ""},
		"one column":                             {func(p *plate) { p.cols = 1 }, "too few sweeps or columns", ""},
		"sweeps enough for one length of strips": {func(p *plate) { p.sweeps = 5 }, "", "the body's cost per strip, on rank 0, 1: too few sweeps"},
		"samples without rhyme": {func(p *plate) {
			p.sweeps, p.column = 5, func(int, int) float64 { return 1e3 * math.Exp(25*wild.Float64()-25) }
		}, "", "t_iteration of rank 0, 1"},
		"messages that take longer than measuring may": {func(p *plate) { p.network.Alpha = 1 }, "", "t_fixed and t_incr"},
	} {
		p := base
		c.change(&p)
		rep, strips := p.run(t)
		covered(t, strips, p.sweeps, p.cols)
		assert.Contains(t, rep.Untuned, c.untuned, name)
		if c.doubt == "" {
			assert.Empty(t, rep.Tunings, name)
			continue
		}
		require.NotEmpty(t, rep.Tunings, name)
		assert.Empty(t, rep.Untuned, name)
		assert.Contains(t, fmt.Sprint(rep.Tunings[0].Doubts), c.doubt, name)
	}
}

// Finding the block size costs at most 1 % of the run, or 50 ms, also where half of a strip is overhead; in longer runs of
// strips that are nothing but overhead, too.
func TestCalibrationCostsLittle(t *testing.T) {
	for _, column := range []float64{1e-4, 1e-9} {
		for _, sweeps := range []int{16, 40, 200} {
			p := plate{ranks: 4, rows: 40, cols: 160, sweeps: sweeps, policy: lb.Off, column: constant(column), strip: 1e-3}
			auto, _ := p.run(t)
			// The same run, but for the strips that were done for the sake of measuring alone.
			p.block, p.sweeps = 10, auto.Tunings[0].Sweep
			plain, _ := p.run(t)
			p.block, p.sweeps = auto.Block, sweeps-auto.Tunings[0].Sweep
			tuned, _ := p.run(t)
			loss := auto.Time - plain.Time - tuned.Time
			t.Logf("%g s per column, %d sweeps: %.2f %% of the run, %.3f s", column, sweeps, 100*loss/auto.Time, loss)
			assert.LessOrEqual(t, loss, max(0.01*auto.Time, 0.05), "%g s per column, %d sweeps", column, sweeps)
			assert.LessOrEqual(t, auto.Calibrate, 0.05)
		}
	}
}

// turns is a machine on which others have the processor for a millisecond between any two looks at the clock.
type turns struct {
	comm.Comm
	looks time.Duration
}

func (c *turns) Crowding() float64 { return 2 }

func (c *turns) Now() time.Duration {
	c.looks++
	return c.Comm.Now() + c.looks*time.Millisecond
}

// Where ranks share processors, what messages cost the processor is not what the others do with it meanwhile.
func TestTurnsOfOthersAreNotMessages(t *testing.T) {
	require.NoError(t, local.Run(2, func(c comm.Comm) error {
		u := loops.NewMatrix(40, 400)
		r, err := loops.DOACROSS{
			Outer: 50, Rows: loops.Span(1, 39), Strip: loops.Span(1, 399), Quantum: 0.004,
			Arrays: []loops.Array{u}, Body: func(rows, strip loops.Range) {},
		}.Run(&turns{Comm: c}, lb.Config{Policy: lb.Off})
		if err == nil && c.Rank() == 0 {
			require.NotEmpty(t, r.Tunings)
			require.Less(t, r.Tunings[0].Fixed, 0.25e-3)
			require.Less(t, 255*r.Tunings[0].Incr, 0.25e-3)
		}
		return err
	}))
}
