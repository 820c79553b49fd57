package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"shiftwork/scripts/experiments/chart"
)

// figure is a file in the folder of figures. make returns false where nothing that it shows has been measured.
type figure struct {
	file string
	make func(*store) (chart.Figure, bool)
}

func figures() []figure {
	all := []figure{
		{"idle", drawIdle}, {"removed", drawRemoved}, {"regime", drawRegime}, {"harmless", drawHarmless},
		{"fig08-2ranks", func(s *store) (chart.Figure, bool) { return drawBlocks(s, 2) }},
		{"fig08-4ranks", func(s *store) (chart.Figure, bool) { return drawBlocks(s, 4) }},
		{"fig09", drawGrain}, {"fig11-13", drawSimulated}, {"fig18", drawRate}, {"fig19", drawPeriod}, {"fig20", drawMaster},
		{"fig22", drawFilter}, {"fig23", drawConstant}, {"fig24", drawThreshold},
		{"shares", drawShares}, {"gantt", drawGantt}, {"mechanisms", drawMechanisms}, {"filters", drawFilters}, {"beyond", drawBeyond},
	}
	for _, k := range []struct{ file, kind, title, model string }{
		{"fig25-26", "mm", "Matrix multiplication", "32"}, {"fig27-28", "sor", "SOR whose rows move cheaply", "33"},
		{"fig29-30", dearMoves, "SOR whose rows are dear to move", "34"},
	} {
		all = append(all, figure{k.file, func(s *store) (chart.Figure, bool) { return drawSpeedup(s, k.kind, k.title, k.model) }})
	}
	return all
}

// draw writes all figures for which there are measurements.
func draw(st *store, folder string, w io.Writer) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, f := range figures() {
		figure, ok := f.make(st)
		if !ok {
			_, _ = fmt.Fprintf(w, "%s: nothing measured yet\n", f.file)
			continue
		}
		if err := figure.Save(filepath.Join(folder, f.file)); err != nil {
			return err
		}
	}
	return nil
}

// bars are the spreads of categories.
func bars(name string, colour chart.Colour, spreads []spread) chart.Bars {
	b := chart.Bars{Name: name, Colour: colour}
	for _, s := range spreads {
		b.Values, b.Low, b.High = append(b.Values, s.median), append(b.Low, s.low), append(b.High, s.high)
	}
	return b
}

// line is a series of spreads.
func line(name string, colour chart.Colour, style chart.Style, x []float64, spreads []spread) chart.Series {
	s := chart.Series{Name: name, Colour: colour, Style: style}
	for i, y := range spreads {
		if !y.ok() {
			continue
		}
		s.X, s.Y = append(s.X, x[i]), append(s.Y, y.median)
		s.Low, s.High = append(s.Low, y.low), append(s.High, y.high)
	}
	if style != chart.Line && style != chart.Dots {
		s.Low, s.High = nil, nil
	}
	return s
}

// quota says what the workstations of a part have, in its first run.
func (s *store) quota(part string) string {
	for _, k := range s.order {
		if r := s.runs[k]; k.part == part {
			return fmt.Sprintf("%g CPU, quota period %g ms", r.shares()[0], r.PeriodMS)
		}
	}
	return missing
}

func drawIdle(s *store) (chart.Figure, bool) {
	cells := s.cells("idle")
	var ratios []spread
	for _, c := range cells {
		ratios = append(ratios, s.ratio("idle", c, "on", "off"))
	}
	p := chart.Panel{Y: "time with balancing / without", Categories: cells, Bars: []chart.Bars{bars("", chart.Blue, ratios)},
		Level: []chart.Mark{{At: 1, Name: "free of cost", Colour: chart.Black}, {At: idlePromise, Name: "promised: at most", Colour: chart.Red}},
		YMin:  0.9, YMax: 1.15}
	return chart.Figure{Title: "What balancing costs where nothing competes", Rows: [][]chart.Panel{{p}}, Width: 14,
		Note: "Four workstations of " + s.quota("idle") + ". Bars: medians; whiskers: least and greatest ratio of runs of the same round."}, len(cells) > 0
}

// idlePromise, and promises by part and program, are the bounds that the project has set itself.
const idlePromise = 1.02

var promises = map[string]map[string]float64{
	"constant": {"mm": 0.92, "sor": 0.85}, "slow": {"mm": 0.90, "sor": 0.70}, "fast": {"mm": 0.65, "sor": 0.45},
}

// promised are the promised shares of removed penalty, for works.
func promised(part string, works []work) (x, y []float64) {
	for i, w := range works {
		x, y = append(x, float64(i)), append(y, promises[part][w.program])
	}
	return x, y
}

func drawRemoved(s *store) (chart.Figure, bool) {
	any, top := false, 1.1
	panel := func(title, part, suffix string) chart.Panel {
		p := chart.Panel{Title: title, Y: "part of the penalty removed", YMin: -0.2,
			Level: []chart.Mark{{At: 1, Colour: chart.Green}, {At: 0, Colour: chart.Black}}, Below: true}
		var removed []spread
		for _, w := range mains {
			p.Categories = append(p.Categories, w.String())
			r := s.removed(part, w.String()+suffix, "on", "off", "dedicated")
			if r.ok() {
				any, top = true, max(top, r.high+0.05)
			}
			removed = append(removed, r)
		}
		x, y := promised(part, mains)
		p.Bars = []chart.Bars{bars("", chart.Blue, removed)}
		p.Series = []chart.Series{{Name: "promised", X: x, Y: y, Style: chart.Dots, Colour: chart.Red}}
		return p
	}
	f := chart.Figure{Title: "How much of a load's cost balancing removes (1: ideal, 0: as without balancing)", Rows: [][]chart.Panel{
		{panel("constant load on workstation 1", "constant", "-ws1"), panel("constant load on the master's", "constant", "-ws0")},
		{panel("oscillating, 60 periods a cycle", "slow", ""), panel("oscillating, 20 periods a cycle", "fast", "")},
	}, Note: "Four workstations of " + s.quota("constant") + ". Ideal: the work lies right at every moment and moving it is free, from the dedicated time and the script of the load, " +
		"on workstations that are alike and beside loads that take half of one. Medians; whiskers: slowest and fastest balanced run."}
	for _, row := range f.Rows {
		for i := range row {
			row[i].YMax = top
		}
	}
	return f, any
}

func drawRegime(s *store) (chart.Figure, bool) {
	type at struct{ part, cell, on, off string }
	cells := []at{}
	for _, w := range []work{sor(500), sor(1000), sor(2000)} {
		cells = append(cells, at{"harmless", w.String(), "on", "off"})
	}
	for _, w := range []work{sor4000, sor8000} {
		cells = append(cells, at{"constant", w.String() + "-ws1", "on", "off"})
	}
	for _, c := range s.cells("regime") {
		cells = append(cells, at{"regime", c, "on", "off"})
	}
	groups := map[string]*chart.Series{}
	order := []string{}
	for _, c := range cells {
		x := s.sweepPeriods(c.part, c.cell)
		r := s.removed(c.part, c.cell, c.on, c.off, "dedicated")
		if !r.ok() || math.IsNaN(x) {
			continue
		}
		name := fmt.Sprintf("quota period %v ms", s.group(c.part, c.cell, "on")[0].PeriodMS)
		if groups[name] == nil {
			groups[name] = &chart.Series{Name: name, Style: chart.Dots, Colour: chart.Colour(1 + len(order))}
			order = append(order, name)
		}
		g := groups[name]
		g.X, g.Y, g.Low, g.High = append(g.X, x), append(g.Y, r.median), append(g.Low, r.low), append(g.High, r.high)
	}
	p := chart.Panel{X: "dedicated sweep / quota period", Y: "part of the penalty removed", LogX: true, YMin: -0.2, YMax: 1.75, Below: true, Left: true,
		Level: []chart.Mark{{At: 1, Name: "ideal", Colour: chart.Green}, {At: 0, Colour: chart.Black}}}
	for _, name := range order {
		p.Series = append(p.Series, *groups[name])
	}
	return chart.Figure{Title: "The regime: slack, not imbalance, limits short sweeps", Rows: [][]chart.Panel{{p}}, Width: 13, Height: 8,
		Note: "SOR of 500 to 8000 rows and one sized for the machine, constant load on one of four workstations. Whiskers: slowest and fastest balanced run."}, len(order) > 0
}

func drawHarmless(s *store) (chart.Figure, bool) {
	cells := s.cells("harmless")
	var oscillating, constant []spread
	for _, c := range cells {
		if c == dearSor {
			oscillating, constant = append(oscillating, s.ratio("harmless", c, "on", "off")), append(constant, spreadOf(nil))
			continue
		}
		oscillating = append(oscillating, s.ratio("harmless", c, "on-fast", "off-fast"))
		constant = append(constant, s.ratio("harmless", c, "on", "off"))
	}
	p := chart.Panel{Y: "time with balancing / without", Categories: cells, YMin: 0, YMax: 1.35,
		Bars:  []chart.Bars{bars("20 periods a cycle", chart.Blue, oscillating), bars("constant load", chart.Orange, constant)},
		Level: []chart.Mark{{At: 1, Name: "as without balancing", Colour: chart.Black}, {At: idlePromise, Name: "promised: at most", Colour: chart.Red}}}
	return chart.Figure{Title: "Where balancing can gain little: dear moves, and the paper's own sizes", Rows: [][]chart.Panel{{p}}, Width: 15, Height: 7,
		Note: "Medians; whiskers: least and greatest ratio of runs of the same round. Below 1 is faster."}, len(cells) > 0
}

// drawBlocks is Fig. 8: time against block size, a row for each grid, a column for each network.
func drawBlocks(s *store, ranks int) (chart.Figure, bool) {
	f := chart.Figure{Title: fmt.Sprintf("Fig. 8: block size, %d ranks on two cores", ranks), Width: 8.5, Height: 5.5,
		Note: "1: the best of the measured block sizes. Dots: measured (medians; whiskers: range). Dashed: what the model predicted in the run that chose, " +
			"relative to the same best. Line: the automatic choice, with its speed in pairs of longer runs."}
	any, cases := false, blockCases(s)
	for _, grid := range []work{sor(500), sor(1000), sor(2000), {"sor", 200, 20000}} {
		var row []chart.Panel
		for _, p := range networks(cores(ranks)) {
			cell := fmt.Sprintf("%s-p%d-%s", grid, ranks, p.net())
			panel := chart.Panel{Title: fmt.Sprintf("%s, %s", grid, netName(p.net())), X: "block size (columns)", Y: "speed (1: best)",
				LogX: true, YMin: 0, YMax: 1.75, YTicks: []float64{0, 0.5, 1, 1.5}, XMin: 1, XMax: float64(grid.m)}
			best, sizes := math.Inf(1), []float64{}
			var times []spread
			chosen := 0.0
			for _, v := range s.variants("block", cell) {
				t := s.time("block", cell, v)
				runs := s.group("block", cell, v)
				if v == automatic {
					chosen = float64(runs[0].Block)
					continue
				}
				b, _ := strconv.ParseFloat(v, 64)
				sizes, times = append(sizes, b), append(times, t)
				best = min(best, t.median)
			}
			if len(sizes) > 0 {
				any = true
				sortTogether(sizes, times)
				for i, t := range times {
					times[i] = spread{best / t.median, best / t.high, best / t.low, t.count}
				}
				panel.Series = append(panel.Series, line("measured", chart.Blue, chart.Line, sizes, times))
				iterations := float64(s.group("block", cell, s.variants("block", cell)[0])[0].Iterations)
				var x, y []float64
				for _, pt := range s.points {
					if pt.Part == "block" && pt.Cell == cell {
						x, y = append(x, float64(pt.Block)), append(y, best/iterations/pt.Sweep)
					}
				}
				panel.Series = append(panel.Series, chart.Series{Name: "predicted", X: x, Y: y, Style: chart.Dashed, Colour: chart.Orange})
				name := fmt.Sprintf("automatic: %.0f", chosen)
				if i := slices.IndexFunc(cases, func(c blockCase) bool { return c.cell == cell }); i >= 0 {
					name += fmt.Sprintf(", %.2f of the best", cases[i].share.median)
				}
				panel.At = []chart.Mark{{At: chosen, Name: name, Colour: chart.Green}}
			}
			row = append(row, panel)
		}
		f.Rows = append(f.Rows, row)
	}
	return f, any
}

func netName(net string) string {
	switch {
	case net == "memory":
		return "shared memory"
	case net == "tcp":
		return "TCP"
	}
	return "TCP, " + strings.TrimSuffix(net, "mbit") + " Mbit/s"
}

// sortTogether sorts x, and y with it.
func sortTogether(x []float64, y []spread) {
	for i := range x {
		for j := i; j > 0 && x[j] < x[j-1]; j-- {
			x[j], x[j-1], y[j], y[j-1] = x[j-1], x[j], y[j-1], y[j]
		}
	}
}

func drawGrain(s *store) (chart.Figure, bool) {
	var row []chart.Panel
	any := false
	for _, w := range []work{sor(2000), sor4000} {
		p := chart.Panel{Title: w.String(), X: "workstations", Y: "efficiency", LogX: true, XTicks: []float64{1, 2, 4, 8}, YMin: 0, YMax: 1.3,
			Level: []chart.Mark{{At: 1, Name: "ideal", Colour: chart.Green}}, Below: true}
		for i, v := range []struct{ name, title string }{{"auto", "automatic grain"}, {"fixed", "fixed grain, 1.5 quota periods"}} {
			var x []float64
			var y []spread
			for _, ranks := range []int{1, 2, 4, 8} {
				e := s.spread("grain", fmt.Sprintf("%s-p%d", w, ranks), v.name, s.efficiency)
				any = any || e.ok()
				x, y = append(x, float64(ranks)), append(y, e)
			}
			p.Series = append(p.Series, line(v.title, chart.Colour(1+i), chart.Line, x, y))
		}
		row = append(row, p)
	}
	return chart.Figure{Title: "Fig. 9: automatic grain against a fixed one", Rows: [][]chart.Panel{row},
		Note: "Workstations of " + s.quota("grain") + ", no loads, no balancing. Efficiency: equation (2), against one CPU alone."}, any
}

func drawMaster(s *store) (chart.Figure, bool) {
	p := chart.Panel{X: "ranks", Y: "master's CPU (% of a core)", LogX: true, XTicks: []float64{2, 4, 8, 16, 32}, Left: true,
		Level: []chart.Mark{{At: 1, Name: "promised at 8: below", Colour: chart.Red}}}
	any := false
	for i, l := range masterLoads {
		var x []float64
		var y []spread
		for _, ranks := range []int{2, 4, 8, 16, 32} {
			e := s.spread("master", fmt.Sprintf("p%d", ranks), l.variant, askedShare)
			any = any || e.ok()
			x, y = append(x, float64(ranks)), append(y, e)
		}
		p.Series = append(p.Series, line(l.name, chart.Colour(1+i), chart.Line, x, y))
	}
	return chart.Figure{Title: "Fig. 20: what the master uses", Rows: [][]chart.Panel{{p}}, Width: 13, Height: 7.5,
		Note: "500 x 500 matrix multiplication again and again, two cores for all ranks, target period 50 ms, filter fixed:0.8, threshold 0.1. " +
			"Runs with fewer than half of the interactions that this asks for are left out."}, any
}

func drawSpeedup(s *store, kind, title, model string) (chart.Figure, bool) {
	any := false
	var x []float64
	for _, ranks := range widths {
		x = append(x, float64(ranks))
	}
	f := chart.Figure{Title: title, Width: 10.5, Height: 7,
		Note: "Load on workstation 1 of P, or on the only one (" + s.quota("speedup") + "), busy for half of each cycle. Eight may be half as fast, with periods and cycles twice as long; their times are halved. Efficiency: equation (2), the loads' share not counted. " +
			"Ideal: 1; dedicated is what the program reaches without loads. Model: Fig. 31 with the measured period and movement cost (Fig. " + model + ")."}
	for _, cycle := range []struct{ name, title string }{{"slow", "60 periods a cycle"}, {"fast", "20 periods a cycle"}} {
		time := chart.Panel{Title: "Time, " + cycle.title, X: "workstations", Y: "time (s)", LogX: true, LogY: true, XTicks: x}
		efficiency := chart.Panel{Title: "Efficiency, " + cycle.title, X: "workstations", Y: "efficiency", LogX: true, XTicks: x,
			YMin: 0, YMax: 1.3, Level: []chart.Mark{{At: 1, Name: "ideal", Colour: chart.Green}}, Below: true, Left: true}
		for _, v := range []struct {
			variant, title string
			style          chart.Style
			colour         chart.Colour
		}{
			{"dedicated", "dedicated", chart.Dashed, chart.Black},
			{"off-" + cycle.name, "no balancing", chart.Line, chart.Orange}, {"on-" + cycle.name, "balancing", chart.Line, chart.Blue},
		} {
			var times, efficiencies []spread
			for _, ranks := range widths {
				cell := kindOn(kind, ranks)
				t := s.spread("speedup", cell, v.variant, func(r run) float64 { return r.Time * r.shares()[0] / small(ranks).cpu[0] })
				any = any || t.ok()
				times = append(times, t)
				efficiencies = append(efficiencies, s.spread("speedup", cell, v.variant, s.efficiency))
			}
			time.Series = append(time.Series, line(v.title, v.colour, v.style, x, times))
			efficiency.Series = append(efficiency.Series, line(v.title, v.colour, v.style, x, efficiencies))
		}
		var modelled, y []float64
		for _, ranks := range widths {
			if m, ok := s.model(kindOn(kind, ranks), "on-"+cycle.name); ok {
				modelled, y = append(modelled, float64(ranks)), append(y, m.efficiency())
			}
		}
		efficiency.Series = append(efficiency.Series, chart.Series{Name: "model", X: modelled, Y: y, Style: chart.Dotted, Colour: chart.Purple})
		f.Rows = append(f.Rows, []chart.Panel{time, efficiency})
	}
	return f, any
}

func drawPeriod(s *store) (chart.Figure, bool) {
	cells := s.cells("period")
	if len(cells) == 0 {
		return chart.Figure{}, false
	}
	cell := cells[0]
	var x []float64
	var y []spread
	for _, v := range s.variants("period", cell) {
		if q, err := strconv.ParseFloat(v, 64); err == nil {
			x, y = append(x, q), append(y, s.spread("period", cell, v, s.efficiency))
		}
	}
	sortTogether(x, y)
	p := chart.Panel{X: "balancing period (quota periods)", Y: "efficiency", LogX: true, XTicks: []float64{2, 5, 10, 20, 40}, YMin: 0, YMax: 1.1, Below: true,
		Series: []chart.Series{line("no filter, threshold or cost analysis", chart.Blue, chart.Line, x, y)}}
	for _, m := range []struct {
		variant, name string
		colour        chart.Colour
	}{{"full", "the full system", chart.Green}, {"off", "no balancing", chart.Orange}} {
		if e := s.spread("period", cell, m.variant, s.efficiency); e.ok() {
			p.Level = append(p.Level, chart.Mark{At: e.median, Name: m.name, Colour: m.colour})
		}
	}
	return chart.Figure{Title: "Fig. 19: the balancing period", Rows: [][]chart.Panel{{p}}, Width: 13, Height: 7.5,
		Note: "SOR of 4000 x 4000 on four workstations, load of 60 periods a cycle on one. Whiskers: range."}, true
}

// relative is a bar chart of times against one variant of the cells of a part.
func relative(s *store, part, base string, cells, names []string) (chart.Panel, bool) {
	p := chart.Panel{Y: "time / that of " + base, Categories: names, Level: []chart.Mark{{At: 1, Colour: chart.Black}}}
	any := false
	for i, c := range cells {
		var all []spread
		for _, n := range names {
			r := s.ratio(part, c, n, base)
			any = any || r.ok()
			all = append(all, r)
		}
		p.Bars = append(p.Bars, bars(c, chart.Colour(1+i), all))
	}
	return p, any
}

func drawMechanisms(s *store) (chart.Figure, bool) {
	p, any := relative(s, "mechanisms", "full", []string{sor4000.String(), mm.String()},
		[]string{"full", "paper", "no filter", "no threshold", "no cost-benefit", "synchronous", "none", "off"})
	return chart.Figure{Title: "Each mechanism off in turn (above 1: slower than the full system)", Rows: [][]chart.Panel{{p}}, Width: 20, Height: 8,
		Note: "Four workstations, load of 60 periods a cycle on one. paper: its filter table and a threshold of 0.1; none: no filter, threshold, cost analysis or pipelining; off: no balancing. " +
			"Medians; whiskers: range of ratios within rounds."}, any
}

func drawFilters(s *store) (chart.Figure, bool) {
	p, any := relative(s, "filters", "auto", []string{sor4000.String()}, filterNames)
	for i := range p.Bars {
		p.Bars[i].Name = ""
	}
	return chart.Figure{Title: "Every filter (above 1: slower than the automatic one)", Rows: [][]chart.Panel{{p}}, Width: 15, Height: 7,
		Note: "SOR of 4000 x 4000 on four workstations, load of 60 periods a cycle on one."}, any
}

func drawBeyond(s *store) (chart.Figure, bool) {
	uneven := chart.Panel{Title: "Speeds 1:2:4, no load", Y: "time / ideal", Level: []chart.Mark{{At: 1, Name: "ideal", Colour: chart.Green}}}
	loads := chart.Panel{Title: "Other loads, sor-4000", Y: "part of the penalty removed", Level: []chart.Mark{{At: 1, Name: "ideal", Colour: chart.Green}, {At: 0, Colour: chart.Black}}, Below: true}
	var none, balanced, removed []spread
	for _, c := range s.cells("beyond") {
		if strings.HasPrefix(c, "1:2:4") {
			uneven.Categories = append(uneven.Categories, strings.TrimPrefix(c, "1:2:4-"))
			none, balanced = append(none, s.overIdeal(c, "off")), append(balanced, s.overIdeal(c, "on"))
			continue
		}
		loads.Categories = append(loads.Categories, strings.TrimSuffix(c, "-"+sor4000.String()))
		removed = append(removed, s.removed("beyond", c, "on", "off", "dedicated"))
	}
	uneven.Bars = []chart.Bars{bars("equal shares", chart.Orange, none), bars("balancing", chart.Blue, balanced)}
	loads.Bars = []chart.Bars{bars("", chart.Blue, removed)}
	var row []chart.Panel
	if len(none) > 0 {
		row = append(row, uneven)
	}
	if len(removed) > 0 {
		row = append(row, loads)
	}
	return chart.Figure{Title: "Beyond the paper", Rows: [][]chart.Panel{row}, Width: 17, Height: 7.5,
		Note: "Ideal: the program's time on one CPU over the CPUs of all workstations. opposed: one of two loads starts when the other stops; quarter: a quarter of a cycle " +
			"later; master: on the master's workstation; 60 periods a cycle."}, len(row) > 0
}

// overIdeal is the time of uneven workstations over t_sequential / their CPUs.
func (s *store) overIdeal(cell, variant string) spread {
	return s.spread("beyond", cell, variant, func(r run) float64 {
		t, ok := s.sequentialTime(r)
		if !ok {
			return math.NaN()
		}
		cpus := 0.0
		for _, c := range r.shares() {
			cpus += c
		}
		return r.Time / (t / cpus)
	})
}
