package advisor

import (
	"errors"
	"fmt"
	"go/ast"
	"math"
	"slices"

	"shiftwork/placement"
)

// The costs that a position is weighed with where the user gives none, measured on a Zen 5 of 2024. Only their order of
// magnitude matters; the benchmarks give them for another machine (go test -run xxx -bench . ./apps/shiftwork/...).
const (
	// DefaultHookCost is a hook that does nothing, in s: Begin, End and Hook. BenchmarkEmptyHook says 54 ns.
	DefaultHookCost = 60e-9
	// DefaultOperationCost is an operation as counted here, in s. BenchmarkOperation says 0.06 ns for a loop along rows,
	// 0.27 ns for a matrix product and 0.49 ns for SOR down the columns of 256 rows.
	DefaultOperationCost = 0.2e-9
	// DefaultRanks share the distributed loop where nobody says how many.
	DefaultRanks = 8
)

// Options are what the source does not tell.
type Options struct {
	HookCost      float64 // s; 0: DefaultHookCost
	OperationCost float64 // s; 0: DefaultOperationCost
	Ranks         int     // 0: DefaultRanks
	Trips         float64 // of loops whose bounds are unknown; 0: placement.DefaultTrips
	Hooks         bool    // insert bare hooks also where package loops has a loop that fits
}

func (o Options) trips() float64 {
	if o.Trips == 0 {
		return placement.DefaultTrips
	}
	return o.Trips
}

// Validate says which option is not accepted.
func (o Options) Validate() error {
	var faults []error
	for _, x := range []struct {
		name  string
		value float64
	}{{"cost of a hook", o.HookCost}, {"cost of an operation", o.OperationCost}} {
		if !(x.value >= 0) || math.IsInf(x.value, 1) {
			faults = append(faults, fmt.Errorf("%s %g: accepted is a time above 0", x.name, x.value))
		}
	}
	if o.Ranks < 0 {
		faults = append(faults, fmt.Errorf("%d ranks: accepted is a count from 1 on", o.Ranks))
	}
	if o.Trips != 0 && !(o.Trips >= 1 && o.Trips <= 1e15) {
		faults = append(faults, fmt.Errorf("%g trips: accepted is a count from 1 on", o.Trips))
	}
	return errors.Join(faults...)
}

// Level is one loop of a nest, as it is printed.
type Level struct {
	Name        string  `json:"name"`
	Depth       int     `json:"depth"`             // 0: the outermost
	Trips       string  `json:"trips"`             // as written in the source, in the names that bound it
	Count       float64 `json:"count"`             // what it is reckoned with, on all ranks together
	Guessed     bool    `json:"guessed,omitempty"` // the count is a guess, or contains one
	Distributed bool    `json:"distributed,omitempty"`
	Role        string  `json:"role,omitempty"`
}

// Position is a possible place of the hook, as it is printed.
type Position struct {
	Name       string            `json:"name,omitempty"` // as in the paper; empty inside the distributed loop's body
	Where      string            `json:"where"`
	Operations float64           `json:"operations"` // between hooks, on one rank
	Seconds    float64           `json:"seconds"`    // between hooks, on one rank
	Share      float64           `json:"share"`      // the hook's part of that
	Strip      int               `json:"strip,omitempty"`
	Guessed    bool              `json:"guessed,omitempty"`
	Verdict    placement.Verdict `json:"verdict"`
	Reason     string            `json:"reason"`
}

// Advice is what there is to say about one marked loop.
type Advice struct {
	File      string          `json:"file"`
	Line      int             `json:"line"`
	Function  string          `json:"function"`
	Loop      string          `json:"loop"`
	Order     placement.Order `json:"order"`
	Levels    []Level         `json:"levels"`
	Notes     []string        `json:"notes,omitempty"` // how the order was found, and what was trusted
	Positions []Position      `json:"positions"`
	Take      string          `json:"take,omitempty"` // the chosen position; empty: none
	Reason    string          `json:"reason"`
	Code      string          `json:"code,omitempty"` // to be put in place of the nest

	outermost ast.Stmt // the loop around everything
}

// Advise reads a Go file, a folder, or all folders below one (path/...), and advises on every marked loop, in the order
// of files and lines. The error is one line: for what cannot be read or parsed, for marks that are in the wrong place,
// and for a path without marked loops.
func Advise(path string, o Options) ([]Advice, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	packages, err := load(path)
	if err != nil {
		return nil, err
	}
	var all []Advice
	for _, s := range packages {
		found, err := s.advise(o)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no loop is marked: accepted is a line %s above a for statement", path, directive)
	}
	return all, nil
}

// advise does it for one package.
func (s *source) advise(o Options) ([]Advice, error) {
	var all []Advice
	for _, file := range s.files {
		marks, err := s.marks(file)
		if err != nil {
			return nil, err
		}
		for _, m := range marks {
			a, err := s.adviseOne(file, m, o)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.at(m.pos), err)
			}
			all = append(all, a)
		}
		warnOfTurns(all[len(all)-len(marks):])
	}
	return all, nil
}

// warnOfTurns notes marked loops that stand in the same nest: run times of one communicator do not run in turns.
func warnOfTurns(all []Advice) {
	lines := map[ast.Stmt][]int{}
	for _, a := range all {
		lines[a.outermost] = append(lines[a.outermost], a.Line)
	}
	for i := range all {
		for _, line := range lines[all[i].outermost] {
			if line != all[i].Line {
				all[i].Notes = append(all[i].Notes, fmt.Sprintf(
					"the marked loop in line %d is in the same nest: both need the same iterations and one hooks.New around the nest, not two in turns", line))
			}
		}
	}
}

// adviseOne does it for one marked loop.
func (s *source) adviseOne(file *ast.File, m mark, o Options) (Advice, error) {
	root, function := around(file, m.loop)
	r := newReader(s, root, m.hints, o)
	l := r.loops[m.loop]
	a := Advice{
		File: s.fset.PositionFor(m.pos, false).Filename, Line: s.line(m.loop.Pos()), Function: function, Loop: l.name,
		Levels: []Level{}, Positions: []Position{},
	}
	f := r.dependences(m, l)
	chain, distributed := r.chain(l, f)
	a.outermost = chain[0].stmt
	if l.parent == nil {
		a.outermost = l.stmt // a strip loop that would be moved around it is inside
	}
	for i, c := range chain {
		trips, guessed := r.count(c)
		level := Level{Name: c.name, Depth: i, Trips: c.trips.String(), Count: trips, Guessed: guessed,
			Distributed: i == distributed}
		if f.order == placement.Pipelined && i == distributed-1 && f.trouble == "" {
			level.Role = "pipelined"
		}
		a.Levels = append(a.Levels, level)
	}
	r.beside(&a, chain)
	a.Order, a.Notes = f.order, f.notes
	if f.trouble != "" {
		a.Reason = "cannot be distributed as it is: " + f.trouble
		return a, nil
	}
	nest := r.nest(chain, distributed, f)
	hook, operation := o.HookCost, o.OperationCost
	if hook == 0 {
		hook = DefaultHookCost
	}
	if operation == 0 {
		operation = DefaultOperationCost
	}
	choice, err := placement.Choose(nest, placement.Costs{Hook: hook, Operation: operation})
	if err != nil {
		return Advice{}, err
	}
	for _, p := range choice.Positions {
		a.Positions = append(a.Positions, Position{
			Name: p.Name, Where: where(chain, p), Operations: p.Operations, Seconds: p.Seconds, Share: p.Share, Strip: p.Strip,
			Guessed: p.Guessed, Verdict: p.Verdict, Reason: p.Reason,
		})
	}
	a.Reason = choice.Reason
	if p, ok := choice.Position(); ok {
		a.Take = p.Name
		c := coder{reader: r, loop: l, finding: f, position: p, file: file, nest: chain, distributed: distributed}
		var notes []string
		a.Code, notes = c.code()
		a.Notes = append(a.Notes, notes...)
	}
	return a, nil
}

// around is the function declaration, or other declaration, that a statement is in.
func around(file *ast.File, stmt ast.Stmt) (root ast.Node, name string) {
	for _, d := range file.Decls {
		if d.Pos() <= stmt.Pos() && stmt.End() <= d.End() {
			if fn, ok := d.(*ast.FuncDecl); ok {
				return d, fn.Name.Name
			}
			return d, ""
		}
	}
	return file, ""
}

// chain is the nest from the outside in, as it will be: down to the marked loop, and the dearest loop inside each. A
// loop whose strips are moved around the marked one stands before it.
func (r *reader) chain(l *loop, f finding) (chain []*loop, distributed int) {
	for o := l.parent; o != nil; o = o.parent {
		chain = append(chain, o)
	}
	slices.Reverse(chain)
	inner := l.inner
	if f.tiled != nil {
		chain = append(chain, f.tiled)
		inner = f.tiled.inner
	}
	distributed = len(chain)
	chain = append(chain, l)
	for len(inner) > 0 {
		next := slices.MaxFunc(inner, func(a, b *loop) int {
			ta, _ := r.count(a)
			tb, _ := r.count(b)
			if x, y := ta*r.iteration(a, nil), tb*r.iteration(b, nil); x != y {
				if x < y {
					return -1
				}
				return 1
			}
			return int(b.stmt.Pos() - a.stmt.Pos()) // the first
		})
		chain = append(chain, next)
		inner = next.inner
	}
	return chain, distributed
}

// beside notes loops that are not in the chain.
func (r *reader) beside(a *Advice, chain []*loop) {
	for _, l := range chain {
		n := 0
		for _, i := range l.inner {
			if !slices.Contains(chain, i) {
				n++
			}
		}
		switch n {
		case 0:
		case 1:
			a.Levels[slices.Index(chain, l)].Role += besideOne
		default:
			a.Levels[slices.Index(chain, l)].Role += fmt.Sprintf(besideMany, n)
		}
	}
}

const (
	besideOne  = " (and another loop in it)"
	besideMany = " (and %d other loops in it)"
)

// nest is the chain as package placement wants it.
func (r *reader) nest(chain []*loop, distributed int, f finding) placement.Nest {
	ranks := r.options.Ranks
	if ranks == 0 {
		ranks = DefaultRanks
	}
	n := placement.Nest{Distributed: distributed, Order: f.order, Ranks: ranks}
	for i, l := range chain {
		trips, guessed := r.count(l)
		level := placement.Level{Name: l.name, Operations: r.ownOperations(chain, i, f.tiled)}
		if guessed {
			level.Guess = trips
		} else {
			level.Trips = max(1, trips) // 0 would mean unknown
		}
		n.Levels = append(n.Levels, level)
	}
	return n
}

// ownOperations is one iteration of a loop of the chain without the next loop of the chain.
func (r *reader) ownOperations(chain []*loop, i int, tiled *loop) float64 {
	l := chain[i]
	var next *loop
	if i+1 < len(chain) {
		next = chain[i+1]
	}
	switch {
	case tiled != nil && l == tiled: // moved outwards, it has the marked loop inside and nothing else
		return opsLoop
	case tiled != nil && l == tiled.parent: // what the moved loop had inside
		l = tiled
	case next == tiled && tiled != nil:
		next = tiled.parent
	}
	if next == nil {
		return r.iteration(l, nil)
	}
	return r.iteration(l, next.stmt)
}

// where says in words where a position is.
func where(chain []*loop, p placement.Position) string {
	switch {
	case p.Level < 0:
		return fmt.Sprintf("after all of %s", chain[0].name)
	case p.Strip > 0:
		return fmt.Sprintf("after each strip of %s", chain[p.Level].name)
	}
	return fmt.Sprintf("at the end of each iteration of %s", chain[p.Level].name)
}
