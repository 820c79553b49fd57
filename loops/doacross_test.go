package loops_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"shiftwork/comm"
	"shiftwork/comm/sim"
	"shiftwork/dist"
	"shiftwork/hooks"
	"shiftwork/lb"
	"shiftwork/loops"
)

// relaxation is a loop nest with the dependences that DOACROSS allows, and all of them: besides its own row, which is
// read to the left (of this sweep) and to the right (of the last one), an element needs the row before it in its own
// column and in columns far to the left, all of this sweep, and the row behind it, of the last sweep.
type relaxation struct {
	rows, cols, arrays, sweeps int
	block, every, stop         int  // stop: the sweep after which After ends the loop, 0: there is no After
	growing                    bool // After is called ever more seldom, instead of after every so many sweeps
	reach                      int  // columns to each side; 0: to the left as far as it likes
	atOnce                     bool // Bodies does several parts
	weights                    dist.Weights
}

func (x relaxation) span() loops.Range { return loops.Span(1, 1+x.rows) }

func (x relaxation) strip() loops.Range { return loops.Span(2, 2+x.cols) }

// size of the matrices, with the fixed boundary.
func (x relaxation) size() (rows, cols int) { return x.rows + 2, x.cols + 3 }

func (x relaxation) body(u []*loops.Matrix, rows, strip loops.Range) {
	for i := rows.Lo; i < rows.Hi; i++ {
		for j := strip.Lo; j < strip.Hi; j++ {
			left, right, far, first := 2, 1, 9, 2
			if x.reach > 0 { // row, above and below have fixed columns 0, 1 and the last one
				left, right, far, first = min(2, x.reach), x.reach, x.reach, 0
			}
			sum := 0.0
			for k, m := range u {
				above, row, below := m.Row(i-1), m.Row(i), m.Row(i+1)
				sum += float64(k+1) * (row[j-1] + 0.5*row[j-left] + row[min(j+right, x.cols+2)] + 0.1*row[x.cols+2])
				sum += above[j] + 0.7*above[j-1] + 0.3*above[first] + 0.2*above[max(0, j-far)] + below[j]
			}
			for k, m := range u {
				m.Row(i)[j] = 0.11*sum + 0.3*float64(k)*m.Row(i)[j]
			}
		}
	}
}

// matrices of a rank that has these rows, and the fixed first and last row.
func (x relaxation) matrices(own loops.Range) []*loops.Matrix {
	n, m := x.size()
	var u []*loops.Matrix
	for k := range x.arrays {
		u = append(u, newMatrix(k, n, m, own, loops.Span(0, 1), loops.Span(n-1, n)))
	}
	return u
}

// next is after how many sweeps After is called, if it was after so many.
func (x relaxation) next(sweeps int) int {
	if x.growing {
		return sweeps + x.every + sweeps/3
	}
	return sweeps + max(1, x.every)
}

// called is after how many sweeps it is called for the given time, from 1 on.
func (x relaxation) called(time int) (sweeps int) {
	for range time {
		sweeps = x.next(sweeps)
	}
	return sweeps
}

// meets makes d call After as x says.
func (x relaxation) meets(d *loops.DOACROSS) {
	if d.Every = x.every; x.growing {
		d.Every, d.NextAfter = 0, x.next
	}
}

// done is the number of sweeps until the end.
func (x relaxation) done() int {
	if x.stop == 0 {
		return x.sweeps
	}
	calls := 1
	for x.called(calls) < x.stop {
		calls++
	}
	return min(x.sweeps, x.called(calls))
}

// serial is the result, without any loop of this package.
func (x relaxation) serial() []*loops.Matrix {
	u := x.matrices(x.span())
	for range x.done() {
		x.body(u, x.span(), x.strip())
	}
	return u
}

// run executes the loop on one rank and compares what the rank owns in the end with want.
func (x relaxation) run(c comm.Comm, cfg lb.Config, want []*loops.Matrix) (*loops.Report, error) {
	own := loops.Initial(c, x.span(), cfg)
	u := x.matrices(own)
	count := newCounters(own)
	strips := newCounters(own)
	j := newJitter(c)
	calls := 0
	d := loops.DOACROSS{
		Outer: x.sweeps, Rows: x.span(), Strip: x.strip(), Weights: x.weights, Block: x.block, Quantum: 0.004,
		Local: []hooks.Array{count, strips},
		Body: func(rows, strip loops.Range) {
			strips.more(rows)
			if strip.Lo == x.strip().Lo {
				count.more(rows)
			}
			x.body(u, rows, strip)
			work(c, 1e-4*x.weights.Units(rows)*float64(strip.Len())*j.factor())
		},
	}
	for _, m := range u {
		d.Arrays = append(d.Arrays, m)
	}
	x.meets(&d)
	if x.stop > 0 {
		d.After = func(sweeps int) (bool, error) {
			calls++
			if sweeps != x.called(calls) {
				return false, fmt.Errorf("After is called the %dth time after %d sweeps", calls, sweeps)
			}
			if sweeps%3 == 0 { // sometimes it synchronises, sometimes not
				return sweeps >= x.stop, comm.Barrier(c)
			}
			return sweeps >= x.stop, nil
		}
	}
	rep, err := d.Run(c, cfg)
	if err != nil {
		return nil, err
	}
	if rep.Steps != x.done() {
		return nil, fmt.Errorf("%d sweeps were done, should be %d", rep.Steps, x.done())
	}
	if x.block > 0 && rep.Block != max(1, min(x.block, x.cols)) {
		return nil, fmt.Errorf("block size %d, asked for %d", rep.Block, x.block)
	}
	if err := checkOwners(c, x.span(), rep.Own); err != nil {
		return nil, err
	}
	for _, r := range rep.Own {
		for k := range u {
			if err := sameRows(u[k], want[k], r); err != nil {
				return nil, fmt.Errorf("rank %d, array %d: %w", c.Rank(), k, err)
			}
		}
	}
	if x.cols > 0 {
		if err := count.check(rep.Own, x.done()); err != nil {
			return nil, err
		}
		if x.block > 0 {
			if err := strips.check(rep.Own, x.done()*((x.cols+rep.Block-1)/rep.Block)); err != nil {
				return nil, err
			}
		}
	}
	return rep, nil
}

func drawRelaxation(t *rapid.T) relaxation {
	x := relaxation{
		rows:   rapid.IntRange(0, 40).Draw(t, "rows"),
		cols:   rapid.IntRange(1, 24).Draw(t, "cols"),
		arrays: rapid.IntRange(1, 2).Draw(t, "arrays"),
		sweeps: rapid.IntRange(0, 14).Draw(t, "sweeps"),
		block:  rapid.IntRange(0, 26).Draw(t, "block"),
		every:  rapid.IntRange(0, 4).Draw(t, "every"),
	}
	if rapid.Bool().Draw(t, "after") {
		x.stop = rapid.IntRange(1, 16).Draw(t, "stop")
	}
	x.weights = drawWeights(t, x.span())
	return x
}

func TestDOACROSSIsTheSerialLoop(t *testing.T) {
	moved := 0
	rapid.Check(t, func(t *rapid.T) {
		x := drawRelaxation(t)
		ranks := rapid.IntRange(1, 8).Draw(t, "ranks")
		cfg := drawConfig(t, ranks, lb.Adjacent)
		network := rapid.IntRange(-3, len(networks)-1).Draw(t, "network")
		if network < 0 {
			ranks = min(ranks, 4)
			cfg.DedicatedMaster = cfg.DedicatedMaster && ranks > 1
		}
		want := x.serial()
		rep := reportOf(t, network, ranks, func(c comm.Comm) (*loops.Report, error) { return x.run(c, cfg, want) })
		requireSums(t, rep, x.weights.Units(x.span())*float64(x.done()))
		moved += rep.IterationsMoved
	})
	require.Positive(t, moved, "work must have moved for this test to say something")
}

// Long runs in which work moves at every hook, so that shifts follow each other more closely than sweeps.
func TestDOACROSSUnderPermanentShifts(t *testing.T) {
	for _, policy := range []lb.Policy{lb.Rotate, lb.Random} {
		for _, interaction := range []lb.Interaction{lb.Pipelined, lb.Synchronous} {
			for network := range networks {
				for _, ranks := range []int{2, 5} {
					x := relaxation{rows: 23, cols: 12, arrays: 2, sweeps: 40, block: 2}
					want := x.serial()
					require.NoError(t, everywhere(network, ranks, func(c comm.Comm) error {
						rep, err := x.run(c, lb.Config{Policy: policy, Interaction: interaction, Period: 1e-9, DedicatedMaster: ranks == 5 && network == 1}, want)
						if err == nil && rep.Report != nil && rep.Shifts < 200 {
							err = fmt.Errorf("%d shifts", rep.Shifts)
						}
						return err
					}), "%v, %v, network %d, %d ranks", policy, interaction, network, ranks)
				}
			}
		}
	}
}

// Where there are no rows nothing is asked of arrays, however many columns there are.
func TestDOACROSSWithoutRows(t *testing.T) {
	for _, ranks := range []int{1, 2} {
		require.NoError(t, everywhere(0, ranks, func(c comm.Comm) error {
			rep, err := loops.DOACROSS{
				Outer: 20, Rows: loops.Span(0, 0), Strip: loops.Span(0, 200), Reach: 1, Arrays: []loops.Array{loops.NewMatrix(0, 200)},
				Body: func(_, _ loops.Range) { panic("called without rows") },
			}.Run(c, lb.Config{})
			if err == nil && rep.Steps != 20 {
				err = fmt.Errorf("%d sweeps of 20", rep.Steps)
			}
			return err
		}))
	}
}

func TestDOACROSSWithFewRows(t *testing.T) {
	for _, ranks := range []int{1, 2, 3, 5, 8} {
		for _, rows := range []int{0, 1, ranks - 1, ranks, ranks + 1} {
			for _, cols := range []int{0, 1, 7} {
				for _, dedicated := range []bool{false, true} {
					if dedicated && ranks == 1 {
						continue
					}
					for _, policy := range []lb.Policy{lb.On, lb.Rotate} {
						x := relaxation{rows: rows, cols: cols, arrays: 1, sweeps: 5, block: (rows + cols) % 3}
						want := x.serial()
						cfg := lb.Config{Policy: policy, DedicatedMaster: dedicated, Period: 1e-9, Interaction: lb.Interaction(cols % 2)}
						require.NoError(t, everywhere(ranks+rows, ranks, func(c comm.Comm) error {
							_, err := x.run(c, cfg, want)
							return err
						}), "%d ranks, %d rows, %d columns, dedicated %v, %v", ranks, rows, cols, dedicated, policy)
					}
				}
			}
		}
	}
}

// Sweeps overlap: with messages that cost nothing, a loop of S sweeps in M strips on P ranks takes
// T_ideal = (S M + P-1) t_block, the pipeline being filled once a run.
func TestSweepsStream(t *testing.T) {
	const (
		ranks, sweeps = 4, 40
		rows, cols    = 40, 80
		element       = 1e-4 // s
	)
	for _, policy := range []lb.Policy{lb.Off, lb.On} {
		for _, block := range []int{10, 5, 1} {
			var took float64
			cfg := machine(2, ranks)
			_, err := sim.Run(cfg, func(c *sim.Comm) error {
				u := loops.NewMatrix(rows, cols)
				rep, err := loops.DOACROSS{
					Outer: sweeps, Rows: loops.Span(0, rows), Strip: loops.Span(0, cols), Block: block, Quantum: 0.004,
					Arrays: []loops.Array{u},
					Body:   func(rows, strip loops.Range) { c.Work(element * float64(rows.Len()*strip.Len())) },
				}.Run(c, lb.Config{Policy: policy})
				if err == nil && rep.Report != nil {
					took = rep.Time
					if rep.IterationsMoved != 0 {
						err = errors.New("work has moved between equal ranks")
					}
				}
				return err
			})
			require.NoError(t, err)
			strips := cols / block
			ideal := float64(sweeps*strips+ranks-1) * element * float64(rows/ranks*block)
			assert.GreaterOrEqual(t, ideal/took, 0.98, "%v, block size %d: %v s, ideal %v s", policy, block, took, ideal)
			assert.GreaterOrEqual(t, took, ideal*(1-1e-9))
		}
	}
}

// The block size that a loop chooses by itself is worth no less than the best fixed one, but for the sweep that finds it.
func TestTheAutomaticBlockSize(t *testing.T) {
	const ranks, sweeps, rows, cols = 4, 30, 64, 240
	run := func(block int) (took float64, chosen int) {
		cfg := machine(0, ranks)
		cfg.Alpha = 2e-4
		_, err := sim.Run(cfg, func(c *sim.Comm) error {
			u := loops.NewMatrix(rows, cols)
			rep, err := loops.DOACROSS{
				Outer: sweeps, Rows: loops.Span(0, rows), Strip: loops.Span(0, cols), Block: block, Quantum: 0.004,
				Arrays: []loops.Array{u},
				Body:   func(rows, strip loops.Range) { c.Work(1e-6 * float64(rows.Len()*strip.Len())) },
			}.Run(c, lb.Config{Policy: lb.Off})
			if err == nil && rep.Report != nil {
				took, chosen = rep.Time, rep.Block
			}
			return err
		})
		require.NoError(t, err)
		return took, chosen
	}
	best := 0.0
	for _, b := range []int{2, 5, 10, 20, 40, 80, 240} {
		if took, _ := run(b); best == 0 || took < best {
			best = took
		}
	}
	took, chosen := run(0)
	assert.Less(t, took, 1.25*best, "block size %d", chosen)
}

// A rank in the middle of the pipeline becomes 1000 times slower and recovers.
func TestDOACROSSBesideARankThatIsSlowForAWhile(t *testing.T) {
	const (
		ranks, slow, rows, cols = 4, 1, 80, 40
		from, until, sweeps     = 4.0, 150.0, 900
	)
	for _, interaction := range []lb.Interaction{lb.Pipelined, lb.Synchronous} {
		cfg := machine(0, ranks)
		cfg.Speed = make([][]sim.Step, ranks)
		cfg.Speed[slow] = []sim.Step{{Speed: 1}, {From: from, Speed: 1e-3}, {From: until, Speed: 1}}
		var log events
		res, err := sim.Run(cfg, func(c *sim.Comm) error {
			u := loops.NewMatrix(rows, cols)
			_, err := loops.DOACROSS{
				Outer: sweeps, Rows: loops.Span(0, rows), Strip: loops.Span(0, cols), Block: 5, Quantum: 0.004,
				Arrays: []loops.Array{u}, Record: &log,
				Body: func(rows, strip loops.Range) { c.Work(1e-5 * float64(rows.Len()*strip.Len())) },
			}.Run(c, lb.Config{Interaction: interaction})
			return err
		})
		require.NoError(t, err)
		require.Empty(t, res.Leaks)
		require.Greater(t, res.Elapsed.Seconds(), until, "the loop must go on after the recovery")
		least, last := rows, -1
		for _, e := range log {
			if e.time < until {
				least = min(least, e.owned[slow])
			}
			last = e.owned[slow]
		}
		assert.Equal(t, 1, least, "%v: work leaves the slow rank, but for one row", interaction)
		assert.InDelta(t, rows/ranks, last, 3, "%v: and comes back", interaction)
	}
}

// events is a Recorder that keeps who owned how much.
type events []struct {
	time  float64
	owned []int
}

func (l *events) Record(e hooks.Event) {
	if e.Kind != "decision" {
		return
	}
	owned := make([]int, len(e.Statuses))
	for r, s := range e.Statuses {
		owned[r] = s.OwnedIterations
	}
	*l = append(*l, struct {
		time  float64
		owned []int
	}{e.Time, owned})
}
