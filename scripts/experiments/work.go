package main

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"shiftwork/scripts/lab/cluster"
)

// work is a program with its size.
type work struct {
	program string // sor or mm
	n, m    int    // 0 for mm: the matrix is as large as the time allows, and multiplied once
}

func sor(n int) work { return work{"sor", n, n} }

// Of mm, a single multiplication is balanced within itself; a repeated one between its repetitions.
var mm = work{program: "mm"}

func (w work) String() string {
	switch {
	case w.n == 0:
		return w.program
	case w.n == w.m:
		return fmt.Sprintf("%s-%d", w.program, w.n)
	}
	return fmt.Sprintf("%s-%dx%d", w.program, w.n, w.m)
}

// unitSize is the size at which a single multiplication is measured: large enough that its speed is that of larger ones.
const unitSize = 1500

// command is the program that uses about so many CPU seconds if an iteration uses unit; size and count are what it computes.
func (w work) command(folder string, cpu, unit float64) (command []string, n, m, count int) {
	program := folder + "/" + w.program
	if w.n == 0 {
		// The time grows with the cube; steps of 20 rows.
		n = max(100, 20*int(math.Round(unitSize*math.Cbrt(cpu/unit)/20)))
		return []string{program, "--n", strconv.Itoa(n)}, n, n, 1
	}
	count = max(2, int(math.Round(cpu/unit)))
	command = []string{program, "--n", strconv.Itoa(w.n)}
	switch w.program {
	case "sor":
		command = append(command, "--m", strconv.Itoa(w.m), "--iterations", strconv.Itoa(count))
	case "mm":
		command = append(command, "--repeat", strconv.Itoa(count))
	}
	return command, w.n, w.m, count
}

// amount is how much a run computes, in iterations of the unit.
func (w work) amount(n, count int) float64 {
	if w.n == 0 {
		return math.Pow(float64(n)/unitSize, 3)
	}
	return float64(count)
}

// place is where a cell runs.
type place struct {
	cpu       []float64 // share of one CPU of each workstation
	period    time.Duration
	slice     time.Duration
	unlimited bool
	pin       bool // each workstation has one processor, which its application and loads take turns on
	network   bool
	bandwidth float64 // bit/s; 0: no limit
}

// Four workstations of 0.4 CPU, with a tenth of the paper's quantum: what most parts use.
var four = place{cpu: equal(4, 0.4), period: 10 * time.Millisecond, pin: true}

// small are P workstations of 0.2 CPU, because eight of them must fit on two CPUs. Their quota of 1 ms is less than the kernel's
// slice, so that is set to half of the quota.
func small(ranks int) place {
	return place{cpu: equal(ranks, 0.2), period: 5 * time.Millisecond, slice: 500 * time.Microsecond, pin: true}
}

// alone is one whole CPU: where sequential times are measured.
var alone = place{cpu: []float64{1}, period: 10 * time.Millisecond}

// cores are ranks without quotas, on two CPUs: two of them have one each, and more are bound to them in turn. Unbound, Linux moves ranks about, and has three of four on one CPU
// for up to a second: times of equal runs then differ by a factor of two.
func cores(ranks int) place {
	return place{cpu: equal(ranks, 2/float64(ranks)), period: 10 * time.Millisecond, unlimited: true, pin: true}
}

// over is a place with a network between its workstations.
func (p place) over(bandwidth float64) place {
	p.network, p.bandwidth = true, bandwidth
	return p
}

// every is a place with another quota period.
func (p place) every(period time.Duration) place { p.period = period; return p }

// withShares is a place whose workstations have so many times the share of a CPU.
func (p place) withShares(times float64) place {
	p.cpu = slices.Clone(p.cpu)
	for i := range p.cpu {
		p.cpu[i] *= times
	}
	return p
}

// divided is a place whose workstations have a part of the share of a CPU. A quota that is less than the kernel's slice is two slices, as in small.
func (p place) divided(by int) place {
	const kernels = 3 * time.Millisecond
	p = p.withShares(1 / float64(by))
	quota := time.Duration(slices.Min(p.cpu) * float64(p.period))
	if p.slice > quota/2 || p.slice == 0 && quota < kernels {
		p.slice = quota / 2
	}
	return p
}

// slowed is a place in which everything takes so many times as long, with the same quotas in longer periods. These are 1.5% longer still: a process loses the processor at the kernel's tick,
// every 4 ms at 250 Hz, and in a period of whole ticks always at the same point of its quota, which it shares with the load accordingly, not by halves.
func (p place) slowed(by int) place {
	p = p.withShares(1 / float64(by))
	p.period = time.Duration(by) * p.period * 203 / 200
	p.bandwidth /= float64(by)
	return p
}

// fits reports whether so many CPUs are enough for several times a place at the same time. Each finds CPUs for its workstations as if it were alone, so they are the same ones.
func (p place) fits(times, cpus int) bool {
	return p.withShares(float64(times)).config().Validate(cpus) == nil
}

// unbound is a place whose workstations may run application and load on two processors at once, as far as their quota goes.
func (p place) unbound() place { p.pin = false; return p }

// dear is the bandwidth, in bit/s, at which moving the rows that a load on one of four asks for, 1/14 of a grid, takes three
// balancing periods: the paper's 2000 x 2000 SOR (3 s of 20 s).
func dear(n int, p place) float64 {
	bits := 64 * float64(n) * float64(n) / 14
	return math.Round(bits/(3*p.tau().Seconds())/1e6) * 1e6
}

func equal(n int, x float64) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = x
	}
	return all
}

// tau is the balancing period of the paper's rule, ten quanta.
func (p place) tau() time.Duration { return 10 * p.period }

func (p place) total() float64 {
	sum := 0.0
	for _, c := range p.cpu {
		sum += c
	}
	return sum
}

// net names the network.
func (p place) net() string {
	switch {
	case !p.network:
		return "memory"
	case p.bandwidth == 0:
		return "tcp"
	}
	return strconv.FormatFloat(p.bandwidth/1e6, 'f', -1, 64) + "mbit"
}

func (p place) config() cluster.Config {
	return cluster.Config{
		CPU: p.cpu, Period: p.period, Slice: p.slice, Unlimited: p.unlimited, Pin: p.pin, Network: p.network, Bandwidth: p.bandwidth,
	}
}

// key tells places apart.
func (p place) key() string { return fmt.Sprintf("%+v", p) }

func (p place) shares() string { return joined(p.cpu) }

func joined(values []float64) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = strconv.FormatFloat(v, 'g', 5, 64)
	}
	return strings.Join(words, ":")
}

// constant is a load that is always there.
func constant(ws int) []cluster.Load { return []cluster.Load{{Workstation: ws}} }

// swinging is a load with a cycle of so many periods, busy for half of each.
func swinging(ws, periods int, tau time.Duration) []cluster.Load {
	half := time.Duration(periods) * tau / 2
	return []cluster.Load{{Workstation: ws, FromLoop: true, On: half, Off: half}}
}

const (
	slowCycle = 60 // periods: 60 s in the paper
	fastCycle = 20 // periods: 20 s
)

// variant is one way of running a cell.
type variant struct {
	name    string
	flags   []string
	loads   []cluster.Load
	rounds  int     // 0: the cell's
	trace   int     // rounds that are recorded
	report  bool    // the first round tells the model's curve of the block sizes
	stretch float64 // expected time relative to the dedicated one, for the plan; 0: 1
}

func with(name string, flags ...string) variant { return variant{name: name, flags: flags} }

func (v variant) beside(loads []cluster.Load, stretch float64) variant {
	v.loads, v.stretch = loads, stretch
	return v
}

// slowed has loads that take so many times as long.
func (v variant) slowed(by time.Duration) variant {
	v.loads = slices.Clone(v.loads)
	for i := range v.loads {
		l := &v.loads[i]
		l.From, l.To, l.On, l.Off = by*l.From, by*l.To, by*l.On, by*l.Off
	}
	return v
}

// timed reports whether a flag has a time.
func (v variant) timed() bool { return slices.Contains(v.flags, "--period") }

// traced is recorded in its first round.
func (v variant) traced() variant { return v.tracedIn(1) }

func (v variant) tracedIn(rounds int) variant { v.trace = rounds; return v }

func (v variant) times(rounds int) variant { v.rounds = rounds; return v }

// The three ways of most cells.
var (
	off       = with("off", "--balance", "off")
	on        = with("on", "--balance", "on")
	dedicated = with("dedicated", "--balance", "off")
)

// cell is a set of runs that are compared with each other.
type cell struct {
	part, name string
	place      place
	work       work
	seconds    float64 // of a dedicated run, at full length
	rounds     int
	least      int // rounds that are left, however short the plan; 0: one
	variants   []variant
	base       string // the variant that all others are compared with; empty: those that stand beside each other are
	crowd      int    // so many variants of a round run at the same time; 0: each by itself
	paired     bool   // rounds go on until it is known how the first two variants compare
	thorough   bool   // where the plan leaves no round out, they go on until the share of the penalty that is removed is known
	local      bool   // the work's size is measured in this place, because it costs much more there
}

// atOnce is the cell with two variants of a round at a time, on the same CPUs: what others on the host do meets both alike. It is base and one of the others, or those that stand beside each other. Where so
// many CPUs are too few for the workstations of both, it is the same in slow motion: each has half of its share, and everything takes twice as long, sweeps as well as quota periods, loads and
// messages. Cells whose flags have times of their own only have half of the shares. Those whose runs are not compared with each other stay as they are, and those without quotas, which are what could be divided.
// Of the two on a CPU the one that started first, or second, may be better off all the time, so that ratios come in two groups: there is an even number of rounds, whose median is between the groups.
func (c cell) atOnce(cpus int) cell {
	if len(c.variants) < 2 || c.place.unlimited {
		return c
	}
	const crowd = 2
	c.variants = slices.Clone(c.variants)
	c.rounds = even(c.rounds)
	for i := range c.variants {
		c.variants[i].rounds = even(c.variants[i].rounds)
	}
	c.crowd = crowd
	if c.place.fits(crowd, cpus) {
		return c
	}
	c.seconds *= crowd
	if slices.ContainsFunc(c.variants, variant.timed) {
		c.place = c.place.divided(crowd)
		return c
	}
	c.place = c.place.slowed(crowd)
	for i, v := range c.variants {
		c.variants[i] = v.slowed(crowd)
	}
	return c
}

// allAtOnce is atOnce for all cells of the parts.
func allAtOnce(all []part, cpus int) {
	for _, p := range all {
		for i, c := range p.cells {
			p.cells[i] = c.atOnce(cpus)
		}
	}
}

// even is a number of rounds, or the next one. One that is of a single run stays so: nothing that is compared has less than two.
func even(rounds int) int {
	if rounds == 1 {
		return 1
	}
	return rounds + rounds%2
}

// order is what runs at the same time, one crowd after the other, with the number of the runs: the round, or of pairs with base, which has a run in each, that of the pair.
func (c cell) order(s scale) iter.Seq2[int, []variant] {
	return func(yield func(int, []variant) bool) {
		most, pairs := 0, 0
		for _, v := range c.variants {
			most = max(most, c.roundsOf(v, s))
		}
		for round := range most {
			for _, crowd := range c.crowds(round, s) {
				number := round
				if c.crowd > 0 && c.base != "" {
					number = pairs
					pairs++
				}
				if c.crowd > 0 && round%2 == 1 {
					slices.Reverse(crowd) // neither is always the one that starts first, on the older workstations
				}
				if !yield(number, crowd) {
					return
				}
			}
		}
	}
}

// crowds are the variants of a round as they run at the same time. Those that run one after the other do so in another order each round, so that a drift of the machine's speed favours none.
func (c cell) crowds(round int, s scale) (all [][]variant) {
	turn := 0
	if c.crowd == 0 {
		turn = round % len(c.variants)
	}
	rest := slices.Concat(c.variants[turn:], c.variants[:turn])
	rest = slices.DeleteFunc(rest, func(v variant) bool { return round >= c.roundsOf(v, s) })
	base := slices.IndexFunc(rest, func(v variant) bool { return v.name == c.base })
	if c.crowd == 0 || base < 0 {
		return slices.Collect(slices.Chunk(rest, max(1, c.crowd)))
	}
	for i, v := range rest {
		if i != base {
			all = append(all, []variant{rest[base], v})
		}
	}
	return all
}

// overhead is what a run takes beside its loop, in s: starting, setting up, the checksum; rough, for the plan.
func (c cell) overhead() float64 {
	start := 0.5
	if c.place.network {
		start += 1
	}
	if c.crowd > 0 {
		start += 0.6 // two start at once
	}
	return start + 3.5e-8*float64(c.work.n)*float64(c.work.m)/c.place.total()
}

// cpu is the CPU time that a dedicated run takes, in s, at full length.
func (c cell) cpu() float64 { return c.seconds * c.place.total() }

// planned is how long the cell takes, in s, at some scale.
func (c cell) planned(s scale) float64 {
	sum := 0.0
	for _, crowd := range c.order(s) {
		sum += c.lasts(crowd, s)
	}
	return sum
}

// roundsOf is in how many rounds a variant runs, at some scale.
func (c cell) roundsOf(v variant, s scale) int {
	full := c.rounds
	if v.rounds > 0 {
		full = v.rounds
	}
	return max(s.rounds(full), min(full, c.least))
}

// lasts is how long runs at the same time take, in s: as long as the longest of them.
func (c cell) lasts(crowd []variant, s scale) float64 {
	longest := 0.0
	for _, v := range crowd {
		longest = max(longest, c.run(v, s))
	}
	return longest
}

// run is how long a run takes, in s.
func (c cell) run(v variant, s scale) float64 {
	loop := s.length * c.seconds * max(1, v.stretch)
	if c.work == mm {
		loop *= 1 + 0.06*float64(len(c.place.cpu)) // its size is chosen for the loop, and each rank makes a whole matrix
	}
	return c.overhead() + loop
}
