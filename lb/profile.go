package lb

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"shiftwork/dist"
	"shiftwork/filter"
)

// A profile is what the balancer learns about the weights of iterations, where the program gives none: doc.go states the
// model and what can be identified.

const (
	// mostCells bounds the cells of a grid, cellsPerWorker is how many of them each worker is meant to own.
	mostCells      = 256
	leastCells     = 64
	cellsPerWorker = 32
	// mostLearned is the longest loop whose weights are learned: every rank keeps a number for each iteration.
	mostLearned = 1 << 20
	// MaxTimings bounds the Timings of a Status.
	MaxTimings = 32
)

// Grid divides a span of iterations into cells of equal length. All iterations of a cell have the same learned weight.
type Grid struct {
	Span  dist.Range
	Cells int // 0: nothing is learned of this loop
}

// NewGrid is the grid of a loop over span on this many workers. It has no cells where there is nothing to learn that
// would help to divide the span, or too much to keep: less than two iterations a worker, or more than 2^20 in all.
func NewGrid(span dist.Range, workers int) Grid {
	if workers < 2 || span.Len() < 2*workers || span.Len() > mostLearned {
		return Grid{Span: span}
	}
	cells := min(max(leastCells, cellsPerWorker*min(workers, mostCells)), mostCells)
	return Grid{Span: span, Cells: min(cells, span.Len())}
}

// Cell is the range of the iterations of cell c.
func (g Grid) Cell(c int) dist.Range {
	n := g.Span.Len()
	return dist.Span(g.Span.Lo+c*n/g.Cells, g.Span.Lo+(c+1)*n/g.Cells)
}

// At is the cell of iteration i of the span.
func (g Grid) At(i int) int { return ((i-g.Span.Lo+1)*g.Cells - 1) / g.Span.Len() }

// Weights gives every iteration the weight of its cell: units[c], finite and > 0, for each of the grid's cells.
func (g Grid) Weights(units []float64) (dist.Weights, error) {
	if g.Cells == 0 || len(units) != g.Cells {
		return dist.Weights{}, fmt.Errorf("lb: weights of %d cells for the %d cells of %v", len(units), g.Cells, g.Span)
	}
	each := make([]float64, 0, g.Span.Len())
	for c, u := range units {
		for range g.Cell(c).Len() {
			each = append(each, u)
		}
	}
	return dist.NewWeights(g.Span, each)
}

// Timing is the computing time that a rank took to do each iteration of a range once.
type Timing struct {
	Lo, Hi  int
	Seconds float64
}

const (
	// leastShape is the relative deviation of weights within ranks below which they count as equal.
	leastShape = 0.05
	// shapeEvidence is how many standard errors the shape that repeats must stand above 0: noise alone gets there once in
	// 30,000 independent tests. evidenceFade is how much evidence is kept when all cells have been measured once more.
	shapeEvidence = 4
	evidenceFade  = 0.97
	// leastGain is how much of a rank's work new weights must put elsewhere to be announced, noiseGain how many standard
	// deviations of what noise alone would put there.
	leastGain = 0.05
	noiseGain = 3
	// shapeFade is how much of what was measured is kept when all cells have been measured once more.
	shapeFade = 0.8
	// bond is the information, in measurements, that ties a cell to its estimate before. It decides what no measurement does.
	bond = 1e-3
	// firstBond stands for it in the first estimate: that of an error of 1 in the mean logarithm of the cells that one
	// worker owns, or in the step to the next cell. leastStep is the step that even a smooth profile may have.
	firstBond = 1e-4
	leastStep = 0.1
	// mostSkew bounds the natural logarithm of a learned weight, in either direction.
	mostSkew = 14
	// restPeriods is how many periods must be left for new weights: for two interactions nothing moves.
	restPeriods = 4
)

// profile estimates x_c, the natural logarithm of the weight of an iteration of each cell c, from what ranks measure:
//
//	ln(seconds per iteration of c on rank r in status k) = x_c - v_rk + noise
//
// v_rk, the logarithm of the rank's speed then, is eliminated from each status: what remains are differences between the
// cells that were measured together. Least squares over all statuses: matrix x = right. The sums fade. What they leave
// open is decided by weak bonds. The first estimate joins what different ranks have measured where they meet, if weights
// change little from cell to cell within ranks, else it takes the ranks' mean weights for equal. Later ones stay near the
// one before.
type profile struct {
	grid   Grid
	matrix []float64 // Cells x Cells, symmetric
	right  []float64
	x      []float64 // the estimate

	// The shape within each status, against that of the rank's status before: the mean product of both is what repeats, half
	// of the mean squared difference is the noise of one measurement. Each is a sum that fades; count are degrees of freedom.
	// The sum of the squared products tells how much of repeats may be chance, however wild single timings are.
	repeats, squares, noise, count float64
	last                           []float64 // per cell: ln(seconds per iteration) when last measured
	by                             []int     // and the rank that measured it, -1: none
	known                          bool      // the shape has been significant once

	version   int       // of the latest weights announced; 0: none
	announced []float64 // their logarithm
	pending   bool      // not all ranks have adopted them
	weights   dist.Weights
	adopted   int // interaction at which all ranks had adopted the latest weights

	history []history // per rank

	cells           []int     // of one status; scratch, as are the following
	ln, info        []float64 // per entry of cells: its measurement, and which part of the cell was measured
	shape, previous []float64
}

// history are the latest raw rates of a rank with the iterations that it owns now. New weights change all of them by the
// same factor, so that what they tell of its noise is not lost.
type history struct {
	owned      float64 // units, by the weights that the rank reports in
	iterations int
	raw        [keptRates]float64 // units/s
	computed   [keptRates]float64 // s of computing
	elapsed    [keptRates]float64 // s
	count      int                // ever; the latest is at (count-1) % keptRates
}

const keptRates = 8

// note takes in the raw rate of a status, 0 for none.
func (h *history) note(s *Status, raw float64) {
	if s.Owned != h.owned || s.OwnedIterations != h.iterations {
		*h = history{owned: s.Owned, iterations: s.OwnedIterations}
	}
	if raw > 0 {
		i := h.count % keptRates
		h.raw[i], h.computed[i], h.elapsed[i] = raw, s.Compute, s.Elapsed
		h.count++
	}
}

func newProfile(loop Loop) *profile {
	grid := NewGrid(loop.Start.Span(), loop.Ranks-loop.FirstWorker)
	if !loop.Learn || grid.Cells == 0 {
		return nil
	}
	return &profile{grid: grid, history: make([]history, loop.Ranks)}
}

// begin makes room, at the first timings: most loops bring none.
func (p *profile) begin() {
	n := p.grid.Cells
	p.matrix, p.right, p.x, p.announced = make([]float64, n*n), make([]float64, n), make([]float64, n), make([]float64, n)
	p.last, p.by = make([]float64, n), make([]int, n)
	for c := range p.by {
		p.by[c] = -1
	}
}

// timed reports whether iterations have been timed.
func (p *profile) timed() bool { return p != nil && p.matrix != nil }

// learn takes in the timings of all statuses and reports whether there were any.
func (p *profile) learn(statuses []Status, first int) bool {
	measured := 0.0
	for r := first; r < len(statuses); r++ {
		for _, t := range statuses[r].Timings {
			if own, ok := p.valid(t); ok {
				measured += float64(own.Len()) / float64(p.grid.Span.Len())
			}
		}
	}
	if measured == 0 {
		return false
	}
	if p.matrix == nil {
		p.begin()
	}
	fade, evidence := math.Pow(shapeFade, min(1, measured)), math.Pow(evidenceFade, min(1, measured))
	for i := range p.matrix {
		p.matrix[i] *= fade
	}
	for c := range p.right {
		p.right[c] *= fade
	}
	for _, sum := range []*float64{&p.repeats, &p.squares, &p.noise, &p.count} {
		*sum *= evidence
	}
	for r := first; r < len(statuses); r++ {
		p.enter(statuses[r].Timings)
		p.compare(r)
		p.add()
	}
	return true
}

// valid returns the range of a timing, and whether it can be one.
func (p *profile) valid(t Timing) (dist.Range, bool) {
	r := dist.Span(t.Lo, t.Hi)
	ok := !r.Empty() && r.Intersect(p.grid.Span) == r && t.Seconds > 0 && isAmount(t.Seconds)
	return r, ok && !math.IsInf(math.Log(t.Seconds/float64(r.Len())), 0)
}

// enter fills cells, ln and info with the timings of one status. A timing over several cells is divided among them as the
// estimate says.
func (p *profile) enter(timings []Timing) {
	p.cells, p.ln, p.info = p.cells[:0], p.ln[:0], p.info[:0]
	for _, t := range timings[:min(len(timings), MaxTimings)] {
		r, ok := p.valid(t)
		if !ok {
			continue
		}
		from, to := p.grid.At(r.Lo), p.grid.At(r.Hi-1)
		units := 0.0
		for c := from; c <= to; c++ {
			units += math.Exp(p.x[c]) * float64(p.grid.Cell(c).Intersect(r).Len())
		}
		scale := math.Log(t.Seconds / units)
		for c := from; c <= to; c++ {
			cell := p.grid.Cell(c)
			p.cells = append(p.cells, c)
			p.ln = append(p.ln, p.x[c]+scale)
			p.info = append(p.info, float64(cell.Intersect(r).Len())/float64(cell.Len()))
		}
	}
}

// compare holds the shape of what was entered against that of the status before, in the cells that the same rank measured
// both times.
func (p *profile) compare(rank int) {
	p.shape, p.previous = p.shape[:0], p.previous[:0]
	sum, sumShape, sumPrevious := 0.0, 0.0, 0.0
	for i, c := range p.cells {
		if p.by[c] == rank {
			p.shape, p.previous = append(p.shape, p.ln[i]), append(p.previous, p.last[c])
			sum++
			sumShape += p.ln[i]
			sumPrevious += p.last[c]
		}
	}
	for i, c := range p.cells {
		p.by[c], p.last[c] = rank, p.ln[i]
	}
	if sum < 2 {
		return
	}
	for i := range p.shape {
		now, before := p.shape[i]-sumShape/sum, p.previous[i]-sumPrevious/sum
		p.repeats += now * before
		p.squares += now * before * now * before
		p.noise += (now - before) * (now - before) / 2
	}
	p.count += sum - 1
}

// add adds what was entered to the sums: the information of its cells less that of their common factor.
func (p *profile) add() {
	sum, mean := 0.0, 0.0
	for i := range p.cells {
		sum += p.info[i]
		mean += p.info[i] * p.ln[i]
	}
	mean /= max(sum, math.SmallestNonzeroFloat64)
	n := p.grid.Cells
	for i, c := range p.cells {
		p.right[c] += p.info[i] * (p.ln[i] - mean)
		p.matrix[c*n+c] += p.info[i]
		for k, e := range p.cells {
			p.matrix[c*n+e] -= p.info[i] * p.info[k] / sum
		}
	}
}

// significant reports whether the weights within ranks differ by more than noise explains, and by enough to matter.
func (p *profile) significant() bool {
	if p.count < 2 {
		return false
	}
	return p.repeats > leastShape*leastShape*p.count && p.repeats > shapeEvidence*math.Sqrt(p.squares)
}

// solve makes the estimate that of all sums and reports whether it could.
func (p *profile) solve() bool {
	n := p.grid.Cells
	a, y := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
	for c := range n {
		for e := c; e < n; e++ {
			a.SetSym(c, e, p.matrix[c*n+e])
		}
		tie := bond
		if !p.known {
			tie = firstBond / cellsPerWorker
		}
		y.SetVec(c, p.right[c]+tie*p.x[c])
		a.SetSym(c, c, a.At(c, c)+tie)
	}
	if !p.known {
		link := firstBond / (leastStep*leastStep + p.roughness())
		for c := range n - 1 {
			a.SetSym(c, c, a.At(c, c)+link)
			a.SetSym(c+1, c+1, a.At(c+1, c+1)+link)
			a.SetSym(c, c+1, a.At(c, c+1)-link)
		}
	}
	var factors mat.Cholesky // of up to mostCells rows: gonum starts no goroutines for so few
	var x mat.VecDense
	if !factors.Factorize(a) || factors.SolveVecTo(&x, y) != nil {
		return false
	}
	for c := range n {
		if v := x.AtVec(c); math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	for c := range n {
		p.x[c] = x.AtVec(c)
	}
	p.normalise()
	return true
}

// roughness is the mean squared step from cell to cell within ranks.
func (p *profile) roughness() float64 {
	sum, count := 0.0, 0.0
	for c := 1; c < p.grid.Cells; c++ {
		if p.by[c] >= 0 && p.by[c] == p.by[c-1] {
			step := p.last[c] - p.last[c-1]
			sum += step * step
			count++
		}
	}
	return sum / max(1, count)
}

// normalise makes the sum of all weights the number of iterations.
func (p *profile) normalise() {
	top := math.Inf(-1)
	for _, x := range p.x {
		top = max(top, x)
	}
	sum := 0.0
	for c, x := range p.x {
		sum += float64(p.grid.Cell(c).Len()) * math.Exp(x-top)
	}
	shift := top + math.Log(sum/float64(p.grid.Span.Len()))
	for c := range p.x {
		p.x[c] = max(-mostSkew, min(p.x[c]-shift, mostSkew))
	}
}

// displaced is the largest part of a rank's mean work that lies elsewhere by the estimate than by the weights announced:
// the greatest difference of the two cumulative distributions, times the ranks.
func (p *profile) displaced(workers int) float64 {
	most, now, before := 0.0, 0.0, 0.0
	for c := range p.x {
		n := float64(p.grid.Cell(c).Len())
		now += n * math.Exp(p.x[c])
		before += n * math.Exp(p.announced[c])
		most = max(most, math.Abs(now-before))
	}
	return most * float64(workers) / float64(p.grid.Span.Len())
}

// worthwhile reports whether the estimate differs from the weights announced by more than noise, and by enough to matter.
func (p *profile) worthwhile(workers int) bool {
	information := 0.0
	for c, n := 0, p.grid.Cells; c < n; c++ {
		information += p.matrix[c*n+c] / float64(n)
	}
	noise := math.Sqrt(p.noise / max(1, p.count) / max(1, information) / float64(p.grid.Cells))
	return p.displaced(workers) > max(leastGain, noiseGain*noise*float64(workers))
}

// adopt takes over the weights announced once all ranks report in them. Nothing has moved since the statuses before, so
// what a rank owns now, in new and in old units, tells how its rates change.
func (b *Balancer) adopt(statuses []Status) {
	p := b.profile
	if p == nil || !p.pending {
		return
	}
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		if statuses[r].Weights != p.version {
			return
		}
	}
	p.pending, p.adopted = false, statuses[b.loop.FirstWorker].Interaction
	b.loop.Weights = p.weights
	b.outcome = outcome{}                 // what was promised rested on other weights
	b.ledger.forget()                     // what was before the movements, and what they have brought
	b.answer.pending = false              // and what the rates were taken for
	b.common, b.fickle = 1, b.fickle[:0]  // levels are found anew, from rates as they were
	spec, _ := filter.Parse(b.cfg.Filter) // New has checked it
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		k, h := rank{}, &p.history[r]
		if spec.String() != "auto" {
			k.filter = spec.New()
		}
		factor := statuses[r].Owned / h.owned
		if h.iterations == statuses[r].OwnedIterations && factor > 0 && isAmount(factor) {
			for n := max(0, h.count-keptRates); n < h.count; n++ {
				i := n % keptRates
				raw := factor * h.raw[i]
				k.levels.Observe(raw, h.computed[i], h.elapsed[i])
				b.level[r], b.filtered[r], k.heard = k.levels.Level(), k.levels.Level(), true
				if k.filter != nil {
					b.filtered[r] = k.filter.Next(raw)
				}
			}
		}
		b.ranks[r] = k
	}
}

// weigh learns from the timings and announces new weights if they are worth it. Until all ranks have adopted them nothing
// may move: then it returns the reason, else "".
func (b *Balancer) weigh(d *Decision, statuses []Status) (reason string) {
	p := b.profile
	if p == nil {
		return ""
	}
	news := p.learn(statuses, b.loop.FirstWorker)
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		p.history[r].note(&statuses[r], b.raw[r])
	}
	d.Weights = p.version
	if p.version > 0 && d.Interaction-p.adopted < quietInteractions {
		b.lastMove = d.Interaction - quietInteractions // what new weights show is no noise, even if it is little
	}
	if p.pending {
		return "not all ranks have adopted the new weights"
	}
	workers := b.loop.Ranks - b.loop.FirstWorker
	if !news || !p.known && !p.significant() || b.cfg.Policy != On {
		return ""
	}
	if b.remaining(b.period.target) < restPeriods*b.period.target || !p.solve() {
		return ""
	}
	p.known = true
	if !p.worthwhile(workers) {
		return ""
	}
	units := make([]float64, p.grid.Cells)
	for c := range units {
		units[c] = math.Exp(p.x[c])
	}
	w, err := p.grid.Weights(units)
	if err != nil {
		return ""
	}
	moved := p.displaced(workers)
	copy(p.announced, p.x)
	p.version, p.weights, p.pending = p.version+1, w, true
	d.Weights, d.Profile = p.version, units
	return fmt.Sprintf("new weights: %.3f of a rank's work lies elsewhere", moved)
}
