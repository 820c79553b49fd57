package hooks

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"shiftwork/comm"
	"shiftwork/placement"
)

// Placer puts the hook of a loop nest where package placement says, by costs that it measures while the nest begins to
// run (S&S 1997, section 5.1.2). The program marks the end of each iteration of the loops around the distributed one,
// and the Placer calls Hook at some of these ends:
//
//	p, err := h.Place(nest)
//	for range steps {                        // level 0
//		for range substeps {                 // level 1
//			h.Compute(...)                   // level 2, distributed
//			...                              // the program's own messages
//			moved, err := p.End(1)
//		}
//		moved, err := p.End(0)
//	}
//
// Operation counts decide until the first measurement. Then each level's time counts, the median of its first
// iterations, and so do the trips that were seen. Once all levels are measured a call of End counts and does no more.
type Placer struct {
	h      *Hooks
	nest   placement.Nest
	costs  placement.Costs
	levels []*placed // around the distributed loop, from the outermost
	timed  int       // the innermost level that is still being measured; -1: none
	lost   time.Duration

	choice placement.Choice
	guess  string // the first position, by operations alone
	level  int    // where the hook is; -1: nowhere
	every  int    // calls of End(level) from one hook to the next
	left   int    // of them
}

// placed is what is known of one level.
type placed struct {
	ends    int           // calls of End
	unit    int           // iterations between two of them
	trips   float64       // iterations in one of the level around, as counted; 0: not yet
	began   time.Duration // of the iteration under way, on a clock that stands still inside the Placer
	samples []float64     // s, of the first iterations
	decide  []int         // numbers of samples at which the position is reconsidered, ascending
}

const (
	// usualHook is the cost of an empty hook in s where it cannot be measured, in virtual time: two readings of the clock.
	usualHook = 60e-9
	// usualOperation is the price of an operation in s until a level is measured: some five a nanosecond.
	usualOperation = 0.2e-9
	// innerSamples and outerSamples are how many iterations of a level are timed: a median of many where iterations are
	// short and the first ones meet cold caches, and two where one may take minutes.
	innerSamples = 16
	outerSamples = 2
)

// Place starts a Placer for a nest that has yet to begin; every rank calls it with the same nest, and calls End equally
// often for each level. Level.Strip of the loop just around the distributed one is how many of its iterations lie
// between two calls of End, where the program runs it in strips. Nest.Ranks and the trips of the distributed loop may be
// left out, and so may Loop.Phases, which the Placer sets.
//
// Nests of order placement.Free have their own run time, NewFree, which strip mines the distributed loop.
func (h *Hooks) Place(nest placement.Nest) (*Placer, error) {
	err := nest.Validate()
	if nest.Order == placement.Free {
		err = errors.Join(err, errors.New(
			"a nest whose ranks never wait for each other: use NewFree, which strip mines the distributed loop"))
	} else if nest.Distributed == 0 {
		err = errors.Join(err, errors.New("a hook needs a loop around the distributed one"))
	}
	for l := range max(0, min(nest.Distributed-1, len(nest.Levels))) {
		if nest.Levels[l].Strip > 1 {
			err = errors.Join(err, fmt.Errorf(
				"strips of loop %s: only the loop just around the distributed one may have them", nest.Levels[l].Name))
		}
	}
	if err := comm.Agree(h.c, err); err != nil {
		return nil, err
	}
	if err := comm.Same(h.c, fmt.Sprintf("nest %+v", nest)); err != nil {
		return nil, err
	}
	p := &Placer{
		h: h, nest: nest, choice: placement.Choice{Chosen: -1},
		timed: -1, level: nest.Distributed - 1, every: 1, left: 1,
	}
	p.nest.Levels = slices.Clone(nest.Levels)
	for l := range nest.Distributed {
		p.levels = append(p.levels, &placed{unit: max(1, nest.Levels[l].Strip), decide: []int{outerSamples}})
	}
	if !h.active {
		return p, nil // Hook only counts: there is nothing to choose or to measure
	}
	if d := &p.nest.Levels[nest.Distributed]; d.Trips == 0 {
		d.Trips = float64(h.loop.Iterations.Len())
	}
	if nest.Ranks == 0 {
		p.nest.Ranks = h.c.Size()
		if h.cfg.DedicatedMaster {
			p.nest.Ranks--
		}
	}
	hook, err := comm.AllreduceMax(h.c, emptyHook(h.c))
	if err != nil {
		return nil, err
	}
	p.costs = placement.Costs{Hook: hook, Operation: usualOperation}
	p.timed = nest.Distributed - 1
	inner := p.levels[p.timed]
	inner.decide = append(inner.decide, innerSamples)
	counted := func(l placement.Level) bool { return l.Operations > 0 || l.Seconds > 0 }
	if slices.ContainsFunc(nest.Levels, counted) {
		if err := p.choose(); err != nil {
			return nil, err
		}
	}
	p.guess = p.position()
	h.placer = p
	now := h.c.Now()
	for _, l := range p.levels {
		l.began = now
	}
	return p, nil
}

// emptyHook measures a hook that does nothing but count, with the timing around it, in s.
func emptyHook(c comm.Comm) float64 {
	if comm.IsVirtual(c) {
		return usualHook
	}
	const batches, hooks = 50, 100 // some 6 us each: one of them will not be interrupted
	h := &Hooks{c: c, active: true, next: math.MaxInt}
	shortest := time.Duration(math.MaxInt64)
	for range batches {
		began := c.Now()
		for range hooks {
			h.Begin()
			h.EndPart(0)
			_, _ = h.Hook() // neither interacts nor has a master to serve
		}
		shortest = min(shortest, c.Now()-began)
	}
	return shortest.Seconds() / hooks
}

// End marks the end of an iteration of a level, counted from 0 for the outermost, and is the hook where the Placer has
// put it: see Hook for what it returns. It panics if there is no such level around the distributed one.
func (p *Placer) End(level int) (moved bool, err error) {
	l := p.levels[level]
	l.ends++
	measured := level <= p.timed
	var entered time.Duration
	if measured {
		entered = p.h.c.Now()
		if err := p.measure(level, entered-p.lost); err != nil {
			return false, err
		}
	}
	if level == p.level {
		if p.left--; p.left <= 0 {
			p.left = p.every
			moved, err = p.h.Hook()
		}
	}
	if measured {
		p.lost += p.h.c.Now() - entered
	}
	return moved, err
}

// measure takes in an iteration of a level that ended at the given time, and reconsiders the position when it is time
// to, which is the same call on every rank.
func (p *Placer) measure(level int, now time.Duration) error {
	l := p.levels[level]
	decide := false
	if len(l.decide) > 0 {
		l.samples = append(l.samples, (now-l.began).Seconds()/float64(l.unit))
		if len(l.samples) == l.decide[0] {
			l.decide, decide = l.decide[1:], true
		}
	}
	for _, inner := range p.levels[level:] {
		inner.began = now
	}
	if level+1 < len(p.levels) {
		inner := p.levels[level+1]
		inner.trips = float64(inner.ends*inner.unit) / float64(l.ends)
	}
	if !decide {
		return nil
	}
	for p.timed >= 0 && len(p.levels[p.timed].decide) == 0 {
		p.timed--
	}
	return p.reconsider()
}

// reconsider agrees with all ranks on what has been measured, and chooses again. The rank that sets the pace counts.
func (p *Placer) reconsider() error {
	for i, l := range p.levels {
		own := 0.0
		if len(l.samples) > 0 {
			sorted := slices.Sorted(slices.Values(l.samples))
			own = stat.Quantile(0.5, stat.Empirical, sorted, nil)
		}
		level := &p.nest.Levels[i]
		seconds, err := comm.AllreduceMax(p.h.c, own)
		if err != nil {
			return err
		}
		if seconds > 0 {
			level.Seconds = seconds
		}
		if trips, err := comm.AllreduceMax(p.h.c, l.trips); err != nil {
			return err
		} else if trips > 0 && (level.Trips == 0 || l.unit == 1) { // a last strip may be shorter
			level.Trips = trips
		}
	}
	return p.choose()
}

func (p *Placer) choose() error {
	choice, err := placement.Choose(p.nest, p.costs)
	if err != nil {
		return err
	}
	before, every := p.level, p.every
	p.choice, p.level, p.every = choice, -1, 1
	if at, ok := choice.Position(); ok {
		unit := p.levels[at.Level].unit
		p.level, p.every = at.Level, max(1, (at.Strip+unit-1)/unit)
	}
	if p.level != before || p.every != every {
		p.left = p.every
	}
	p.h.SetPhases(p.phases())
	return nil
}

// phases is how often Hook will have been called at the end of the nest; 0: unknown.
func (p *Placer) phases() int {
	if p.level < 0 {
		return 0
	}
	l := p.levels[p.level]
	total := 1.0
	for i := range p.level + 1 {
		total *= p.nest.Levels[i].Trips
	}
	hooks := max(0, total/float64(l.unit)-float64(l.ends)) / float64(p.every)
	if !(total > 0 && hooks < math.MaxInt32) {
		return 0
	}
	return p.h.phase + int(math.Ceil(hooks))
}

func (p *Placer) position() string {
	if at, ok := p.choice.Position(); ok {
		return at.Name
	}
	return ""
}

// Choice is the choice in force, with every position that there is and what was held against it. While nothing has been
// measured or counted, and where balancing is off, it has no positions, and the hook is just around the distributed loop.
func (p *Placer) Choice() placement.Choice { return p.choice }

// Placement says where a Placer has put the hook of a nest, and why.
type Placement struct {
	Position string  `json:"position"`  // lbhook1, lbhook1a, ... as in package placement; empty: nowhere
	Loop     string  `json:"loop"`      // at the end of whose iterations it stands
	Strip    int     `json:"strip"`     // iterations of that loop from one hook to the next
	Between  float64 `json:"between_s"` // code between two hooks
	Hook     float64 `json:"hook_s"`    // a hook that does nothing
	Share    float64 `json:"share"`     // of the one in the other
	Guess    string  `json:"guess"`     // the position before anything was measured; empty: nobody counted operations
	Reason   string  `json:"reason"`
}

// report is nil if nothing was chosen.
func (p *Placer) report() *Placement {
	if p == nil || len(p.choice.Positions) == 0 {
		return nil
	}
	r := &Placement{Hook: p.costs.Hook, Guess: p.guess, Reason: p.choice.Reason}
	if at, ok := p.choice.Position(); ok {
		l := p.levels[at.Level]
		r.Position, r.Loop, r.Strip = at.Name, p.nest.Levels[at.Level].Name, p.every*l.unit
		r.Between, r.Share = at.Seconds, at.Share
	}
	return r
}
