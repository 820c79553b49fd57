package loops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/comm"
	"shiftwork/comm/sim"
	"shiftwork/lb"
	"shiftwork/loops"
)

// usualSweep is what a sweep takes a rank alone with a quarter of the rows of slowPlate, in s.
const usualSweep = 7e-3

// slowPlate runs some sweeps over 400 rows of 32 kB each on four ranks, of which one is half as fast, where a byte takes beta s. With even shares a usual sweep takes the slow one 14 ms,
// with the best ones it takes 8 ms; what moves meanwhile are 57 rows.
func slowPlate(t *testing.T, sweeps int, sweep, beta float64, policy lb.Policy) *loops.Report {
	const rows, columns = 400, 4000
	cfg := lb.Auto()
	cfg.Policy = policy
	speed := [][]sim.Step{sim.Constant(1), sim.Constant(0.5), sim.Constant(1), sim.Constant(1)}
	return reportIn(t, sim.Config{Ranks: 4, Alpha: 5e-5, Beta: beta, SendOverhead: 2e-6, Speed: speed}, func(c *sim.Comm) (*loops.Report, error) {
		u := loops.NewMatrix(rows, columns)
		return loops.DOACROSS{
			Outer: sweeps, Rows: loops.Span(0, rows), Strip: loops.Span(0, columns), Quantum: 0.01, Reach: 1, Arrays: []loops.Array{u},
			Body: func(own, strip loops.Range) {
				c.Work(sweep * 4 / (rows * columns) * float64(own.Len()*strip.Len()))
			},
		}.Run(c, cfg)
	})
}

// Where moving takes longer than the run has time to make up for, nothing moves; and where messages and not the processors set the pace, nothing moves soon. It must be
// known before the first movement: that one costs a third of such a run.
func TestASlowNetworkIsNoReasonToMove(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sweeps int
		beta   float64 // s a byte
		what   string
	}{
		{50, 1.6e-7, "50 Mbit/s: moving takes 0.2 s, the run 1 s"},
		{50, 4e-7, "20 Mbit/s: 0.5 s of 1.3 s"},
		{50, 8e-7, "10 Mbit/s: a sweep takes 37 ms, with the rows where they are"},
		{100, 8e-7, "10 Mbit/s, twice as long"},
	} {
		off, on := slowPlate(t, c.sweeps, usualSweep, c.beta, lb.Off), slowPlate(t, c.sweeps, usualSweep, c.beta, lb.On)
		t.Logf("%s: %.3f s without balancing, %.3f s with it, %d rows moved", c.what, off.Time, on.Time, on.IterationsMoved)
		assert.LessOrEqual(t, on.Time, 1.02*off.Time, c.what)
	}
}

// Where they are fast, or there is time, work moves as ever. How long a dear movement takes varies by half with where in a lean it begins, so that single runs differ by some per cent: this is the mean of
// runs with sweeps of up to 6% more or less.
func TestMovingPaysWhereThereIsTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sweeps      int
		beta, gains float64
	}{{50, 1e-9, 0.8}, {100, 8e-8, 0.8}, {200, 1.6e-7, 0.84}, {250, 1.6e-7, 0.8}} {
		mean, runs := 0.0, []float64{0.94, 0.97, 1, 1.03, 1.06}
		for _, longer := range runs {
			off, on := slowPlate(t, c.sweeps, longer*usualSweep, c.beta, lb.Off), slowPlate(t, c.sweeps, longer*usualSweep, c.beta, lb.On)
			t.Logf("%d sweeps, %g ns a byte: %.3f s without balancing, %.3f s with it", c.sweeps, 1e9*c.beta, off.Time, on.Time)
			mean += on.Time / off.Time / float64(len(runs))
		}
		assert.Less(t, mean, c.gains, "%d sweeps, %g ns a byte", c.sweeps, 1e9*c.beta)
	}
}

// bucket is a network that is slow on average only: messages that fit into a bucket of tokens pass at once, of longer ones a byte takes perByte s.
type bucket struct {
	*sim.Comm
	holds   int // bytes
	perByte float64
}

func (c bucket) Isend(to, tag int, b []byte) (comm.Request, error) {
	if len(b) > c.holds {
		c.Work(c.perByte * float64(len(b)))
	}
	return c.Comm.Isend(to, tag, b)
}

// What such a network takes is seen before the loop, by messages longer than a strip's, and there are the strips that it hides.
func TestABucketOfTokensHidesNoNetwork(t *testing.T) {
	t.Parallel()
	const rows, columns, perByte = 80, 8000, 8e-8
	rep := reportIn(t, sim.Config{Ranks: 2, Alpha: 5e-6, Beta: 1e-10, SendOverhead: 2e-6}, func(c *sim.Comm) (*loops.Report, error) {
		u := loops.NewMatrix(rows, columns)
		return loops.DOACROSS{
			Outer: 100, Rows: loops.Span(0, rows), Strip: loops.Span(0, columns), Quantum: 0.004, Reach: 1, Arrays: []loops.Array{u},
			Body: func(own, strip loops.Range) { c.Work(1e-8*float64(own.Len()*strip.Len()) + 1e-5) },
		}.Run(bucket{c, 16 << 10, perByte}, lb.Config{Policy: lb.Off})
	})
	require.NotEmpty(t, rep.Tunings)
	tuning := rep.Tunings[0]
	assert.InEpsilon(t, 8*perByte, tuning.DelayIncr+tuning.Incr, 0.1)
	assert.GreaterOrEqual(t, columns/rep.Block, 12, "without knowing it, 5")
	assert.LessOrEqual(t, rep.Calibrate, 0.051)
}
