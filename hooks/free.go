package hooks

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"shiftwork/comm"
	"shiftwork/dist"
	"shiftwork/lb"
)

// FreeLoop describes a loop whose ranks never wait for each other: a DOALL without boundary exchange, done once or
// several times. Iteration i needs nothing but its own data, so its repetitions may run ahead of, or behind, those of
// other iterations.
type FreeLoop struct {
	Name       string // for messages and records; "": loop
	Iterations dist.Range
	Repeat     int          // how often each iteration is done; below 1: 1
	Weights    dist.Weights // work units of each iteration; zero: 1 each
	Arrays     []Array      // they move with their iterations
	Pieces     int          // that each iteration is cut into, see NextPiece; 0: 1
	Results    []Array      // set by pieces; they move with iterations that are begun, and only then
	Quantum    float64      // s, the scheduling quantum; 0: measured
	Record     Recorder     // on the master only, unless it is a Tracer
}

// Free is the run time of a FreeLoop in one rank. The loop hands out its iterations in chunks:
//
//	for {
//		rep, rows, ok, err := f.Next() // counts as the hook
//		if !ok || err != nil { break }
//		compute(rep, rows)
//	}
//
// What is not done yet moves directly between any two ranks, while they and all others compute on: between two calls of Next a goroutine
// of Free may use the Comm, so compute must not. The loop balances within itself down to its last iterations: chunks and periods shrink as
// the end comes near.
type Free struct {
	c    comm.Comm
	loop FreeLoop
	cfg  lb.Config

	queue  []part         // not finished, by repetition, then by index
	done   dist.Intervals // finished here
	chunk  part           // handed out by the last Next; its pieces that are done are those that have been counted
	piece  int            // of the chunk, handed out last
	active bool
	move   mover
	master *master

	k       int           // interactions so far
	waiting bool          // the status of interaction k-1 has no answer yet
	called  int           // the master asked for the status of this interaction; -1: none
	quantum float64       // s, the scheduling quantum
	period  time.Duration // until the next status, from the last instruction
	next    time.Duration // when the next status is due
	final   bool
	awaited int       // transfers announced by instructions that have not arrived
	landing []landing // those of them whose data is on its way, in the order of their headers
	helper  helper
	obeyed  int

	began, since  time.Duration
	ended         time.Duration // when the last chunk was done
	lap           lap           // of the chunk under way
	startCPU      time.Duration // CPU time when the chunk under way began
	ownProcess    bool          // no other rank in it
	between       time.Duration // the shortest time from the end of a chunk to the begin of the next: an empty hook
	handedOut     int           // iterations in all chunks
	units         float64       // done since the last status
	compute       time.Duration
	chunks, hooks int // chunks that have ended, and the hooks at and within them
	moved         movement
	rate, slowest float64 // work units/s, of the last chunk and of the slowest one: size the next one
	grain         grain
	total         totals
	interact      float64
	clock         masterClock
	followed
}

// worthCPUTime is how long a chunk must take for its CPU time, to a microsecond, to say more than the clock.
const worthCPUTime = 100 * time.Microsecond

const (
	// slowestFades is how much faster a chunk may be than the slowest one for each chunk since that.
	slowestFades = 1.01
	// worthHook is the computing beside which a hook between two chunks, some microseconds, is nothing.
	worthHook = 500 * time.Microsecond
)

// Kinds of messages, by their first byte. Those of a free loop travel with tagStatus, so that one probe sees whichever comes first; where boundaries move one by one,
// those of the master with tagCall and those of neighbours with tagBelow.
const (
	kindStatus = iota
	kindInstruction
	kindCall
	kindTransfer
	kindOver // no more of the others; not in free loops

	// To the rank below, where boundaries move one by one.
	kindOffer // iterations, with the hook behind which they are given
	kindReady // to take what was announced
	kindHere  // Await was called
)

// NewFree starts the run time; every rank must call it. See New for errors.
func NewFree(c comm.Comm, loop FreeLoop, cfg lb.Config) (*Free, error) {
	if loop.Name == "" {
		loop.Name = "loop"
	}
	loop.Repeat, loop.Pieces = max(1, loop.Repeat), max(1, loop.Pieces)
	common := Loop{
		Name: fmt.Sprintf("%s x%d", loop.Name, loop.Repeat), Iterations: loop.Iterations, Weights: loop.Weights,
		Arrays: slices.Concat(loop.Arrays, loop.Results), Quantum: loop.Quantum, Agreed: fmt.Sprintf("%d pieces", loop.Pieces),
	}
	first, err := check(c, &common, cfg)
	if err != nil {
		return nil, err
	}
	// Where ranks wait for each answer, a slow rank's trials may cost the others more than they are worth; and the
	// policies that move work for no reason shall do it from the first chunk on.
	settled := cfg.Interaction == lb.Synchronous && loop.Pieces == 1 || cfg.Policy != lb.On
	f := &Free{
		grain: grain{settled: settled, pieces: loop.Pieces}, c: c, loop: loop, cfg: cfg, obeyed: -1, called: -1, ownProcess: ownProcess(c),
		move: mover{c: c, arrays: loop.Arrays, results: loop.Results},
	}
	start := dist.Even(loop.Iterations, c.Size(), first)
	if own := start.Range(c.Rank()); !own.Empty() {
		f.queue = append(f.queue, part{Range: own})
	}
	f.began = c.Now()
	f.active = present && cfg.Policy != lb.Off && c.Size()-first > 1 && loop.Iterations.Len() > 0
	if f.active {
		if err := f.startMaster(first, start); err != nil {
			return nil, err
		}
		f.final = !reporting
	}
	f.began = c.Now()
	f.since, f.next = f.began, f.began
	f.follow(loop.Record, loop.Name, c.Rank(), f.began)
	return f, nil
}

func (f *Free) startMaster(first int, start dist.Block) error {
	var err error
	if f.interact, err = measureInteraction(f.c); err != nil {
		return err
	}
	if err := f.clock.synchronise(f.c); err != nil {
		return err
	}
	quantum, err := agreeQuantum(f.c, f.loop.Quantum)
	if err != nil {
		return err
	}
	f.quantum, f.period = quantum, seconds(quantum)
	if f.c.Rank() != 0 {
		return nil
	}
	setup := lb.Loop{
		Ranks: f.c.Size(), FirstWorker: first, Start: start, Weights: f.loop.Weights,
		Movement: lb.Direct, Free: true, Quantum: quantum, Interact: f.interact,
	}
	b, err := lb.New(f.cfg, setup)
	if err != nil {
		return err
	}
	f.master = newMaster(f.c, b, setup, true, f.record)
	f.master.send = func(to int, in *instruction) error {
		return f.master.sends.isend(to, tagStatus, append([]byte{kindInstruction}, in.encode()...))
	}
	f.master.call = func(to, interaction int) error {
		if to == 0 {
			f.called = interaction
			return nil
		}
		return f.master.sends.isend(to, tagStatus, append([]byte{kindCall}, encodeCall(interaction)...))
	}
	f.record(Event{Kind: "start", Config: &f.cfg, Setup: &setup})
	return nil
}

func (f *Free) record(e Event) {
	if f.loop.Record == nil || f.c.Rank() != 0 {
		return
	}
	e.Loop, e.Time = f.loop.Name, (f.c.Now() - f.began).Seconds()
	f.loop.Record.Record(e)
}

// Owned are the iterations that this rank has finished, in ascending order: after the loop, the ones whose data is
// here.
func (f *Free) Owned() []dist.Range { return f.done.Ranges() }

// Next ends the computing of the previous chunk and returns the next: iterations to be done for the given repetition,
// counted from 0. ok is false when the loop has ended for this rank. It is for loops whose iterations are not cut into pieces.
func (f *Free) Next() (repetition int, r dist.Range, ok bool, err error) {
	repetition, r, _, ok, err = f.NextPiece()
	return repetition, r, ok, err
}

// NextPiece is Next for iterations so long, or best done so many at once, that news and work should not wait for the end of a chunk: it
// returns which piece of the iterations is to be done, of FreeLoop.Pieces, counted from 0. All pieces of a chunk follow one another, but
// between two of them the rank reports and obeys, and may give some of the chunk's iterations away: those returned are fewer then, and
// the rest goes on where the taker is.
func (f *Free) NextPiece() (repetition int, r dist.Range, piece int, ok bool, err error) {
	if !f.chunk.Empty() && f.piece+1 < f.loop.Pieces {
		f.piece++
		err := f.within()
		return f.chunk.repetition, f.chunk.Range, f.piece, err == nil, err
	}
	if present {
		f.ended = f.c.Now()
	}
	if err := f.helper.stop(); err != nil { // before anything that it uses too
		return 0, r, 0, false, err
	}
	f.finishChunk()
	if f.active {
		if err := f.hook(); err != nil {
			return 0, r, 0, false, err
		}
	}
	if len(f.queue) == 0 {
		return 0, r, 0, false, nil
	}
	f.chunk = f.cut()
	f.piece = f.chunk.piece
	if present {
		f.lap, f.startCPU = lap{began: f.c.Now()}, f.cpuTime()
		if hook := f.lap.began - f.ended; f.handedOut > 0 && (f.between == 0 || hook < f.between) {
			f.between = hook
		}
	}
	f.handedOut += f.chunk.Len()
	f.help()
	return f.chunk.repetition, f.chunk.Range, f.piece, true, nil
}

// help lets messages that are under way go on while the loop computes.
func (f *Free) help() {
	if f.ownProcess && f.carrying() {
		f.helper.start(func() (bool, error) {
			err := errors.Join(f.move.reap(), f.land(false))
			return !f.carrying(), err
		})
	}
}

// cpuTime is the CPU time that this rank has used; 0 where it is not known, or where nobody asks.
func (f *Free) cpuTime() time.Duration {
	if !f.ownProcess || f.grain.settled && !f.grain.binding {
		return 0
	}
	return cpuTime()
}

func (f *Free) finishChunk() {
	if f.chunk.Empty() {
		return
	}
	if present {
		f.timeChunk()
	}
	f.insert(part{Range: f.chunk.Range, repetition: f.chunk.repetition + 1})
	f.chunk = part{}
	if f.watching != nil && f.watching.due(f.ended) {
		done := f.total.units + f.units
		steps := float64(f.loop.Repeat) * done / (done + f.remaining())
		f.watching.pulse(f.ended, Pulse{Loop: f.loop.Name, Phases: f.total.chunks + f.chunks, Steps: steps})
	}
}

// timeChunk counts the chunk that was handed out last and has ended.
func (f *Free) timeChunk() {
	f.finishLap(f.ended, f.loop.Pieces)
	f.chunks++
	f.hooks++
	took, units := f.lap.computed, f.lap.units
	if took > 0 {
		f.rate = units / took.Seconds()
		if f.slowest *= slowestFades; f.slowest == 0 || f.rate < f.slowest {
			f.slowest = f.rate
		}
		trying := !f.grain.settled
		if trying {
			f.slowest = f.rate // the longer the faster, perhaps
		}
		alone := f.rate // as if nobody else used the core
		if cpu := f.cpuTime() - f.startCPU; cpu > 0 && took >= worthCPUTime {
			alone = units / cpu.Seconds()
		}
		if f.active && !f.lap.divided {
			f.grain.learn(f.chunk.Len(), alone, took.Seconds()/f.quantum, 1+f.lap.hooks)
		}
		f.settles(trying)
	}
}

// settles ends the trials: the rate with short chunks says nothing about the rate from here on.
func (f *Free) settles(trying bool) {
	if trying && f.grain.settled {
		f.closeBooks(f.c.Now())
	}
}

// interacted tells what began at that time and has just ended.
func (f *Free) interacted(began time.Duration, k int) {
	if f.trace != nil {
		f.trace.Span(Span{Interacting, began, f.c.Now(), k, dist.Range{}, 0})
	}
}

// moving tells a movement that f carries out, which says how many work units it moved.
func (f *Free) moving(carryOut func() (units float64, err error)) error {
	if f.trace == nil {
		_, err := carryOut()
		return err
	}
	f.moves.begin(f.c.Now(), f.obeyed)
	f.move.traced = &f.moves
	defer func() { f.move.traced = nil }()
	units, err := carryOut()
	f.moves.end(f.c.Now(), dist.Range{}, units)
	return err
}

// insert queues a part behind those of the same repetition that have lower indices, and joins neighbours.
func (f *Free) insert(p part) {
	if p.repetition >= f.loop.Repeat {
		f.done.Add(p.Range)
		return
	}
	i, _ := slices.BinarySearchFunc(f.queue, p, func(a, b part) int {
		if a.repetition != b.repetition {
			return a.repetition - b.repetition
		}
		return a.Lo - b.Lo
	})
	if i > 0 && p.follows(f.queue[i-1]) {
		i--
		f.queue[i].Hi = p.Hi
	} else {
		f.queue = slices.Insert(f.queue, i, p)
	}
	if i+1 < len(f.queue) && f.queue[i+1].follows(f.queue[i]) {
		f.queue[i].Hi = f.queue[i+1].Hi
		f.queue = slices.Delete(f.queue, i+1, i+2)
	}
}

// cut takes the next chunk off the front of the queue: so many iterations as take an eighth of the period at the slowest
// rate, for the next ones may be the heavy ones, or as are worth a hook at the rate of the last chunk, or as the body wants
// at once, if that is more.
func (f *Free) cut() part {
	front := &f.queue[0]
	n := front.Len()
	if f.active {
		aim := max(f.period/8, 100*time.Microsecond)
		units := max(f.slowest*aim.Seconds(), f.rate*min(aim, worthHook).Seconds())
		regular := f.loop.Weights.Front(front.Range, units)
		trying := !f.grain.settled
		n = f.grain.next(regular, f.iterationsLeft(), front.Len(), f.iterations())
		f.settles(trying)
	}
	p := *front
	p.Hi = p.Lo + n
	front.Lo += n
	if front.Empty() {
		f.queue = slices.Delete(f.queue, 0, 1)
	}
	return p
}

// Annotate is deferred around the loop: see Hooks.Annotate.
func (f *Free) Annotate() {
	if f.chunk.Empty() {
		return
	}
	if v := recover(); v != nil {
		_ = f.helper.stop() // what the program has to say matters more
		panic(&PanicError{Rank: f.c.Rank(), Phase: f.total.chunks + f.chunks, Loop: f.loop.Name, Value: v, Stack: debug.Stack()})
	}
}

// hook is one execution of the hook between chunks. A rank reports when it is time and its chunks have found their
// length, when it has run dry, or when the master calls. A rank that has work reports once at most and goes on with it:
// otherwise a period shorter than an interaction would keep all ranks talking for ever.
func (f *Free) hook() error {
	reported := false
	for {
		if err := f.receive(); err != nil {
			return err
		}
		if f.mayReport() && (len(f.queue) == 0 || !reported && f.due()) {
			reported = true
			if err := f.report(); err != nil {
				return err
			}
			continue
		}
		if len(f.queue) > 0 && !(f.waiting && f.cfg.Interaction == lb.Synchronous) {
			return nil
		}
		if f.final && f.awaited == 0 {
			return nil
		}
		if len(f.landing) > 0 {
			if err := f.moving(func() (float64, error) { return 0, f.land(true) }); err != nil {
				return err
			}
			continue
		}
		if _, err := f.c.Probe(comm.Any, tagStatus); err != nil {
			return err
		}
	}
}

// mayReport says whether the master has heard and said everything before.
func (f *Free) mayReport() bool { return !f.final && !f.waiting && f.awaited == 0 }

// due says whether a rank that has work, and may report, should.
func (f *Free) due() bool { return f.c.Now() >= f.next && f.grain.settled || f.called == f.k }

// receive takes in everything that has arrived, without waiting.
func (f *Free) receive() error {
	if err := f.move.reap(); err != nil {
		return err
	}
	if err := f.land(false); err != nil {
		return err
	}
	for {
		st, ok, err := f.c.Iprobe(comm.Any, tagStatus)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		b := make([]byte, st.Len)
		if _, err := f.c.Recv(st.Source, tagStatus, b); err != nil {
			return err
		}
		if err := f.handle(st.Source, b); err != nil {
			return err
		}
	}
	if f.master != nil {
		if in := f.master.take(f.k - 1); in != nil {
			return f.obey(in)
		}
	}
	return nil
}

func (f *Free) handle(from int, b []byte) error {
	if len(b) == 0 {
		return fmt.Errorf("rank %d sent an empty message", from)
	}
	body := b[1:]
	switch b[0] {
	case kindStatus:
		if f.master == nil {
			return fmt.Errorf("rank %d sent its status to rank %d, which is not the master", from, f.c.Rank())
		}
		s, err := decodeStatus(body)
		if err != nil {
			return err
		}
		began := f.c.Now()
		err = f.master.add(s)
		f.master.busy += f.c.Now() - began
		f.interacted(began, s.Interaction)
		return err
	case kindInstruction:
		in, err := decodeInstruction(body)
		if err != nil {
			return err
		}
		return f.obey(in)
	case kindCall:
		var err error
		f.called, err = decodeCall(body)
		return err
	case kindTransfer:
		return f.moving(func() (float64, error) {
			before := f.moved.units
			err := f.accept(from, body)
			return f.moved.units - before, err
		})
	}
	return fmt.Errorf("rank %d sent a message of unknown kind %d", from, b[0])
}

func (f *Free) report() error {
	now := f.c.Now()
	elapsed := now - f.since
	s := lb.Status{
		Rank: f.c.Rank(), Interaction: f.k, Obeyed: f.obeyed,
		Units: f.units, Compute: f.compute.Seconds(), Elapsed: elapsed.Seconds(),
		Wait:   max(0, elapsed-f.compute-f.moved.time).Seconds(),
		Phases: f.hooks, PhasesLeft: -1,
		Age:   f.clock.time(now).Seconds(),
		Owned: f.remaining(), OwnedIterations: f.iterations(), Least: f.grain.least(),
		MoveTime: f.moved.time.Seconds(), MoveTransfers: f.moved.transfers, MoveUnits: f.moved.units,
		Transit: f.moved.transit.Seconds(), TransitUnits: f.moved.transitUnits,
	}
	f.total.rates.add(s.Units, s.Compute)
	f.closeBooks(now)
	f.k++
	f.waiting = true
	defer func() {
		f.total.interact += f.c.Now() - now
		f.interacted(now, s.Interaction)
	}()
	if f.master != nil {
		return f.master.add(s)
	}
	// Into move.pending, not a blocking send: the master may be computing.
	return f.move.isend(0, tagStatus, append([]byte{kindStatus}, encodeStatus(&s)...))
}

func (f *Free) closeBooks(now time.Duration) {
	f.total.units += f.units
	f.total.compute += f.compute
	f.total.move += f.moved.time
	f.total.chunks += f.chunks
	f.total.hooks += f.hooks
	f.units, f.compute, f.chunks, f.hooks, f.moved = 0, 0, 0, 0, movement{}
	f.since = now
}

func (f *Free) obey(in *instruction) error {
	if in.interaction != f.k-1 || !f.waiting {
		return fmt.Errorf("rank %d expected instruction %d and got %d", f.c.Rank(), f.k-1, in.interaction)
	}
	f.waiting = false
	f.obeyed = in.interaction
	f.clock.learn(seconds(in.sent), f.c.Now())
	f.period = seconds(in.period)
	f.next = f.since + f.period // of statuses that are so far apart, however long the answer took
	if f.cfg.Interaction == lb.Synchronous {
		f.next = f.c.Now() + f.period // nothing was done meanwhile
	}
	f.final = in.final
	before, gives := f.moved.units, false
	for _, t := range in.transfers {
		if t.To == f.c.Rank() {
			f.awaited++
		} else {
			gives = true
		}
	}
	if !gives {
		return nil
	}
	return f.moving(func() (float64, error) {
		err := f.give(in)
		return f.moved.units - before, err
	})
}

// seconds is a time of x seconds, at most longest: a configured period may exceed what a Duration, or a clock reading
// plus a Duration, can hold.
func seconds(x float64) time.Duration {
	const longest = 1e9
	return time.Duration(min(x, longest) * float64(time.Second))
}

// remaining is the work units that are left to do here. Summed anew each time: differences of sums would leave a rest that
// is not exactly 0 at the end, and the master would go on dividing it.
func (f *Free) remaining() float64 {
	units := f.unitsLeft(f.chunk)
	for _, p := range f.queue {
		units += f.unitsLeft(p)
	}
	return units
}

// unitsLeft is the work units of a part, each repetition that it still has before it counted, and not its pieces that are done.
func (f *Free) unitsLeft(p part) float64 { return f.loop.Weights.Units(p.Range) * f.timesLeft(p) }

// timesLeft is how often each iteration of a part is still to be done.
func (f *Free) timesLeft(p part) float64 {
	return float64(f.loop.Repeat-p.repetition) - float64(p.piece)/float64(f.loop.Pieces)
}

func (f *Free) iterations() int {
	n := f.chunk.Len()
	for _, p := range f.queue {
		n += p.Len()
	}
	return n
}

// iterationsLeft counts each repetition that an iteration still has before it.
func (f *Free) iterationsLeft() int {
	n := 0
	for _, p := range f.queue {
		n += p.Len() * (f.loop.Repeat - p.repetition)
	}
	return n
}

// Finish ends the loop: every rank calls it after Next returned false. Rank 0 gets the report of all ranks; the others
// get nil.
func (f *Free) Finish() (*Report, error) {
	rest := tail{units: f.units, compute: f.compute.Seconds()}
	f.closeBooks(f.c.Now())
	if f.master != nil {
		if err := f.master.sends.flush(); err != nil {
			return nil, err
		}
	}
	if err := f.move.flush(); err != nil {
		return nil, err
	}
	own := RankReport{
		Iterations: f.done.Len(), Units: f.total.units,
		Elapsed: (f.c.Now() - f.began).Seconds(),
		Compute: f.total.compute.Seconds(), Move: f.total.move.Seconds(), Taken: f.total.iterations,
		Interact: f.total.interact.Seconds(), RateMin: f.total.rates.low, RateMax: f.total.rates.high,
	}
	if f.trace != nil {
		f.trace.End(f.c.Now())
	}
	rep := Report{
		Interactions: f.k, Interact: f.interact, Placement: f.placed(),
		Iterations: f.loop.Iterations.Len(), Settings: settingsOf(f.cfg, false),
	}
	return gatherReport(f.c, own, rest, rep, f.master, f.record)
}

// placed is where this rank's hooks were; nil if it had no chunks that took time, or no hooks.
func (f *Free) placed() *Placement {
	chunks := f.total.chunks
	if !f.active || chunks == 0 || f.total.compute == 0 {
		return nil
	}
	at := &Placement{
		Position: "lbhook0a", Loop: f.loop.Name, Strip: f.handedOut / chunks,
		Between: f.total.compute.Seconds() / float64(f.total.hooks), Hook: f.between.Seconds(),
		Reason: fmt.Sprintf("nobody waits for anybody: %s is strip mined, in strips of an eighth of a period, of %v at least if a period has it",
			f.loop.Name, worthHook),
	}
	if f.loop.Pieces > 1 {
		at.Reason += "; there are hooks within them, between pieces"
	}
	at.Share = at.Hook / at.Between
	return at
}
