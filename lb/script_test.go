package lb

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A script says what happens in virtual time and what is expected of the decisions. Its lines, where # begins a comment:
//
//	loop RANKS adjacent|streaming|direct|free ITERATIONS [interact SECONDS] [quantum SECONDS] [moveunit SECONDS]
//	                        streaming: adjacent, and obeyed at once (Loop.OneByOne)
//	config [NAME:] [period=S] [threshold=X] [filter=F] [costbenefit=off] [interaction=synchronous] [policy=P]
//	                        one run for each such line, all with the same noise
//	speed U U ...           units/s of each rank from the start
//	at T speed U U ...      and from time T on, s
//	load rank R to X for A of B from T [until T]
//	                        multiplies the speed of rank R by X for the first A of every B seconds
//	drift rank R to X from T until T
//	                        multiplies it by a factor that goes from 1 to X in equal steps, and stays
//	answer by E first A last B
//	                        ranks A to B share a core: each is (its work / an even share)^-E times as fast
//	competitor rank R count N quantum Q from T [for A of B]
//	                        N processes share the core of rank R by round robin: the rank runs for Q s, then they do
//	noise X                 relative standard deviation of the measured rates
//	dips X                  the probability that a rank runs at half speed for a second
//	silent rank R from T until T
//	                        the rank works and reports neither units nor computing time
//	move A B                a move stops all ranks for A + B (fraction of the work moved) seconds
//	slack SWEEPS            rank 0 says that neighbours may drift so far apart; here they keep step all the same
//	stall S                 a sweep lasts at least S s, in which ranks wait for each other, however work is divided
//	reply S                 the master takes S s to answer; only ranks that obey at once wait for it
//	sweeps N                of the loop; unknown without this line
//	run T                   until time T, s, or the end
//	show N                  at most N decisions of each run
//	expect EXPRESSION <|<=|>|>= EXPRESSION
//	                        of numbers and quantities with + - * / from left to right; see quantities
//	expect [no] reason[.NAME] TEXT
//	                        some decision of the run, or none, has TEXT in its reason
type script struct {
	loop       Loop
	iterations int
	sweeps     int
	until      float64
	show       int
	configs    []namedConfig

	changes            []change
	loads, drifts      []pairs
	answers            []pairs
	silences           []pairs
	competitors        []competitor
	noise, dips, reply float64
	moveFixed, moveAll float64
	stall, slack       float64
	expectations       []string
}

type namedConfig struct {
	name string
	line string
	cfg  Config
}

type change struct {
	at     float64
	speeds []float64
	line   string
}

// pairs are words of a line and the number behind each.
type pairs map[string]float64

// within says whether t is in the times of the line.
func (p pairs) within(t float64) bool {
	until, ends := p["until"]
	return t >= p["from"] && (!ends || t < until)
}

// scripted is a run of a script.
type scripted struct {
	*sim
	name       string
	transcript string
	reasons    []string
	raw0       []float64 // raw rates of rank 0 in the second half of the run, units/s
	largest    float64   // imbalance in the second half of the run
	filtered   []float64 // of the latest decision
	load       pairs     // the first of the script
}

func parseScript(t testing.TB, text string) *script {
	s := &script{sweeps: -1, show: math.MaxInt}
	number := func(text string) float64 {
		x, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		return x
	}
	numbers := func(fields []string) (out []float64) {
		for _, f := range fields {
			out = append(out, number(f))
		}
		return out
	}
	named := func(line string, fields []string, words ...string) pairs {
		p := pairs{}
		for k := 0; k+1 < len(fields); k += 2 {
			require.Contains(t, words, fields[k], line)
			p[fields[k]] = number(fields[k+1])
		}
		require.Zero(t, len(fields)%2, line)
		return p
	}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(line)
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		switch f[0] {
		case "loop":
			s.loop.Ranks, s.iterations = int(number(f[1])), int(number(f[3]))
			s.loop.Free = f[2] == "free"
			s.loop.Movement = Direct
			if s.loop.OneByOne = f[2] == "streaming"; s.loop.OneByOne || f[2] == "adjacent" {
				s.loop.Movement = Adjacent
			}
			p := named(line, f[4:], "interact", "quantum", "moveunit")
			s.loop.Interact, s.loop.Quantum, s.loop.MoveUnit = p["interact"], p["quantum"], p["moveunit"]
		case "config":
			c := namedConfig{line: line}
			for _, option := range f[1:] {
				if name, ok := strings.CutSuffix(option, ":"); ok {
					c.name = name
					continue
				}
				configure(t, &c.cfg, option)
			}
			s.configs = append(s.configs, c)
		case "speed":
			s.changes = append(s.changes, change{0, numbers(f[1:]), line})
		case "at":
			s.changes = append(s.changes, change{number(f[1]), numbers(f[3:]), line})
		case "load":
			s.loads = append(s.loads, named(line, f[1:], "rank", "to", "for", "of", "from", "until"))
		case "drift":
			s.drifts = append(s.drifts, named(line, f[1:], "rank", "to", "from", "until"))
		case "answer":
			s.answers = append(s.answers, named(line, f[1:], "by", "first", "last"))
		case "competitor":
			p := named(line, f[1:], "rank", "count", "quantum", "from", "for", "of")
			s.competitors = append(s.competitors,
				competitor{int(p["rank"]), int(p["count"]), p["quantum"], p["from"], p["for"], p["of"]})
		case "silent":
			s.silences = append(s.silences, named(line, f[1:], "rank", "from", "until"))
		case "noise":
			s.noise = number(f[1])
		case "dips":
			s.dips = number(f[1])
		case "move":
			s.moveFixed, s.moveAll = number(f[1]), number(f[2])
		case "stall":
			s.stall = number(f[1])
		case "slack":
			s.slack = number(f[1])
		case "reply":
			s.reply = number(f[1])
		case "sweeps":
			s.sweeps = int(number(f[1]))
		case "run":
			s.until = number(f[1])
		case "show":
			s.show = int(number(f[1]))
		case "expect":
			s.expectations = append(s.expectations, strings.TrimSpace(strings.TrimPrefix(line, "expect")))
		default:
			t.Fatalf("unknown line %q", line)
		}
	}
	if len(s.configs) == 0 {
		s.configs = []namedConfig{{}}
	}
	return s
}

func configure(t testing.TB, cfg *Config, option string) {
	key, value, _ := strings.Cut(option, "=")
	var err error
	switch key {
	case "period":
		cfg.Period, err = strconv.ParseFloat(value, 64)
	case "threshold":
		cfg.Threshold, err = strconv.ParseFloat(value, 64)
		cfg.NoThreshold = cfg.Threshold == 0
	case "filter":
		cfg.Filter = value
	case "costbenefit":
		cfg.NoCostBenefit = value == "off"
	case "interaction":
		cfg.Interaction, err = ParseInteraction(value)
	case "policy":
		cfg.Policy, err = ParsePolicy(value)
	default:
		t.Fatalf("unknown option %q", option)
	}
	require.NoError(t, err)
}

// speed returns the units/s of a rank at time t.
func (s *script) speed(r int, t float64) float64 {
	speed := 0.0
	for _, c := range s.changes {
		if t >= c.at {
			speed = c.speeds[r]
		}
	}
	for _, l := range s.loads {
		if int(l["rank"]) == r && l.within(t) && math.Mod(t-l["from"], l["of"]) < l["for"] {
			speed *= l["to"]
		}
	}
	for _, d := range s.drifts {
		if int(d["rank"]) == r && t >= d["from"] {
			speed *= math.Pow(d["to"], min(1, (t-d["from"])/(d["until"]-d["from"])))
		}
	}
	if s.dips > 0 && dipped(r, t, s.dips) {
		speed /= 2
	}
	return speed
}

// dipped draws, for each rank and second.
func dipped(r int, t, probability float64) bool {
	return rand.New(rand.NewPCG(uint64(r), uint64(t))).Float64() < probability
}

// play runs the script with one of its configurations.
func (s *script) play(t testing.TB, c namedConfig) *scripted {
	run := &scripted{sim: newSim(t, c.cfg, s.loop, s.iterations), name: c.name}
	run.noise, run.moveFixed, run.moveAll, run.sweeps = s.noise, s.moveFixed, s.moveAll, s.sweeps
	run.reply, run.stall, run.slack, run.competitors = s.reply, s.stall, s.slack, s.competitors
	run.rng = rand.New(rand.NewPCG(1, 1))
	if len(s.loads) > 0 {
		run.load = s.loads[0]
	}
	even := float64(s.iterations) / float64(s.loop.Ranks)
	run.speed = func(r int, t float64) float64 {
		speed := s.speed(r, t)
		for _, a := range s.answers {
			if float64(r) >= a["first"] && float64(r) <= a["last"] {
				speed *= math.Pow(run.owned[r]/even, -a["by"])
			}
		}
		return speed
	}
	run.silent = func(r int, t float64) bool {
		for _, p := range s.silences {
			if int(p["rank"]) == r && p.within(t) {
				return true
			}
		}
		return false
	}
	run.record(s.changes, s.until, s.show)
	return run
}

// record runs and writes a line per decision that moves work or says something new; the others are counted.
func (run *scripted) record(changes []change, until float64, show int) {
	var out strings.Builder
	silent, last, shown := 0, "", 0
	hush := func() {
		if silent > 0 && shown <= show {
			fmt.Fprintf(&out, "      ... %d more like it\n", silent)
		}
		silent = 0
	}
	next := 1
	for run.t < until && !run.final && run.sweeps != 0 {
		d := run.step()
		run.note(d, until)
		for next < len(changes) && run.t >= changes[next].at {
			hush()
			fmt.Fprintf(&out, "      %s\n", changes[next].line)
			next++
		}
		kind, _, _ := strings.Cut(d.Reason, ":")
		kind = strings.Map(func(c rune) rune {
			if c >= '0' && c <= '9' {
				return -1
			}
			return c
		}, kind)
		if !d.Moved() && kind == last {
			silent++
			continue
		}
		hush()
		last = kind
		if shown++; shown > show {
			continue
		}
		fmt.Fprintf(&out, "%4d  t=%.2f owned=%.4g period=%.3g(%s) hook=%d: %s\n",
			run.k-1, run.t, run.owned, d.Period, d.Limit, d.NextHook, d.Reason)
		if d.Moved() {
			fmt.Fprintf(&out, "      moves %v\n", d.Transfers)
		}
		if d.Final {
			fmt.Fprintf(&out, "      final\n")
		}
	}
	hush()
	if shown > show {
		fmt.Fprintf(&out, "      ... %d more decisions\n", shown-show)
	}
	fmt.Fprintf(&out, "end   t=%.2f owned=%.4g moves=%d done=%.0f efficiency=%.3f moving=%.3f\n",
		run.t, run.owned, run.moves, run.done, run.efficiency(), run.moving/run.available)
	run.transcript = out.String()
}

func (run *scripted) note(d Decision, until float64) {
	run.reasons = append(run.reasons, d.Reason)
	if d.Raw[0] > 0 && run.t > until/2 {
		run.raw0 = append(run.raw0, d.Raw[0])
	}
	if run.t > until/2 {
		run.largest = max(run.largest, d.Imbalance)
	}
	run.filtered = d.Filtered
}

// quantity is what an expectation may name; a run's name may follow behind a dot, the first run is meant otherwise.
//
//	efficiency   equation (2'): work done / work that the ranks could have done
//	moving       the part of that lost while work moved
//	waiting      the part lost because ranks waited for each other, or for the master
//	moves        movements obeyed
//	moved        units moved, of all movements
//	first, last  time of the first and the last movement, s; infinite if there is none
//	imbalance    the largest in the second half of the run
//	ripple       the largest relative deviation of the raw rates of rank 0 from their mean, in the second half
//	model        the efficiency that the model of Figure 31 gives for the load, with the mean delay from a change of it
//	             to the next movement, and the mean time of the movements that answer it, as measured in the run
//	ownedR       units of rank R at the end
//	rateR        filtered rate of rank R at the end, units/s
func (run *scripted) quantity(t testing.TB, name string) float64 {
	lost := run.moving / run.available
	switch name {
	case "efficiency":
		return run.efficiency()
	case "moving":
		return lost
	case "waiting":
		return 1 - lost - run.efficiency()
	case "moves":
		return float64(run.moves)
	case "moved":
		return run.moved
	case "first", "last":
		if run.moves == 0 {
			return math.Inf(1)
		}
		return run.moveTimes[map[string]int{"first": 0, "last": run.moves - 1}[name]]
	case "model":
		return run.model()
	case "imbalance":
		return run.largest
	case "ripple":
		mean, off := 0.0, 0.0
		for _, x := range run.raw0 {
			mean += x / float64(len(run.raw0))
		}
		for _, x := range run.raw0 {
			off = max(off, math.Abs(x/mean-1))
		}
		return off
	}
	for prefix, values := range map[string][]float64{"owned": run.owned, "rate": run.filtered} {
		if digits, ok := strings.CutPrefix(name, prefix); ok {
			r, err := strconv.Atoi(digits)
			require.NoError(t, err, name)
			return values[r]
		}
	}
	t.Fatalf("unknown quantity %q", name)
	return 0
}

// model is the model of Figure 31: t_f is how long work is still divided equally while the load is there, t_c how long it
// is still divided for the load afterwards. The first movement after a change is its answer.
func (run *scripted) model() float64 {
	l := run.load
	p, s := float64(run.loop.Ranks), l["to"]
	var late, answers [2]float64 // after the load came, after it went
	answered := -1.0
	moving := 0.0
	for i, end := range run.moveTimes {
		start := end - run.moveCosts[i]
		moving += run.moveCosts[i]
		cycle := l["from"] + math.Floor((start-l["from"])/l["of"])*l["of"]
		change, which := cycle, 0
		if start >= cycle+l["for"] {
			change, which = cycle+l["for"], 1
		}
		if change > answered {
			late[which] += start - change
			answers[which]++
			answered = change
		}
	}
	moving /= answers[0] + answers[1]
	f, c := late[0]/answers[0], late[1]/answers[1]
	off, on := l["of"]-l["for"], l["for"]
	e, h := off-c-moving, on-f-moving
	return ((p-1+s)*c + p*e + p*s*f + (p-1+s)*h) / (p*off + (p-1+s)*on)
}

var comparison = regexp.MustCompile(`^(.+) (<|<=|>|>=) (.+)$`)

// expect holds an expectation against the runs.
func expect(t testing.TB, line string, runs []*scripted) {
	find := func(name string) *scripted {
		for _, run := range runs {
			if run.name == name || name == "" {
				return run
			}
		}
		t.Fatalf("expect %s: no run %q", line, name)
		return nil
	}
	if rest, negated := strings.CutPrefix(line, "no "); negated || strings.HasPrefix(line, "reason") {
		word, text, _ := strings.Cut(rest, " ")
		_, name, _ := strings.Cut(word, ".")
		said := false
		for _, reason := range find(name).reasons {
			said = said || strings.Contains(reason, text)
		}
		require.Equal(t, !negated, said, "expect %s", line)
		return
	}
	evaluate := func(expression string) float64 {
		value, operator := 0.0, "+"
		for i, word := range strings.Fields(expression) {
			if i%2 == 1 {
				operator = word
				continue
			}
			x, err := strconv.ParseFloat(word, 64)
			if err != nil {
				quantity, name, _ := strings.Cut(word, ".")
				x = find(name).quantity(t, quantity)
			}
			switch operator {
			case "+":
				value += x
			case "-":
				value -= x
			case "*":
				value *= x
			case "/":
				value /= x
			default:
				t.Fatalf("expect %s: unknown operator %q", line, operator)
			}
		}
		return value
	}
	parts := comparison.FindStringSubmatch(line)
	require.NotNil(t, parts, "expect %s", line)
	left, right := evaluate(parts[1]), evaluate(parts[3])
	holds := map[string]bool{"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[parts[2]]
	require.True(t, holds, "expect %s: %.4g and %.4g", line, left, right)
}
