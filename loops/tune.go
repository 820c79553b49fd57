package loops

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"shiftwork/comm"
	"shiftwork/pipeline"
)

// Tuning is one choice of a DOACROSS loop's block size: what was measured, what the model makes of it, what was chosen.
type Tuning struct {
	Sweep     int       `json:"sweep"`         // the first one (from 0 on) that has the chosen block size
	Iteration []float64 `json:"t_iteration_s"` // s per column, for each rank that has rows: the rest of a strip is PerStrip
	PerStrip  float64   `json:"per_strip_s"`   // what a strip takes in the body beside its columns: cold caches above all
	Fixed     float64   `json:"t_fixed_s"`     // what a strip's messages cost the processor; equation (8)
	Incr      float64   `json:"t_incr_s"`      // the same for each column
	Delay     float64   `json:"delay_s"`       // what a strip's messages take beside that, with nobody busy
	DelayIncr float64   `json:"delay_incr_s"`  // the same for each column
	Waiting   float64   `json:"waiting_s"`     // what waiting adds to a strip, where sweeps take longer than all this says
	Before    int       `json:"block_before"`  // columns
	Block     int       `json:"block"`         // columns
	Time      float64   `json:"sweep_s"`       // s, predicted: one of the sweeps that are left
	Reason    string    `json:"reason"`
	Curve     []Point   `json:"curve"`
	Doubts    []string  `json:"doubts,omitempty"` // what could not be measured well
}

// Point is the time that the model predicts for a block size.
type Point struct {
	Block  int     `json:"block"`   // columns
	Time   float64 `json:"sweep_s"` // s per sweep
	Chosen bool    `json:"chosen,omitempty"`
}

const (
	// calibrationShare is the part of the run that measuring what a strip costs may take.
	calibrationShare = 0.01
	// checkShare is the part of the run that looking at the costs again may take.
	checkShare = 0.01
	// fewestSweeps lie between two looks at the costs.
	fewestSweeps = 8
	// firstAnswer and laterAnswer are how many sweeps rank 0 takes for its answer: it waits only for a rank that is farther
	// behind than that. The first answer is urgent. Later a rank may be late because of a competing load, and the others
	// live on their lead.
	firstAnswer, laterAnswer = 1, 4
	// worthwhile is the part of the predicted time that a new block size must save; measured times differ by less.
	worthwhile = 0.02
	// worthwhileLeaning is the same where blocks lean: in batches times differ less.
	worthwhileLeaning = 0.01
	// slower is how many times the predicted time a sweep may take until waiting is held to be dear.
	slower = 1.1
	// Where blocks lean there are fewestStrips at least, and up to mostStrips where they are cheap.
	fewestStrips, mostStrips = 4, 64
	// quotaStrips are the fewest where a rank may be off its processor for a part of each quota period, as far as each has a page of each row.
	quotaStrips = 6
	// page is how many bytes a strip has of each row, under quotas, unless there are fewestStrips: no processor fetches beforehand what lies on the next page, and what the way to the next row's part costs is not measured
	// there. Of 8000 x 8000 points strips of 430 columns took 0.87 to 0.89 of the time of those of 215 to 230, and those of 600 again 0.97 to 0.98, with 2 and 4 ranks.
	page = 4096
	// wireStrips are the most where messages and not the processor set the pace, and shortestLetter is how many bytes these have at least: shorter ones fill the network with headers.
	wireStrips, shortestLetter = 32, 16 << 10
	// bodysShare is how much of what a strip takes in the body each sweep of a batch pays: cold caches, most of it, are paid for once.
	// Measured with grids of 1000 x 1000 and 2000 x 2000 on two cores: 0.07 to 0.14, and twice as much with two ranks on each.
	bodysShare = 0.1
	// hearingShare is the part of the computing that strips may cost which are there to be done sooner (hearing). Large grids have the dearest ones: of 8000 x 8000 points on two
	// ranks each 64th takes a fifth longer a point than each 16th.
	hearingShare = 0.02
	// uneven is what part of a strip of a batch a rank waits for its right neighbour where blocks turn back, because none computes evenly. On sixteen cores, each of which was slower for a tenth of the time than
	// else, 8 to 16 strips were best for 4000 x 4000 points, and four took 4 to 8% longer.
	uneven = 0.25
	// nextRow is what the way from one row's part of a strip to the next one's takes at least, in s. Measured within batches: 2.5 ns for 1000 x 1000 points, 4.5 for 4000 x 4000, 10 for 8000 x 8000; what
	// bodysShare makes of cold caches is less now and then.
	nextRow = 3e-9
	// handedOver is what it costs a rank, in s, in a strip of a batch, to let another compute and to go on when a message has come, where ranks share processors.
	handedOver = 3.5e-6
	// indistinct is by what part predictions may differ and say nothing, where ranks share processors: strips are then as few as can be, for others on the host make each hand-over dearer than it was when it was
	// measured. Four ranks, two bound to each of two cores, get about 3 strips of a grid of 500 x 500 (of 1 to 24 the best: 3), 5 of 1000 x 1000 (3 to 6), 6 of 2000 x 2000 (3 to 6) and 6 of 200 x 20000
	// (6 to 12), and over TCP 3 (1 to 6), 4 (4 to 8), 6 (4 to 6) and 5 (6 to 12). Where the host has other work 8 strips of 2000 x 2000 took 1.06 times as long as 5, and 6 took 1.01, in 40 runs of each.
	indistinct = 0.01
	// mostTunings are kept for the report.
	mostTunings = 100
)

// tuner chooses the block size of a run, first after a sweep or two and then again and again. README.md has a time line.
type tuner struct {
	messages messages
	full     smallest // s per work unit and column in strips of the block size, since costs were told
	short    smallest // the same in strips of shortBlock columns
	perStrip float64  // s per work unit for a strip beside its columns
	measured bool     // perStrip is

	shortBlock  int // columns of the strips with which the second sweep begins; 0: none
	shortStrips int
	ask, answer int // sweeps after which ranks tell their costs, and are told the block size; -1: never, or ask: they have
	reqs        []comm.Request

	since      time.Duration // when costs were told last
	sinceSweep int
}

// told is what a rank tells of its costs.
type told struct {
	Work     float64 // s per column for all of the rank's rows, without PerStrip; -1: no rows
	PerStrip float64 // s for all of its rows
	Width    float64 // bytes per column of a boundary, in all arrays
	Elapsed  float64 // s per sweep since it told last
	Doubt    float64 // doubtColumn, doubtStrip or their sum
}

const toldFields = 5

// longestWork is what a sweep takes in the body, in s, without overhead: on the rank that has most to do.
func (x *across) longestWork(all []told) (sweep float64) {
	for _, v := range all {
		sweep = max(sweep, v.Work*float64(x.d.Strip.Len()))
	}
	return sweep
}

// longest is what a sweep has taken, in s: on the rank, of those that have rows, that took longest.
func longest(all []told) (sweep float64) {
	for _, v := range all {
		if v.Work >= 0 {
			sweep = max(sweep, v.Elapsed)
		}
	}
	return sweep
}

// What a rank doubts of what it tells.
const (
	doubtColumn = 1 // its samples of t_iteration disagree, or are too few
	doubtStrip  = 2 // or those of strips of another length
)

func (v told) floats() []float64 { return []float64{v.Work, v.PerStrip, v.Width, v.Elapsed, v.Doubt} }

// startTuning sets the block size of the first sweep and says when it is looked at: the size asked for, or such that
// filling the pipeline takes at most a quarter of the sweep (equation (6) with M = StreamingSlack P).
func (x *across) startTuning() {
	d, columns, ranks := &x.d, x.d.Strip.Len(), x.c.Size()
	x.tuner.ask, x.tuner.answer = -1, -1
	switch {
	case d.Block > 0:
		x.setBlock(d.Block)
		x.rep.Untuned = "the block size is given"
		if x.leanMost > 0 {
			x.askAt(1, firstAnswer)
		}
		return
	case ranks == 1:
		x.setBlock(columns)
		x.rep.Untuned = pipeline.ReasonOneRank
		return
	}
	x.setBlock(columns / (pipeline.StreamingSlack * ranks))
	x.rep.Untuned = "too few sweeps or columns"
	if columns < 2 {
		return
	}
	if short := max(1, x.width/4); short < x.width && !x.quotaDecides() {
		// If a strip cost nothing but its overhead, each of these would add this part of a sweep.
		loss := (1 - float64(short)/float64(x.width)) / float64(len(x.strips))
		n := min(max(8, 2*ranks), int(min(calibrationShare*float64(d.Outer)/loss, float64(columns))), columns/short)
		if n >= 2 {
			x.tuner.shortBlock, x.tuner.shortStrips = short, n
		}
	}
	x.askAt(1, firstAnswer)
	if x.tuner.shortBlock > 0 {
		x.askAt(2, firstAnswer)
	}
}

// askAt makes ranks tell their costs when they have done so many sweeps, if the answer comes before the end.
func (x *across) askAt(sweep, delay int) {
	x.tuner.ask, x.tuner.answer = -1, -1
	if sweep+delay < x.d.Outer {
		x.tuner.ask, x.tuner.answer = sweep, sweep+delay
	}
}

// quotaDecides reports whether quotas and not what strips cost set their number. Then there is no sweep with strips of two lengths: until the first answer
// sweeps are swept one by one and tell nothing of ranks' speeds, and each is a while in which a load is not answered.
func (x *across) quotaDecides() bool { return x.rationed && x.leanMost > 0 && !comm.IsCrowded(x.c) }

// tune is called between two sweeps. Nobody waits here but rank 0, and only for a rank that is more than a sweep behind.
func (x *across) tune() error {
	t := &x.tuner
	if x.rep.Steps == 0 {
		t.since = x.c.Now()
	}
	if x.rep.Steps == 1 && t.shortBlock > 0 && t.ask == 2 {
		x.strips = nil
		x.cut(t.shortBlock, x.d.Strip.Lo+t.shortStrips*t.shortBlock)
		x.cut(x.width, x.d.Strip.Hi)
	}
	switch {
	case t.ask >= 0 && x.rep.Steps >= t.ask:
		t.ask = -1
		if t.shortBlock > 0 {
			t.learnPerStrip(x.width)
			x.setBlock(x.width)
		}
		return x.tell()
	case t.ask < 0 && t.answer >= 0 && x.rep.Steps >= t.answer:
		return x.retune()
	}
	return nil
}

// timed takes a strip's time in s.
func (t *tuner) timed(strip, block int, units, seconds float64) {
	if !(units > 0) {
		return
	}
	switch each := seconds / (units * float64(strip)); strip {
	case block:
		t.full.add(each)
	case t.shortBlock:
		t.short.add(each)
	}
}

// learnPerStrip makes of strips of two lengths what a strip costs beside its columns: a column takes a + perStrip/length.
func (t *tuner) learnPerStrip(block int) {
	if t.full.count > 0 && t.short.count > 0 {
		t.perStrip = max(0, (t.short.first-t.full.first)/(1/float64(t.shortBlock)-1/float64(block)))
		t.measured = !t.short.doubtful()
	}
	t.shortBlock = 0
}

// column is what a column takes by itself, in s per work unit, in strips of so many, which were swept one sweep at a time or in batches.
func (t *tuner) column(width int, batched bool) float64 {
	strip := t.perStrip
	if batched {
		strip *= bodysShare
	}
	return max(0, t.full.first-strip/float64(width))
}

// tell sends this rank's costs to rank 0.
func (x *across) tell() error {
	t := &x.tuner
	v := told{Work: -1}
	if units := x.d.Weights.Units(x.own); !x.own.Empty() {
		v.Work = t.column(x.width, x.leanMost > 0 && !x.single) * units
		v.PerStrip = t.perStrip * units
		for _, a := range x.d.Arrays {
			v.Width += float64(len(a.Part(x.own.Lo, x.d.Strip))) / float64(x.d.Strip.Len())
		}
		if t.full.doubtful() {
			v.Doubt += doubtColumn
		}
		if !t.measured && !x.quotaDecides() {
			v.Doubt += doubtStrip
		}
	}
	t.full = smallest{}
	now := x.c.Now()
	v.Elapsed = (now - t.since).Seconds() / float64(x.rep.Steps-t.sinceSweep)
	t.since, t.sinceSweep = now, x.rep.Steps
	x.told = v
	if x.c.Rank() == 0 {
		return nil
	}
	q, err := x.c.Isend(0, tagTune, comm.BytesOf(v.floats()))
	t.reqs = append(t.reqs, q)
	return err
}

// phases is how many hooks there are in all; 0, unknown, if that is more than anybody means: After will end the loop.
func (x *across) phases() int {
	done, left := 0, x.d.Outer-x.rep.Steps
	if x.h != nil {
		done = x.h.PhasesDone()
	}
	if left > math.MaxInt32/max(1, len(x.strips)) {
		return 0
	}
	return done + left*len(x.strips)
}

// retune is how rank 0 answers, and how the others hear the answer: the block size from here on, and when to tell costs
// again.
func (x *across) retune() error {
	if err := waitAll(x.tuner.reqs); err != nil { // the answers of last time, or the costs just told
		return err
	}
	x.tuner.reqs = x.tuner.reqs[:0]
	answer := make([]float64, 6)
	if x.c.Rank() == 0 {
		all, err := x.hear()
		if err != nil {
			return err
		}
		block, next, sweep := x.choose(all)
		block = min(x.whole(block), x.d.Strip.Len())
		lean, ever := x.chooseLean(x.longestWork(all), sweep, longest(all))
		answer[0], answer[1], answer[2], answer[3], answer[4] = float64(block), float64(next), float64(lean), float64(ever), float64(x.chooseLongest())
		if x.isLong(lean, sweep) {
			answer[5] = 1
		}
		for r := 1; r < x.c.Size(); r++ {
			q, err := x.c.Isend(r, tagTune, comm.BytesOf(answer))
			if err != nil {
				return err
			}
			x.tuner.reqs = append(x.tuner.reqs, q)
		}
	} else if err := receive(x.h, 0, tagTune, comm.BytesOf(answer)); err != nil {
		return err
	}
	if block := int(answer[0]); block != x.width {
		x.setBlock(block)
		x.tuner.full = smallest{}
	}
	// Known from the first choice on, and the same on every rank: each is at the same hook.
	x.h.SetPhases(x.phases())
	if x.leans {
		x.setLean(int(answer[2]), int(answer[3]))
	}
	x.longest, x.single, x.tokens = int(answer[4]), false, answer[5] != 0
	x.askAt(int(answer[1]), laterAnswer+2*keep(max(x.lean.most, x.wider))) // a rank may be a lean behind
	return nil
}

// hear receives what the others have told, on rank 0.
func (x *across) hear() ([]told, error) {
	all := []told{x.told}
	for r := 1; r < x.c.Size(); r++ {
		v := make([]float64, toldFields)
		if err := receive(x.h, r, tagTune, comm.BytesOf(v)); err != nil {
			return nil, err
		}
		all = append(all, told{v[0], v[1], v[2], v[3], v[4]})
	}
	return all, nil
}

// endTuning receives what is under way when the loop ends between question and answer.
func (x *across) endTuning() error {
	t := &x.tuner
	if x.c.Rank() == 0 && t.ask < 0 && t.answer >= 0 {
		if _, err := x.hear(); err != nil {
			return err
		}
	}
	return waitAll(t.reqs)
}

// choose is rank 0's choice of the block size for the sweeps that are left, after how many sweeps to look again, and what a sweep
// should take, in s.
func (x *across) choose(all []told) (block, next int, sweep float64) {
	began := x.c.Now()
	t, left := &x.tuner, x.d.Outer-x.rep.Steps
	record := Tuning{Sweep: x.rep.Steps, Before: x.width, Block: x.width}
	width, elapsed, loop := 0.0, longest(all), pipeline.Loop{Iterations: x.d.Strip.Len(), Sweeps: left}
	var columns, strips []int // ranks that doubt
	for r, v := range all {
		if v.Work < 0 {
			continue
		}
		loop.Ranks = append(loop.Ranks, pipeline.Rank{Work: v.Work})
		record.Iteration = append(record.Iteration, v.Work)
		record.PerStrip = max(record.PerStrip, v.PerStrip)
		width = max(width, v.Width)
		if int(v.Doubt)&doubtColumn != 0 {
			columns = append(columns, r)
		}
		if int(v.Doubt)&doubtStrip != 0 {
			strips = append(strips, r)
		}
	}
	arrays, elements := float64(len(x.d.Arrays)), width/8
	record.Fixed, record.Incr = arrays*t.messages.fixed, elements*t.messages.incr
	record.Delay, record.DelayIncr = t.messages.delay, elements*t.messages.delayIncr
	if elapsed > 0 { // a message that was disturbed when it was timed must not pass for what a sweep takes
		record.Incr = min(record.Incr, elapsed/float64(loop.Iterations))
	}
	loop.Fixed, loop.Incr = record.Fixed+record.PerStrip, record.Incr
	loop.Delay, loop.DelayIncr = record.Delay, record.DelayIncr
	record.Waiting = waiting(loop, x.width, elapsed)
	loop.Fixed += record.Waiting
	predict, points := func(b int) float64 { return loop.Predict(b) / float64(left) }, loop.Curve
	first := len(x.rep.Tunings) == 0
	lean := 0 // strips, where blocks lean: README.md, "Several sweeps in a batch"; for another bound see "What a receiver must buffer"
	if x.leanMost > 0 && (first || max(x.lean.most, x.wider) > 0) {
		model, most := x.leaning(&record), mostStrips
		// A rank with a quota computes for less of the time than its strips tell.
		if x.wireBound = !x.rationed && model.WireBound(); x.wireBound {
			most = min(wireStrips, max(fewestStrips, int(width*float64(loop.Iterations*model.Sweeps)/shortestLetter)))
		}
		model.Batches = batches(x.chooseLongest(), model.Sweeps, true)
		predict, points = model.Predict, model.Curve
		switch {
		case comm.IsCrowded(x.c): // whoever waits lets another rank compute: slack is worth nothing, being woken has its price
			lean = model.Fewest(1, most, indistinct)
		case x.quotaDecides():
			pages := int(width / max(1, arrays) * float64(loop.Iterations) / page) // of a row
			lean = min(max(fewestStrips, min(max(quotaStrips, x.perQuantum(model, record.Iteration)), pages)), most)
		default:
			// Strips that are wider than what fits the cache are cut there anyway.
			wide := x.widest()
			least := max(fewestStrips, (loop.Iterations+wide-1)/wide, min(x.hearing(model), model.Affordable(hearingShare)))
			lean = model.Strips(min(most, least), most)
		}
	}
	var choice pipeline.Choice
	better := false
	if lean > 0 { // loop's sweeps wait for each other
		size := (loop.Iterations + lean - 1) / lean
		strips := (loop.Iterations + size - 1) / size // of several numbers that come to one size the least
		choice = pipeline.Choice{BlockSize: size, Blocks: strips, Reason: fmt.Sprintf("blocks lean: %d strips", strips)}
		if strips == 1 {
			choice.Reason = "blocks lean: one strip"
		}
		better = predict(choice.BlockSize) < (1-worthwhileLeaning)*predict(x.width)
	} else {
		choice = loop.Choose()
		better = worthChanging(loop, x.width, choice)
	}
	if x.d.Block == 0 && choice.Blocks > 0 && (first || better) {
		record.Block, record.Reason = choice.BlockSize, choice.Reason
		record.Time = predict(record.Block)
		record.Doubts = doubts(t.messages.doubtful, columns, strips)
		record.Curve = curve(points(), record.Block, record.Time)
		if len(x.rep.Tunings) < mostTunings {
			x.rep.Tunings = append(x.rep.Tunings, record)
		}
		x.rep.Untuned = ""
	}
	cost := float64(2*(x.c.Size()-1))*t.messages.fixed + (x.c.Now() - began).Seconds()
	sweep = loop.Predict(record.Block) / float64(left)
	next = x.rep.Steps + sweepsBetween(cost, sweep)
	if elapsed > 0 {
		sweep = min(sweep, elapsed)
	}
	return record.Block, next, sweep
}

// leaning is the model of blocks that lean, with what has been measured; but for the number of batches.
func (x *across) leaning(t *Tuning) pipeline.Leaning {
	lean := max(x.lean.most, x.wider)
	if lean == 0 {
		lean = x.leanMost
	}
	l := pipeline.Leaning{
		Iterations: x.d.Strip.Len(), Work: slices.Max(t.Iteration) + t.Incr, Wire: t.DelayIncr + t.Incr,
		Strip: t.Fixed, PerSweep: bodysShare * t.PerStrip, Sweeps: 2*lean + 1,
	}
	l.Turn = l.Wire
	switch ranks := comm.Crowding(x.c); {
	case ranks > 1: // the processor does what all of them have to do
		each := typical(t.Iteration)
		// And all of them share its caches.
		l.Work, l.Strip, l.PerSweep = ranks*(each+t.Incr), ranks*(l.Strip+handedOver), ranks*ranks*l.PerSweep
		l.Turn, l.Sharing = ranks*each, ranks
	case !x.rationed:
		all := float64(x.c.Size())
		l.PerSweep = max(l.PerSweep, nextRow*float64(x.d.Rows.Len())/all)
		// Each rank begins a strip of a batch after the one before it. What comes later cannot make up for that, so that all sweeps have their part of it, and not those that are left.
		begin := (all - 1) * float64(l.Sweeps) / float64(x.d.Outer)
		l.Turn += (uneven*(all-1)/all + begin) * l.Work
	}
	return l
}

// typical is the median of what ranks' columns take: the strips of some may have met others' computing each time.
func typical(iteration []float64) float64 {
	return slices.Sorted(slices.Values(iteration))[(len(iteration)-1)/2]
}

// perQuantum is how many strips it takes so that one of a batch is computed in a scheduling quantum. Under quotas more are more waits, in which others use the quota up;
// but of fewer a load that comes is heard of late, and when a loop begins ranks wait long for their first one.
func (x *across) perQuantum(l pipeline.Leaning, iteration []float64) int {
	if !(x.quantum > 0) {
		return 1
	}
	batch := typical(iteration) * float64(l.Iterations*l.Sweeps) / float64(l.Batches)
	return int(min(math.Ceil(batch/x.quantum), mostStrips))
}

// hearing is how many strips it takes so that one of a batch lasts no longer than a quarter of a scheduling quantum: statuses, and rows that are to move, wait for the end of a strip. With
// strips of a whole quantum balancing removes 0.61 and 0.77 of a load of 1 s in 2 s and 3 s in 6 s, with half of that 0.75 and 0.89, with a quarter 0.82 and 0.89, with an eighth 0.86 and 0.91
// (TestLeansAnswerALoadSoon).
func (x *across) hearing(l pipeline.Leaning) int {
	batch := l.Work * float64(l.Iterations*l.Sweeps) / float64(l.Batches)
	if !(x.quantum > 0) {
		return 1
	}
	return int(min(math.Ceil(4*batch/x.quantum), mostStrips))
}

// waiting is what a strip costs in s because ranks must be woken for its messages. On a processor of its own a rank that waits
// costs nobody anything, and hides the delay of messages behind its lead. Where sweeps take longer than that, ranks share
// processors, or have no lead: then each of a strip's two messages costs up to its whole delay, as in equation (8).
func waiting(loop pipeline.Loop, block int, elapsed float64) float64 {
	strips := math.Ceil(float64(loop.Iterations) / float64(block))
	most := 2 * (loop.Delay + loop.DelayIncr*float64(block))
	sweep, _ := steady(loop, block)
	return min(most, max(0, (elapsed-slower*sweep)/strips))
}

// sweepsBetween is how many sweeps of so many s lie between two looks at the costs, if one costs rank 0 so many s.
func sweepsBetween(cost, sweep float64) int {
	if !(cost > checkShare*fewestSweeps*sweep) {
		return fewestSweeps
	}
	return int(min(math.Ceil(cost/(checkShare*sweep)), 1e9)) // 1e9: never again
}

// worthChanging reports whether a choice is predicted to be faster than the present block size by more than samples err, or
// gives a slack that the present one has far too little of, at the same price. The pipeline is filled already: longer strips
// fill it once more for the difference, shorter ones win nothing back.
func worthChanging(loop pipeline.Loop, block int, choice pipeline.Choice) bool {
	if block == choice.BlockSize {
		return false
	}
	left := float64(loop.Sweeps)
	present, fill := steady(loop, block)
	next, refill := steady(loop, choice.BlockSize)
	gain := left*(present-next) - max(0, refill-fill)
	if gain > worthwhile*left*present {
		return true
	}
	strips := (loop.Iterations + block - 1) / block
	slack := choice.Reason == pipeline.ReasonStall && 2*strips <= choice.Blocks
	return slack && loop.Sweeps >= fewestSweeps && -gain <= worthwhile*left*present
}

// steady is the time in s of one sweep among many, and what filling and draining the pipeline takes besides.
func steady(loop pipeline.Loop, block int) (sweep, fill float64) {
	time := loop.Predict(block)
	sweeps := float64(loop.Sweeps)
	loop.Sweeps++
	sweep = loop.Predict(block) - time
	return sweep, time - sweeps*sweep
}

func doubts(messages bool, columns, strips []int) []string {
	const why = "the two shortest times differ by more than a factor %g, or there are less than two"
	list := func(ranks []int) string {
		return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(ranks)), ", "), "[]")
	}
	var all []string
	if messages {
		all = append(all, fmt.Sprintf("t_fixed and t_incr: "+why, disagree))
	}
	if len(columns) > 0 {
		all = append(all, fmt.Sprintf("t_iteration of rank %s: "+why, list(columns), disagree))
	}
	if len(strips) > 0 {
		all = append(all, fmt.Sprintf("the body's cost per strip, on rank %s: too few sweeps for strips of another length, or "+why,
			list(strips), disagree))
	}
	return all
}

// curve is the model's, with the chosen block size, which is predicted to take time s a sweep.
func curve(of []pipeline.Point, chosen int, time float64) []Point {
	var points []Point
	for _, p := range of {
		points = append(points, Point{Block: p.BlockSize, Time: p.Time, Chosen: p.BlockSize == chosen})
	}
	at, found := slices.BinarySearchFunc(points, chosen, func(p Point, b int) int { return p.Block - b })
	if !found {
		points = slices.Insert(points, at, Point{Block: chosen, Time: time, Chosen: true})
	}
	return points
}
