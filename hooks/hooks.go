package hooks

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"shiftwork/comm"
	"shiftwork/dist"
	"shiftwork/lb"
)

// Loop describes a distributed loop to the run time. It must be the same on every rank, but for the contents of Arrays.
type Loop struct {
	Name       string       // for messages and records; default "loop"
	Iterations dist.Range   // the distributed loop's index space
	Weights    dist.Weights // work units of each iteration; zero: 1 each, or learned (Hooks.Parts)
	Arrays     []Array      // the data that moves with the iterations
	Adjacent   bool         // each rank owns one block and neighbours own neighbouring blocks, always
	OneByOne   Ahead        // boundaries move one by one: no rank is ahead of the one that owns the block below (Adjacent loops); nil: all at the same hook
	Phases     int          // how often Hook will be called; 0: unknown
	Quantum    float64      // s, the scheduling quantum; 0: measured
	Agreed     string       // what else all ranks must have in common, in words: New compares it

	// Before, if set, is called on every rank that is about to give or take iterations, at the same hook everywhere,
	// with its range before and after (Adjacent loops; in those that are OneByOne Ahead.Before is). Boundary data under way can be received there.
	Before func(have, want dist.Range) error

	Record Recorder // on the master only, unless it is a Tracer; nil: nothing is recorded

	Later bool // the loop begins with Hooks.BeginLoop, when all have prepared what they need; otherwise with New
}

// Hooks is the run time of one distributed loop in one rank. Its methods are called from one goroutine, and Hook and
// Finish equally often by every rank.
type Hooks struct {
	c    comm.Comm
	loop Loop
	cfg  lb.Config

	block    dist.Range     // Adjacent: what this rank owns
	single   []dist.Range   // block as Ranges returns it
	owned    dist.Intervals // otherwise
	units    float64        // work units owned, by the weights in force
	plain    float64        // the same by Loop.Weights
	weights  learned
	laps     laps
	left     int  // neighbour that owns the block below, -1: none
	right    int  // neighbour that owns the block above, -1: none
	active   bool // balancing at all
	move     mover
	master   *master // on rank 0
	interact float64 // s, measured at start
	clock    masterClock
	oneByOne oneByOne
	placer   *Placer // nil: the program calls Hook itself
	followed

	quantum     float64 // s; 0: not known yet
	perByte     perByte
	least       int            // iterations that each rank must keep
	slack       float64        // SetSlack
	phase, next int            // hook executions so far; the one that interacts next
	passed      int            // phases since the last Hook that ended by Pass
	skipped     int            // those before the Hooks of late
	k           int            // interactions so far
	obeyed      int            // last instruction obeyed, -1 none
	lost        time.Duration  // in the interaction before, but for moving work
	unanswered  []comm.Request // statuses sent, oldest first: at most two

	began      time.Duration // of the loop
	since      time.Duration // of the last status
	sincePhase int
	start      time.Duration // of the phase under way
	ended      time.Duration // of the last computing
	steps      float64       // fractions of all iterations done
	inPhase    bool
	done       float64       // work units since the last status, by the weights in force
	plainDone  float64       // the same by Loop.Weights
	compute    time.Duration // since the last status
	quota      quota
	unsteady   bool     // SetUnsteady
	moved      movement // since the last status

	total totals
}

type movement struct {
	time      time.Duration
	transfers int
	units     float64

	transit      time.Duration // from the headers of what has arrived to when it was there: Free
	transitUnits float64
}

type totals struct {
	units      float64
	compute    time.Duration
	move       time.Duration
	iterations int // taken from other ranks
	chunks     int // of a free loop
	hooks      int // of a free loop, also those within chunks
	interact   time.Duration
	rates      spread
}

// New starts the run time of a loop; every rank must call it. The iterations are split evenly, over ranks 1 to P-1
// when the configuration asks for a dedicated master. An error is the same on every rank when it is in
// the arguments, and ranks whose arguments differ all get an error.
func New(c comm.Comm, loop Loop, cfg lb.Config) (*Hooks, error) {
	if loop.Name == "" {
		loop.Name = "loop"
	}
	first, err := check(c, &loop, cfg)
	if err != nil {
		return nil, err
	}
	start := dist.Even(loop.Iterations, c.Size(), first)
	h := &Hooks{
		c: c, loop: loop, cfg: cfg,
		left: -1, right: -1,
		move:   mover{c: c, arrays: loop.Arrays},
		obeyed: -1, next: 1,
	}
	rank := c.Rank()
	h.block = start.Range(rank)
	h.owned.Add(h.block)
	h.units = loop.Weights.Units(h.block)
	h.plain = h.units
	h.weights.Weights = loop.Weights
	if !h.block.Empty() {
		if h.block.Lo > loop.Iterations.Lo {
			h.left = rank - 1
		}
		if h.block.Hi < loop.Iterations.Hi {
			h.right = rank + 1
		}
	}
	// With one iteration a rank, or fewer, there is nothing that could be shifted.
	workers := c.Size() - first
	h.began, h.quota = c.Now(), newQuota(c)
	h.active = present && cfg.Policy != lb.Off && workers > 1 && loop.Iterations.Len() > workers
	h.oneByOne.on = h.active && loop.OneByOne != nil && cfg.Interaction == lb.Pipelined && !cfg.DedicatedMaster
	if h.active {
		if loop.Weights.Uniform() && cfg.Policy == lb.On && !h.oneByOne.on { // sweeps that stream are not timed by parts
			h.weights.grid = lb.NewGrid(loop.Iterations, workers)
			h.laps.schedule = newSchedule(h.weights.grid)
			h.laps.prepare(h.k, h.phase, h.next)
		}
		if err := h.startMaster(first, start); err != nil {
			return nil, err
		}
		if !reporting {
			h.next = math.MaxInt
		}
		if err := h.beginOneByOne(); err != nil {
			return nil, err
		}
		h.makeRoom()
	}
	if !loop.Later {
		h.BeginLoop()
	}
	return h, nil
}

// BeginLoop begins a loop that is to begin Later. Every rank calls it once, behind a barrier and before its first phase. What was prepared since New is
// no part of the loop's time, and who watches or traces the loop hears of it only now.
func (h *Hooks) BeginLoop() {
	h.began = h.c.Now()
	h.since = h.began
	h.follow(h.loop.Record, h.loop.Name, h.c.Rank(), h.began)
}

// check validates the arguments, holds them against those of the other ranks, and returns the first rank that computes.
func check(c comm.Comm, loop *Loop, cfg lb.Config) (first int, err error) {
	err = cfg.Validate()
	if cfg.DedicatedMaster {
		first = 1
	}
	if c.Size() <= first {
		err = errors.Join(err, fmt.Errorf("a dedicated master needs at least 2 ranks, there is %d", c.Size()))
	}
	if loop.Iterations.Hi < loop.Iterations.Lo {
		err = errors.Join(err, fmt.Errorf("iterations %v: the end lies before the beginning", loop.Iterations))
	}
	if n := loop.Iterations; !n.Empty() && !(loop.Weights.Of(n.Lo) > 0 && loop.Weights.Of(n.Hi-1) > 0) {
		err = errors.Join(err, fmt.Errorf("iterations %v: there are weights of %d iterations, not of all of these", n, loop.Weights.Len()))
	}
	for i, a := range loop.Arrays {
		if a == nil {
			err = errors.Join(err, fmt.Errorf("array %d is nil", i))
		}
	}
	if !(loop.Quantum >= 0) || math.IsInf(loop.Quantum, 0) {
		err = errors.Join(err, fmt.Errorf("scheduling quantum %v s: a finite time, or 0 for measured", loop.Quantum))
	}
	if err := comm.Agree(c, err); err != nil {
		return first, err
	}
	return first, comm.Same(c, fmt.Sprintf("loop %q: iterations %v of %v units, %d arrays, adjacent %v, one by one %v, phases %d, configuration %+v%s",
		loop.Name, loop.Iterations, loop.Weights.Units(loop.Iterations), len(loop.Arrays), loop.Adjacent, loop.OneByOne != nil, loop.Phases, cfg, also(loop.Agreed)))
}

func also(agreed string) string {
	if agreed == "" {
		return ""
	}
	return ", " + agreed
}

func (h *Hooks) startMaster(first int, start dist.Block) error {
	var err error
	if h.interact, err = measureInteraction(h.c); err != nil {
		return err
	}
	if err := h.clock.synchronise(h.c); err != nil {
		return err
	}
	if _, err := h.Quantum(); err != nil {
		return err
	}
	moveUnit, err := h.moveUnit()
	if err != nil {
		return err
	}
	if h.c.Rank() != 0 {
		return nil
	}
	movement := lb.Direct
	if h.loop.Adjacent {
		movement = lb.Adjacent
	}
	setup := lb.Loop{
		Ranks: h.c.Size(), FirstWorker: first, Start: start, Weights: h.loop.Weights,
		Movement: movement, Quantum: h.quantum, Interact: h.interact, MoveUnit: moveUnit, Learn: h.weights.grid.Cells > 0,
		OneByOne: h.oneByOne.on,
	}
	b, err := lb.New(h.cfg, setup)
	if err != nil {
		return err
	}
	h.master = newMaster(h.c, b, setup, !h.loop.Adjacent, h.record)
	h.record(Event{Kind: "start", Config: &h.cfg, Setup: &setup})
	return nil
}

func (h *Hooks) record(e Event) {
	if h.loop.Record == nil || h.c.Rank() != 0 {
		return
	}
	e.Loop, e.Time = h.loop.Name, (h.c.Now() - h.began).Seconds()
	h.loop.Record.Record(e)
}

// SetPhases tells how often Hook will be called in all, where Loop.Phases could not: balancing weighs its costs against
// the time that is left. Every rank must say the same at the same hook.
func (h *Hooks) SetPhases(total int) { h.loop.Phases = total }

// SetLeast says how many iterations each rank must keep by decisions to come; before, that is 1 (Adjacent loops). Rank 0's word
// counts. It must not be more than Fewest.
func (h *Hooks) SetLeast(n int) {
	h.least = n
	if h.master != nil { // what waits for a decision already
		rank := h.c.Rank()
		h.master.now[rank].Least, h.master.next[rank].Least = n, n
	}
}

// SetSlack says by how many sweeps the distance between neighbours may vary before one waits for the other (Loop.OneByOne). Rank 0's word counts.
func (h *Hooks) SetSlack(sweeps float64) { h.slack = sweeps }

// Fewest is how many iterations each rank has at least: now, by instructions that it has yet to obey, and as it would have by its
// rate alone (Adjacent loops). Rank 0 knows; elsewhere it is 0.
func (h *Hooks) Fewest() int {
	switch {
	case h.master != nil:
		return min(h.master.wanted, slices.Min(h.master.fewest[:]))
	case h.c.Rank() == 0:
		return h.loop.Iterations.Len() / h.c.Size() // nothing moves
	}
	return 0
}

// PhasesDone is how many phases have ended, in Hook or Pass.
func (h *Hooks) PhasesDone() int { return h.phase }

// Range is the block of iterations that this rank owns (Adjacent loops). It changes only inside Hook and, where boundaries move one by
// one, wherever iterations of the rank above can be taken: Recv, Accept, Await, and Finish, unless Await was called after the last Hook.
func (h *Hooks) Range() dist.Range { return h.block }

// Ranges are the iterations that this rank owns, in ascending order. They change only inside Hook.
func (h *Hooks) Ranges() []dist.Range {
	if h.loop.Adjacent {
		if h.block.Empty() {
			return nil
		}
		if len(h.single) == 0 || h.single[0] != h.block {
			h.single = []dist.Range{h.block} // a new one: the caller may have kept the last
		}
		return h.single
	}
	return h.owned.Ranges()
}

// Neighbours are the ranks that own the iterations just below and above this rank's block; -1 where there is none.
// They never change.
func (h *Hooks) Neighbours() (left, right int) { return h.left, h.right }

// Quantum is the longest scheduling quantum of all ranks in s: Loop.Quantum, or measured where that is 0. It is measured once; every
// rank must call it.
func (h *Hooks) Quantum() (float64, error) {
	if h.quantum > 0 {
		return h.quantum, nil
	}
	var err error
	h.quantum, err = agreeQuantum(h.c, h.loop.Quantum)
	return h.quantum, err
}

// Begin starts the computing of a phase. What lies between Begin and End is the computing that rates are made of;
// waiting for a neighbour and communication belong outside.
func (h *Hooks) Begin() {
	if !present {
		return
	}
	h.start = h.c.Now()
	h.quota.begin()
	h.laps.since = h.start
	h.inPhase = true
}

// End ends the computing of a phase that did all iterations of Range once.
func (h *Hooks) End() {
	h.EndPart(1)
	h.laps.now = false // one pass over the iterations tells all
	h.laps.passed()
}

// EndPart ends the computing of a phase that did the given fraction of each own iteration, such as one strip of a
// strip-mined loop. Fractions of a phase whose computing is interrupted add up: EndPart(0), and End at last.
func (h *Hooks) EndPart(fraction float64) {
	if !present {
		return
	}
	h.ended = h.c.Now()
	took := h.ended - h.start
	h.compute += took
	h.quota.end()
	h.laps.took += took
	h.inPhase = false
	h.done += h.units * fraction
	h.plainDone += h.plain * fraction
	h.steps += fraction
	if h.trace != nil {
		h.trace.Span(Span{Computing, h.start, h.ended, h.phase, h.own(), h.units * fraction})
	}
}

// own is this rank's block; empty where it has none.
func (h *Hooks) own() dist.Range {
	if !h.loop.Adjacent {
		return dist.Range{}
	}
	return h.block
}

// Hook ends a phase. Most calls only count; one that interacts sends this rank's status, takes the master's
// instruction and carries it out. After it returned true, Range may differ, and the data of the iterations is there.
// Every rank that the instruction concerns obeys it at the same call; ranks that it does not concern wait for nobody.
func (h *Hooks) Hook() (moved bool, err error) {
	if !present {
		return false, nil
	}
	h.endPhase()
	if !h.active {
		return false, nil
	}
	if h.oneByOne.on {
		return h.hookOneByOne()
	}
	interacts := h.interacts(h.phase, h.passed)
	if h.passed > 0 {
		h.skipped, h.passed = h.passed, 0
	}
	if !interacts {
		h.laps.prepare(h.k, h.phase, h.next)
		return false, h.serve()
	}
	moved, err = h.interaction()
	h.laps.prepare(h.k, h.phase, h.next)
	return moved, err
}

// interacts reports whether the Hook after so many phases does, the last passed of them before it without a hook. About as many come
// again: rather early by less than half of them than late by more.
func (h *Hooks) interacts(phase, passed int) bool { return phase+passed/2 >= h.next }

// Pass ends so many phases after which work cannot move: an interaction that is due meanwhile is had at the next Hook, or was at the one
// before if that was nearer. Every rank must call it at the same phases.
func (h *Hooks) Pass(phases int) error {
	if !present {
		return nil
	}
	h.passed += phases
	h.phase += phases - 1
	h.endPhase()
	return h.serve()
}

func (h *Hooks) endPhase() {
	h.phase++
	if h.watching != nil && h.watching.due(h.ended) {
		h.watching.pulse(h.ended, Pulse{Loop: h.loop.Name, Phases: h.phase, Steps: h.steps})
	}
}

// serve lets rank 0 take in statuses that are there, and answer if they were the last.
func (h *Hooks) serve() error {
	if h.master != nil && h.master.missing > 0 && !h.oneByOne.on {
		return h.poll()
	}
	return nil
}

// poll serves the master between interactions.
func (h *Hooks) poll() error {
	if h.trace == nil {
		return h.master.poll()
	}
	began, busy := h.c.Now(), h.master.busy
	err := h.master.poll()
	if h.master.busy > busy {
		h.interacted(began, h.c.Now())
	}
	return err
}

func (h *Hooks) interacted(began, ended time.Duration) {
	if h.trace != nil && h.move.traced == nil { // what is heard while a movement waits is part of that
		h.trace.Span(Span{Interacting, began, ended, h.k - 1, h.own(), 0})
	}
}

func (h *Hooks) count() int {
	if h.loop.Adjacent {
		return h.block.Len()
	}
	return h.owned.Len()
}

func (h *Hooks) obey(in *instruction) (bool, error) {
	if changed, err := h.weights.adopt(in); err != nil {
		return false, err
	} else if changed {
		h.laps.restart(h.k)
		h.units = h.weights.Units(h.block)
		if !h.loop.Adjacent {
			h.units = h.owned.Units(h.weights.Weights)
		}
	}
	began, waited := h.c.Now(), h.move.waited
	if h.trace != nil {
		h.moves.begin(began, in.interaction)
		h.move.traced = &h.moves
		defer func() { h.move.traced = nil }()
	}
	carryOut := h.obeyDirect
	if h.loop.Adjacent {
		carryOut = h.obeyAdjacent
	}
	m, err := carryOut(in)
	if err != nil || m.transfers == 0 {
		return false, err
	}
	h.book(began, waited, m)
	return true, nil
}

// book enters a movement that began at a time, when the mover had waited so long.
func (h *Hooks) book(began, waited time.Duration, m movement) {
	// Waiting for a rank that has not come to this hook yet is no cost of moving: beside a slow rank it would take
	// so long that no movement could ever pay again.
	now := h.c.Now()
	h.moved.time += now - began - (h.move.waited - waited)
	if h.trace != nil {
		h.moves.end(now, h.own(), m.units)
	}
	h.moved.transfers += m.transfers
	h.moved.units += m.units
}

// obeyAdjacent moves the block's two boundaries. A row that passes through a rank counts on its way in and on its
// way out.
func (h *Hooks) obeyAdjacent(in *instruction) (m movement, err error) {
	have, want := h.block, in.own
	if have == want {
		return m, nil
	}
	if err := h.before(want, h.phase); err != nil {
		return m, err
	}
	// Where blocks lean, data of both sides lie within fewer iterations of a boundary than a rank must keep.
	m.transfers, err = h.move.adjacent(have, want, h.least)
	if m.units = h.become(want); err == nil && h.loop.OneByOne != nil && want.Hi > have.Hi {
		err = h.loop.OneByOne.CatchUp(have, h.phase)
	}
	return m, err
}

// before tells the loop that its block is about to change, as iterations are behind a hook.
func (h *Hooks) before(want dist.Range, hook int) (err error) {
	began := h.c.Now()
	switch {
	case h.loop.OneByOne != nil:
		err = h.loop.OneByOne.Before(h.block, want, hook)
	case h.loop.Before != nil:
		err = h.loop.Before(h.block, want)
	default:
		return nil
	}
	h.move.paused(began)
	return err
}

// become makes want this rank's block, and returns the work units that came and went.
func (h *Hooks) become(want dist.Range) (units float64) {
	have := h.block
	for _, crossed := range []dist.Range{
		dist.Span(have.Lo, want.Lo), dist.Span(want.Lo, have.Lo), dist.Span(have.Hi, want.Hi), dist.Span(want.Hi, have.Hi),
	} {
		units += h.weights.Units(crossed)
	}
	h.total.iterations += dist.Span(want.Lo, have.Lo).Len() + dist.Span(have.Hi, want.Hi).Len()
	h.block, h.units, h.plain = want, h.weights.Units(want), h.loop.Weights.Units(want)
	return units
}

// obeyDirect carries out the transfers of this rank: a rank only gives or only takes, so no order can lock up.
func (h *Hooks) obeyDirect(in *instruction) (m movement, err error) {
	if len(in.transfers) == 0 {
		return m, nil
	}
	units, count := h.units, h.owned.Len()
	for _, t := range in.transfers {
		if t.From != h.c.Rank() {
			if err := h.takeDirect(t.From); err != nil {
				return m, err
			}
			continue
		}
		given := h.owned.TakeTail(h.weights.Weights, t.Units, 1)
		parts := make([]part, len(given))
		for i, r := range given {
			parts[i].Range = r
			h.units -= h.weights.Units(r)
			h.plain -= h.loop.Weights.Units(r)
		}
		if err := h.move.giveParts(t.To, tagHeader, encodeParts(nil, parts), parts); err != nil {
			return m, err
		}
	}
	m.transfers, m.units = len(in.transfers), math.Abs(h.units-units)
	h.total.iterations += max(0, h.owned.Len()-count)
	return m, h.move.flush()
}

func (h *Hooks) takeDirect(from int) error {
	if _, err := h.move.await(from, tagHeader); err != nil {
		return err
	}
	b, err := comm.RecvAll(h.c, from, tagHeader)
	if err != nil {
		return err
	}
	parts, err := decodeParts(b)
	if err != nil {
		return fmt.Errorf("transfer from rank %d: %w", from, err)
	}
	for _, p := range parts {
		if err := h.move.take(from, p.Range); err != nil {
			return err
		}
		h.owned.Add(p.Range)
		h.units += h.weights.Units(p.Range)
		h.plain += h.loop.Weights.Units(p.Range)
	}
	return nil
}

// Finish ends the loop: every rank calls it after its last Hook. Messages under way are taken in, and
// rank 0 gets the report of all ranks; the others get nil.
func (h *Hooks) Finish() (*Report, error) {
	units, seconds, err := h.endOneByOne()
	if err != nil {
		return nil, err
	}
	rest := tail{units: units + h.done, compute: seconds + h.quota.computing(h.compute), version: h.weights.version}
	h.closeBooks(h.c.Now())
	if h.active && h.k > 0 && h.pipelined() {
		// The last status has an answer that nobody obeys any more.
		if _, err := h.instruction(h.k - 1); err != nil {
			return nil, err
		}
	}
	if h.master != nil {
		if err := h.master.sends.flush(); err != nil {
			return nil, err
		}
	}
	if err := h.move.flush(); err != nil {
		return nil, err
	}
	own := RankReport{
		Iterations: h.count(), Units: h.total.units,
		Elapsed: (h.c.Now() - h.began).Seconds(),
		Compute: h.total.compute.Seconds(), Move: h.total.move.Seconds(), Taken: h.total.iterations,
		Interact: h.total.interact.Seconds(), RateMin: h.total.rates.low, RateMax: h.total.rates.high,
	}
	if h.trace != nil {
		h.trace.End(h.c.Now())
	}
	rep := Report{
		Interactions: h.k, Interact: h.interact, Placement: h.placer.report(),
		Iterations: h.loop.Iterations.Len(), Settings: settingsOf(h.cfg, h.loop.Adjacent),
	}
	return gatherReport(h.c, own, rest, rep, h.master, h.record)
}
