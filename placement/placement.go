package placement

import (
	"errors"
	"fmt"
	"math"
)

const (
	// MaxShare is how much of the code between two hooks a hook that does nothing may cost (S&S 1997, section 5.1.2).
	MaxShare = 0.01
	// DefaultTrips is reckoned with for a loop whose trip count is not known: the paper's problems have 500 to 2000 rows.
	DefaultTrips = 1000
	// DefaultLongest is the time in s that may pass between hooks before a loop counts as too large: a tenth of the
	// paper's target period, so that the period is kept to within a tenth.
	DefaultLongest = 0.1
)

// Order says how the ranks wait for each other in a nest.
type Order int

// The orders; see the package documentation.
const (
	Free        Order = iota // never
	Pipelined                // once a strip of the loop just around the distributed one
	Synchronous              // once an iteration of the loop just around the distributed one, by the program's own messages
)

func (o Order) String() string {
	switch o {
	case Free:
		return "free"
	case Pipelined:
		return "pipelined"
	case Synchronous:
		return "synchronous"
	}
	return fmt.Sprintf("Order(%d)", int(o))
}

// Level is one loop of a nest.
type Level struct {
	Name       string  // for reasons
	Trips      float64 // iterations each time that the loop is executed, on all ranks together; 0: unknown
	Guess      float64 // what to reckon with while Trips is unknown; 0: DefaultTrips
	Operations float64 // of one iteration, without the next level
	Seconds    float64 // of one iteration on one rank, with all that is inside, measured; 0: not measured
	Strip      int     // block size that something else, the grain, has fixed; 0: none
}

// Nest is a loop nest, one of whose loops is distributed.
type Nest struct {
	Levels      []Level // from the outermost to the innermost
	Distributed int     // index of the distributed loop
	Order       Order
	Ranks       int // which share the distributed loop's iterations; 0 means 1
}

// Costs are what a position is weighed with.
type Costs struct {
	Hook      float64 // s, a hook that does nothing but count, with the timing around it
	Operation float64 // s; not needed where a level is measured
	Longest   float64 // s between hooks from which on a loop is too large and is strip mined; 0: DefaultLongest
}

// Verdict is what becomes of a position.
type Verdict int

// The verdicts.
const (
	Accepted Verdict = iota
	TooCheap         // the code between hooks is: the hook would cost more than MaxShare of it
	TooRare          // accepted where strip mining cannot help
	Refused          // wrong, whatever it costs
)

func (v Verdict) String() string {
	switch v {
	case Accepted:
		return "accepted"
	case TooCheap:
		return "too cheap"
	case TooRare:
		return "too rare"
	case Refused:
		return "refused"
	}
	return fmt.Sprintf("Verdict(%d)", int(v))
}

// MarshalText is String.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// MarshalText is String.
func (o Order) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Position is a place where the hook could be.
type Position struct {
	Name       string  // lbhook0, lbhook0a, ... as in the paper; empty inside the distributed loop's body
	Level      int     // the loop at the end of whose iterations, or strips, it stands; -1: after the nest
	Strip      int     // iterations of that loop between hooks, at least; 0: it is not strip mined
	Operations float64 // between hooks, on one rank
	Seconds    float64 // between hooks, on one rank
	Share      float64 // what the hook costs of that
	Guessed    bool    // a trip count that was not known went into these
	Verdict    Verdict
	Reason     string
}

// Choice is a position and why.
type Choice struct {
	Positions []Position // all that there are, the deepest first
	Chosen    int        // index in Positions; -1: none will do
	Reason    string
}

// Position is the chosen position; ok is false if there is none.
func (c Choice) Position() (p Position, ok bool) {
	if c.Chosen < 0 {
		return Position{}, false
	}
	return c.Positions[c.Chosen], true
}

// Validate says what is wrong with a nest, all of it.
func (n Nest) Validate() error {
	var faults []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf("placement: "+format, args...))
		}
	}
	fault(n.Distributed < 0 || n.Distributed >= len(n.Levels), "level %d of %d cannot be the distributed one",
		n.Distributed, len(n.Levels))
	fault(n.Order < Free || n.Order > Synchronous, "there is no order %d", int(n.Order))
	fault(n.Order == Pipelined && n.Distributed == 0, "a pipeline needs a loop around the distributed one")
	fault(n.Ranks < 0, "%d ranks", n.Ranks)
	for _, l := range n.Levels {
		fault(!count(l.Trips), "loop %s has %g trips", l.Name, l.Trips)
		fault(!count(l.Guess), "a guess of %g trips of loop %s", l.Guess, l.Name)
		fault(!count(l.Operations), "loop %s has %g operations", l.Name, l.Operations)
		fault(!count(l.Seconds), "an iteration of loop %s takes %g s", l.Name, l.Seconds)
		fault(l.Strip < 0, "loop %s has strips of %d", l.Name, l.Strip)
	}
	return errors.Join(faults...)
}

// validate does the same for the costs.
func (c Costs) validate() error {
	if !count(c.Hook) || !count(c.Operation) || !count(c.Longest) {
		return fmt.Errorf("placement: costs of %g s a hook, %g s an operation, %g s between hooks at most", c.Hook,
			c.Operation, c.Longest)
	}
	return nil
}

// count says whether x is a number from 0 on.
func count(x float64) bool { return x >= 0 && !math.IsInf(x, 1) }

// Choose lists the positions of a nest and chooses one. The error is Validate's, or says that a cost is no number from
// 0 on.
func Choose(n Nest, c Costs) (Choice, error) {
	if err := errors.Join(n.Validate(), c.validate()); err != nil {
		return Choice{}, err
	}
	if c.Longest == 0 {
		c.Longest = DefaultLongest
	}
	w := weigh(n, c)
	var found Choice
	for l := len(n.Levels) - 1; l > n.Distributed; l-- {
		p := w.native(l, "")
		found.refuse(p, "inside an iteration of %s, which is atomic: it belongs to one rank as a whole",
			n.Levels[n.Distributed].Name)
	}
	w.aroundDistributed(&found)
	for l := n.Distributed - 1; l >= 0; l-- {
		w.around(&found, l)
	}
	last := Position{Name: fmt.Sprintf("lbhook%d", n.Distributed+1), Level: -1}
	last.Operations, last.Seconds, last.Guessed = w.whole(0)
	last.Share = w.share(last.Seconds)
	found.refuse(last, "after the whole nest, when nothing is left to balance")
	found.choose(n, c)
	return found, nil
}

// weights are the costs of one iteration of each level on one rank.
type weights struct {
	n       Nest
	c       Costs
	trips   []float64 // on one rank
	ops     []float64
	seconds []float64
	guessed []bool // an iteration contains a loop of unknown length
}

func weigh(n Nest, c Costs) *weights {
	k := len(n.Levels)
	w := &weights{n: n, c: c, trips: make([]float64, k), ops: make([]float64, k), seconds: make([]float64, k),
		guessed: make([]bool, k)}
	counted := false
	for _, l := range n.Levels {
		counted = counted || l.Operations > 0
	}
	for i := k - 1; i >= 0; i-- {
		l := n.Levels[i]
		w.trips[i] = l.Trips
		if l.Trips == 0 {
			w.trips[i] = l.Guess
			if l.Guess == 0 {
				w.trips[i] = DefaultTrips
			}
		}
		if i == n.Distributed {
			w.trips[i] = max(1, w.trips[i]/float64(max(1, n.Ranks))) // the rank that sets the pace has one at least
		}
		w.ops[i] = l.Operations
		if i < k-1 {
			w.ops[i] += w.trips[i+1] * w.ops[i+1]
			w.guessed[i] = w.guessed[i+1] || n.Levels[i+1].Trips == 0
		} else if !counted {
			w.ops[i] = 1 // nobody counted: only measured seconds matter, and this splits them among the levels
		}
	}
	w.price()
	return w
}

// price finds the seconds of each level: its own measurement, else that of the levels inside, else its part of the
// measurement around it, else its operations at the given price.
func (w *weights) price() {
	operation := w.c.Operation // until a measured level says better
	measured := false          // some level from here inwards
	for i := len(w.n.Levels) - 1; i >= 0; i-- {
		l := w.n.Levels[i]
		switch {
		case l.Seconds > 0:
			w.seconds[i] = l.Seconds
			if w.ops[i] > 0 {
				operation = l.Seconds / w.ops[i]
			}
			if !measured { // nothing inside was measured: it takes its part of this
				for j := i + 1; j < len(w.n.Levels); j++ {
					w.seconds[j] = operation * w.ops[j]
				}
			}
			measured = true
		case measured:
			w.seconds[i] = operation*l.Operations + w.trips[i+1]*w.seconds[i+1]
		default:
			w.seconds[i] = operation * w.ops[i]
		}
		w.seconds[i] = min(w.seconds[i], math.MaxFloat64)
		w.ops[i] = min(w.ops[i], math.MaxFloat64)
	}
}

// whole is the cost of a complete execution of a loop.
func (w *weights) whole(level int) (ops, seconds float64, guessed bool) {
	t := w.trips[level]
	return min(t*w.ops[level], math.MaxFloat64), min(t*w.seconds[level], math.MaxFloat64), w.guessed[level] ||
		w.n.Levels[level].Trips == 0
}

func (w *weights) share(seconds float64) float64 {
	switch {
	case w.c.Hook == 0:
		return 0
	case seconds == 0:
		return math.MaxFloat64
	}
	return min(w.c.Hook/seconds, math.MaxFloat64)
}

// shortest is the smallest number of iterations of a level whose strip is worth a hook; +Inf if there is none that can be
// counted.
func (w *weights) shortest(level int) float64 {
	if w.c.Hook == 0 {
		return 1
	}
	fits := func(b float64) bool { return w.share(b*w.seconds[level]) <= MaxShare }
	b := max(1, math.Ceil(w.c.Hook/(MaxShare*w.seconds[level])))
	if !(b < maxStrip) {
		return math.Inf(1)
	}
	// The quotient's rounding must not decide: what is chosen meets the rule as it is checked.
	if b > 1 && fits(b-1) {
		b--
	}
	if !fits(b) {
		b++
	}
	return b
}

// maxStrip is the length from which on strips are not worth counting: a loop never has so many iterations, and
// float64 counts one by one up to there.
const maxStrip = 1 << 50

func (w *weights) name(level int) string { return fmt.Sprintf("lbhook%d", w.n.Distributed-level) }

// native is the position at the end of each iteration of a level.
func (w *weights) native(level int, name string) Position {
	p := Position{Name: name, Level: level, Operations: w.ops[level], Seconds: w.seconds[level], Guessed: w.guessed[level]}
	p.Share = w.share(p.Seconds)
	return p
}

// strip is the position after each strip of b iterations of a level.
func (w *weights) strip(level int, b float64) Position {
	p := Position{Name: w.name(level) + "a", Level: level, Strip: int(min(b, maxStrip)), Guessed: w.guessed[level]}
	p.Operations = min(b*w.ops[level], math.MaxFloat64)
	p.Seconds = min(b*w.seconds[level], math.MaxFloat64)
	p.Share = w.share(p.Seconds)
	return p
}

// aroundDistributed adds the positions between iterations of the distributed loop.
func (w *weights) aroundDistributed(found *Choice) {
	d := w.n.Distributed
	name := w.n.Levels[d].Name
	const counts = "in the body of %s: ranks own different numbers of its iterations and would execute different numbers of hooks"
	found.refuse(w.native(d, w.name(d)), counts, name)
	if w.n.Order != Free {
		return
	}
	// The paper's MM. Ranks that wait for nobody may execute hooks as often as they like, between strips.
	b, own := w.shortest(d), math.Ceil(w.trips[d])
	switch {
	case w.n.Levels[d].Trips > 0 && b > own:
		p := w.strip(d, own)
		p.Verdict = TooCheap
		p.Reason = fmt.Sprintf("strips of %s that are long enough, %.3g iterations, are longer than a rank's part, %.3g",
			name, b, own)
		found.add(p)
	case math.IsInf(b, 1):
		p := w.strip(d, 1)
		p.Verdict, p.Reason = TooCheap, fmt.Sprintf("an iteration of %s takes no time", name)
		found.add(p)
	default:
		p := w.strip(d, b)
		p.Reason = fmt.Sprintf("%s is strip mined, in strips of at least %.0f", name, b)
		if w.n.Levels[d].Trips == 0 {
			p.Reason += fmt.Sprintf("; right if a rank has so many, of which %.4g are guessed", own)
		}
		found.add(p)
	}
}

// around adds the positions at the end of the iterations of a loop around the distributed one.
func (w *weights) around(found *Choice, level int) {
	name := w.n.Levels[level].Name
	p := w.native(level, w.name(level))
	w.judge(&p)
	if w.n.Order == Pipelined && level == w.n.Distributed-1 {
		if p.Verdict != TooCheap {
			p.Verdict = Refused
			p.Reason = fmt.Sprintf("inside a strip: ranks pass their boundaries after it; with strips of one iteration of %s, %sa is the same place", name, p.Name)
		}
		found.add(p)
		found.add(w.pipelined(level))
		return
	}
	found.add(p)
	if p.Verdict != TooCheap {
		return
	}
	// Strip mining is for where the next position out will not do: there is none, or it comes too seldom.
	if level > 0 {
		out := w.native(level-1, w.name(level-1))
		if w.judge(&out); out.Verdict != TooRare {
			return
		}
	}
	b, trips := w.shortest(level), w.trips[level]
	if math.IsInf(b, 1) || w.n.Levels[level].Trips > 0 && b >= trips {
		return
	}
	s := w.strip(level, b)
	s.Reason = fmt.Sprintf("%s is strip mined: a hook after every %.0f iterations", name, b)
	if w.n.Levels[level].Trips == 0 {
		s.Reason += enough(trips)
	}
	found.add(s)
}

// pipelined is the position after each strip of the pipelined loop.
func (w *weights) pipelined(level int) Position {
	l := w.n.Levels[level]
	if l.Strip > 0 {
		p := w.strip(level, float64(l.Strip))
		w.judge(&p)
		if p.Verdict == TooRare { // the grain decides, not the hook
			p.Verdict = Accepted
		}
		if p.Verdict == Accepted {
			p.Reason = fmt.Sprintf("strips of %d iterations of %s, as the grain wants them", l.Strip, l.Name)
		}
		return p
	}
	b, trips := w.shortest(level), math.Ceil(w.trips[level])
	switch {
	case math.IsInf(b, 1):
		p := w.strip(level, 1)
		p.Verdict, p.Reason = TooCheap, fmt.Sprintf("an iteration of %s takes no time", l.Name)
		return p
	case l.Trips > 0 && b > trips:
		p := w.strip(level, trips)
		p.Verdict = TooCheap
		p.Reason = fmt.Sprintf("strips of %s that are long enough, %.3g iterations, are longer than the loop", l.Name, b)
		return p
	}
	p := w.strip(level, b)
	p.Reason = fmt.Sprintf("%s is strip mined for the grain; strips of %.0f iterations and more are worth a hook",
		l.Name, b)
	if l.Trips == 0 {
		p.Reason += enough(trips)
	}
	return p
}

// enough says on what a strip of a loop depends of which it is not known how many iterations it has.
func enough(guessed float64) string {
	return fmt.Sprintf("; right if there are so many, where %.4g are guessed", guessed)
}

// judge weighs a position's cost.
func (w *weights) judge(p *Position) {
	switch {
	case p.Share > MaxShare:
		p.Verdict = TooCheap
		p.Reason = fmt.Sprintf("the hook would cost %s of the code between hooks, at most %g %% are allowed",
			percent(p.Share), 100*MaxShare)
		if p.Guessed {
			p.Reason += fmt.Sprintf("; right if that code takes %.2g times what is guessed", p.Share/MaxShare)
		}
	case p.Seconds > w.c.Longest:
		p.Verdict = TooRare
		p.Reason = fmt.Sprintf("%.2g s between hooks", p.Seconds)
	default:
		p.Verdict = Accepted
		p.Reason = fmt.Sprintf("the hook costs %s of the code between hooks", percent(p.Share))
		if p.Guessed && p.Share > 0 {
			p.Reason += fmt.Sprintf("; right from %.2g of what is guessed on", p.Share/MaxShare)
		}
	}
}

func percent(share float64) string {
	if share > 10 {
		return fmt.Sprintf("%.3g times", share)
	}
	return fmt.Sprintf("%.2g %%", 100*share)
}

func (c *Choice) add(p Position) { c.Positions = append(c.Positions, p) }

func (c *Choice) refuse(p Position, format string, args ...any) {
	p.Verdict, p.Reason = Refused, fmt.Sprintf(format, args...)
	c.add(p)
}

// choose takes the deepest accepted position. One that comes too rarely is better than a later one.
func (c *Choice) choose(n Nest, costs Costs) {
	c.Chosen = -1
	for i, p := range c.Positions {
		if p.Verdict == Accepted || p.Verdict == TooRare {
			c.Chosen = i
			break
		}
	}
	if c.Chosen < 0 {
		c.Reason = fmt.Sprintf("nothing fits: a hook costs %.2g s, which is more than %g %% of the code between hooks wherever it may stand", costs.Hook, 100*MaxShare)
		return
	}
	p := c.Positions[c.Chosen]
	c.Reason = "the deepest position that fits: " + p.Reason
	switch {
	case p.Verdict == TooRare:
		c.Reason = "the only position that fits, although it leaves " + p.Reason
	case n.Order == Pipelined && p.Level == n.Distributed-1:
		c.Reason += "; the grain sets the block size, not the hook"
	case n.Order == Free && p.Level == n.Distributed:
		c.Reason += "; how long they are is set at run time"
	}
}
