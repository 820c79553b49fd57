package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"shiftwork/scripts/lab/cluster"
)

// part is a group of cells that answers one question.
type part struct {
	name  string
	about string
	// promised parts hold what the project has promised to show: they are shortened last.
	promised bool
	cells    []cell
	// explore, where there is one, runs instead of the cells, because what to run next depends on what came out; the cells
	// are then its starting points, and seconds what it takes.
	explore func(ctx context.Context, s *session, p part) error
	seconds float64
}

func (p part) planned(s scale) float64 {
	if p.explore != nil {
		return p.seconds // how much there is to explore depends on no rounds
	}
	sum := 0.0
	for _, c := range p.cells {
		sum += c.planned(s)
	}
	return sum
}

// parts are all parts, the most important first: what the project has promised to show, then the paper's figures, then what
// goes beyond. large is the size of the grid whose sweep takes about ten quota periods.
func parts(large int) []part {
	all := []part{
		{name: "sequential", promised: true, about: "t_sequential of equation (2): each program alone on one CPU", cells: sequential(large)},
		{name: "idle", promised: true, about: "what balancing costs where nothing competes (claim 4.18)", cells: idle()},
		{name: "constant", promised: true, about: "a constant load on one of four, also on the master's (4.18; Fig. 23)", cells: constantLoad()},
		{name: "slow", promised: true, about: "an oscillating load, 60 periods a cycle (4.15, 4.19; Fig. 31)", cells: oscillating(slowCycle, 6)},
		{name: "fast", promised: true, about: "an oscillating load, 20 periods a cycle (4.19)", cells: oscillating(fastCycle, 4)},
		{name: "harmless", promised: true, about: "where balancing can gain little: dear moves, and the paper's own sizes (4.17, 4.19)", cells: harmless()},
		{name: "eight", promised: true, about: "the master's share of a CPU, eight workstations (4.12)", cells: eight()},
		{name: "coarse", promised: true, about: "a quota period of 100 ms, the paper's quantum (4.14)", cells: coarse()},
		{name: "network", promised: true, about: "100 Mbit/s between four namespaces, constant load", cells: network()},
		{name: "block", promised: true, about: "automatic block size against the best of others, three networks (4.2; Fig. 8)", cells: blocks(), explore: exploreBlocks, seconds: 336},
		{name: "speedup", about: "1 to 8 workstations (4.19, 4.20; Figs 25-30, 32-34)", cells: speedup(large)},
		{name: "grain", about: "automatic grain against a fixed one of 1.5 quanta (4.3; Fig. 9)", cells: grain()},
		{name: "rate", about: "measured rate against the measuring period (4.10; Fig. 18)", cells: rate()},
		{name: "period", about: "the balancing period (4.11; Fig. 19)", cells: frequency()},
		{name: "master", about: "the master's CPU, up to 32 ranks (4.12; Fig. 20)", cells: master()},
		{name: "mechanisms", about: "filter, threshold, and each mechanism off in turn (4.13, 4.15-4.17, 4.22, 4.23; Figs 22, 24)", cells: mechanisms()},
		{name: "filters", about: "every --filter", cells: filters()},
		{name: "regime", about: "gain against sweep time over quota period", cells: regime(large)},
		{name: "beyond", about: "speeds 1:2:4, two loads out of phase, the load on the master's rank, workstations that are not bound to a processor", cells: beyond()},
	}
	for i := range all {
		for j := range all[i].cells {
			all[i].cells[j].part = all[i].name
		}
	}
	return all
}

var (
	sor4000, sor8000 = sor(4000), sor(8000)
	mm500            = work{"mm", 500, 500}
	mains            = []work{mm, sor4000, sor8000}
)

// loaded are the expected times of a constant load on one of four, relative to the dedicated time: without balancing, ideally.
func loaded() (off, on float64) { return 1.9, 4 / 3.5 * 1.05 }

func sequential(large int) (cells []cell) {
	works := []work{mm, sor(2000), sor4000, sor8000}
	if large != 4000 && large != 8000 {
		works = append(works, sor(large))
	}
	for _, w := range works {
		cells = append(cells, cell{name: w.String(), place: alone, work: w, seconds: 1.5, rounds: 3, variants: []variant{dedicated}})
	}
	return cells
}

func idle() (cells []cell) {
	for _, w := range []work{mm, mm500, sor(1000), sor(2000), sor4000, sor8000} {
		cells = append(cells, cell{name: w.String(), place: four, work: w, seconds: 2.5, rounds: 5, variants: []variant{off, on}, paired: true})
	}
	return cells
}

// compared is a cell with the three ways beside loads.
func compared(name string, p place, w work, seconds float64, rounds int, loads []cluster.Load, offStretch, onStretch float64) cell {
	return cell{name: name, place: p, work: w, seconds: seconds, rounds: rounds, base: off.name, variants: []variant{
		off.beside(loads, offStretch), on.beside(loads, onStretch).traced(), dedicated.times(min(rounds, 3)),
	}}
}

// dedicatedOnce is a compared cell with one dedicated run, which nothing that is promised depends on.
func (c cell) dedicatedOnce() cell {
	c.variants[2].rounds = 1
	return c
}

// untilKnown is the compared cell with more rounds, where the budget has room, until it is known which share of the penalty balancing removes.
func (c cell) untilKnown() cell {
	c.thorough = true
	return c
}

func constantLoad() (cells []cell) {
	slower, balanced := loaded()
	for _, ws := range []int{1, 0} {
		for _, w := range mains {
			cells = append(cells, compared(fmt.Sprintf("%s-ws%d", w, ws), four, w, 4, 5, constant(ws), slower, balanced).untilKnown())
		}
	}
	return cells
}

func oscillating(periods int, seconds float64) (cells []cell) {
	for _, w := range mains {
		cells = append(cells, compared(w.String(), four, w, seconds, 5, swinging(1, periods, four.tau()), 1.25, 1.1).untilKnown())
	}
	return cells
}

// dearSor is the cell of programs whose rows are dear to move, and dearPlace where they are.
var (
	dearSor   = "dear-" + sor8000.String()
	dearPlace = four.over(dear(8000, four))
)

func harmless() (cells []cell) {
	fast := swinging(1, fastCycle, four.tau())
	dear := compared(dearSor, dearPlace, sor8000, 4, 5, fast, 1.25, 1.25).dedicatedOnce()
	dear.paired = true
	cells = append(cells, dear)
	for _, w := range []work{mm500, sor(500), sor(1000), sor(2000)} {
		cells = append(cells, cell{name: w.String(), place: four, work: w, seconds: 1.2, rounds: 5, variants: []variant{
			with("off-fast", "--balance", "off").beside(fast, 1.4), with("on-fast", "--balance", "on").beside(fast, 1.4),
			with("off", "--balance", "off").beside(constant(1), 1.9), with("on", "--balance", "on").beside(constant(1), 1.7),
			dedicated.times(1), // nothing that is promised depends on it
		}})
	}
	return cells
}

func eight() (cells []cell) {
	p := place{cpu: equal(8, 0.2), period: 20 * time.Millisecond, pin: true}
	for _, w := range []work{mm, sor4000} {
		cells = append(cells, cell{name: w.String(), place: p, work: w, seconds: 3, rounds: 3, variants: []variant{
			on.beside(constant(1), 1.2),
		}})
	}
	return cells
}

func coarse() (cells []cell) {
	p := four.every(100 * time.Millisecond)
	for _, w := range []work{sor4000, sor8000} {
		cells = append(cells, cell{name: w.String(), place: p, work: w, seconds: 7, rounds: 5, least: 3, variants: []variant{
			on.beside(constant(1), 1.2).tracedIn(5), off.beside(constant(1), 1.9).times(1), dedicated.times(1),
		}})
	}
	return cells
}

// verified is the name of the cell in which the result of such a work is verified.
func verified(w work) string { return w.String() + "-verified" }

func network() (cells []cell) {
	slower, balanced := loaded()
	p := four.over(100e6)
	for _, w := range []work{mm, sor4000} {
		seconds, wire := 3.0, 1.0
		if w == sor4000 {
			wire = 1.25 // times as long: what crosses the network is not all hidden
			seconds = 7 // a movement takes more than a second, and is made once the load has lasted for longer: a run of 10 s beside it is over before that has paid much
		}
		cells = append(cells, compared(w.String(), p, w, seconds, 5, constant(1), wire*slower, wire*balanced).dedicatedOnce())
		// Verifying computes all of it again, on the master's 0.4 CPU, with the plain loop: a few sweeps.
		verify := with("verify", "--balance", "on", "--verify").beside(constant(1), balanced)
		cells = append(cells, cell{name: verified(w), place: p, work: w, seconds: 0.25, rounds: 1, variants: []variant{verify}})
	}
	return cells
}

// widths are the workstations of Figs 25-30. Sequential times come from part sequential.
var widths = []int{1, 2, 4, 8}

// dearMoves is the kind whose rows take long to move.
const dearMoves = "dear"

// kinds are the programs of Figs 25-30.
var kinds = []string{mm.program, "sor", dearMoves}

// kindOn is the cell of such a program on so many workstations. On one nothing moves, dear or not.
func kindOn(kind string, ranks int) string {
	if kind == dearMoves && ranks == 1 {
		kind = "sor"
	}
	return fmt.Sprintf("%s-p%d", kind, ranks)
}

func speedup(large int) (cells []cell) {
	const shortest = 1.7 // s on eight workstations
	for _, kind := range kinds {
		w := sor(large)
		if kind == mm.program {
			w = mm
		}
		for _, ranks := range widths {
			name := kindOn(kind, ranks)
			if slices.ContainsFunc(cells, func(c cell) bool { return c.name == name }) {
				continue
			}
			p := small(ranks)
			loaded, rounds := 1, 4
			if ranks == 1 { // it has the load itself and nobody to give work to, so that there is little to tell apart
				loaded, rounds = 0, 2
			}
			slow, fast := swinging(loaded, slowCycle, p.tau()), swinging(loaded, fastCycle, p.tau())
			if kind == dearMoves {
				p = p.over(dear(w.n, p))
			}
			cells = append(cells, cell{
				name: name, place: p, work: w, seconds: shortest * 8 / float64(ranks), rounds: rounds,
				variants: []variant{
					with("off-slow", "--balance", "off").beside(slow, 1.3), with("on-slow", "--balance", "on").beside(slow, 1.15),
					with("off-fast", "--balance", "off").beside(fast, 1.3), with("on-fast", "--balance", "on").beside(fast, 1.2),
					dedicated,
				},
			})
		}
	}
	return cells
}

// fixedGrain is Fig. 9's: 1.5 quanta.
const fixedGrain = 1.5

func grain() (cells []cell) {
	for _, w := range []work{sor(2000), sor4000} {
		for _, ranks := range []int{1, 2, 4, 8} {
			// The paper's ten sweeps, so that filling and draining count; --block of the fixed grain is known when the size is.
			cells = append(cells, cell{
				name: fmt.Sprintf("%s-p%d", w, ranks), place: small(ranks), work: w, seconds: 0.8, rounds: 2,
				variants: []variant{with("auto", "--balance", "off"), with("fixed", "--balance", "off", "--block", "FIXED")},
			})
		}
	}
	return cells
}

// quanta are the measuring periods of Fig. 18, in quota periods.
var quanta = []int{1, 2, 5, 10, 20}

// rated is small, so that rates come often: a sweep takes less than a quota period.
var rated = sor(1000)

func rate() (cells []cell) {
	for _, q := range quanta {
		// Nothing moves, so that rates and not shares are seen. Each is a cell of its own, because no times are compared.
		v := with(strconv.Itoa(q), "--period", (time.Duration(q) * four.period).String(), "--filter", "raw", "--threshold", "0.99", "--interaction", "synchronous")
		cells = append(cells, cell{name: rated.String(), place: four, work: rated, seconds: 2, rounds: 1, variants: []variant{v.beside(constant(1), 1.9).traced()}})
	}
	return cells
}

// bare is the paper's footnote 4: every mechanism off.
var bare = []string{"--interaction", "synchronous", "--threshold", "0", "--filter", "raw", "--cost-benefit", "off"}

// bareStretch is about how many times as long as a dedicated run one takes, for the plan, that interacts every few quanta without what keeps rows where they are.
const bareStretch = 3

func flags(groups ...[]string) []string { return slices.Concat(groups...) }

// balancingPeriods are those of Fig. 19, in quota periods.
var balancingPeriods = []int{2, 5, 10, 20, 40}

func frequency() []cell {
	c := cell{name: sor4000.String(), place: four, work: sor4000, seconds: 6, rounds: 2}
	load := swinging(1, slowCycle, four.tau())
	for _, q := range balancingPeriods {
		c.variants = append(c.variants, with(strconv.Itoa(q),
			flags(bare, []string{"--period", (time.Duration(q) * four.period).String()})...).beside(load, bareStretch))
	}
	c.variants = append(c.variants, with("full").beside(load, 1.1), off.beside(load, 1.3))
	return []cell{c}
}

// masterPeriod is half of ten quanta, as the paper's of Fig. 20 is of its 1.0 s.
const masterPeriod = 50 * time.Millisecond

// masterLoads are the variants of part master.
var masterLoads = []struct{ variant, name string }{{"dedicated", "no load"}, {"constant", "constant load"}, {"oscillating", "oscillating load"}}

func master() (cells []cell) {
	// The paper's footnote 5.
	settings := []string{"--period", masterPeriod.String(), "--filter", "fixed:0.8", "--threshold", "0.1"}
	for _, ranks := range []int{2, 4, 8, 16, 32} {
		p := cores(ranks)
		cells = append(cells, cell{name: fmt.Sprintf("p%d", ranks), place: p.unbound(), work: mm500, seconds: 1.5, rounds: 1, variants: []variant{
			with("dedicated", settings...), with("constant", settings...).beside(constant(0), 1.5),
			with("oscillating", settings...).beside(swinging(0, slowCycle, four.tau()), 1.3),
		}})
	}
	return cells
}

func mechanisms() (cells []cell) {
	load := swinging(1, slowCycle, four.tau())
	for _, x := range []struct {
		work  work
		least int
	}{{sor4000, 3}, {mm, 2}} {
		c := cell{name: x.work.String(), place: four, work: x.work, seconds: 6, rounds: 3, least: x.least, base: "full", variants: []variant{
			with("full").beside(load, 1.1),
			with("paper", "--filter", "state", "--threshold", "0.1").beside(load, 1.1),
			with("no filter", "--filter", "raw").beside(load, 1.2),
			with("no threshold", "--threshold", "0").beside(load, 1.2),
			with("no cost-benefit", "--cost-benefit", "off").beside(load, 1.2),
			with("synchronous", "--interaction", "synchronous").beside(load, 2),
			with("none", bare...).beside(load, 2),
			off.beside(load, 1.3),
			dedicated.times(1),
		}}
		cells = append(cells, c)
	}
	fast := swinging(1, fastCycle, four.tau())
	cells = append(cells, cell{name: dearSor, place: dearPlace, work: sor8000, seconds: 4, rounds: 5, base: "full", variants: []variant{
		with("full").beside(fast, 1.3), with("no cost-benefit", "--cost-benefit", "off").beside(fast, 1.4),
	}})
	// Footnotes 6 and 7, for the curves of Figs 22 and 24.
	tenQuanta := []string{"--period", four.tau().String()}
	cells = append(cells, cell{name: "traces", place: four, work: sor4000, seconds: 8, rounds: 1, variants: []variant{
		with("22a", flags(tenQuanta, []string{"--interaction", "synchronous", "--threshold", "0", "--cost-benefit", "off", "--filter", "state"})...).beside(load, bareStretch).traced(),
		with("22b", flags(tenQuanta, []string{"--interaction", "synchronous", "--threshold", "0", "--cost-benefit", "off", "--filter", "raw"})...).beside(load, bareStretch).traced(),
		with("24a", flags(tenQuanta, []string{"--filter", "state", "--threshold", "0"})...).beside(load, 1.2).traced(),
		with("24b", flags(tenQuanta, []string{"--filter", "state", "--threshold", "0.1"})...).beside(load, 1.2).traced(),
		with("ours").beside(load, 1.2).traced(),
	}})
	return cells
}

// filterNames are the values of --filter, "state" with the paper's table.
var filterNames = []string{"auto", "levels", "state", "fixed:0.8", "median:5", "step", "raw"}

func filters() []cell {
	c := cell{name: sor4000.String(), place: four, work: sor4000, seconds: 6, rounds: 1, base: filterNames[0]}
	for _, f := range filterNames {
		c.variants = append(c.variants, with(f, "--filter", f).beside(swinging(1, slowCycle, four.tau()), 1.2))
	}
	return []cell{c}
}

func regime(large int) (cells []cell) {
	slower, balanced := loaded()
	fine := func(period time.Duration) place {
		p := four.every(period)
		p.slice = period / 5
		return p
	}
	add := func(w work, p place) {
		name := fmt.Sprintf("%s-%v", w, p.period)
		cells = append(cells, compared(name, p, w, 2, 3, constant(1), slower, balanced))
	}
	add(sor8000, fine(5*time.Millisecond))
	add(sor8000, fine(2500*time.Microsecond))
	add(sor(large), fine(2500*time.Microsecond))
	for i := range cells {
		cells[i].variants[1].trace = 0
	}
	return cells
}

func beyond() (cells []cell) {
	uneven := place{cpu: []float64{0.2, 0.4, 0.8}, period: 10 * time.Millisecond, pin: true}
	for _, w := range []work{mm, sor4000} {
		cells = append(cells, cell{name: "1:2:4-" + w.String(), place: uneven, work: w, seconds: 3, rounds: 3, variants: []variant{
			// Equal shares on 1:2:4 are paced by the slowest: 7/3 of the time that the length is made for.
			with("off", "--balance", "off").beside(nil, 2.4), with("on", "--balance", "on").beside(nil, 1.1),
		}})
	}
	half := time.Duration(slowCycle) * four.tau() / 2
	opposed := []cluster.Load{{Workstation: 1, FromLoop: true, On: half, Off: half}, {Workstation: 2, FromLoop: true, From: half, On: half, Off: half}}
	quarter := []cluster.Load{{Workstation: 1, FromLoop: true, On: half, Off: half}, {Workstation: 3, FromLoop: true, From: half / 2, On: half, Off: half}}
	for _, x := range []struct {
		name  string
		loads []cluster.Load
	}{{"opposed", opposed}, {"quarter", quarter}, {"master", swinging(0, slowCycle, four.tau())}} {
		cells = append(cells, compared(x.name+"-"+sor4000.String(), four, sor4000, 7, 2, x.loads, 1.6, 1.2).dedicatedOnce())
	}
	slower, balanced := loaded()
	cells = append(cells, compared("unbound-constant-"+sor4000.String(), four.unbound(), sor4000, 4, 3, constant(1), slower, balanced))
	for _, x := range []struct {
		name    string
		periods int
		seconds float64
	}{{"slow", slowCycle, 6}, {"fast", fastCycle, 4}} {
		cells = append(cells, compared("unbound-"+x.name+"-"+sor4000.String(), four.unbound(), sor4000, x.seconds, 3, swinging(1, x.periods, four.tau()), 1.25, 1.1))
	}
	return cells
}
