package loops_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/comm"
	"shiftwork/comm/sim"
	"shiftwork/dist"
	"shiftwork/hooks"
	"shiftwork/lb"
	"shiftwork/loops"
)

// triangular is the work of each row of a lower triangular matrix, in the mean of all rows.
func triangular(rows int) []float64 {
	units := make([]float64, rows)
	for i := range units {
		units[i] = 2 * float64(i+1) / float64(rows+1)
	}
	return units
}

// mandelbrot is the work of each row of a picture of the Mandelbrot set, in the mean of all rows. Rows of the middle take
// some 60 times as long as those at the edges.
func mandelbrot(rows int) []float64 {
	const columns, limit = 96, 400
	units := make([]float64, rows)
	sum := 0.0
	for i := range units {
		for j := range columns {
			c := complex(-2+3*(float64(j)+0.5)/columns, -1.25+2.5*(float64(i)+0.5)/float64(rows))
			z := complex(0, 0)
			for range limit {
				units[i]++
				if z = z*z + c; real(z)*real(z)+imag(z)*imag(z) > 4 {
					break
				}
			}
		}
		sum += units[i]
	}
	for i := range units {
		units[i] *= float64(rows) / sum
	}
	return units
}

var shapes = map[string]func(rows int) []float64{"triangular": triangular, "mandelbrot": mandelbrot}

var speeds = [][]float64{{1, 1, 1, 1}, {1, 2, 4, 8}, {8, 4, 2, 1}}

// costs are the weights of the rows, which the loop is not told, and a machine of unequal ranks.
func costs(t *testing.T, rows loops.Range, shape string, speed []float64, unit float64) (dist.Weights, sim.Config, float64) {
	t.Helper()
	w, err := dist.NewWeights(rows, shapes[shape](rows.Len()))
	require.NoError(t, err)
	cfg := machine(0, len(speed))
	sum := 0.0
	for _, s := range speed {
		cfg.Speed = append(cfg.Speed, sim.Constant(unit*s))
		sum += unit * s
	}
	return w, cfg, w.Units(rows) / sum
}

// A loop done once cannot learn its weights, but it corrects itself as it goes. Without weights the time is within 10 % of
// the ideal, with weights within 1 %; equal static shares take 1.4 to 6.6 times the ideal.
func TestASingleLoopOfUnequalIterations(t *testing.T) {
	span := loops.Span(0, 4000)
	for shape := range shapes {
		for _, speed := range speeds {
			for _, given := range []bool{false, true} {
				name := fmt.Sprintf("%s %v given=%v", shape, speed, given)
				w, cfg, ideal := costs(t, span, shape, speed, 100)
				took := 0.0
				_, err := sim.Run(cfg, func(c *sim.Comm) error {
					d := loops.DOALL{
						Rows: span, Arrays: []loops.Array{loops.NewMatrix(span.Hi, 8)}, Quantum: 0.004,
						Body: func(_ int, rows loops.Range) { c.Work(w.Units(rows)) },
					}
					if given {
						d.Weights = w
					}
					rep, err := d.Run(c, lb.Auto())
					if err == nil && rep.Report != nil {
						took = rep.Time
					}
					return err
				})
				require.NoError(t, err, name)
				static := 0.0
				for r, s := range speed {
					static = max(static, w.Units(dist.Even(span, len(speed), 0).Range(r))/(100*s))
				}
				t.Logf("%s: %.3f of the ideal, static shares %.3f", name, took/ideal, static/ideal)
				assert.Less(t, took, 0.85*static, name)
				assert.GreaterOrEqual(t, took, ideal, name)
				if given {
					assert.Less(t, took, 1.01*ideal, name)
				} else {
					assert.Less(t, took, 1.1*ideal, name)
				}
			}
		}
	}
}

// Repetitions that need not wait for each other hide much of that; what is left is within 2 % of the ideal.
func TestARepeatedFreeLoopOfUnequalIterations(t *testing.T) {
	span := loops.Span(0, 1000)
	const repeat = 100
	for shape := range shapes {
		for _, speed := range speeds {
			w, cfg, ideal := costs(t, span, shape, speed, 1e4)
			took := 0.0
			_, err := sim.Run(cfg, func(c *sim.Comm) error {
				rep, err := loops.DOALL{
					Rows: span, Repeat: repeat, Arrays: []loops.Array{loops.NewMatrix(span.Hi, 8)}, Quantum: 0.004,
					Body: func(_ int, rows loops.Range) { c.Work(w.Units(rows)) },
				}.Run(c, lb.Auto())
				if err == nil && rep.Report != nil {
					took = rep.Time
				}
				return err
			})
			require.NoError(t, err)
			t.Logf("%s %v: %.4f of the ideal", shape, speed, took/ideal/repeat)
			assert.Less(t, took, 1.02*ideal*repeat, "%s %v", shape, speed)
		}
	}
}

// inStep is a loop whose repetitions wait for each other, in the ways that there are.
type inStep struct {
	stencil
	cfg lb.Config
}

func (x inStep) String() string {
	return fmt.Sprintf("halo %v, %v, %v, dedicated %v", x.halo, x.cfg.Movement, x.cfg.Interaction, x.cfg.DedicatedMaster)
}

// recording keeps all events.
type recording struct{ all []hooks.Event }

func (r *recording) Record(e hooks.Event) {
	e.Statuses = slices.Clone(e.Statuses)
	if e.Decision != nil {
		d := *e.Decision
		d.Transfers = slices.Clone(d.Transfers)
		e.Decision = &d
	}
	r.all = append(r.all, e)
}

// learning runs it with a body that takes as long as cost says and returns what was recorded.
func (x inStep) learning(t *testing.T, machine sim.Config, cost func(c *sim.Comm) func(rows loops.Range) float64) *recording {
	t.Helper()
	want := x.serial()
	log := &recording{}
	res, err := sim.Run(machine, func(c *sim.Comm) error {
		own := loops.Initial(c, x.span(), x.cfg)
		u, done := x.matrices(own), newMatrix(2, x.rows+2, 1) // done counts the repetitions of each row
		for i := own.Lo; i < own.Hi; i++ {
			done.Row(i)[0] = 0
		}
		work := cost(c)
		d := loops.DOALL{
			Rows: x.span(), Repeat: x.repeat, Halo: x.halo, Arrays: []loops.Array{u[0], u[1], done}, Quantum: 0.004, Record: log,
			Body: func(repetition int, rows loops.Range) {
				x.body(u, repetition, rows)
				for i := rows.Lo; i < rows.Hi; i++ {
					done.Row(i)[0]++
				}
				c.Work(work(rows))
			},
		}
		if !x.halo {
			d.After = func(int) (bool, error) { return false, comm.Barrier(c) }
		}
		rep, err := d.Run(c, x.cfg)
		if err != nil {
			return err
		}
		if rep.Report != nil {
			requireSums(t, rep, float64(x.rows*x.repeat))
		}
		if err := checkOwners(c, x.span(), rep.Own); err != nil {
			return err
		}
		for _, r := range rep.Own {
			for k := range u {
				if err := sameRows(u[k], want[k], r); err != nil {
					return fmt.Errorf("rank %d, array %d: %w", c.Rank(), k, err)
				}
			}
		}
		for _, r := range rep.Own {
			for i := r.Lo; i < r.Hi; i++ {
				if done.Row(i)[0] != float64(x.repeat) {
					return fmt.Errorf("row %d was done %v times, should be %d", i, done.Row(i)[0], x.repeat)
				}
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.Empty(t, res.Leaks)
	return log
}

// efficiencies are, for each interaction, the ideal time of the repetitions since the one before as part of what they took.
func efficiencies(log *recording, ideal float64) []float64 {
	var all []float64
	for _, e := range log.all {
		if e.Kind == "decision" {
			s := e.Statuses[len(e.Statuses)-1]
			all = append(all, float64(s.Phases)*ideal/s.Elapsed)
		}
	}
	return all
}

func waysInStep() []lb.Config {
	return []lb.Config{{}, {Interaction: lb.Synchronous}, {DedicatedMaster: true}, {Movement: lb.Adjacent}}
}

// A loop that is repeated in step learns its weights, and speeds with them: from the twelfth interaction on it does at
// least 94 % of what the machine can do, from the twentieth on 95 % (most of these do after seven). The rest is for a while
// within what the balancer takes for noise.
func TestARepeatedLoopLearnsItsWeights(t *testing.T) {
	t.Parallel()
	for shape := range shapes {
		for _, speed := range speeds {
			for _, halo := range []bool{true, false} {
				for _, cfg := range waysInStep() {
					x := inStep{stencil{rows: 600, cols: 3, repeat: 200, halo: halo}, cfg}
					name := fmt.Sprintf("%s %v %v", shape, speed, x)
					if cfg.DedicatedMaster {
						speed = append([]float64{1}, speed...)
					}
					w, machine, ideal := costs(t, x.span(), shape, speed, 5e3) // a repetition takes 8 ms or more, a barrier 0.1 ms
					if cfg.DedicatedMaster {
						ideal *= (sum(speed)) / sum(speed[1:])
						speed = speed[1:]
					}
					log := x.learning(t, machine, func(*sim.Comm) func(loops.Range) float64 { return w.Units })
					all := efficiencies(log, ideal)
					since := func(least float64) int {
						k := len(all)
						for k > 0 && all[k-1] >= least {
							k--
						}
						return k
					}
					t.Logf("%s: %.3f at first, >= 0.95 from interaction %d of %d on, %.4f at last", name, all[0], since(0.95), len(all), all[len(all)-2])
					require.Greater(t, len(all), 30, name)
					require.LessOrEqual(t, since(0.94), 12, "%s: %.3f", name, all)
					require.LessOrEqual(t, since(0.95), 20, "%s: %.3f", name, all)
					require.Greater(t, all[len(all)-2], 0.965, "%s: %.3f", name, all)
				}
			}
		}
	}
}

func sum(x []float64) float64 {
	total := 0.0
	for _, v := range x {
		total += v
	}
	return total
}

// Loops of equal iterations announce nothing, noise of 5 % of each measured part or not, and decide as if nothing had been
// measured.
func TestUniformLoopsDecideAsBefore(t *testing.T) {
	for _, noise := range []float64{0, 0.05} {
		for _, speed := range speeds {
			for _, halo := range []bool{true, false} {
				for _, cfg := range waysInStep()[:3] {
					x := inStep{stencil{rows: 600, cols: 3, repeat: 400, halo: halo}, cfg}
					machine := machine(0, len(speed))
					for _, s := range speed {
						machine.Speed = append(machine.Speed, sim.Constant(1e4*s))
					}
					log := x.learning(t, machine, func(c *sim.Comm) func(loops.Range) float64 {
						j := newJitter(c)
						return func(rows loops.Range) float64 {
							return float64(rows.Len()) * (1 + noise*j.random.NormFloat64())
						}
					})
					setup := *log.all[0].Setup
					require.True(t, setup.Learn)
					setup.Learn = false
					b, err := lb.New(*log.all[0].Config, setup)
					require.NoError(t, err)
					measured := 0
					for _, e := range log.all[1 : len(log.all)-1] {
						for r := range e.Statuses {
							measured += len(e.Statuses[r].Timings)
							e.Statuses[r].Timings = nil
						}
						d := b.Decide(e.Statuses)
						require.Empty(t, e.Decision.Profile, "%v, noise %v", x, noise)
						require.Equal(t, e.Decision.Reason, d.Reason)
						require.Equal(t, e.Decision.NextHook, d.NextHook)
						require.Equal(t, slices.Clone(e.Decision.Transfers), slices.Clone(d.Transfers))
					}
					require.Positive(t, measured, "the loop must have been measured for this test to say something")
				}
			}
		}
	}
}

// A recorded run with learned weights can be replayed.
func TestALearningRunIsReplayable(t *testing.T) {
	x := inStep{stencil{rows: 600, cols: 3, repeat: 100, halo: true}, lb.Config{}}
	w, machine, _ := costs(t, x.span(), "mandelbrot", []float64{1, 2, 4, 8}, 1e4)
	log := x.learning(t, machine, func(*sim.Comm) func(loops.Range) float64 { return w.Units })
	b, err := lb.New(*log.all[0].Config, *log.all[0].Setup)
	require.NoError(t, err)
	announced := 0
	for _, e := range log.all[1 : len(log.all)-1] {
		d := b.Decide(e.Statuses)
		require.Equal(t, e.Decision.Reason, d.Reason)
		require.Equal(t, e.Decision.Weights, d.Weights)
		require.Equal(t, e.Decision.Profile, d.Profile)
		require.Equal(t, slices.Clone(e.Decision.Transfers), slices.Clone(d.Transfers))
		if len(d.Profile) > 0 {
			announced++
		}
	}
	require.Positive(t, announced)
}

// With noise in every measured part and a load that comes and goes, a loop of unequal iterations announces its weights a
// few times, not again and again, and stays efficient.
func TestALearnedProfileIsStableInNoise(t *testing.T) {
	x := inStep{stencil{rows: 600, cols: 3, repeat: 600, halo: true}, lb.Config{}}
	w, machine, ideal := costs(t, x.span(), "triangular", []float64{1, 2, 4, 8}, 1e4)
	log := x.learning(t, machine, func(c *sim.Comm) func(loops.Range) float64 {
		j := newJitter(c)
		return func(rows loops.Range) float64 { return w.Units(rows) * max(0.5, 1+0.05*j.random.NormFloat64()) }
	})
	announced := 0
	for _, e := range log.all {
		if e.Decision != nil && len(e.Decision.Profile) > 0 {
			announced++
		}
	}
	all := efficiencies(log, ideal)
	late := all[len(all)/4 : len(all)-1]
	t.Logf("%d announcements in %d interactions, then %.3f of the ideal", announced, len(all), sum(late)/float64(len(late)))
	assert.LessOrEqual(t, announced, 4)
	assert.Positive(t, announced)
	assert.Greater(t, sum(late)/float64(len(late)), 0.88, "the slowest of 4 samples with 5 %% noise takes 5 %% longer than the mean")
}
