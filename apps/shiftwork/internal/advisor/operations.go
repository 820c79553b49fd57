package advisor

import (
	"go/ast"
	"go/token"
	"math"
)

// What things cost in operations. Only orders of magnitude matter (S&S 1997, section 5.1.2).
const (
	opsLoop    = 2  // condition and step of each iteration
	opsCall    = 5  // a call of a function of this package, besides what it does
	opsForeign = 50 // a call of a function that is not seen
	opsSimple  = 2  // math.Abs, math.Sqrt and their like, which are instructions
	opsAlloc   = 100
	opsSystem  = 1000 // go, select, channel operations
)

// simple are functions of math that compile to an instruction or two.
var simple = map[string]bool{
	"Abs": true, "Sqrt": true, "Max": true, "Min": true, "FMA": true, "Floor": true, "Ceil": true, "Trunc": true,
	"Copysign":    true,
	"Float64bits": true, "Float64frombits": true, "IsNaN": true,
}

// operations estimates the operations of one execution of a node, without the loop `but` and what is in it.
func (r *reader) operations(n ast.Node, but ast.Stmt) float64 {
	total := 0.0
	add := func(ops float64) { total = min(total+ops, 1e200) }
	ast.Inspect(n, func(m ast.Node) bool {
		switch m := m.(type) {
		case nil:
			return false
		case *ast.ForStmt, *ast.RangeStmt:
			if m == but {
				return false
			}
			if m == n {
				return true
			}
			if l := r.loops[m.(ast.Stmt)]; l != nil {
				trips, _ := r.count(l)
				add(trips * r.iteration(l, nil))
			}
			return false
		case *ast.FuncLit:
			return m == n // counted where it is called, if that is seen
		case *ast.IfStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
			add(r.branches(m, but))
			return false
		case *ast.BinaryExpr:
			if r.info.Types[m].Value != nil {
				return false
			}
			add(1)
		case *ast.IndexExpr, *ast.StarExpr, *ast.SliceExpr, *ast.IncDecStmt, *ast.TypeAssertExpr:
			add(1)
		case *ast.UnaryExpr:
			if m.Op == token.ARROW {
				add(opsSystem)
			} else {
				add(1)
			}
		case *ast.AssignStmt:
			if m.Tok != token.ASSIGN && m.Tok != token.DEFINE {
				add(1)
			}
		case *ast.GoStmt, *ast.DeferStmt, *ast.SendStmt:
			add(opsSystem)
		case *ast.CallExpr:
			add(r.call(m))
		case *ast.CompositeLit:
			add(opsSimple)
		}
		return true
	})
	return total
}

// iteration is the operations of one iteration of a loop, without the loop `but`.
func (r *reader) iteration(l *loop, but ast.Stmt) float64 {
	return opsLoop + r.operations(l.body, but)
}

// count is how often a loop runs; guessed says that this is not known.
func (r *reader) count(l *loop) (trips float64, guessed bool) {
	trips, guessed = l.trips.value(r.hints, r.options.trips())
	if guessed && !(trips >= 1) { // as far as the guesses go: two of them cancel
		trips = r.options.trips()
	}
	return min(max(0, math.Ceil(trips)), 1e15), guessed
}

// branches is the condition and the mean of the branches.
func (r *reader) branches(n ast.Node, but ast.Stmt) float64 {
	of := func(n ast.Node) float64 { return r.operations(n, but) }
	optional := func(s ast.Stmt) float64 {
		if s == nil {
			return 0
		}
		return of(s)
	}
	var total float64
	var body *ast.BlockStmt
	switch n := n.(type) {
	case *ast.IfStmt:
		other := 0.0
		if n.Else != nil {
			other = of(n.Else)
		}
		return optional(n.Init) + 1 + of(n.Cond) + (of(n.Body)+other)/2
	case *ast.SwitchStmt:
		total, body = optional(n.Init)+1, n.Body
		if n.Tag != nil {
			total += of(n.Tag)
		}
	case *ast.TypeSwitchStmt:
		total, body = optional(n.Init)+optional(n.Assign)+1, n.Body
	case *ast.SelectStmt:
		total, body = opsSystem, n.Body
	}
	if len(body.List) == 0 {
		return total
	}
	sum := 0.0
	for _, c := range body.List {
		var list []ast.Stmt
		switch c := c.(type) {
		case *ast.CaseClause:
			list = c.Body
		case *ast.CommClause:
			list = c.Body
		}
		for _, s := range list {
			sum += of(s)
		}
	}
	return total + sum/float64(len(body.List))
}

// call is what a call costs besides its arguments.
func (r *reader) call(call *ast.CallExpr) float64 {
	switch r.builtin(call) {
	case "":
	case "copy", "clear":
		return r.options.trips()
	case "append", "make", "new", "delete", "print", "println", "panic":
		return opsAlloc
	default:
		return 1
	}
	if r.conversion(call) {
		return 1
	}
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.FuncLit:
		return opsCall + r.operations(f.Body, nil)
	case *ast.Ident:
		return r.function(f)
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok && x.Name == "math" && simple[f.Sel.Name] {
			return opsSimple
		}
		return r.function(f.Sel)
	}
	return opsForeign
}

// function is the operations of a function of this package. One that calls itself counts as one that is not seen.
func (r *reader) function(id *ast.Ident) float64 {
	o := r.info.Uses[id]
	fn := r.funcs[o]
	if o == nil || fn == nil {
		return opsForeign
	}
	if ops, ok := r.counted[fn]; ok {
		if ops < 0 {
			return opsForeign
		}
		return ops
	}
	r.counted[fn] = -1
	if fn != r.root {
		r.assignments(fn)
		r.findLoops(fn, nil)
	}
	ops := opsCall + r.operations(fn.Body, nil)
	r.counted[fn] = ops
	return ops
}
