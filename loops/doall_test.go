package loops_test

import (
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

// stencil is a DOALL loop in three kinds: with a halo (Jacobi, from one array into the other), in step but without a
// halo, and free.
type stencil struct {
	rows, cols, repeat int
	halo, overlap      bool
	pieces             int // into which an iteration is cut; 0: not. Then its result is an array of its own, too
	stop               int // the repetition after which After ends the loop; 0: there is no After
	weights            dist.Weights
}

func (x stencil) span() loops.Range { return loops.Span(1, 1+x.rows) }

func (x stencil) body(u [2]*loops.Matrix, repetition int, rows loops.Range) {
	from, to := u[repetition%2], u[(repetition+1)%2]
	for i := rows.Lo; i < rows.Hi; i++ {
		row := from.Row(i)
		for j := range row {
			sum := 0.7*row[j] + 0.01*float64(repetition*i) + 0.1*row[(j+1)%len(row)]
			if x.halo {
				sum += 0.3*from.Row(i - 1)[j] - 0.2*from.Row(i + 1)[(j+2)%len(row)]
			}
			to.Row(i)[j] = sum
		}
	}
}

// piece does the columns of a piece, and sets result from what it reads.
func (x stencil) piece(u [2]*loops.Matrix, result *loops.Matrix, repetition int, rows loops.Range, piece int) {
	from, to := u[repetition%2], u[(repetition+1)%2]
	for i := rows.Lo; i < rows.Hi; i++ {
		row := from.Row(i)
		for j := piece; j < len(row); j += x.pieces {
			to.Row(i)[j] = 0.7*row[j] + 0.01*float64(repetition*i) + 0.1*row[(j+1)%len(row)]
			result.Row(i)[j] = 3 * row[j]
		}
	}
}

func (x stencil) matrices(own loops.Range) (u [2]*loops.Matrix) {
	for k := range u {
		u[k] = newMatrix(k, x.rows+2, x.cols, own, loops.Span(0, 1), loops.Span(x.rows+1, x.rows+2))
	}
	return u
}

func (x stencil) done() int {
	if x.stop > 0 {
		return min(max(1, x.repeat), x.stop)
	}
	return max(1, x.repeat)
}

func (x stencil) serial() [2]*loops.Matrix {
	u := x.matrices(x.span())
	for repetition := range x.done() {
		x.body(u, repetition, x.span())
	}
	return u
}

// serialResult is the result that the last repetition sets.
func (x stencil) serialResult() *loops.Matrix {
	u, result := x.matrices(x.span()), loops.NewMatrix(x.rows+2, x.cols)
	for repetition := range x.done() {
		for piece := range x.pieces {
			x.piece(u, result, repetition, x.span(), piece)
		}
	}
	return result
}

func (x stencil) run(c comm.Comm, cfg lb.Config, want [2]*loops.Matrix) (*loops.Report, error) {
	u := x.matrices(loops.Initial(c, x.span(), cfg))
	j := newJitter(c)
	d := loops.DOALL{
		Repeat: x.repeat, Rows: x.span(), Weights: x.weights, Arrays: []loops.Array{u[0], u[1]}, Halo: x.halo, Overlap: x.overlap, Quantum: 0.004,
		Body: func(repetition int, rows loops.Range) {
			x.body(u, repetition, rows)
			work(c, 1e-3*x.weights.Units(rows)*j.factor())
		},
	}
	result := loops.NewMatrix(x.rows+2, x.cols)
	if x.pieces > 0 {
		d.Results, d.Body, d.Pieces = []loops.Array{result}, nil, x.pieces
		d.Piece = func(repetition int, rows loops.Range, piece int) {
			x.piece(u, result, repetition, rows, piece)
			work(c, 1e-3*x.weights.Units(rows)*j.factor()/float64(x.pieces))
		}
	}
	calls := 0
	if x.stop > 0 {
		d.After = func(repetition int) (bool, error) {
			if repetition != calls {
				return false, fmt.Errorf("After(%d) is call %d", repetition, calls)
			}
			calls++
			if repetition%2 == 0 {
				return calls >= x.stop, comm.Barrier(c)
			}
			return calls >= x.stop, nil
		}
	}
	rep, err := d.Run(c, cfg)
	if err != nil {
		return nil, err
	}
	wantResult := x.serialResult()
	if rep.Steps != x.done() {
		return nil, fmt.Errorf("%d repetitions were done, should be %d", rep.Steps, x.done())
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
		if x.pieces > 0 {
			if err := sameRows(result, wantResult, r); err != nil {
				return nil, fmt.Errorf("rank %d, result: %w", c.Rank(), err)
			}
		}
	}
	return rep, nil
}

func TestDOALLIsTheSerialLoop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := stencil{
			rows:   rapid.IntRange(0, 60).Draw(t, "rows"),
			cols:   rapid.IntRange(1, 6).Draw(t, "cols"),
			repeat: rapid.IntRange(0, 20).Draw(t, "repeat"),
			halo:   rapid.Bool().Draw(t, "halo"),
		}
		x.overlap = x.halo && rapid.Bool().Draw(t, "overlap")
		if rapid.Bool().Draw(t, "after") {
			x.stop = rapid.IntRange(1, 25).Draw(t, "stop")
		}
		if !x.halo {
			x.pieces = rapid.IntRange(0, 3).Draw(t, "pieces")
		}
		x.weights = drawWeights(t, x.span())
		ranks := rapid.IntRange(1, 8).Draw(t, "ranks")
		var movements []lb.Movement
		if x.halo || x.stop > 0 {
			movements = append(movements, lb.Adjacent)
		}
		if !x.halo {
			movements = append(movements, lb.Direct)
		}
		cfg := drawConfig(t, ranks, movements...)
		network := rapid.IntRange(-3, len(networks)-1).Draw(t, "network")
		if network < 0 {
			ranks = min(ranks, 4)
		}
		x.requireSerial(t, network, ranks, cfg)
	})
}

// Few of the loops that TestDOALLIsTheSerialLoop draws move work; these surely do, one of each kind.
func TestDOALLIsTheSerialLoopWhereWorkMoves(t *testing.T) {
	for name, x := range map[string]stencil{
		"halo":                   {halo: true},
		"halo, overlap":          {halo: true, overlap: true},
		"halo, overlap, after":   {halo: true, overlap: true, stop: 25},
		"free":                   {},
		"free, pieces":           {pieces: 3},
		"free, after":            {stop: 25},
		"free, pieces and after": {pieces: 3, stop: 25},
	} {
		t.Run(name, func(t *testing.T) {
			x.rows, x.cols, x.repeat = 60, 3, 20
			for network := range networks {
				rep := x.requireSerial(t, network, 4, lb.Config{Policy: lb.Rotate, Period: 1e-9})
				require.Positive(t, rep.IterationsMoved)
			}
		})
	}
}

// requireSerial runs the loop on so many ranks, requires that its result is the serial loop's and returns rank 0's report.
func (x stencil) requireSerial(t require.TestingT, network, ranks int, cfg lb.Config) *loops.Report {
	want := x.serial()
	rep := reportOf(t, network, ranks, func(c comm.Comm) (*loops.Report, error) { return x.run(c, cfg, want) })
	requireSums(t, rep, x.weights.Units(x.span())*float64(x.done()))
	require.Equal(t, x.halo || x.stop > 0, rep.Barrier != nil)
	return rep
}

func TestDOALLWithFewRows(t *testing.T) {
	for ranks := 1; ranks <= 8; ranks++ {
		for _, rows := range []int{0, 1, ranks - 1, ranks, ranks + 1} {
			for _, dedicated := range []bool{false, true} {
				if dedicated && ranks == 1 {
					continue
				}
				for _, policy := range []lb.Policy{lb.On, lb.Rotate} {
					for _, x := range []stencil{{repeat: 4, halo: true}, {repeat: 4, halo: true, overlap: true}, {repeat: 4, stop: 9}, {repeat: 4}, {repeat: 1}, {repeat: 3, pieces: 2}} {
						x.rows, x.cols = rows, 3
						want := x.serial()
						cfg := lb.Config{Policy: policy, DedicatedMaster: dedicated, Period: 1e-9, Interaction: lb.Interaction(rows % 2)}
						require.NoError(t, everywhere(ranks+rows, ranks, func(c comm.Comm) error {
							_, err := x.run(c, cfg, want)
							return err
						}), "%d ranks, %d rows, dedicated %v, %v, %+v", ranks, rows, dedicated, policy, x)
					}
				}
			}
		}
	}
}

// timeOf is what one pass over so many rows takes in virtual time, in s; body says what they do.
func timeOf(t *testing.T, cfg sim.Config, rows int, body func(c *sim.Comm, d *loops.DOALL)) (took float64) {
	res, err := sim.Run(cfg, func(c *sim.Comm) error {
		d := loops.DOALL{Rows: loops.Span(0, rows), Arrays: []loops.Array{loops.NewMatrix(rows, 8)}, Quantum: 0.004}
		body(c, &d)
		rep, err := d.Run(c, lb.Auto())
		if err == nil && rep.Report != nil {
			took = rep.Time
		}
		return err
	})
	require.NoError(t, err)
	require.Empty(t, res.Leaks)
	return took
}

// One pass over a loop on ranks of speeds 1:2:4:8 that start with equal shares. The bound: 3 % of the ideal time and one
// iteration on the slowest rank, which may have been begun when the others ran dry.
func TestASingleDOALLBalancesDownToItsLastIterations(t *testing.T) {
	const ranks, rows, unit = 4, 4000, 100.0 // units/s of the slowest rank
	cfg := machine(0, ranks)
	for r := range ranks {
		cfg.Speed = append(cfg.Speed, sim.Constant(unit*float64(int(1)<<r)))
	}
	took := timeOf(t, cfg, rows, func(c *sim.Comm, d *loops.DOALL) {
		d.Body = func(_ int, rows loops.Range) { c.Work(float64(rows.Len())) }
	})
	ideal := rows / (15 * unit)
	assert.Less(t, took, 1.03*ideal+1/unit)
	assert.GreaterOrEqual(t, took, ideal)
}

// A loop in step on unequal ranks ends with their shares in proportion to their speeds.
func TestADOALLWithAHaloBalances(t *testing.T) {
	const ranks, rows = 4, 300
	cfg := machine(0, ranks)
	for r := range ranks {
		cfg.Speed = append(cfg.Speed, sim.Constant(100*float64(int(1)<<r)))
	}
	_, err := sim.Run(cfg, func(c *sim.Comm) error {
		rep, err := loops.DOALL{
			Repeat: 400, Halo: true, Rows: loops.Span(1, 1+rows), Arrays: []loops.Array{loops.NewMatrix(rows+2, 8)}, Quantum: 0.004,
			Body: func(_ int, rows loops.Range) { c.Work(0.01 * float64(rows.Len())) },
		}.Run(c, lb.Auto())
		if err != nil || rep.Report == nil {
			return err
		}
		for r, s := range rep.Ranks {
			assert.InDelta(t, rows*float64(int(1)<<r)/15, s.Iterations, 3, "rank %d", r)
			assert.InEpsilon(t, 1e4*float64(int(1)<<r), s.Rate(), 1e-3, "rank %d", r)
		}
		return nil
	})
	require.NoError(t, err)
}

// sums of the report of every kind of loop.
func TestReports(t *testing.T) {
	const ranks = 4
	cfg := lb.Config{Policy: lb.Rotate, Period: 1e-3}
	span := loops.Span(0, 40)
	u := func() []loops.Array { return []loops.Array{loops.NewMatrix(40, 12)} }
	for name, run := range map[string]func(c *sim.Comm) (*loops.Report, error){
		"doacross": func(c *sim.Comm) (*loops.Report, error) {
			return loops.DOACROSS{Outer: 6, Rows: span, Strip: loops.Span(0, 12), Arrays: u(), Quantum: 0.004,
				Body: func(rows, strip loops.Range) { c.Work(1e-3 * float64(rows.Len()*strip.Len()) / 12) }}.Run(c, cfg)
		},
		"halo": func(c *sim.Comm) (*loops.Report, error) {
			return loops.DOALL{Repeat: 6, Halo: true, Rows: span, Arrays: u(), Quantum: 0.004,
				Body: func(_ int, rows loops.Range) { c.Work(1e-3 * float64(rows.Len())) }}.Run(c, cfg)
		},
		"free": func(c *sim.Comm) (*loops.Report, error) {
			return loops.DOALL{Repeat: 6, Rows: span, Arrays: u(), Quantum: 0.004,
				Body: func(_ int, rows loops.Range) { c.Work(1e-3 * float64(rows.Len())) }}.Run(c, cfg)
		},
	} {
		t.Run(name, func(t *testing.T) {
			reports := make([]*loops.Report, ranks)
			_, err := sim.Run(machine(0, ranks), func(c *sim.Comm) (err error) {
				reports[c.Rank()], err = run(c)
				return err
			})
			require.NoError(t, err)
			rep := reports[0]
			requireSums(t, rep, 6*40)
			require.Len(t, rep.Ranks, ranks)
			compute := 0.0
			for r, s := range rep.Ranks {
				assert.Equal(t, r, s.Rank)
				owned := 0
				for _, own := range reports[r].Own {
					owned += own.Len()
				}
				assert.Equal(t, owned, s.Iterations)
				assert.InDelta(t, s.Elapsed, s.Compute+s.Move+s.Wait(), 1e-6)
				assert.InEpsilon(t, 1000, s.Rate(), 1e-3)
				compute += s.Compute
				assert.Equal(t, r == 0, reports[r].Report != nil, "rank 0 alone has the report of all")
				assert.Equal(t, 6, reports[r].Steps)
			}
			assert.InDelta(t, 6*40*1e-3, compute, 1e-6)
			assert.GreaterOrEqual(t, rep.Time, compute/ranks)
			assert.Positive(t, rep.Interactions)
			assert.Positive(t, rep.Interact)
			assert.Positive(t, rep.Period)
			assert.LessOrEqual(t, rep.Shifts, rep.Interactions)
			assert.Equal(t, name == "doacross", rep.Block > 0)
			assert.Equal(t, name == "doacross", rep.Calibrate > 0)
		})
	}
	assert.Zero(t, hooks.RankReport{Units: 3}.Rate(), "without computing there is no rate")
}

// A rank whose rows take 9 s gives others away when the fast one has run dry, in the midst of a row.
func TestPiecesLetWorkMoveInTheMidstOfARow(t *testing.T) {
	const rows, unit = 16, 9.0 // work units of a row
	cfg := machine(0, 2)
	cfg.Speed = [][]sim.Step{sim.Constant(1), sim.Constant(4.5)}
	took := func(pieces int) float64 {
		return timeOf(t, cfg, rows, func(c *sim.Comm, d *loops.DOALL) {
			d.Pieces, d.Piece = pieces, func(_ int, rows loops.Range, _ int) { c.Work(unit * float64(rows.Len()) / float64(pieces)) }
		})
	}
	// The fast one has done its eight after 16 s. The slow one is in its second then, which ends after 18 s, and keeps one of its other six.
	assert.Less(t, took(100), 27.1)
	assert.Greater(t, took(1), 27.9, "or there is nothing to gain")
}

// Where a call costs much a chunk is all that a rank has of a repetition. Instructions come in its midst.
func TestRowsOfTheChunkUnderWayMove(t *testing.T) {
	const rows, repeat, speed, call, pieces = 200, 400, 1e4, 25, 4 // rows/s; rows that take as long as a call
	cfg := machine(0, 2)
	cfg.Speed = [][]sim.Step{sim.Constant(speed), {{Speed: speed}, {From: 1, Speed: speed / 2}}}
	took := timeOf(t, cfg, rows, func(c *sim.Comm, d *loops.DOALL) {
		d.Repeat, d.Pieces = repeat, pieces
		d.Piece = func(_ int, rows loops.Range, _ int) { c.Work(float64(rows.Len()+call) / pieces) }
	})
	// Together they do 2 rows at a time for 1 s and 1.5 from then on, each repetition with a call for both.
	ideal := 1 + (repeat*(rows+2*call)/speed-2)/1.5
	assert.Less(t, took, 1.05*ideal)
}

// productPiece is the work of a piece of some rows of a product, of which a rank computes so many a second. It reads all of B for each call: 18 rows and fewer take as long, and
// a call as long as two rows more.
func productPiece(c *sim.Comm, pieces int, rate float64) func(repetition int, rows loops.Range, piece int) {
	return func(_ int, rows loops.Range, _ int) {
		c.Work((2 + max(18, float64(rows.Len()))) / rate / float64(pieces))
	}
}

func TestAProductEndsTogetherWithFewCalls(t *testing.T) {
	const rows, pieces, duration = 5260, 11, 2.8 // s, without a load
	for _, x := range []struct {
		ranks       int
		quiet, load float64 // the time at most, of the least that there can be without calls
	}{
		{4, 1.02, 1.025},
		{8, 1.04, 1.06},
	} {
		took := func(last float64) float64 {
			cfg := machine(0, x.ranks)
			cfg.MaxOps *= 10
			for range x.ranks - 1 {
				cfg.Speed = append(cfg.Speed, sim.Constant(1))
			}
			cfg.Speed = append(cfg.Speed, sim.Constant(last))
			rate := rows / duration / float64(x.ranks) // rows/s where nobody else computes
			took := timeOf(t, cfg, rows, func(c *sim.Comm, d *loops.DOALL) {
				d.Pieces = pieces
				d.Piece = productPiece(c, pieces, rate)
			})
			return took / (duration * float64(x.ranks) / (float64(x.ranks-1) + last))
		}
		assert.Less(t, took(1), x.quiet, "%d ranks", x.ranks)
		assert.Less(t, took(0.5), x.load, "%d ranks, one beside a load", x.ranks)
	}
}
