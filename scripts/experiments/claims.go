package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// claim is one of the paper's, and how it is judged. judge returns what was measured, and one of the verdicts.
type claim struct {
	id, says string
	judge    func(*store) (measured, verdict string)
}

const (
	shown     = "shown"
	notShown  = "**not shown**"
	different = "different, see below"
	open      = missing
)

// verdict is shown or not, or open where that is not known.
func verdict(known, holds bool) string {
	switch {
	case !known:
		return open
	case holds:
		return shown
	}
	return notShown
}

// tested is a claim that needs no measurement.
func tested(where string) func(*store) (string, string) {
	return func(*store) (string, string) { return "a test: `" + where + "`", shown }
}

// claims are those of the paper in order of their numbers.
var claims = []claim{
	{"4.1", "ideal pipeline: efficiency M/(M+P-1)", tested("pipeline TestClaim4_1")},
	{"4.2", "automatic block size at the peak; a factor of two hardly matters (Fig. 8)", judgeBlocks},
	{"4.3", "automatic grain better than a fixed one as P grows (Fig. 9)", judgeGrain},
	{"4.4", "pipelined: loads do not hurt, whatever the grain (Figs 10, 11)", tested("pipeline TestClaim4_4")},
	{"4.5", "barriers: efficiency rises with the grain, 1 at multiples of the scheduling period (Fig. 13)", tested("pipeline TestClaim4_5")},
	{"4.6", "the number of barriers does not matter", tested("pipeline TestClaim4_6")},
	{"4.7", "a hook costs at most 1% of the code between hooks", tested("pipeline, placement TestClaim4_7")},
	{"4.8", "where the hooks of SOR and MM belong (Figs 15, 16)", tested("placement TestClaim4_8")},
	{"4.9", "interactions take less than 5% of the time", judgeInteractions},
	{"4.10", "rates look stable only over 5 to 10 quanta (Fig. 18)", judgeRates},
	{"4.11", "efficiency rises with the balancing period; the full system at 10 quanta is close to the best (Fig. 19)", judgePeriods},
	{"4.12", "the master needs a small part of a CPU, whatever the load (Fig. 20)", judgeMaster},
	{"4.13", "without a filter: more movement, less efficiency (Fig. 22)", judgeFilter},
	{"4.14", "constant load: the work stays where it is after the start (Fig. 23)", judgeConstant},
	{"4.15", "threshold 0.1: rows can be left in the wrong place (Fig. 24)", judgeThreshold},
	{"4.16", "with the threshold, work moves in larger pieces (Fig. 24)", judgePieces},
	{"4.17", "the cost analysis seldom matters, but where moves are dear", judgeProfit},
	{"4.18", "dedicated: balancing costs little; constant load: efficiency as dedicated", judgeDedicated},
	{"4.19", "60 periods a cycle profit in all; 20 less; dear moves at 20 are worse with balancing (Figs 25-30)", judgeOscillating},
	{"4.20", "the model predicts MM and small SOR, and too little for dear moves (Figs 31-34)", judgeModel},
	{"4.21", "movement is the largest loss, delay the second", judgeLosses},
	{"4.22", "pipelined interactions do no harm in a changing system", judgePipelining},
	{"4.23", "each mechanism alone helps little, all are needed", judgeTogether},
}

func tableClaims(s *store) string {
	g := newGrid("id", "claim", "measured", "verdict")
	for _, c := range claims {
		measured, v := c.judge(s)
		if v == open {
			measured = ""
		}
		g.add(c.id, c.says, measured, v)
	}
	return g.String()
}

func judgeBlocks(s *store) (string, string) {
	cases := blockCases(s)
	good, near := 0, 1.0
	for _, c := range cases {
		if c.share.median >= 0.95 {
			good++
		}
		near = min(near, c.near)
	}
	return fmt.Sprintf("%d of %d cases within 5%% of the best; within a factor of two of the choice at worst %.2f of the best speed", good, len(cases), near),
		verdict(len(cases) > 0, good == len(cases) && near >= 0.9)
}

func judgeGrain(s *store) (string, string) {
	var words []string
	gain := map[int]float64{}
	for _, ranks := range []int{2, 8} {
		worst := math.Inf(1)
		for _, w := range []work{sor(2000), sor4000} {
			worst = min(worst, s.ratio("grain", fmt.Sprintf("%s-p%d", w, ranks), "fixed", "auto").median)
		}
		gain[ranks] = worst
		words = append(words, fmt.Sprintf("P = %d: fixed / automatic time at least %.2f", ranks, worst))
	}
	return strings.Join(words, "; "), verdict(!math.IsNaN(gain[2]+gain[8]) && !math.IsInf(gain[8], 0), gain[2] > 0.95 && gain[8] > 1.02)
}

// costliest is the cell of part idle in which balancing costs most, and its time relative to that without.
func (s *store) costliest() (cell string, most spread) {
	for _, c := range s.cells("idle") {
		if r := s.ratio("idle", c, "on", "off"); r.ok() && (cell == "" || r.median > most.median) {
			cell, most = c, r
		}
	}
	return cell, most
}

func judgeInteractions(s *store) (string, string) {
	cell, most := s.costliest()
	return fmt.Sprintf("balancing costs at most %.1f%% where nothing competes (%s)", 100*(most.median-1), cell), verdict(most.ok(), most.median < 1.05)
}

func judgeRates(s *store) (string, string) {
	_, _, one, ok1 := s.rates(1)
	_, _, ten, ok10 := s.rates(10)
	return fmt.Sprintf("standard deviation %.0f%% over 1 quantum, %.0f%% over 10", 100*one, 100*ten), verdict(ok1 && ok10, ten < 0.1 && one > 2*ten)
}

func judgePeriods(s *store) (string, string) {
	e := func(v string) float64 { return s.spread("period", sor4000.String(), v, s.efficiency).median }
	full := e("full")
	known, rises, best := !math.IsNaN(full), true, 0.0
	var efficiencies, lengths []string
	for _, q := range balancingPeriods {
		x := e(strconv.Itoa(q))
		known, rises, best = known && !math.IsNaN(x), rises && x > best, max(best, x)
		efficiencies, lengths = append(efficiencies, fmt.Sprintf("%.2f", x)), append(lengths, strconv.Itoa(q))
	}
	return fmt.Sprintf("efficiency %s at %s quanta; the full system %.2f", strings.Join(efficiencies, ", "), strings.Join(lengths, ", "), full),
		verdict(known, rises && full >= best-0.05)
}

func judgeMaster(s *store) (string, string) {
	var words []string
	known, most := true, 0.0
	for _, ranks := range []int{8, 32} {
		var shares []string
		for _, l := range masterLoads {
			x := s.spread("master", fmt.Sprintf("p%d", ranks), l.variant, askedShare)
			text := missing
			if x.ok() {
				text = fmt.Sprintf("%.2f%%", x.median)
			}
			shares = append(shares, l.name+" "+text)
			if ranks == 8 {
				known, most = known && x.ok(), max(most, x.median)
			}
		}
		words = append(words, fmt.Sprintf("P = %d: %s", ranks, strings.Join(shares, ", ")))
	}
	return "of a core, " + strings.Join(words, "; "), verdict(known, most < 1)
}

// traced is one traced run of part mechanisms.
func (s *store) traced(variant string) (run, bool) {
	runs := s.group("mechanisms", "traces", variant)
	if len(runs) == 0 {
		return run{}, false
	}
	return runs[0], true
}

func judgeFilter(s *store) (string, string) {
	a, okA := s.traced("22a")
	b, okB := s.traced("22b")
	return fmt.Sprintf("efficiency %.3f and %d rows moved with the paper's filter, %.3f and %d without", s.efficiency(a), a.Moved, s.efficiency(b), b.Moved),
		verdict(okA && okB, b.Moved > a.Moved && s.efficiency(b) < s.efficiency(a))
}

func judgeConstant(s *store) (string, string) {
	moved, coarse := s.restless("constant", sor4000.String()+"-ws1", "on"), s.restless("coarse", sor8000.String(), "on")
	return fmt.Sprintf("%.1f%% of the work moved in the second half of a run; at the paper's quantum %.1f%%", moved.median, coarse.median),
		verdict(moved.ok() && coarse.ok(), moved.median < 2 && coarse.median < 2)
}

// left are the imbalances that were left as they are: those of the last interaction before each change of the load, by the
// filtered rates, in a traced run of part mechanisms.
func (s *store) left(variant string) (all []float64) {
	r, _ := s.traced(variant)
	x := s.trace("mechanisms", "traces", variant)
	if len(x) == 0 {
		return nil
	}
	end := x[len(x)-1].At
	for _, span := range r.busy(end) {
		for _, change := range span {
			next := slices.IndexFunc(x, func(one sample) bool { return one.At >= change })
			if next <= 0 {
				continue // before the loop, or after its last interaction
			}
			last := x[:next]
			first := slices.IndexFunc(last, func(one sample) bool { return one.Interaction == last[next-1].Interaction })
			all = append(all, imbalance(last[first:]))
		}
	}
	return all
}

func judgeThreshold(s *store) (string, string) {
	without, with := s.left("24a"), s.left("24b")
	if len(without) == 0 || len(with) == 0 {
		return "", open
	}
	list := func(all []float64) string {
		var words []string
		for _, x := range all {
			words = append(words, fmt.Sprintf("%.1f%%", 100*x))
		}
		return strings.Join(words, ", ")
	}
	return fmt.Sprintf("imbalance left when the load changes: with it %s, without %s (the paper's (c): 6.2%% to 7.7%%)", list(with), list(without)),
		verdict(true, slices.Min(with) > slices.Max(without))
}

func judgePieces(s *store) (string, string) {
	a, okA := s.traced("24a")
	b, okB := s.traced("24b")
	per := func(r run) float64 { return float64(r.Moved) / max(1, float64(r.Shifts)) }
	return fmt.Sprintf("%d movements of %.0f rows without, %d of %.0f with", a.Shifts, per(a), b.Shifts, per(b)), verdict(okA && okB, per(b) > per(a))
}

func judgeProfit(s *store) (string, string) {
	r := s.ratio("mechanisms", sor4000.String(), "no cost-benefit", "full")
	dear, without := s.ratio("harmless", dearSor, "on", "off"), s.ratio("mechanisms", dearSor, "no cost-benefit", "full")
	return fmt.Sprintf("without it, time x %.2f; where moves are dear, x %.2f, and balancing with it is at x %.2f of none", r.median, without.median, dear.median),
		verdict(r.ok() && dear.ok() && without.ok(), math.Abs(r.median-1) < 0.05 && without.median > 1.05 && dear.median <= idlePromise)
}

func judgeDedicated(s *store) (string, string) {
	cell := sor8000.String()
	_, idle := s.costliest()
	loaded := s.efficiencies("constant", cell+"-ws1", "on", off.name)
	alone := s.efficiencies("constant", cell+"-ws1", dedicated.name, off.name)
	return fmt.Sprintf("time at most x %.3f without load; efficiency beside a constant load x %.2f of that without", idle.median, loaded.median/alone.median),
		verdict(idle.ok() && loaded.ok() && alone.ok(), idle.median <= 1.05 && loaded.median >= 0.9*alone.median)
}

func judgeOscillating(s *store) (string, string) {
	var words []string
	gain := map[string]float64{}
	for _, kind := range kinds {
		for _, cycle := range []string{"slow", "fast"} {
			r := s.ratio("speedup", kind+"-p4", "on-"+cycle, "off-"+cycle)
			gain[kind+cycle] = r.median
			words = append(words, fmt.Sprintf("%s %s x %.2f", kind, map[string]string{"slow": "60", "fast": "20"}[cycle], r.median))
		}
	}
	text := "time on / off at P = 4: " + strings.Join(words, ", ")
	known := !math.IsNaN(gain["mmslow"] + gain["mmfast"] + gain["sorslow"] + gain["sorfast"] + gain["dearslow"] + gain["dearfast"])
	profits := gain["mmslow"] < 1 && gain["sorslow"] < 1 && gain["dearslow"] < 1
	less := gain["mmfast"] > gain["mmslow"] && gain["sorfast"] > gain["sorslow"]
	switch {
	case !known:
		return text, open
	case profits && less && gain["dearfast"] <= idlePromise:
		return text + "; balancing does no harm where the paper's did", different
	}
	return text, verdict(true, profits && less)
}

func judgeModel(s *store) (string, string) {
	var words []string
	worst, any := 0.0, false
	above := 0.0
	for _, kind := range kinds {
		for _, cycle := range []string{"slow", "fast"} {
			m, ok := s.model(kind+"-p4", "on-"+cycle)
			e := s.spread("speedup", kind+"-p4", "on-"+cycle, s.efficiency)
			if !ok || !e.ok() {
				continue
			}
			any = true
			if kind == dearMoves {
				above = max(above, e.median-m.efficiency())
			} else {
				worst = max(worst, math.Abs(e.median-m.efficiency()))
			}
			words = append(words, fmt.Sprintf("%s %s %.2f / %.2f", kind, cycle, e.median, m.efficiency()))
		}
	}
	return "measured / model at P = 4: " + strings.Join(words, ", "), verdict(any, worst < 0.08 && above > 0)
}

func judgeLosses(s *store) (string, string) {
	var words []string
	known, holds := 0, 0
	for _, kind := range kinds {
		m, ok := s.model(kind+"-p4", "on-fast")
		if !ok {
			continue
		}
		known++
		still, instant := m, m
		still.move, instant.delay = 0, 0
		byMove, byDelay := still.efficiency()-m.efficiency(), instant.efficiency()-m.efficiency()
		words = append(words, fmt.Sprintf("%s: moving %.3f, delay %.3f", kind, byMove, byDelay))
		if byMove > byDelay {
			holds++
		}
	}
	return "efficiency lost by the model, 20 periods a cycle: " + strings.Join(words, "; "), verdict(known == 3, holds > 1) // in most cases
}

func judgePipelining(s *store) (string, string) {
	r := s.ratio("mechanisms", sor4000.String(), "synchronous", "full")
	return fmt.Sprintf("synchronous: time x %.2f of pipelined, beside an oscillating load", r.median), verdict(r.ok(), r.median > 0.97)
}

func judgeTogether(s *store) (string, string) {
	var words []string
	none := s.ratio("mechanisms", sor4000.String(), "none", "full")
	worst := 0.0
	for _, v := range []string{"no filter", "no threshold", "no cost-benefit"} {
		r := s.ratio("mechanisms", sor4000.String(), v, "full")
		worst = max(worst, r.median)
		words = append(words, fmt.Sprintf("%s x %.2f", v, r.median))
	}
	return "time relative to the full system: " + strings.Join(words, ", ") + fmt.Sprintf(", none of them x %.2f", none.median),
		verdict(none.ok(), none.median > 1.02 && worst > 1)
}
