package advisor

import (
	"bytes"
	"fmt"
	"go/ast"
	exact "go/constant"
	"go/parser"
	"go/printer"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// loop is a for statement and what is known of its iterations.
type loop struct {
	stmt     ast.Stmt // *ast.ForStmt or *ast.RangeStmt
	body     *ast.BlockStmt
	variable types.Object // nil: none
	name     string       // of the variable, or the line
	symbol   string       // of the variable in polynomials: the name, unless another variable has it
	parent   *loop        // nil: outermost in its function
	inner    []*loop

	low, high poly   // the variable runs over [low, high), if it counts up
	lo, hi    string // the same as Go source
	step      float64
	trips     poly // in which the variables of outer loops have been replaced by their middle values
}

// countsUp says whether the iterations are those of a Range, in order.
func (l *loop) countsUp() bool { return l.step == 1 && l.lo != "" && l.hi != "" }

// reader understands one function.
type reader struct {
	*source
	options Options
	hints   map[string]float64
	root    ast.Node                  // the function declaration that everything is in
	once    map[types.Object]ast.Expr // variables that are given a value once, and the value
	writes  map[types.Object]int      // how often a variable is given a value
	element map[types.Object]*loop    // second variables of range statements: the loop over whose elements they run
	loops   map[ast.Stmt]*loop
	running map[types.Object]*loop // loop variables
	taken   map[string]types.Object
	counted map[*ast.FuncDecl]float64 // operations of functions; -1 while they are being counted
	busy    map[types.Object]bool     // variables whose value is being looked up
}

func newReader(s *source, root ast.Node, hints map[string]float64, options Options) *reader {
	r := &reader{
		source: s, options: options, hints: hints, root: root,
		once: map[types.Object]ast.Expr{}, writes: map[types.Object]int{}, element: map[types.Object]*loop{},
		loops: map[ast.Stmt]*loop{}, running: map[types.Object]*loop{}, taken: map[string]types.Object{},
		counted: map[*ast.FuncDecl]float64{}, busy: map[types.Object]bool{},
	}
	r.assignments(root)
	r.findLoops(root, nil)
	return r
}

// object is what an identifier stands for, nil if that is not known.
func (r *reader) object(x ast.Expr) types.Object {
	id, ok := ast.Unparen(x).(*ast.Ident)
	if !ok {
		return nil
	}
	if o := r.info.Defs[id]; o != nil {
		return o
	}
	return r.info.Uses[id]
}

// assignments counts how often each variable is given a value.
func (r *reader) assignments(root ast.Node) {
	set := func(x, value ast.Expr) {
		if x == nil {
			return
		}
		if o := r.object(x); o != nil {
			if r.writes[o]++; r.writes[o] == 1 && value != nil {
				r.once[o] = value
			} else {
				delete(r.once, o)
			}
		}
	}
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, x := range n.Lhs {
				if len(n.Lhs) == len(n.Rhs) && n.Tok == token.DEFINE {
					set(x, n.Rhs[i])
				} else {
					set(x, nil)
				}
			}
		case *ast.ValueSpec:
			for i, x := range n.Names {
				if len(n.Values) == len(n.Names) {
					set(x, n.Values[i])
				} else {
					set(x, nil)
				}
			}
		case *ast.IncDecStmt:
			set(n.X, nil)
		case *ast.RangeStmt:
			set(n.Key, nil)
			set(n.Value, nil)
		case *ast.UnaryExpr:
			if n.Op == token.AND { // whoever has the address may write
				set(n.X, nil)
				set(n.X, nil)
			}
		}
		return true
	})
}

// findLoops describes all loops below a node; function literals begin nests of their own.
func (r *reader) findLoops(root ast.Node, parent *loop) {
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			if n != root {
				r.findLoops(n, nil)
				return false
			}
		case *ast.ForStmt, *ast.RangeStmt:
			if n == root {
				return true
			}
			l := &loop{stmt: n.(ast.Stmt), parent: parent}
			r.loops[l.stmt] = l
			if parent != nil {
				parent.inner = append(parent.inner, l)
			}
			r.describe(l)
			r.findLoops(l.body, l)
			return false
		}
		return true
	})
}

// describe finds out how often a loop runs.
func (r *reader) describe(l *loop) {
	l.name = fmt.Sprintf("line %d", r.line(l.stmt.Pos()))
	switch s := l.stmt.(type) {
	case *ast.ForStmt:
		l.body = s.Body
		r.describeFor(l, s)
	case *ast.RangeStmt:
		l.body = s.Body
		r.describeRange(l, s)
	}
	l.symbol = "#" + l.name
	if l.variable != nil {
		l.name = l.variable.Name()
		r.running[l.variable] = l
		l.symbol = r.symbolOf(l.variable)
	}
	if !oneLiners(l.lo, l.hi) {
		l.lo, l.hi = "", ""
	}
	l.trips = r.middle(l.trips, l.parent)
}

// oneLiners says whether expressions, as shown, can be written once more in one line.
func oneLiners(texts ...string) bool {
	return !slices.ContainsFunc(texts, func(t string) bool {
		if t == "" {
			return false
		}
		_, err := parser.ParseExpr(t)
		return err != nil || strings.ContainsAny(t, "{")
	})
}

// middle replaces the variables of the loops around by their middle values: a triangle counts as its mean row.
func (r *reader) middle(p poly, around *loop) poly {
	for l := around; l != nil; l = l.parent {
		if l.symbol == "" || !p.contains(l.symbol) {
			continue
		}
		mean := l.low.plus(l.high, 1).plus(constant(-1), 1).times(constant(0.5))
		if l.low == nil || l.high == nil {
			return nil
		}
		p = p.substitute(l.symbol, mean)
	}
	return p
}

// symbolOf is the name of a variable in polynomials: its own, with a number if another variable has that.
func (r *reader) symbolOf(o types.Object) string {
	name := o.Name()
	for k := 2; r.taken[name] != nil && r.taken[name] != o; k++ {
		name = fmt.Sprintf("%s#%d", o.Name(), k)
	}
	r.taken[name] = o
	return name
}

func (r *reader) describeFor(l *loop, s *ast.ForStmt) {
	cond, ok := s.Cond.(*ast.BinaryExpr)
	if !ok {
		return
	}
	var step float64
	var counter ast.Expr
	switch post := s.Post.(type) {
	case *ast.IncDecStmt:
		counter, step = post.X, 1
		if post.Tok == token.DEC {
			step = -1
		}
	case *ast.AssignStmt:
		if len(post.Lhs) != 1 || len(post.Rhs) != 1 || post.Tok != token.ADD_ASSIGN && post.Tok != token.SUB_ASSIGN {
			return
		}
		by, known := r.eval(post.Rhs[0], true).constant()
		if !known || by == 0 {
			return
		}
		counter, step = post.Lhs[0], by
		if post.Tok == token.SUB_ASSIGN {
			step = -by
		}
	default:
		return
	}
	l.variable = r.object(counter)
	init, ok := s.Init.(*ast.AssignStmt)
	if l.variable == nil || !ok || len(init.Lhs) != 1 || len(init.Rhs) != 1 || r.object(init.Lhs[0]) != l.variable ||
		r.assignedIn(l.variable, s.Body) {
		return
	}
	limit, op := cond.Y, cond.Op
	if r.object(cond.X) != l.variable {
		limit, op = cond.X, mirrored[cond.Op]
		if r.object(cond.Y) != l.variable {
			return
		}
	}
	from, to := r.eval(init.Rhs[0], false), r.eval(limit, false)
	lo, hi := r.source.show(init.Rhs[0]), r.source.show(limit)
	switch {
	case step > 0 && op == token.LEQ, step < 0 && op == token.GEQ:
		to = to.plus(constant(sign(step)), 1)
		if hi += "+1"; to != nil && !strings.ContainsAny(to.String(), "#/?") {
			hi = to.String()
		}
	case step > 0 && op == token.LSS, step < 0 && op == token.GTR, op == token.NEQ:
	default:
		return // never or for ever
	}
	l.step = step
	l.trips = to.plus(from, -1).times(constant(1 / step))
	if step > 0 {
		l.low, l.high = from, to
		l.lo, l.hi = lo, hi
	} else {
		l.low, l.high = to.plus(constant(1), 1), from.plus(constant(1), 1)
	}
}

func sign(x float64) float64 {
	if x < 0 {
		return -1
	}
	return 1
}

// mirrored are the comparisons read from the right.
var mirrored = map[token.Token]token.Token{
	token.LSS: token.GTR, token.GTR: token.LSS, token.LEQ: token.GEQ, token.GEQ: token.LEQ, token.NEQ: token.NEQ,
}

func (r *reader) describeRange(l *loop, s *ast.RangeStmt) {
	if s.Key != nil && s.Tok == token.DEFINE {
		if id, ok := s.Key.(*ast.Ident); ok && id.Name != "_" {
			l.variable = r.object(id)
		}
	}
	text := r.show(s.X)
	var t types.Type
	if known := r.info.Types[s.X].Type; known != nil {
		t = known.Underlying()
	}
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem().Underlying()
	}
	switch t := t.(type) {
	case *types.Basic:
		switch {
		case t.Info()&types.IsInteger != 0:
			l.high, l.hi = r.eval(s.X, false), text
		case t.Info()&types.IsString != 0:
			l.high = r.length(s.X)
		default: // its type is not known: a number, or something that has a length
			l.high = symbol(text)
		}
	case *types.Slice, *types.Array:
		l.high, l.hi = r.length(s.X), "len("+text+")"
	case *types.Map:
		l.high = r.length(s.X)
	case *types.Chan, *types.Signature:
		return
	default:
		l.high = symbol(text)
	}
	if l.variable != nil && r.assignedIn(l.variable, s.Body) {
		l.hi = ""
	}
	l.low, l.lo, l.step, l.trips = constant(0), "0", 1, l.high
	if s.Value != nil && s.Tok == token.DEFINE {
		if o := r.object(s.Value); o != nil && r.writes[o] == 1 {
			r.element[o] = l
		}
	}
}

// length is len(x).
func (r *reader) length(x ast.Expr) poly {
	if t := r.info.Types[x].Type; t != nil {
		u := t.Underlying()
		if p, ok := u.(*types.Pointer); ok {
			u = p.Elem().Underlying()
		}
		if a, ok := u.(*types.Array); ok && a.Len() >= 0 {
			return constant(float64(a.Len()))
		}
	}
	if o := r.object(x); o != nil && !r.busy[o] {
		if call, ok := r.once[o].(*ast.CallExpr); ok && len(call.Args) > 1 && r.builtin(call) == "make" {
			r.busy[o] = true
			defer delete(r.busy, o)
			if n := r.eval(call.Args[1], false); n != nil {
				return n
			}
		}
	}
	return symbol("len(" + r.show(x) + ")")
}

// builtin is the name of the built-in function that is called, "" if it is none.
func (r *reader) builtin(call *ast.CallExpr) string {
	if id, ok := ast.Unparen(call.Fun).(*ast.Ident); ok {
		switch o := r.info.Uses[id].(type) {
		case *types.Builtin:
			return o.Name()
		case nil:
			if types.Universe.Lookup(id.Name) != nil {
				return id.Name
			}
		}
	}
	return ""
}

// conversion says whether a call converts its argument.
func (r *reader) conversion(call *ast.CallExpr) bool {
	return len(call.Args) == 1 && r.info.Types[call.Fun].IsType()
}

// eval is the value of an expression as a polynomial, nil if there is none. An exact one is the value itself, for
// subscripts; otherwise it may be off by a rounding, for trip counts.
func (r *reader) eval(x ast.Expr, exact bool) poly {
	if v := r.info.Types[x].Value; v != nil {
		if f := number(v); f != nil {
			return f
		}
		return nil
	}
	switch x := x.(type) {
	case *ast.ParenExpr:
		return r.eval(x.X, exact)
	case *ast.Ident:
		return r.evalIdent(x, exact)
	case *ast.SelectorExpr:
		return symbol(r.show(x))
	case *ast.UnaryExpr:
		switch x.Op {
		case token.ADD:
			return r.eval(x.X, exact)
		case token.SUB:
			return r.eval(x.X, exact).times(constant(-1))
		}
	case *ast.BinaryExpr:
		return r.evalBinary(x, exact)
	case *ast.CallExpr:
		switch name := r.builtin(x); {
		case name == "len" && len(x.Args) == 1:
			return r.length(x.Args[0])
		case (name == "min" || name == "max") && !exact && len(x.Args) > 0: // the last strip is as good as the others
			return r.eval(x.Args[0], exact)
		case r.conversion(x):
			return r.eval(x.Args[0], exact)
		}
	}
	return nil
}

func (r *reader) evalIdent(x *ast.Ident, exact bool) poly {
	o := r.object(x)
	if o == nil {
		return symbol(x.Name)
	}
	if r.running[o] != nil {
		return symbol(r.symbolOf(o))
	}
	if r.once[o] != nil && !r.busy[o] {
		r.busy[o] = true
		defer delete(r.busy, o)
		if p := r.eval(r.once[o], exact); p != nil {
			return p
		}
	}
	if exact && (r.element[o] != nil || r.writes[o] > 1 || r.inLoop(o)) {
		return nil // another value each time: no subscripts follow from it
	}
	return symbol(r.symbolOf(o))
}

// inLoop says whether a variable is declared inside a loop.
func (r *reader) inLoop(o types.Object) bool {
	for _, l := range r.loops {
		if l.stmt.Pos() < o.Pos() && o.Pos() < l.stmt.End() {
			return true
		}
	}
	return false
}

func (r *reader) evalBinary(x *ast.BinaryExpr, exact bool) poly {
	a, b := r.eval(x.X, exact), r.eval(x.Y, exact)
	by, known := b.constant()
	switch x.Op {
	case token.ADD:
		return a.plus(b, 1)
	case token.SUB:
		return a.plus(b, -1)
	case token.MUL:
		return a.times(b)
	case token.QUO:
		if known && by != 0 && !exact {
			return a.times(constant(1 / by))
		}
	case token.SHL, token.SHR:
		if known && by >= 0 && by < 63 {
			factor := float64(uint64(1) << uint(by))
			if x.Op == token.SHL {
				return a.times(constant(factor))
			} else if !exact {
				return a.times(constant(1 / factor))
			}
		}
	}
	return nil
}

// number is a numeric constant, nil for others.
func number(v exact.Value) poly {
	v = exact.ToFloat(v)
	if v.Kind() != exact.Float && v.Kind() != exact.Int {
		return nil
	}
	f, _ := exact.Float64Val(v)
	return constant(f).clean()
}

// assignedIn says whether a variable is given a value below a node.
func (r *reader) assignedIn(o types.Object, root ast.Node) bool {
	found := false
	is := func(x ast.Expr) {
		if x != nil && r.object(x) == o {
			found = true
		}
	}
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, x := range n.Lhs {
				is(x)
			}
		case *ast.IncDecStmt:
			is(n.X)
		case *ast.RangeStmt:
			is(n.Key)
			is(n.Value)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				is(n.X)
			}
		}
		return true
	})
	return found
}

// show is an expression as source, on one line.
func (s *source) show(x ast.Node) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, s.fset, x); err != nil {
		return "?"
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
