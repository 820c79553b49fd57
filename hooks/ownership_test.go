package hooks_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/comm"
	"shiftwork/comm/sim"
	"shiftwork/dist"
	"shiftwork/hooks"
	"shiftwork/lb"
)

// ledger counts how often each iteration was done, by phase. All ranks of a simulation write to it: one runs at a time.
type ledger struct {
	span  dist.Range
	count [][]int
	call  float64 // work units that a call takes besides

	resumed int // chunks that another rank had begun
}

func newLedger(span dist.Range, phases int) *ledger {
	l := &ledger{span: span, count: make([][]int, phases)}
	for p := range l.count {
		l.count[p] = make([]int, span.Len())
	}
	return l
}

func (l *ledger) enter(phase int, r dist.Range) {
	for i := r.Lo; i < r.Hi; i++ {
		l.count[phase][i-l.span.Lo]++
	}
}

// requireOnce requires that each iteration was done exactly once in each phase.
func (l *ledger) requireOnce(t *testing.T) {
	t.Helper()
	for p, counts := range l.count {
		for i, n := range counts {
			if n != 1 {
				require.Failf(t, "not owned by exactly one rank", "iteration %d was done %d times in phase %d", l.span.Lo+i, n, p)
			}
		}
	}
}

// phaseOf makes the own rows new, and returns what computes a phase: every own row must be here, as old as the phase says.
func phaseOf(c *sim.Comm, h *hooks.Hooks, weights dist.Weights, d rows, l *ledger) func(p int) error {
	for _, own := range h.Ranges() {
		for i := own.Lo; i < own.Hi; i++ {
			d.set(i, 0)
		}
	}
	random := rand.New(rand.NewPCG(9, uint64(c.Rank())))
	return func(p int) (bad error) {
		h.Compute(func() {
			for _, own := range h.Ranges() {
				for i := own.Lo; i < own.Hi; i++ {
					if err := d.check(i, p); err != nil && bad == nil {
						bad = fmt.Errorf("rank %d, phase %d: %w", c.Rank(), p, err)
					}
					d.set(i, p+1)
				}
				l.enter(p, own)
				c.Work(1e-3 * weights.Units(own) * (0.5 + random.Float64()))
			}
		})
		return bad
	}
}

// catchUp is a rank's part in a loop whose boundaries move one by one: it does for iterations that come what they have missed.
type catchUp struct {
	h      **hooks.Hooks
	c      *sim.Comm
	d      rows
	l      *ledger
	caught int
}

func (u *catchUp) Before(dist.Range, dist.Range, int) error { return nil }

func (u *catchUp) MayTake(int) bool { return true } // it waits for nothing that comes from above

func (u *catchUp) CatchUp(have dist.Range, hook int) error {
	h := *u.h
	coming := dist.Span(have.Hi, h.Range().Hi)
	for p := hook; p < h.PhasesDone(); p++ {
		h.Begin()
		for i := coming.Lo; i < coming.Hi; i++ {
			if err := u.d.check(i, p); err != nil {
				return fmt.Errorf("rank %d, phase %d, caught up: %w", u.c.Rank(), p, err)
			}
			u.d.set(i, p+1)
		}
		u.l.enter(p, coming)
		u.c.Work(1e-3 * float64(coming.Len()))
		h.EndPart(float64(coming.Len()) / float64(h.Range().Len()))
		u.caught++
	}
	return nil
}

// phases runs `phases` phases of a loop with hooks on one rank: every own row must be here, as old as the phase says.
func phases(c *sim.Comm, loop hooks.Loop, cfg lb.Config, d rows, l *ledger, phases int) (*hooks.Report, error) {
	loop.Arrays, loop.Quantum = d.arrays(), 0.004
	h, err := hooks.New(c, loop, cfg)
	if err != nil {
		return nil, err
	}
	compute := phaseOf(c, h, loop.Weights, d, l)
	left, right := h.Neighbours()
	var before []dist.Range
	for p := range phases {
		if err := compute(p); err != nil {
			return nil, err
		}
		before = append(before[:0], h.Ranges()...)
		moved, err := h.Hook()
		if err != nil {
			return nil, err
		}
		if !moved && !slices.Equal(h.Ranges(), before) {
			return nil, fmt.Errorf("rank %d, phase %d: the range changed and Hook did not say so", c.Rank(), p)
		}
		if loop.Adjacent {
			if l, r := h.Neighbours(); l != left || r != right {
				return nil, fmt.Errorf("rank %d has other neighbours than before", c.Rank())
			}
			if len(h.Ranges()) > 1 || len(h.Ranges()) == 1 && h.Ranges()[0] != h.Range() {
				return nil, fmt.Errorf("rank %d: Ranges %v, Range %v", c.Rank(), h.Ranges(), h.Range())
			}
		}
	}
	return h.Finish()
}

func requireSums(t *testing.T, rep *hooks.Report, ranks, iterations int, units float64) {
	t.Helper()
	require.Len(t, rep.Ranks, ranks)
	sumIterations, sumUnits, taken := 0, 0.0, 0
	move := 0.0
	for i, r := range rep.Ranks {
		assert.Equal(t, i, r.Rank)
		sumIterations += r.Iterations
		sumUnits += r.Units
		taken += r.Taken
		move = max(move, r.Move)
		assert.GreaterOrEqual(t, r.Compute, 0.0)
		assert.LessOrEqual(t, r.Compute+r.Move, r.Elapsed*(1+1e-9)+1e-6, "rank %d cannot compute and move for longer than it ran", i)
		assert.InDelta(t, r.Elapsed, r.Compute+r.Move+r.Wait(), 1e-6)
	}
	assert.Equal(t, iterations, sumIterations, "iterations owned at the end")
	assert.InDelta(t, units, sumUnits, 1e-9*(1+units), "work units done")
	assert.Equal(t, rep.IterationsMoved, taken)
	assert.Equal(t, rep.Move, move)
}

// someRanks are 2 to 8 ranks in three turns: tests of all combinations would take minutes with the race detector.
func someRanks(turn int) []int { return [][]int{{2, 5, 8}, {3, 6}, {4, 7}}[turn%3] }

func TestEveryIterationHasOneOwnerAtEveryHookAndItsData(t *testing.T) {
	const interactions = 1000
	network, combination := 0, 0
	for _, m := range mechanisms() {
		for _, adjacent := range []bool{true, false} {
			combination++
			for _, ranks := range someRanks(combination) {
				network++
				name := fmt.Sprintf("%v/%d ranks,adjacent=%v,network %d", m, ranks, adjacent, network%len(networks))
				t.Run(name, func(t *testing.T) {
					span := dist.Span(3, 3+2*ranks+network%17)
					loop := hooks.Loop{Iterations: span, Adjacent: adjacent}
					if network%5 == 0 {
						loop.Weights = weights(t, span)
					}
					n := interactions + 1
					l := newLedger(span, n)
					var rep *hooks.Report
					simulate(t, machine(network, ranks), func(c *sim.Comm) error {
						r, err := phases(c, loop, m.config(), newRows(span), l, n)
						if c.Rank() == 0 {
							rep = r
						} else if r != nil {
							return fmt.Errorf("rank %d got a report", c.Rank())
						}
						return err
					})
					l.requireOnce(t)
					requireSums(t, rep, ranks, span.Len(), loop.Weights.Units(span)*float64(n))
					if m.dedicated {
						require.Zero(t, rep.Ranks[0].Units, "a dedicated master does not compute")
					}
					if ranks > 2 || !m.dedicated {
						require.GreaterOrEqual(t, rep.Interactions, interactions)
						require.Greater(t, rep.Shifts, interactions/2)
						require.Greater(t, rep.IterationsMoved, interactions/2)
						require.Equal(t, networks[network%len(networks)].Alpha > 0, rep.Interact > 0, "%v s", rep.Interact)
					} else {
						require.Zero(t, rep.Interactions, "one worker has nobody to share with")
					}
				})
			}
		}
	}
}

// Where interactions are rare, ranks are at different hooks when the master answers.
func TestInteractionsThatAreRare(t *testing.T) {
	for _, m := range mechanisms() {
		span := dist.Span(0, 31)
		cfg := m.config()
		cfg.Period = 0.05 // s; a phase takes about 8 ms
		l := newLedger(span, 300)
		var rep *hooks.Report
		simulate(t, machine(1, 4), func(c *sim.Comm) error {
			r, err := phases(c, hooks.Loop{Iterations: span, Adjacent: true, Phases: 300}, cfg, newRows(span), l, 300)
			if r != nil {
				rep = r
			}
			return err
		})
		l.requireOnce(t)
		requireSums(t, rep, 4, span.Len(), 300*31)
		assert.Greater(t, rep.Shifts, 15, m)
		assert.Less(t, rep.Interactions, 120, m)
	}
}

// Boundaries that move one by one: what a rank sends to the next one says where the boundary between them will be, and what the next one gives back
// catches up with the ranks below.
func TestBoundariesMoveOneByOne(t *testing.T) {
	const rounds = 1000
	for _, policy := range []lb.Policy{lb.Random, lb.Rotate, lb.On} {
		span := dist.Span(0, 31)
		l := newLedger(span, rounds)
		caught := 0
		var rep *hooks.Report
		var events memory
		var seen pulses
		m := machine(1, 4)
		m.Speed = [][]sim.Step{sim.Constant(1), {{From: 0, Speed: 1}, {From: 0.2, Speed: 0.3}}, sim.Constant(1), sim.Constant(1)}
		simulate(t, m, func(c *sim.Comm) error {
			d := newRows(span)
			var h *hooks.Hooks
			ahead := &catchUp{h: &h, c: c, d: d, l: l}
			var err error
			h, err = hooks.New(c, hooks.Loop{
				Iterations: span, Adjacent: true, OneByOne: ahead, Phases: rounds, Arrays: d.arrays(), Quantum: 0.004, Record: hooks.Tee(&events, &seen),
			}, lb.Config{Policy: policy})
			if err != nil {
				return err
			}
			compute := phaseOf(c, h, dist.Weights{}, d, l)
			left, right := h.Neighbours()
			var sent []comm.Request
			for p := range rounds {
				if left >= 0 {
					var begin [2]byte
					if _, err := h.Recv(left, 1, begin[:]); err != nil {
						return err
					}
					if int(begin[1]) == h.Range().Lo { // not sent before this rank gave something
						h.NextBegin(int(begin[0]))
					}
				}
				if err := compute(p); err != nil {
					return err
				}
				if right >= 0 {
					q, err := c.Isend(right, 1, []byte{byte(h.NextEnd()), byte(h.Range().Hi)}) // ranks below are ahead
					if err != nil {
						return err
					}
					sent = append(sent, q)
				}
				if p%3 == c.Rank()%3 { // the rank above may come to the hook first
					c.Work(2e-3)
				}
				if _, err = h.Hook(); err != nil {
					return err
				}
			}
			if err := h.Await(); err != nil {
				return err
			}
			for _, q := range sent {
				if _, err := q.Wait(); err != nil {
					return err
				}
			}
			caught += ahead.caught
			r, err := h.Finish()
			if r != nil {
				rep = r
			}
			return err
		})
		l.requireOnce(t)
		requireSums(t, rep, 4, span.Len(), rounds*31)
		assert.Greater(t, rep.Shifts, 0, policy)
		assert.Positive(t, caught, "a rank that was ahead has taken iterations")
		require.NotEmpty(t, seen)
		for _, p := range seen {
			assert.InDelta(t, p.Phases, p.Steps, 1, policy)
		}
		for _, e := range events.events {
			assert.False(t, e.Setup != nil && e.Setup.Learn, "nobody would adopt weights")
			for _, s := range e.Statuses {
				assert.Equal(t, s.Interaction-1, s.Obeyed, "each instruction is obeyed before the next status")
			}
		}
	}
}

// When phases become several times as long the next interaction must not come as much later.
func TestRankZeroCallsByTheClock(t *testing.T) {
	const rounds, period = 4000, 0.04 // s; of phases of 1 ms, from the half on of 5 ms
	span := dist.Span(0, 8)
	var events memory
	simulate(t, machine(1, 2), func(c *sim.Comm) error {
		d := newRows(span)
		h, err := hooks.New(c, hooks.Loop{
			Iterations: span, Adjacent: true, OneByOne: &catchUp{}, Phases: rounds, Arrays: d.arrays(), Quantum: 0.004, Record: &events,
		}, lb.Config{Period: period})
		if err != nil {
			return err
		}
		for p := range rounds {
			length := 0.001
			if p >= rounds/2 {
				length = 0.005
			}
			h.Compute(func() { c.Work(length) })
			if _, err = h.Hook(); err != nil {
				return err
			}
		}
		_, err = h.Finish()
		return err
	})
	longest := 0.0
	for _, e := range events.events {
		for _, s := range e.Statuses {
			longest = max(longest, s.Elapsed)
		}
	}
	require.Positive(t, longest)
	assert.Less(t, longest, 1.25*period+3*0.005, "the phases in which it begins and ends count, too")
}

// once runs a free loop on one rank and enters what it does, each piece like a phase; the data of each iteration must say how often it
// was done, and its results how many pieces of it.
func once(c *sim.Comm, loop hooks.FreeLoop, cfg lb.Config, l *ledger, work float64) (*hooks.Report, error) {
	first := 0
	if cfg.DedicatedMaster {
		first = 1
	}
	d, results := newRows(loop.Iterations, dist.Even(loop.Iterations, c.Size(), first).Range(c.Rank())), newRows(loop.Iterations)
	loop.Arrays, loop.Results, loop.Quantum = d.arrays(), results.arrays(), 0.004
	f, err := hooks.NewFree(c, loop, cfg)
	if err != nil {
		return nil, err
	}
	pieces := max(1, loop.Pieces)
	compute := func(rep, i, piece int) error {
		err := d.check(i, rep)
		if piece > 0 {
			err = errors.Join(err, results.check(i, piece))
		}
		if results.set(i, piece+1); piece+1 == pieces {
			d.set(i, rep+1)
		}
		return err
	}
	for last := -1; ; {
		rep, r, piece, ok, err := f.NextPiece()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if piece > 0 && piece != last+1 {
			l.resumed++
		}
		if last = piece; piece == pieces-1 {
			last = -1
		}
		for i := r.Lo; i < r.Hi; i++ {
			if err := compute(rep, i, piece); err != nil {
				return nil, fmt.Errorf("rank %d, repetition %d, piece %d: %w", c.Rank(), rep, piece, err)
			}
		}
		l.enter(rep*pieces+piece, r)
		c.Work(work * (loop.Weights.Units(r) + l.call) / float64(pieces))
	}
	for _, own := range f.Owned() {
		for i := own.Lo; i < own.Hi; i++ {
			if err := errors.Join(d.check(i, loop.Repeat), results.check(i, pieces)); err != nil {
				return nil, fmt.Errorf("rank %d, after the loop: %w", c.Rank(), err)
			}
		}
	}
	return f.Finish()
}

func TestFreeLoopsDoEveryIterationOnceAndInOrder(t *testing.T) {
	network, combination := 0, 0
	for _, m := range mechanisms() {
		for _, repeat := range []int{1, 12} {
			combination++
			for _, ranks := range someRanks(combination) {
				network++
				t.Run(fmt.Sprintf("%v/%d ranks,repeat %d,network %d", m, ranks, repeat, network%len(networks)), func(t *testing.T) {
					span := dist.Span(5, 5+30*ranks)
					loop := hooks.FreeLoop{Iterations: span, Repeat: repeat}
					if network%5 == 0 {
						loop.Weights = weights(t, span)
					}
					if combination%4 > 1 {
						loop.Pieces = 7
					}
					l := newLedger(span, repeat*max(1, loop.Pieces))
					var rep *hooks.Report
					simulate(t, machine(network, ranks), func(c *sim.Comm) error {
						r, err := once(c, loop, m.config(), l, 0.01)
						if r != nil {
							rep = r
						}
						return err
					})
					l.requireOnce(t)
					requireSums(t, rep, ranks, span.Len(), loop.Weights.Units(span)*float64(repeat))
					if ranks > 2 || !m.dedicated {
						require.Greater(t, rep.Shifts, 5)
						require.Greater(t, rep.Interactions, 10*repeat)
					}
				})
			}
		}
	}
}

// Where a call costs much, all that a rank has left is in one chunk; what is too much of it goes on elsewhere.
func TestIterationsMoveBetweenTheirPieces(t *testing.T) {
	const ranks, pieces = 4, 12
	began := 0
	for network := range networks {
		for _, repeat := range []int{1, 4} {
			for _, weighted := range []bool{false, true} {
				cfg := machine(network, ranks)
				cfg.Speed = [][]sim.Step{sim.Constant(1e4), sim.Constant(3e4), sim.Constant(1e4), {{Speed: 1e4}, {From: 0.4, Speed: 3e3}}}
				span := dist.Span(3, 4003)
				loop := hooks.FreeLoop{Iterations: span, Repeat: repeat, Pieces: pieces}
				if weighted {
					loop.Weights = weights(t, span)
				}
				l := newLedger(span, repeat*pieces)
				l.call = 20
				simulate(t, cfg, func(c *sim.Comm) error {
					_, err := once(c, loop, lb.Auto(), l, 1)
					return err
				})
				l.requireOnce(t)
				began += l.resumed
			}
		}
	}
	assert.Greater(t, began, 2*len(networks))
}

// All mechanisms once more with a loop that takes no time at all: rates are never known.
func TestFreeLoopsThatTakeNoTimeEnd(t *testing.T) {
	for _, policy := range []lb.Policy{lb.On, lb.Off, lb.Rotate, lb.Random} {
		for _, repeat := range []int{1, 3} {
			for network := range networks {
				span := dist.Span(0, 50)
				loop := hooks.FreeLoop{Iterations: span, Repeat: repeat, Weights: weights(t, span)}
				l := newLedger(span, repeat)
				simulate(t, machine(network, 4), func(c *sim.Comm) error {
					_, err := once(c, loop, lb.Config{Policy: policy}, l, 0)
					return err
				})
				l.requireOnce(t)
			}
		}
	}
}

func TestFewIterations(t *testing.T) {
	for _, policy := range []lb.Policy{lb.On, lb.Off, lb.Rotate, lb.Random} {
		for ranks := 1; ranks <= 8; ranks++ {
			for _, n := range []int{0, 1, ranks - 1, ranks, ranks + 1} {
				for _, dedicated := range []bool{false, true} {
					if dedicated && ranks == 1 {
						continue
					}
					for _, weighted := range []bool{false, true} {
						span := dist.Span(7, 7+n)
						cfg := lb.Config{Policy: policy, DedicatedMaster: dedicated, Interaction: lb.Interaction(n % 2), Period: 1e-9}
						var w dist.Weights
						if weighted {
							w = weights(t, span)
						}
						name := fmt.Sprintf("%v, %d ranks, %d iterations, dedicated %v, weights %v", policy, ranks, n, dedicated, weighted)
						for _, adjacent := range []bool{false, true} {
							const steps = 6
							l := newLedger(span, steps)
							res, err := sim.Run(machine(ranks+n, ranks), func(c *sim.Comm) error {
								_, err := phases(c, hooks.Loop{Iterations: span, Weights: w, Adjacent: adjacent}, cfg, newRows(span), l, steps)
								return err
							})
							require.NoError(t, err, name)
							require.Empty(t, res.Leaks, name)
							l.requireOnce(t)
						}
						for _, repeat := range []int{1, 3} {
							l := newLedger(span, repeat)
							res, err := sim.Run(machine(ranks+n, ranks), func(c *sim.Comm) error {
								_, err := once(c, hooks.FreeLoop{Iterations: span, Weights: w, Repeat: repeat}, cfg, l, 0.01)
								return err
							})
							require.NoError(t, err, name)
							require.Empty(t, res.Leaks, name)
							l.requireOnce(t)
						}
					}
				}
			}
		}
	}
}

type pulses []hooks.Pulse

func (p *pulses) Record(hooks.Event)  {}
func (p *pulses) Pulse(e hooks.Pulse) { *p = append(*p, e) }
