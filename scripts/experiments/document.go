package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
)

// tables fill the places of the document that bear their names:
//
//	<!-- begin NAME -->
//	<!-- end NAME -->
var tables = map[string]func(*store) string{
	"machine": tableMachine, "promises": tablePromises, "claims": tableClaims, "blocks": tableBlocks, "speedup": tableSpeedup,
	"taken": tableTaken, "mechanisms": tableMechanisms, "filters": tableFilters, "regime": tableRegime, "beyond": tableBeyond, "master": tableMaster,
}

// document rewrites the tables of a Markdown file and leaves everything else as it is.
func document(st *store, file string, w io.Writer) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	filled, err := fill(string(text), func(name string) (string, bool) {
		f, ok := tables[name]
		if !ok {
			return "", false
		}
		return f(st), true
	})
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := replaceFile(file, []byte(filled)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s: tables filled in\n", file)
	return err
}

// fill replaces what stands between markers.
func fill(text string, table func(name string) (string, bool)) (string, error) {
	var out []string
	open := ""
	for _, line := range strings.Split(text, "\n") {
		begin, isBegin := marker(line, "begin")
		end, isEnd := marker(line, "end")
		switch {
		case isBegin && open != "":
			return "", fmt.Errorf("table %s begins within %s", begin, open)
		case isBegin:
			body, ok := table(begin)
			if !ok {
				return "", fmt.Errorf("there is no table %s", begin)
			}
			open = begin
			out = append(out, line, strings.TrimRight(body, "\n"))
		case isEnd && end != open:
			return "", fmt.Errorf("table %s ends, but does not begin", end)
		case isEnd:
			open = ""
			out = append(out, line)
		case open == "":
			out = append(out, line)
		}
	}
	if open != "" {
		return "", errors.New("table " + open + " does not end")
	}
	return strings.Join(out, "\n"), nil
}

func marker(line, kind string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), "<!-- "+kind+" ")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(rest, " -->")
}

// grid is a Markdown table.
type grid struct{ rows []string }

func newGrid(head ...string) *grid {
	g := &grid{}
	g.add(head...)
	g.rows = append(g.rows, "|"+strings.Repeat("---|", len(head)))
	return g
}

func (g *grid) add(cells ...string) { g.rows = append(g.rows, "| "+strings.Join(cells, " | ")+" |") }

func (g *grid) String() string { return strings.Join(g.rows, "\n") }

const missing = "not measured"

// String is median (least to greatest).
func (s spread) String() string {
	if !s.ok() {
		return missing
	}
	if s.count == 1 {
		return fmt.Sprintf("%.3f", s.median)
	}
	return fmt.Sprintf("%.3f (%.3f to %.3f)", s.median, s.low, s.high)
}

// met says whether a promise was kept.
func met(known, kept bool) string {
	switch {
	case !known:
		return "-"
	case kept:
		return "yes"
	}
	return "**no**"
}

func tableMachine(s *store) string {
	g := newGrid("", "")
	var later []string                // when, with which version and on what parts were measured anew
	measured := map[string][]string{} // the parts, by that
	for _, one := range s.settings {
		part, again := strings.CutPrefix(one.Name, anew)
		switch {
		case strings.HasPrefix(one.Name, scaled): // says how a part goes on
		case (one.Name == "begun" || one.Name == "commit") && s.allAnew(): // nothing is left of what was measured first
		case !again:
			g.add(one.Name, one.Value)
		default:
			if measured[one.Value] == nil {
				later = append(later, one.Value)
			}
			measured[one.Value] = append(measured[one.Value], part)
		}
	}
	for _, value := range later {
		g.add(value, strings.Join(measured[value], ", "))
	}
	g.add("runs", fmt.Sprint(len(s.order)))
	return g.String()
}

func tablePromises(s *store) string {
	g := newGrid("what", "where", "promised", "measured: median (range)", "kept")
	asLong := func(what, where string, r spread) {
		g.add(what, where, fmt.Sprintf("at most %.2f", idlePromise), r.String(), met(r.ok(), r.median <= idlePromise))
	}
	atLeast := func(what, where string, r spread, limit float64) {
		g.add(what, where, fmt.Sprintf("at least %.2f", limit), r.String(), met(r.ok(), r.median >= limit))
	}
	for _, w := range []work{mm, mm500, sor(1000), sor(2000), sor4000, sor8000} {
		asLong("no load: time on / off", w.String(), s.ratio("idle", w.String(), "on", "off"))
	}
	for _, ws := range []string{"ws1", "ws0"} {
		where := map[string]string{"ws1": "", "ws0": ", on the master's"}[ws]
		for _, w := range mains {
			atLeast("constant load"+where+": penalty removed", w.String(), s.removed("constant", w.String()+"-"+ws, "on", "off", "dedicated"),
				promises["constant"][w.program])
		}
	}
	for _, part := range []string{"slow", "fast"} {
		what := map[string]string{"slow": "60 periods a cycle: penalty removed", "fast": "20 periods a cycle: penalty removed"}[part]
		for _, w := range mains {
			atLeast(what, w.String(), s.removed(part, w.String(), "on", "off", "dedicated"), promises[part][w.program])
		}
	}
	asLong("dear moves, 20 periods a cycle: time on / off", dearSor, s.ratio("harmless", dearSor, "on", "off"))
	for _, w := range []work{mm500, sor(500), sor(1000), sor(2000)} {
		asLong("the paper's sizes, 20 periods a cycle: time on / off", w.String(), s.ratio("harmless", w.String(), "on-fast", "off-fast"))
		asLong("the paper's sizes, constant load: time on / off", w.String(), s.ratio("harmless", w.String(), "on", "off"))
	}
	for _, w := range []work{mm, sor4000} {
		share := s.spread("eight", w.String(), "on", masterShare)
		g.add("eight workstations: master's CPU, % of a core", w.String(), "below 1", share.String(), met(share.ok(), share.median < 1))
	}
	for _, w := range []work{sor4000, sor8000} {
		moved := s.restless("coarse", w.String(), "on")
		g.add("quota period 100 ms, constant load: % of the work moved in the second half of a run", w.String(), "below 2", moved.String(), met(moved.ok(), moved.median < 2))
	}
	for _, w := range []work{mm, sor4000} {
		gain := s.ratio("network", w.String(), "on", "off")
		g.add("100 Mbit/s, constant load: time on / off", w.String(), "below 1", gain.String(), met(gain.ok(), gain.median < 1))
		runs := s.group("network", verified(w), "verify")
		text := missing
		if len(runs) > 0 {
			text = "verified=" + runs[0].Verified
		}
		g.add("100 Mbit/s: the result", w.String(), "verified", text, met(len(runs) > 0, text == "verified=true"))
	}
	cases := blockCases(s)
	worst := math.Inf(1)
	for _, c := range cases {
		worst = min(worst, c.share.median)
	}
	if len(cases) > 0 {
		g.add("block size: speed of the automatic choice / best", fmt.Sprintf("worst of %d cases", len(cases)), "at least 0.95", fmt.Sprintf("%.3f", worst), met(true, worst >= 0.95))
	} else {
		g.add("block size: speed of the automatic choice / best", "all cases", "at least 0.95", missing, "-")
	}
	return g.String()
}

// tableTaken holds what balancing removes against the share that a constant load really took, where tablePromises reckons with half.
func tableTaken(s *store) string {
	g := newGrid("constant load on", "program", "share that it took, without balancing", "with", "penalty removed, by that share")
	for _, ws := range []string{"ws1", "ws0"} {
		for _, w := range mains {
			cell := w.String() + "-" + ws
			g.add(map[string]string{"ws1": "one of four", "ws0": "the master's"}[ws], w.String(), s.taken("constant", cell, "off").String(),
				s.taken("constant", cell, "on").String(), s.removedByTaken("constant", cell, "on", "off", "dedicated").String())
		}
	}
	return g.String()
}

// masterShare is what the master used of a core, in %.
func masterShare(r run) float64 { return 100 * r.MasterCPU / r.Time }

// askedShare is that of a run of part master, NaN where there were fewer than half of the interactions that the part asks for:
// balancing ended early, and what it uses was not measured.
func askedShare(r run) float64 {
	if float64(r.Interactions) < r.Time/(2*masterPeriod.Seconds()) {
		return math.NaN()
	}
	return masterShare(r)
}

// restless is how much of the work changed its owner in the second halves of traced runs, in %.
func (s *store) restless(part, cell, variant string) spread {
	var all []float64
	for _, r := range s.group(part, cell, variant) {
		x := s.traceOf(r.key())
		if len(x) == 0 {
			continue
		}
		half := x[len(x)-1].At / 2
		before := map[int]float64{}
		moved := 0.0
		for _, one := range x {
			if was, known := before[one.Rank]; known && one.At >= half {
				moved += math.Abs(one.Share-was) / 2 // what one rank loses another gains
			}
			before[one.Rank] = one.Share
		}
		all = append(all, 100*moved)
	}
	return spreadOf(all)
}

// blockCase is one case of part block.
type blockCase struct {
	cell            string
	automatic, best float64 // block sizes
	share           spread  // speed of the automatic choice in pairs with the best, 1: as that
	near            float64 // the same of the slower of the measured sizes within a factor of two of it
	predicted       float64 // median over the sizes of |predicted / measured - 1|
}

func blockCases(s *store) (all []blockCase) {
	for _, cell := range s.cells("block") {
		runs := s.group("block", cell, automatic)
		if len(runs) == 0 {
			continue
		}
		c := blockCase{cell: cell, automatic: float64(runs[0].Block), near: 1, predicted: math.NaN()}
		pairs := slices.DeleteFunc(s.variants("block"+paired, cell), func(v string) bool { return v == automatic })
		if len(pairs) == 0 {
			continue
		}
		c.best = float64(s.group("block"+paired, cell, pairs[0])[0].Block)
		c.share = s.ratio("block"+paired, cell, pairs[0], automatic)
		best := s.time("block", cell, pairs[0]).median
		var errs []float64
		for _, v := range s.variants("block", cell) {
			if v == automatic {
				continue
			}
			t, block := s.time("block", cell, v).median, float64(s.group("block", cell, v)[0].Block)
			if block >= c.automatic/2.01 && block <= c.automatic*2.01 {
				c.near = min(c.near, best/t)
			}
			for _, p := range s.points {
				if p.Part == "block" && p.Cell == cell && float64(p.Block) == block {
					errs = append(errs, math.Abs(p.Sweep*float64(runs[0].Iterations)/t-1))
				}
			}
		}
		if len(errs) > 0 {
			c.predicted = spreadOf(errs).median
		}
		all = append(all, c)
	}
	return all
}

func tableBlocks(s *store) string {
	g := newGrid("case", "automatic", "best of the sweep", "automatic / best speed, in pairs", "slowest within a factor of 2", "predicted off by (median)")
	for _, c := range blockCases(s) {
		predicted := missing
		if !math.IsNaN(c.predicted) {
			predicted = fmt.Sprintf("%.0f%%", 100*c.predicted)
		}
		g.add(c.cell, fmt.Sprintf("%.0f", c.automatic), fmt.Sprintf("%.0f", c.best), c.share.String(), fmt.Sprintf("%.3f", c.near), predicted)
	}
	return g.String()
}

func tableSpeedup(s *store) string {
	g := newGrid("program", "cycle (periods)", "workstations", "efficiency dedicated", "without balancing", "with", "model", "sweep / quota period")
	for _, kind := range kinds {
		for _, cycle := range []string{"slow", "fast"} {
			for _, ranks := range widths {
				cell := kindOn(kind, ranks)
				model := missing
				if m, ok := s.model(cell, "on-"+cycle); ok {
					model = fmt.Sprintf("%.3f", m.efficiency())
				}
				e := func(v string) string { return s.spread("speedup", cell, v, s.efficiency).String() }
				sweep := s.sweepPeriods("speedup", cell)
				text := "-"
				if kind != "mm" && !math.IsNaN(sweep) {
					text = fmt.Sprintf("%.1f", sweep)
				}
				g.add(kind, map[string]string{"slow": "60", "fast": "20"}[cycle], fmt.Sprint(ranks), e(dedicated.name), e("off-"+cycle), e("on-"+cycle), model, text)
			}
		}
	}
	return g.String()
}

func tableMechanisms(s *store) string {
	return ratios(s, "mechanisms", "full", slices.DeleteFunc(s.cells("mechanisms"), func(c string) bool { return c == "traces" || c == dearSor }))
}

func tableFilters(s *store) string { return ratios(s, "filters", "auto", s.cells("filters")) }

// ratios is a table of times relative to one variant.
func ratios(s *store, part, base string, cells []string) string {
	g := newGrid(append([]string{"time / that of " + base}, cells...)...)
	names := []string{}
	for _, c := range cells {
		for _, v := range s.variants(part, c) {
			if !slices.Contains(names, v) {
				names = append(names, v)
			}
		}
	}
	for _, v := range names {
		row := []string{v}
		for _, c := range cells {
			row = append(row, s.ratio(part, c, v, base).String())
		}
		g.add(row...)
	}
	return g.String()
}

func tableRegime(s *store) string {
	g := newGrid("grid and quota period", "sweep / quota period", "penalty removed", "time on / off")
	row := func(name, part, cell string) {
		x := s.sweepPeriods(part, cell)
		text := missing
		if !math.IsNaN(x) {
			text = fmt.Sprintf("%.2f", x)
		}
		g.add(name, text, s.removed(part, cell, "on", "off", "dedicated").String(), s.ratio(part, cell, "on", "off").String())
	}
	for _, w := range []work{sor(500), sor(1000), sor(2000)} {
		row(w.String()+", 10 ms", "harmless", w.String())
	}
	for _, w := range []work{sor4000, sor8000} {
		row(w.String()+", 10 ms", "constant", w.String()+"-ws1")
	}
	for _, c := range s.cells("regime") {
		row(c, "regime", c)
	}
	return g.String()
}

func tableBeyond(s *store) string {
	g := newGrid("what", "without balancing", "with", "measure")
	for _, c := range s.cells("beyond") {
		if strings.HasPrefix(c, "1:2:4") {
			g.add(c, s.overIdeal(c, "off").String(), s.overIdeal(c, "on").String(), "time / ideal")
			continue
		}
		g.add(c, "0", s.removed("beyond", c, "on", "off", "dedicated").String(), "penalty removed")
	}
	return g.String()
}

func tableMaster(s *store) string {
	head := []string{"ranks"}
	for _, l := range masterLoads {
		head = append(head, l.name)
	}
	g := newGrid(head...)
	for _, ranks := range []int{2, 4, 8, 16, 32} {
		row := []string{fmt.Sprint(ranks)}
		for _, l := range masterLoads {
			row = append(row, s.spread("master", fmt.Sprintf("p%d", ranks), l.variant, askedShare).String())
		}
		g.add(row...)
	}
	return g.String()
}
