package main

import (
	"fmt"
	"math"
	"slices"

	"shiftwork/pipeline"
	"shiftwork/scripts/experiments/chart"
)

// followed is the paper's form of Figs 22 to 24: rate and work of rank 1 over time, over the times at which a load was there.
func followed(s *store, part, cell, variant, title string) (chart.Panel, bool) {
	p := chart.Panel{Title: title, X: "time (s)", Y: "rate and work (1: without load)", Band: "load there", YMin: 0, YMax: 1.9}
	var at, raw, filtered, work []float64
	ranks := 0
	for _, x := range s.trace(part, cell, variant) {
		ranks = max(ranks, x.Rank+1)
		if x.Rank == 1 {
			at, raw, filtered, work = append(at, x.At), append(raw, x.Raw), append(filtered, x.Filtered), append(work, x.Share)
		}
	}
	if len(at) < 2 {
		return p, false
	}
	full := upper(raw)
	for i := range at {
		raw[i], filtered[i], work[i] = raw[i]/full, filtered[i]/full, work[i]*float64(ranks)
	}
	p.Series = []chart.Series{
		{Name: "measured rate", X: at, Y: raw, Style: chart.Plain, Colour: chart.Sky},
		{Name: "filtered rate", X: at, Y: filtered, Style: chart.Plain, Colour: chart.Blue},
		{Name: "work (1: an equal share)", X: at, Y: work, Style: chart.Stepped, Colour: chart.Red},
	}
	end := at[len(at)-1]
	p.Bands, p.XMin, p.XMax = bands(s, part, cell, variant, end), 0, end
	return p, true
}

// upper is the rate that a rank has without load: the ninth decile, so that a single odd sample does not set the scale.
func upper(rates []float64) float64 {
	sorted := slices.Sorted(slices.Values(rates))
	return max(sorted[int(0.9*float64(len(sorted)-1))], math.SmallestNonzeroFloat64)
}

func bands(s *store, part, cell, variant string, end float64) (all []chart.Span) {
	for _, r := range s.group(part, cell, variant) {
		if r.Round == 0 {
			for _, b := range r.busy(end) {
				all = append(all, chart.Span{From: b[0], To: b[1]})
			}
		}
	}
	return all
}

func drawFilter(s *store) (chart.Figure, bool) {
	a, okA := followed(s, "mechanisms", "traces", "22a", "(a) the paper's filter")
	b, okB := followed(s, "mechanisms", "traces", "22b", "(b) no filter")
	f := chart.Figure{Title: "Fig. 22: the filter", Rows: [][]chart.Panel{{a}, {b}}, Width: 19, Height: 6.5,
		Note: "The loaded workstation of four, SOR of 4000 x 4000, synchronous interactions, no threshold, no cost analysis. " + s.said("22a", "22b")}
	return f, okA && okB
}

// said tells what became of the runs that are traced in part mechanisms.
func (s *store) said(variants ...string) string {
	text := ""
	for _, v := range variants {
		for _, r := range s.group("mechanisms", "traces", v) {
			text += fmt.Sprintf("%s: efficiency %.3f, %d movements of %d rows. ", v, s.efficiency(r), r.Shifts, r.Moved)
		}
	}
	return text
}

func drawThreshold(s *store) (chart.Figure, bool) {
	a, okA := followed(s, "mechanisms", "traces", "24a", "(a) the paper's filter, no threshold")
	b, okB := followed(s, "mechanisms", "traces", "24b", "(b) the same, threshold 0.1")
	c, okC := followed(s, "mechanisms", "traces", "ours", "(c) the defaults of Shiftwork")
	return chart.Figure{Title: "Fig. 24: the threshold", Rows: [][]chart.Panel{{a}, {b}, {c}}, Width: 19, Height: 6.5,
		Note: "The loaded workstation of four, SOR of 4000 x 4000, 60 periods a cycle. " + s.said("24a", "24b", "ours")}, okA && okB && okC
}

func drawConstant(s *store) (chart.Figure, bool) {
	f := chart.Figure{Title: "Fig. 23: a constant load", Width: 19, Height: 6.5,
		Note: "The loaded workstation of four. Work leaves it once and stays away; what moves later follows processors that change their speed."}
	for _, x := range []struct{ part, cell, title string }{
		{"constant", sor4000.String() + "-ws1", "quota period 10 ms"}, {"coarse", sor8000.String(), "quota period 100 ms, the paper's quantum"},
	} {
		if p, ok := followed(s, x.part, x.cell, "on", x.title); ok {
			f.Rows = append(f.Rows, []chart.Panel{p})
		}
	}
	return f, len(f.Rows) > 0
}

func drawRate(s *store) (chart.Figure, bool) {
	f := chart.Figure{Title: "Fig. 18: the rate that is measured beside a constant load", Width: 19, Height: 4.2,
		Note: fmt.Sprintf("SOR of %[1]d x %[1]d on four workstations of %[2]s, nothing moves. Dotted: 10%% to either side of the mean, the paper's threshold.", rated.n, s.quota("rate"))}
	for _, q := range quanta {
		at, relative, deviation, ok := s.rates(q)
		if !ok {
			continue
		}
		length := "a quota period"
		if q > 1 {
			length = fmt.Sprintf("%d quota periods", q)
		}
		f.Rows = append(f.Rows, []chart.Panel{{
			Title: fmt.Sprintf("measured over %s: standard deviation %.0f%%", length, 100*deviation),
			X:     "time (s)", Y: "rate / mean", YMin: 0, YMax: 2.5,
			Series: []chart.Series{{X: at, Y: relative, Style: chart.Line, Colour: chart.Blue}},
			Level:  []chart.Mark{{At: 0.9, Colour: chart.Grey}, {At: 1.1, Colour: chart.Grey}},
		}})
	}
	return f, len(f.Rows) > 0
}

// shown is the run that the figures over time show.
const shownPart, shownVariant = "slow", "on"

func drawShares(s *store) (chart.Figure, bool) {
	f := chart.Figure{Title: "Work and rates over time, load of 60 periods a cycle on workstation 1", Width: 19, Height: 6.5,
		Note: "Four workstations of " + s.quota("slow") + ". Work: the part of all rows that a rank owns; ideal beside the load: 2/7, 1/7, 2/7, 2/7. Rates: work units per second of computing time."}
	for _, w := range []work{sor4000, mm} {
		work := chart.Panel{Title: w.String() + ": work", X: "time (s)", Y: "share of the work", Band: "load there", YMin: 0, YMax: 0.8}
		rates := chart.Panel{Title: w.String() + ": filtered rates", X: "time (s)", Y: "rate (1: highest)", Band: "load there", YMin: 0, YMax: 1.7}
		byRank := map[int]*[3][]float64{}
		end, top := 0.0, 0.0
		for _, x := range s.trace(shownPart, w.String(), shownVariant) {
			if byRank[x.Rank] == nil {
				byRank[x.Rank] = &[3][]float64{}
			}
			v := byRank[x.Rank]
			v[0], v[1], v[2] = append(v[0], x.At), append(v[1], x.Share), append(v[2], x.Filtered)
			end, top = max(end, x.At), max(top, x.Filtered)
		}
		for rank := range len(byRank) {
			v := byRank[rank]
			for i := range v[2] {
				v[2][i] /= top
			}
			name := fmt.Sprintf("rank %d", rank)
			work.Series = append(work.Series, chart.Series{Name: name, X: v[0], Y: v[1], Style: chart.Stepped, Colour: chart.Colour(1 + rank)})
			rates.Series = append(rates.Series, chart.Series{Name: name, X: v[0], Y: v[2], Style: chart.Plain, Colour: chart.Colour(1 + rank)})
		}
		if len(byRank) > 0 {
			b := bands(s, shownPart, w.String(), shownVariant, end)
			work.Bands, rates.Bands, work.XMax, rates.XMax = b, b, end, end
			f.Rows = append(f.Rows, []chart.Panel{work}, []chart.Panel{rates})
		}
	}
	return f, len(f.Rows) > 0
}

func drawGantt(s *store) (chart.Figure, bool) {
	f := chart.Figure{Title: "Where the time goes: compute, wait, move", Width: 22, Height: 6,
		Note: "Each bar is the time between two interactions of a rank, divided by its use: in proportion, not in the order in which it happened. White: in none of them. The load is on rank 1, where grey bars lie above."}
	for _, w := range []work{sor4000, sor8000} {
		p := chart.Panel{Title: w.String(), X: "time (s)",
			Keys: []chart.Key{{Name: "compute", Colour: chart.Blue}, {Name: "wait", Colour: chart.Orange}, {Name: "move", Colour: chart.Red}, {Name: "load there", Colour: chart.Grey}}}
		end, ranks := 0.0, 0
		for _, x := range s.trace(shownPart, w.String(), shownVariant) {
			end, ranks = max(end, x.At), max(ranks, x.Rank+1)
			total := max(x.Elapsed, x.Compute+x.Wait+x.Move)
			at := x.At - total
			row := float64(x.Rank)
			for _, use := range []struct {
				time   float64
				colour chart.Colour
			}{{x.Move, chart.Red}, {x.Compute, chart.Blue}, {x.Wait, chart.Orange}} {
				if use.time > 0 {
					p.Boxes = append(p.Boxes, chart.Box{X: chart.Span{From: max(0, at), To: max(0, at+use.time)}, Y: chart.Span{From: row - 0.33, To: row + 0.33}, Colour: use.colour})
				}
				at += use.time
			}
		}
		if ranks == 0 {
			continue
		}
		for _, b := range bands(s, shownPart, w.String(), shownVariant, end) {
			p.Boxes = append(p.Boxes, chart.Box{X: chart.Span{From: max(0, b.From), To: min(end, b.To)}, Y: chart.Span{From: 0.54, To: 0.64}, Colour: chart.Grey})
		}
		for rank := range ranks {
			p.Rows = append(p.Rows, fmt.Sprintf("rank %d", rank))
		}
		p.XMin, p.XMax = 0, end*1.13 // room for the legend
		f.Rows = append(f.Rows, []chart.Panel{p})
	}
	return f, len(f.Rows) > 0
}

// drawSimulated is Figs 11 and 13, simulations in the paper too: four ranks, t_sequential = 200 quanta, balanced for the loads,
// messages free.
func drawSimulated(*store) (chart.Figure, bool) {
	const sequential, ranks = 200, 4
	var row []chart.Panel
	for _, x := range []struct {
		title string
		sync  pipeline.Sync
	}{{"Fig. 11: pipelined", pipeline.Drain}, {"Fig. 13: barriers", pipeline.Barrier}} {
		p := chart.Panel{Title: x.title, X: "grain (quanta)", Y: "efficiency", LogX: true, YMin: 0, YMax: 1.12, Below: true}
		if x.sync == pipeline.Barrier {
			p.Left = false
		} else {
			p.Left = true
		}
		for i, load := range []struct {
			name      string
			competing []int
		}{{"no load", []int{0, 0, 0, 0}}, {"1 on one", []int{1, 0, 0, 0}}, {"2 on one", []int{2, 0, 0, 0}}, {"1 on two", []int{1, 0, 1, 0}}} {
			series := chart.Series{Name: load.name, Style: chart.Plain, Colour: chart.Colour(1 + i)}
			for blocks := 2; blocks <= 1600; blocks += 1 + blocks/24 {
				all := pipeline.Balanced(sequential/float64(blocks), load.competing...)
				run, err := pipeline.Simulate(pipeline.Loop{Ranks: all, Iterations: blocks, Block: 1, Sync: x.sync, Quantum: 1})
				if err != nil {
					return chart.Figure{}, false
				}
				series.X = append(series.X, all[0].Work*float64(1+load.competing[0]))
				series.Y = append(series.Y, run.Efficiency)
			}
			p.Series = append(p.Series, series)
		}
		if x.sync == pipeline.Drain {
			bound := chart.Series{Name: "M/(M+P-1)", Style: chart.Dashed, Colour: chart.Black}
			for blocks := 2; blocks <= 1600; blocks += 1 + blocks/24 {
				bound.X = append(bound.X, float64(sequential)/ranks/float64(blocks))
				bound.Y = append(bound.Y, pipeline.MaxEfficiency(blocks, ranks))
			}
			p.Series = append(p.Series, bound)
		}
		row = append(row, p)
	}
	return chart.Figure{Title: "Figs 11 and 13: grain and competing processes, simulated", Rows: [][]chart.Panel{row}, Width: 12, Height: 8,
		Note: "Four ranks, round robin, t_sequential = 200 quanta, work balanced for the loads, messages free. Grain: time between two synchronisations if nobody waits."}, true
}
