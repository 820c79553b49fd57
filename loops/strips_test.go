package loops_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"shiftwork/comm/sim"
	"shiftwork/lb"
	"shiftwork/loops"
)

// grid is a relaxation of n x n points on ranks that have a processor each: what a point takes, and beside that a row's part of a strip, in s. Rows that were not in the cache take
// several times as much, as they are in sweeps done one by one.
type grid struct {
	n, sweeps  int
	point, row float64
}

// on is the part of the time, of a run without balancing on so many ranks of the given speeds, in which points were computed.
func (g grid) on(t *testing.T, ranks int, speeds [][]sim.Step) (efficiency float64, rep *loops.Report) {
	off := lb.Config{Policy: lb.Off}
	points := float64(g.n) * float64(g.n) / float64(ranks) // of a rank
	rep = reportIn(t, sim.Config{Ranks: ranks, Alpha: 1.5e-6, Beta: 1e-10, SendOverhead: 2e-7, Speed: speeds, MaxOps: 1e9}, func(c *sim.Comm) (*loops.Report, error) {
		done := 0.0
		return loops.DOACROSS{
			Outer: g.sweeps, Rows: loops.Span(0, g.n), Strip: loops.Span(0, g.n), Quantum: 3e-3, Reach: 1,
			Arrays: []loops.Array{loops.NewMatrix(g.n, g.n)},
			Body: func(rows, strip loops.Range) {
				row := g.row
				if done < 4*points {
					row *= 7
				}
				done += float64(rows.Len() * strip.Len())
				c.Work(float64(rows.Len()) * (float64(strip.Len())*g.point + row))
			},
		}.Run(c, off)
	})
	return points * g.point * float64(g.sweeps) / rep.Time, rep
}

// A strip of a large grid is computed for longer than a balancer likes, and yet is not cut into many, because each further one makes all of the computing dearer. With strips of 125
// columns, as many as balancing asked for, the efficiency was 0.82; it is 0.93.
func TestStripsOfALargeGridAreWide(t *testing.T) {
	t.Parallel()
	efficiency, rep := grid{n: 8000, sweeps: 150, point: 0.38e-9, row: 10e-9}.on(t, 2, nil)
	t.Logf("efficiency %.3f with strips of %d columns", efficiency, rep.Block)
	assert.Greater(t, efficiency, 0.87)
	assert.GreaterOrEqual(t, rep.Block, 250)
}

// Of many processors there is always one that is slower than else just then. A lean of 12 rows to each side had an efficiency of 0.70, with strips of a quarter of the columns; a lean of
// 28 and more strips have 0.78.
func TestManyRanksHideThatOneIsSlowNowAndThen(t *testing.T) {
	t.Parallel()
	const ranks = 16
	var speeds [][]sim.Step
	for rank := range ranks {
		random := rand.New(rand.NewPCG(uint64(rank), 1))
		steps := []sim.Step{{Speed: 1}}
		for at := 0.0; at < 2; { // half as fast for 5 ms of 50 on average
			at += 0.045 * random.ExpFloat64()
			slow := sim.Step{From: at, Speed: 0.5}
			at += 0.005 * random.ExpFloat64()
			steps = append(steps, slow, sim.Step{From: at, Speed: 1})
		}
		speeds = append(speeds, steps)
	}
	efficiency, rep := grid{n: 4000, sweeps: 1200, point: 0.38e-9, row: 4.5e-9}.on(t, ranks, speeds)
	t.Logf("efficiency %.3f with strips of %d columns, leaning by %d rows", efficiency, rep.Block, rep.Lean)
	assert.Greater(t, efficiency, 0.77)
}
