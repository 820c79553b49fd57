package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"shiftwork/scripts/lab/measure"
)

// scale shortens a part: the share of the rounds that is left, and of each run's length.
type scale struct{ part, length float64 }

func (s scale) rounds(full int) int { return max(1, int(math.Round(s.part*float64(full)))) }

// shortening is the scale of the parts that the project has promised to show, and of the rest.
type shortening struct{ promised, rest scale }

func (s shortening) of(p part) scale {
	if p.promised {
		return s.promised
	}
	return s.rest
}

// shortenings are tried in this order until the plan fits the budget. Rounds go first, because loads keep their cycles; those
// that medians of five are promised of go last.
var shortenings = []shortening{
	{scale{1, 1}, scale{1, 1}}, {scale{1, 1}, scale{0.6, 1}}, {scale{1, 1}, scale{0.4, 1}}, {scale{1, 1}, scale{0.2, 1}}, {scale{1, 1}, scale{0.2, 0.8}},
	{scale{1, 1}, scale{0.2, 0.6}}, {scale{1, 1}, scale{0.2, 0.5}}, {scale{1, 1}, scale{0.2, 0.4}}, {scale{1, 1}, scale{0.2, 0.35}}, {scale{1, 1}, scale{0.2, 0.3}},
	{scale{0.6, 1}, scale{0.2, 0.8}}, {scale{0.6, 1}, scale{0.2, 0.5}}, {scale{0.6, 1}, scale{0.2, 0.4}}, {scale{0.6, 1}, scale{0.2, 0.35}}, {scale{0.6, 1}, scale{0.2, 0.3}},
	{scale{0.6, 0.85}, scale{0.2, 0.3}}, {scale{0.6, 0.7}, scale{0.2, 0.3}}, {scale{0.2, 0.7}, scale{0.2, 0.3}}, {scale{0.2, 0.4}, scale{0.2, 0.3}},
	{scale{0.2, 0.2}, scale{0.2, 0.2}}, {scale{0.2, 0.1}, scale{0.2, 0.1}},
}

// budgetOf is the budget of a data set, in minutes.
func budgetOf(st *store) float64 {
	if x, err := strconv.ParseFloat(st.setting("budget"), 64); err == nil {
		return x
	}
	return defaultBudget
}

// fit is the first shortening with which all parts fit the budget, in minutes, or the last one.
func fit(all []part, budget float64) shortening {
	for _, s := range shortenings {
		if minutes(all, s) <= budget {
			return s
		}
	}
	return shortenings[len(shortenings)-1]
}

// minutes is how long parts take.
func minutes(all []part, s shortening) float64 {
	sum := 0.0
	for _, p := range all {
		sum += p.planned(s.of(p)) / 60
	}
	return sum
}

// shorten is the plan from the first of the parts to come on: shorter than so far, where the machine takes longer than was planned, so that everything still fits the budget.
// What is not promised is shortened first. How it was when the part began stays with the data, because a part's runs are equally long.
func (s *session) shorten(toCome []part, plan shortening) (shortening, error) {
	p := toCome[0]
	own := &plan.rest
	if p.promised {
		own = &plan.promised
	}
	name := scaled + p.name
	if text := s.store.setting(name); text != "" {
		if _, err := fmt.Sscan(text, &own.part, &own.length); err != nil {
			return plan, fmt.Errorf("%s: %s %q: %w", s.store.file("setting"), name, text, err)
		}
		return plan, nil
	}
	left := budgetOf(s.store) - (s.spent+s.sizing(toCome))/60
	for _, plan = range shortened(toCome, plan, shorterPromised...) {
		if minutes(toCome, plan)*s.slowness() <= left {
			break
		}
	}
	return plan, s.store.set(name, fmt.Sprint(own.part, own.length))
}

// shortened is the plan, and those that may take its place, each no longer than the one before; there is always one. What is promised has its length, and in those that come last one of these.
func shortened(toCome []part, plan shortening, promised ...float64) []shortening {
	all := []shortening{plan}
	for _, length := range append([]float64{plan.promised.length}, promised...) {
		for _, next := range shortenings {
			next.promised = scale{plan.promised.part, min(length, plan.promised.length)}
			if minutes(toCome, next) <= minutes(toCome, all[len(all)-1]) && next.rest.length >= shortest {
				all = append(all, next)
			}
		}
	}
	return all
}

// spareFor is how many s the first of the parts to come may take beside what it is planned to take: half of what is left if those that are not promised are shortened as far as
// shorten does, because these may be slower than what was so far.
func (s *session) spareFor(toCome []part, plan shortening) float64 {
	now, later := toCome[:1], toCome[1:]
	all := shortened(later, plan)
	left := 60*(budgetOf(s.store)-s.slowness()*(minutes(now, plan)+minutes(later, all[len(all)-1]))) - s.spent - s.sizing(toCome)
	return min(left, left/2)
}

// shortest is the least length of runs that shorten makes: still shorter ones see no cycle of their loads, and an evaluation that takes too long is of more use.
const shortest = 0.3

// shorterPromised are the lengths to which it shortens runs of which something is promised: still shorter ones tell mostly how a balanced run begins.
var shorterPromised = []float64{0.95, 0.9, 0.85, 0.8, 0.75, 0.7}

// scaled begins the name of the setting that holds the scale of a part.
const scaled = "scale-"

// slowness is how many times as long as planned runs take on this machine; at least once: a part that takes half of what it was planned to says little about those behind it.
func (s *session) slowness() float64 {
	if s.worked < 10 {
		return 1
	}
	return max(1, s.took/s.worked)
}

// pace is how many times as long as its size tells a run of a work took that nothing competed with and that was not balanced.
type pace struct {
	size  string
	times float64
}

// notePace notes the pace of a run, unless it is alone on its processor, or waits for a slow network.
func (s *session) notePace(c cell, t taken) {
	name, _ := c.sized()
	z, ok := s.store.sizes[name]
	if ok && len(t.variant.loads) == 0 && slices.Equal(t.variant.flags, off.flags) && len(c.place.cpu) > 1 && !c.place.network && !c.local {
		cpu := c.work.amount(t.run.N, t.run.Iterations) * z.CPU
		s.paces = append(s.paces, pace{name, t.run.Time * c.place.total() / cpu})
	}
}

// pace is how many times as long as its size tells a run of a cell will take, by the last of its work, or those of all as long as these are too few. Sizes are told by a few short runs, and on
// a machine that others use these may be a third faster or slower than the average: a cell whose dedicated runs last as long as it says takes the time that was planned, and its loads have their cycles.
func (s *session) pace(c cell) float64 {
	if c.local {
		return 1
	}
	name, _ := c.sized()
	for _, of := range []func(pace) bool{func(p pace) bool { return p.size == name }, func(pace) bool { return true }} {
		var last []float64
		for _, p := range slices.Backward(s.paces) {
			if of(p) && len(last) < mostPaces {
				last = append(last, p.times)
			}
		}
		if len(last) >= leastPaces {
			return measure.Median(last)
		}
	}
	return 1
}

// Paces that a median is taken of: few, for a machine's neighbours come and go, but not so few that a run that was disturbed tells how long others are.
const leastPaces, mostPaces = 3, 9
