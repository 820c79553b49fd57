package main

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"shiftwork/scripts/lab/measure"
)

// spread is a median with the least and the greatest value; ok is false where there are no values.
type spread struct {
	median, low, high float64
	count             int
}

func (s spread) ok() bool { return s.count > 0 }

func (s spread) times(x float64) spread {
	return spread{median: x * s.median, low: x * s.low, high: x * s.high, count: s.count}
}

func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{median: math.NaN(), low: math.NaN(), high: math.NaN()}
	}
	return spread{measure.Median(values), slices.Min(values), slices.Max(values), len(values)}
}

// group are the runs of a variant, by round.
func (s *store) group(part, cell, variant string) []run {
	var all []run
	for _, k := range s.order {
		if k.part == part && k.cell == cell && k.variant == variant {
			all = append(all, s.runs[k])
		}
	}
	slices.SortFunc(all, func(a, b run) int { return a.Round - b.Round })
	return all
}

// cells are the cells of a part that have runs, in the order of their first one.
func (s *store) cells(part string) []string {
	return s.names(func(k key) (string, bool) { return k.cell, k.part == part })
}

// variants are those of a cell that have runs.
func (s *store) variants(part, cell string) []string {
	return s.names(func(k key) (string, bool) { return k.variant, k.part == part && k.cell == cell })
}

func (s *store) names(of func(key) (string, bool)) []string {
	var all []string
	for _, k := range s.order {
		if name, ok := of(k); ok && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// spread is that of a figure over the runs of a variant.
func (s *store) spread(part, cell, variant string, figure func(run) float64) spread {
	var values []float64
	for _, r := range s.group(part, cell, variant) {
		if x := figure(r); !math.IsNaN(x) && !math.IsInf(x, 0) {
			values = append(values, x)
		}
	}
	return spreadOf(values)
}

func seconds(r run) float64 { return r.Time }

// time is the spread of time_s.
func (s *store) time(part, cell, variant string) spread {
	return s.spread(part, cell, variant, seconds)
}

// ratio is the spread of the ratios of two variants' times, round by round; its median is that of the two medians, which is
// what the project promises. Of runs at the same time, it is the median of the ratios: only those of a round have met the same.
func (s *store) ratio(part, cell, over, under string) spread {
	out := spreadOf(s.ratios(part, cell, over, under))
	if out.ok() && !s.together() {
		out.median = s.time(part, cell, over).median / s.time(part, cell, under).median
		out.low, out.high = min(out.low, out.median), max(out.high, out.median)
	}
	return out
}

// ratios are those of two variants' times in each round that has both.
func (s *store) ratios(part, cell, over, under string) []float64 {
	return s.ratiosOf(part, cell, over, under, seconds)
}

// ratiosOf are those of a figure of two variants in each round that has both.
func (s *store) ratiosOf(part, cell, over, under string, figure func(run) float64) (ratios []float64) {
	for _, x := range s.group(part, cell, over) {
		for _, y := range s.group(part, cell, under) {
			if x.Round == y.Round {
				ratios = append(ratios, figure(x)/figure(y))
			}
		}
	}
	return ratios
}

// medianError is the standard error of the median of values, by their middle half: of a normal distribution its width is 1.35 times the standard deviation, and a median scatters 1.25 times as much as a mean.
func medianError(values []float64) float64 {
	if len(values) < 3 {
		return math.Inf(1)
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := stat.Quantile(0.75, stat.LinInterp, sorted, nil) - stat.Quantile(0.25, stat.LinInterp, sorted, nil)
	return 1.25 * middle / 1.35 / math.Sqrt(float64(len(values)))
}

// removed is the share of the loads' penalty that balancing removed, as scripts/lab tells it: from medians. The whiskers are
// those of the balanced runs. Of runs at the same time, each median is that of the ratios to runs without balancing.
func (s *store) removed(part, cell, on, off, dedicated string) spread {
	return s.removedWith(part, cell, on, off, dedicated, func(alone float64, balanced []run) float64 {
		var began []float64
		for _, r := range balanced {
			began = append(began, r.Began)
		}
		r := balanced[0]
		speeds := r.shares()
		reference := slices.Max(speeds)
		for i := range speeds {
			speeds[i] /= reference
		}
		return measure.Ideal(alone, speeds, r.loads(), time.Duration(spreadOf(began).median*float64(time.Second)))
	})
}

// removedWith is removed with another notion of the ideal time: that of runs which dedicated take so long.
func (s *store) removedWith(part, cell, on, off, dedicated string, idealOf func(alone float64, balanced []run) float64) spread {
	none, alone, t := s.time(part, cell, off).median, s.time(part, cell, dedicated), s.time(part, cell, on)
	if s.together() {
		alone, t = s.ratio(part, cell, dedicated, off).times(none), s.ratio(part, cell, on, off).times(none)
	}
	if math.IsNaN(none) || !alone.ok() || !t.ok() {
		return spreadOf(nil)
	}
	ideal := idealOf(alone.median, s.group(part, cell, on))
	out := spread{count: t.count}
	var ok bool
	if out.median, ok = measure.PenaltyRemoved(none, t.median, ideal); !ok {
		return spreadOf(nil)
	}
	out.low, _ = measure.PenaltyRemoved(none, t.high, ideal)
	out.high, _ = measure.PenaltyRemoved(none, t.low, ideal)
	return out
}

// removedError is the standard error of the share that is removed, (1 - t)/(1 - i), by those of t, the median ratio of on to off, and of that of dedicated to off, to which i, of ideal to off, is proportional.
func (s *store) removedError(part, cell, on, off, dedicated string) float64 {
	share := s.removed(part, cell, on, off, dedicated)
	if !share.ok() {
		return math.Inf(1)
	}
	balanced, alone := s.ratios(part, cell, on, off), s.ratios(part, cell, dedicated, off)
	penalty := (1 - spreadOf(balanced).median) / share.median // 1 - i
	ofIdeal := (1 - penalty) * medianError(alone) / spreadOf(alone).median
	return math.Hypot(medianError(balanced), share.median*ofIdeal) / penalty
}

// taken is the share of its workstation that a constant load took. The scheduler means it to be half; how near it comes depends on the quota.
func (s *store) taken(part, cell, variant string) spread {
	return s.spread(part, cell, variant, func(r run) float64 { return r.compete()[r.loads()[0].Workstation] / r.Time })
}

// removedByTaken is removed beside a constant load on one of equal workstations, where ideal is the time in which the others and what the load left of that one do the work.
func (s *store) removedByTaken(part, cell, on, off, dedicated string) spread {
	taken := s.taken(part, cell, on).median
	return s.removedWith(part, cell, on, off, dedicated, func(alone float64, balanced []run) float64 {
		p := float64(balanced[0].Ranks)
		return alone * p / (p - taken)
	})
}

// sequentialTime is how long the work of a run takes on one CPU alone, from part sequential; false if that is not known of a machine with as many CPUs. A
// single multiplication grows with the cube of its size, everything else with its iterations.
func (s *store) sequentialTime(r run) (float64, bool) {
	w := workOf(r.Work)
	var units []float64
	for _, one := range s.group("sequential", r.Work, dedicated.name) {
		if one.CPUs == r.CPUs {
			units = append(units, one.Time/w.amount(one.N, one.Iterations))
		}
	}
	if len(units) == 0 {
		return 0, false
	}
	return spreadOf(units).median * w.amount(r.N, r.Iterations), true
}

// efficiency is equation (2') of a run, or NaN.
func (s *store) efficiency(r run) float64 {
	sequential, ok := s.sequentialTime(r)
	if !ok {
		return math.NaN()
	}
	return r.efficiency(sequential, 1)
}

// efficiencies is the spread of the ratios of two variants' efficiencies, round by round: the host was the same in a round only. The work is the same, so its sequential time need not be known.
func (s *store) efficiencies(part, cell, over, under string) spread {
	return spreadOf(s.ratiosOf(part, cell, over, under, func(r run) float64 { return r.efficiency(1, 1) }))
}

// workOf is the work of a name that String gave.
func workOf(name string) work {
	program, size, sized := strings.Cut(name, "-")
	w := work{program: program}
	if sized {
		rows, columns, flat := strings.Cut(size, "x")
		w.n, _ = strconv.Atoi(rows)
		w.m = w.n
		if flat {
			w.m, _ = strconv.Atoi(columns)
		}
	}
	return w
}

// sweepPeriods is how many quota periods an iteration of a run took in the cell's dedicated runs.
func (s *store) sweepPeriods(part, cell string) float64 {
	return s.spread(part, cell, dedicated.name, func(r run) float64 { return r.Time / float64(r.Iterations) / r.quantum() }).median
}

// busy are the times at which a load of the run was there, on the clock of its loop, up to an end in s.
func (r run) busy(end float64) (spans [][2]float64) {
	for _, l := range r.loads() {
		at := time.Duration(0)
		for at < r.began()+time.Duration(end*float64(time.Second)) {
			on, next := l.Busy(at, r.began())
			stop := next
			if next == 0 {
				stop = r.began() + time.Duration(end*float64(time.Second))
			}
			if on {
				spans = append(spans, [2]float64{(at - r.began()).Seconds(), (stop - r.began()).Seconds()})
			}
			if next == 0 {
				break
			}
			at = next
		}
	}
	return spans
}

// trace are the samples of a traced variant's first round, by interaction and rank.
func (s *store) trace(part, cell, variant string) []sample {
	return s.traceOf(key{part, cell, variant, 0})
}

// traceOf are the samples of a traced run, by interaction and rank.
func (s *store) traceOf(one key) []sample {
	var all []sample
	for _, x := range s.samples {
		if one == (key{x.Part, x.Cell, x.Variant, x.Round}) {
			all = append(all, x)
		}
	}
	return all
}

// rates are those of the loaded rank that were measured over so many quanta, relative to their mean, with their times in s and their standard deviation; false if there are fewer than two.
func (s *store) rates(q int) (at, relative []float64, deviation float64, ok bool) {
	for _, x := range s.trace("rate", rated.String(), strconv.Itoa(q)) {
		if x.Rank == 1 && x.Interaction > 0 {
			at, relative = append(at, x.At), append(relative, x.Raw)
		}
	}
	if len(at) < 2 {
		return nil, nil, 0, false
	}
	mean := stat.Mean(relative, nil)
	for i := range relative {
		relative[i] /= mean
	}
	return at, relative, stat.StdDev(relative, nil), true
}

// imbalance is the part of the time that a division by the filtered rates would save, of an interaction's samples (section 6.2).
func imbalance(ranks []sample) float64 {
	rates, slowest := 0.0, 0.0
	for _, x := range ranks {
		rates += x.Filtered
		if x.Share > 0 {
			slowest = max(slowest, x.Share/x.Filtered)
		}
	}
	if rates == 0 {
		return 0 // nothing is known yet
	}
	return 1 - 1/(rates*slowest)
}

// swing is the model of Fig. 31: one of P workstations has a load that leaves share of it, for half of each cycle. Work is
// balanced delay s after each change, and moving it stops everything for move s. parallel is the efficiency of a dedicated run.
type swing struct {
	ranks       int
	share, half float64 // half: s, half of the cycle
	delay, move float64 // s
	parallel    float64
}

// efficiency is the model's, with balancing.
func (w swing) efficiency() float64 {
	p, s := float64(w.ranks), w.share
	late := min(w.delay, w.half)
	moving := min(w.move, w.half-late)
	right := w.half - late - moving
	return w.parallel * ((p-1+s)*late + p*right + p*s*late + (p-1+s)*right) / (p*w.half + (p-1+s)*w.half)
}

// delayPeriods is how many balancing periods pass between a change of the load and the movement of work: the one in which it
// changes, and the one after which the pipelined instruction is obeyed.
const delayPeriods = 2

// model is the model of a variant's runs; false where something that it needs was not measured.
func (s *store) model(cell, on string) (swing, bool) {
	runs := s.group("speedup", cell, on)
	if len(runs) == 0 {
		return swing{}, false
	}
	var moves, periods []float64
	for _, r := range runs {
		if r.Shifts > 0 {
			moves = append(moves, r.Move/float64(r.Shifts))
		}
		if r.BalancePeriod > 0 {
			periods = append(periods, r.BalancePeriod)
		}
	}
	parallel := s.spread("speedup", cell, dedicated.name, s.efficiency)
	loads := runs[0].loads()
	if !parallel.ok() || len(periods) == 0 || len(loads) == 0 {
		return swing{}, false
	}
	w := swing{ranks: runs[0].Ranks, share: 0.5, half: loads[0].On.Seconds(), parallel: parallel.median,
		delay: delayPeriods * spreadOf(periods).median}
	if len(moves) > 0 {
		w.move = spreadOf(moves).median
	}
	return w, true
}
