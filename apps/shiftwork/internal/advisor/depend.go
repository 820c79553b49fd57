package advisor

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"shiftwork/placement"
)

// access is a use of an array's element, or of a whole variable if it has no subscripts.
type access struct {
	object types.Object // nil: not resolved, or a field
	name   string       // what the array is called
	typ    types.Type   // of the array; nil: not known
	subs   []poly
	write  bool
	pos    token.Pos
}

// place is the array and the subscripts that an expression stands for. Aliases (row := b[j]) are looked through.
func (r *reader) place(x ast.Expr, depth int) (a access, ok bool) {
	if depth > 20 {
		return access{}, false
	}
	switch x := ast.Unparen(x).(type) {
	case *ast.Ident:
		o := r.object(x)
		if o == nil {
			return access{name: x.Name}, x.Name != "_"
		}
		if _, variable := o.(*types.Var); !variable {
			return access{}, false
		}
		if l := r.element[o]; l != nil {
			if s, ok := l.stmt.(*ast.RangeStmt); ok {
				if a, ok := r.place(s.X, depth+1); ok {
					a.subs = append(a.subs, symbol(l.symbol))
					return a, true
				}
			}
		}
		switch r.once[o].(type) {
		case *ast.IndexExpr, *ast.SliceExpr:
			if holdsElements(o.Type()) {
				return r.place(r.once[o], depth+1)
			}
		}
		return access{object: o, name: x.Name, typ: o.Type()}, true
	case *ast.IndexExpr:
		a, ok := r.place(x.X, depth+1)
		if !ok {
			return access{}, false
		}
		at := r.eval(x.Index, true)
		if r.sliced(x.X) && len(a.subs) > 0 {
			a.subs = slices.Clone(a.subs)
			a.subs[len(a.subs)-1] = a.subs[len(a.subs)-1].plus(at, 1)
			return a, true
		}
		a.subs = append(slices.Clone(a.subs), at)
		return a, true
	case *ast.SliceExpr:
		a, ok := r.place(x.X, depth+1)
		if !ok {
			return access{}, false
		}
		low := constant(0)
		if x.Low != nil {
			low = r.eval(x.Low, true)
		}
		if r.sliced(x.X) && len(a.subs) > 0 {
			a.subs = slices.Clone(a.subs)
			a.subs[len(a.subs)-1] = a.subs[len(a.subs)-1].plus(low, 1)
			return a, true
		}
		a.subs = append(slices.Clone(a.subs), low)
		return a, true
	case *ast.StarExpr:
		return r.place(x.X, depth+1)
	case *ast.SelectorExpr:
		if a, ok := r.place(x.X, depth+1); ok && len(a.subs) > 0 {
			return a, true // a field of an element
		}
		return access{name: r.show(x), typ: r.info.Types[x].Type}, true
	}
	return access{}, false
}

// sliced says whether an expression is a slice of another: its last subscript is where it begins.
func (r *reader) sliced(x ast.Expr) bool {
	switch x := ast.Unparen(x).(type) {
	case *ast.SliceExpr:
		return true
	case *ast.Ident:
		if o := r.object(x); o != nil && r.element[o] == nil {
			_, ok := r.once[o].(*ast.SliceExpr)
			return ok && holdsElements(o.Type())
		}
	}
	return false
}

// holdsElements says whether a variable of this type shares its elements with the one that it was copied from.
func holdsElements(t types.Type) bool {
	if t == nil {
		return false
	}
	switch t := t.Underlying().(type) {
	case *types.Slice, *types.Pointer, *types.Map:
		return true
	case *types.Basic:
		return t.Kind() == types.Invalid
	}
	return false
}

// uses are what lies below a node, without what lies below `but`.
type uses struct {
	all   []access
	calls []string // functions that were not looked into
}

func (r *reader) uses(root ast.Node, but ast.Node) uses {
	var u uses
	add := func(x ast.Expr, write bool) {
		if a, ok := r.place(x, 0); ok {
			a.write, a.pos = write, x.Pos()
			u.all = append(u.all, a)
		}
	}
	set := func(x ast.Expr) {
		o, variable := r.object(x).(*types.Var)
		if !variable {
			add(x, true)
			return
		}
		// The variable itself, not what it is another name for.
		u.all = append(u.all, access{object: o, name: o.Name(), typ: o.Type(), write: true, pos: x.Pos()})
	}
	written := map[ast.Expr]bool{} // or only given a name, and read where the name is
	var visit func(n ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case nil:
			return false
		case *ast.AssignStmt:
			for i, x := range n.Lhs {
				set(x)
				if n.Tok == token.ASSIGN || n.Tok == token.DEFINE {
					written[ast.Unparen(x)] = true // and not read
				}
				if len(n.Lhs) == len(n.Rhs) && r.view(x, n.Rhs[i]) {
					written[ast.Unparen(n.Rhs[i])] = true
				}
			}
		case *ast.IncDecStmt:
			add(n.X, true)
		case *ast.RangeStmt:
			for _, x := range []ast.Expr{n.Key, n.Value} {
				if x != nil {
					set(x)
					written[ast.Unparen(x)] = true
				}
			}
		case *ast.CallExpr:
			if name := r.builtin(n); name == "copy" && len(n.Args) == 2 || name == "clear" && len(n.Args) == 1 {
				add(n.Args[0], true)
			} else if name == "" && !r.conversion(n) && !r.pureCall(n) {
				u.calls = append(u.calls, r.show(n.Fun))
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				add(n.X, true) // whoever has the address may write
			}
		}
		if x, ok := n.(ast.Expr); ok {
			if n == but {
				return false
			}
			switch x := x.(type) {
			case *ast.Ident:
				if !written[x] {
					add(x, false)
				}
			case *ast.IndexExpr, *ast.SliceExpr, *ast.SelectorExpr, *ast.StarExpr:
				if !written[x] {
					add(x, false)
				}
				r.subscripts(x, visit)
				return false
			}
		}
		return n != but
	}
	ast.Inspect(root, visit)
	return u
}

// view says whether an assignment only gives a part of an array a name: it is used where the name is.
func (r *reader) view(x, value ast.Expr) bool {
	o := r.object(x)
	if o == nil || r.once[o] == nil || !holdsElements(o.Type()) {
		return false
	}
	switch value.(type) {
	case *ast.IndexExpr, *ast.SliceExpr:
		return true
	}
	return false
}

// subscripts visits what an element's expression reads besides the element.
func (r *reader) subscripts(x ast.Expr, visit func(ast.Node) bool) {
	switch x := x.(type) {
	case *ast.ParenExpr:
		r.subscripts(x.X, visit)
	case *ast.IndexExpr:
		ast.Inspect(x.Index, visit)
		r.subscripts(x.X, visit)
	case *ast.SliceExpr:
		for _, i := range []ast.Expr{x.Low, x.High, x.Max} {
			if i != nil {
				ast.Inspect(i, visit)
			}
		}
		r.subscripts(x.X, visit)
	case *ast.SelectorExpr:
		r.subscripts(x.X, visit)
	case *ast.StarExpr:
		r.subscripts(x.X, visit)
	case *ast.Ident:
	default:
		ast.Inspect(x, visit)
	}
}

// pureCall says whether a call is of package math.
func (r *reader) pureCall(call *ast.CallExpr) bool {
	if s, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
		if x, ok := s.X.(*ast.Ident); ok {
			_, pkg := r.info.Uses[x].(*types.PkgName)
			return x.Name == "math" && (pkg || r.info.Uses[x] == nil)
		}
	}
	return false
}

// same says whether two accesses are to the same array or variable.
func (a access) same(b access) bool {
	if a.object != nil || b.object != nil {
		return a.object == b.object
	}
	return a.name == b.name
}

// finding is what the accesses of a nest say about the ranks.
type finding struct {
	order   placement.Order
	tiled   *loop    // the loop inside the distributed one that is strip mined and moved around it
	notes   []string // how that was found, and what was trusted
	trouble string   // why the loop cannot be distributed
	arrays  []array  // what moves with the iterations
	apart   []distance
	simple  bool // free: repeated by one loop around, which does nothing else
}

// distance is how far a place that is read is from one that is written.
type distance struct {
	name         string
	outer, inner float64 // iterations of the distributed loop and of the pipelined one
}

// array is written by the distributed loop, one row for each iteration.
type array struct {
	access
	dim    int  // which subscript the distributed variable is in
	stride poly // its factor there
}

// dependences finds the order of a nest.
func (r *reader) dependences(m mark, l *loop) finding {
	var f finding
	note := func(format string, args ...any) {
		if text := fmt.Sprintf(format, args...); !slices.Contains(f.notes, text) {
			f.notes = append(f.notes, text)
		}
	}
	if f.trouble = r.endsEarly(l); f.trouble != "" {
		return f
	}
	if l.variable == nil && l.low == nil {
		f.trouble = fmt.Sprintf("the iterations of %s have no numbers: accepted is a loop that counts, such as for j := lo; j < hi; j++", l.name)
		return f
	}
	outermost := l
	for outermost.parent != nil {
		outermost = outermost.parent
	}
	in := r.uses(l.body, nil)
	outside := r.uses(outermost.stmt, l.stmt)
	if outermost == l {
		outside = uses{}
	}
	private := func(a access) bool {
		return a.object != nil && a.object.Pos() > l.body.Pos() && a.object.Pos() < l.body.End()
	}
	var carried []access // what depends on other iterations
	var combined bool    // something that all iterations write
	earlier, later, any := false, false, false

	// What the body writes.
	for _, w := range in.all {
		if !w.write || private(w) {
			continue
		}
		if len(w.subs) == 0 {
			if w.object != nil && (w.object == l.variable || r.running[w.object] != nil) {
				continue
			}
			combined = true
			note("%s is written by every iteration: each rank has its own afterwards, combine them (comm.AllreduceMax or AllreduceMin; for a sum add, in rank order, what comm.AllGather returns)", w.name)
			continue
		}
		dim, stride, ok := r.row(w, l.symbol)
		switch {
		case !ok:
			note("%s is written at places that do not follow from %s: it is trusted that iterations do not collide", w.name,
				l.name)
			combined = combined || !slices.ContainsFunc(w.subs, func(p poly) bool { return p == nil || p.contains(l.symbol) })
		case !slices.ContainsFunc(f.arrays, func(a array) bool { return a.same(w) }):
			f.arrays = append(f.arrays, array{access: w, dim: dim, stride: stride})
		}
	}
	moved := func(a access) bool {
		return slices.ContainsFunc(outside.all, func(o access) bool { return o.write && o.same(a) })
	}
	for _, a := range in.all {
		if private(a) || len(a.subs) == 0 {
			continue
		}
		for _, w := range in.all { // the body's own writes
			if !w.write || !w.same(a) || len(w.subs) == 0 {
				continue
			}
			dim, stride, ok := r.row(w, l.symbol)
			if !ok {
				continue
			}
			if len(a.subs) <= dim {
				continue // the array as such
			}
			if len(a.subs) < len(w.subs) { // all of a row
				a.subs = append(slices.Clone(a.subs), w.subs[len(a.subs):]...)
			}
			steps, _, ok := a.subs[dim].plus(w.subs[dim], -1).steps(stride)
			switch steps *= sign(l.step); { // in the order of iterations
			case !ok:
				any = true
				note("%s is read at rows that do not follow from %s while the loop writes it", a.name, l.name)
			case steps < 0:
				earlier = true
				note("%s: an iteration of %s reads what the one %s has written", a.name, l.name, away(-steps, "before"))
				carried = append(carried, a)
			case steps > 0:
				later = true
				note("%s: an iteration of %s reads the old value of the one %s", a.name, l.name, away(steps, "behind"))
				carried = append(carried, a)
			}
		}
		if slices.ContainsFunc(in.all, func(w access) bool { return w.write && w.same(a) }) || !moved(a) {
			continue
		}
		// Written elsewhere in the nest, by the ranks that own it.
		dim, stride, ok := r.row(a, l.symbol)
		if !ok {
			any = true
			note("%s changes in the nest and is read at rows that do not follow from %s: the ranks need all of it", a.name,
				l.name)
			continue
		}
		if !slices.ContainsFunc(f.arrays, func(o array) bool { return o.same(a) }) {
			f.arrays = append(f.arrays, array{access: a, dim: dim, stride: stride})
		}
		_, rest, _ := a.subs[dim].split(l.symbol)
		if steps, _, ok := rest.steps(stride); !ok || steps != 0 {
			later = true
			note("%s changes in the nest and iterations of %s read their neighbours' rows of it: exchange boundaries", a.name,
				l.name)
		}
	}
	if len(in.calls) > 0 {
		note("%s: calls are not looked into; it is trusted that they touch nothing of other iterations", list(in.calls))
	}

	f.order = placement.Synchronous
	switch {
	case earlier && any:
		f.trouble = fmt.Sprintf("iterations of %s depend on others at distances that are not known", l.name)
	case earlier:
		r.pipeline(&f, l, in, carried)
	case any && l.parent == nil:
		f.trouble = fmt.Sprintf("iterations of %s read what others write", l.name)
	case l.parent == nil && later:
		f.trouble = fmt.Sprintf("iterations of %s need the old values of others: let them read a copy, which makes them independent", l.name)
	case l.parent == nil:
		f.order = placement.Free
	case !any && !later && !combined && l.parent.parent == nil && r.repeats(l) && len(outside.calls) == 0:
		f.order, f.simple = placement.Free, true
	case !any && !later && !combined && m.word == "":
		note("the ranks are taken to wait for each other in each iteration of %s, where other code is", l.parent.name)
	}
	if m.word != "" {
		r.override(&f, m.word, l)
	}
	return f
}

// away says how far one iteration is from another.
func away(steps float64, side string) string {
	if steps == 1 {
		return side + " it"
	}
	return fmt.Sprintf("%g %s it", steps, side)
}

func list(names []string) string {
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// row finds the subscript that the distributed variable selects the row by.
func (r *reader) row(a access, variable string) (dim int, stride poly, ok bool) {
	dim = -1
	for i, p := range a.subs {
		if p == nil {
			return 0, nil, false
		}
		if !p.contains(variable) {
			continue
		}
		if dim >= 0 {
			return 0, nil, false
		}
		dim = i
		if stride, _, ok = p.split(variable); !ok {
			return 0, nil, false
		}
	}
	return dim, stride, dim >= 0
}

// pipeline finds the loop whose strips the ranks pass on.
func (r *reader) pipeline(f *finding, l *loop, in uses, carried []access) {
	indexes := func(variable string) bool {
		return slices.ContainsFunc(f.arrays, func(a array) bool {
			return slices.ContainsFunc(a.subs, func(p poly) bool { return p.contains(variable) })
		})
	}
	if l.parent != nil && indexes(l.parent.symbol) {
		f.order = placement.Pipelined
		f.apart, _ = r.distances(l, l.parent, in, carried)
		return
	}
	if len(l.inner) == 1 && indexes(l.inner[0].symbol) {
		if why := r.notTileable(l, l.inner[0], in, carried); why != "" {
			f.trouble = fmt.Sprintf("iterations of %s depend on earlier ones, and %s cannot be moved around it: %s", l.name,
				l.inner[0].name, why)
			return
		}
		f.order, f.tiled = placement.Pipelined, l.inner[0]
		f.apart, _ = r.distances(l, f.tiled, in, carried)
		f.notes = append(f.notes, fmt.Sprintf("%s is strip mined and its strips are moved around %s: the distances allow it", l.inner[0].name, l.name))
		return
	}
	f.trouble = fmt.Sprintf("each iteration of %s needs an earlier one, and there is no loop to pipeline", l.name)
}

// notTileable says why the strips of loop u cannot be moved around loop l, "" if they can.
func (r *reader) notTileable(l, u *loop, in uses, carried []access) string {
	if u.low.contains(l.symbol) || u.high.contains(l.symbol) || u.low == nil || u.high == nil {
		return fmt.Sprintf("its bounds depend on %s", l.name)
	}
	for i, s := range l.body.List {
		if s == u.stmt && i == len(l.body.List)-1 {
			continue
		}
		if a, ok := s.(*ast.AssignStmt); !ok || a.Tok != token.DEFINE || s.End() > u.stmt.Pos() || r.callsIn(s) {
			return "there is other code beside it"
		}
	}
	all, ok := r.distances(l, u, in, carried)
	if !ok {
		return "a distance is not known"
	}
	for _, d := range all {
		if d.outer*d.inner < 0 {
			return fmt.Sprintf("%s is read %g iterations of %s and %g of %s away", d.name, d.outer, l.name, d.inner, u.name)
		}
	}
	return ""
}

// distances are those of what depends on other iterations of l, with their part in the pipelined loop u; ok is false
// if one is not known.
func (r *reader) distances(l, u *loop, in uses, carried []access) (all []distance, ok bool) {
	for _, a := range carried {
		for _, w := range in.all {
			if !w.write || !w.same(a) || len(w.subs) == 0 {
				continue
			}
			dim, stride, ok := r.row(w, l.symbol)
			if !ok || dim >= len(a.subs) {
				continue
			}
			if len(w.subs) != len(a.subs) {
				return nil, false
			}
			outer, rest, ok := a.subs[dim].plus(w.subs[dim], -1).steps(stride)
			if !ok {
				return nil, false
			}
			inner := 0.0
			for i := range a.subs {
				if !w.subs[i].contains(u.symbol) {
					continue
				}
				d := rest // flattened: both are in one subscript
				if i != dim {
					d = a.subs[i].plus(w.subs[i], -1)
				}
				by, _, _ := w.subs[i].split(u.symbol)
				if inner, _, ok = d.steps(by); !ok {
					return nil, false
				}
			}
			all = append(all, distance{name: a.name, outer: outer * sign(l.step), inner: inner * sign(u.step)})
		}
	}
	return all, true
}

// callsIn says whether anything is called below a node that is not a length or a conversion.
func (r *reader) callsIn(n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && r.builtin(call) != "len" && !r.conversion(call) {
			found = true
		}
		return true
	})
	return found
}

// repeats says whether the loop around l does nothing but repeat it, from 0 up.
func (r *reader) repeats(l *loop) bool {
	return len(l.parent.body.List) == 1 && l.parent.body.List[0] == l.stmt && l.parent.countsUp() &&
		l.parent.lo == "0" && l.countsUp()
}

// override puts what the mark says in place of what was found.
func (r *reader) override(f *finding, word string, l *loop) {
	f.notes = append(f.notes, word+": the mark says so")
	tiled := f.tiled
	f.trouble, f.tiled, f.simple = "", nil, false
	switch word {
	case "free":
		f.order = placement.Free
		f.simple = l.parent != nil && l.parent.parent == nil && r.repeats(l)
	case "synchronous":
		f.order = placement.Synchronous
	case "pipelined":
		f.order, f.tiled = placement.Pipelined, tiled
		if f.tiled == nil && l.parent == nil {
			if len(l.inner) != 1 {
				f.trouble = "a pipeline needs a loop around the marked one, or exactly one inside it"
				return
			}
			f.tiled = l.inner[0]
		}
	}
	if f.order == placement.Synchronous && l.parent == nil {
		f.trouble = fmt.Sprintf("nothing is around %s in which the ranks could wait for each other", l.name)
	}
}

// endsEarly says how a loop may end before its last iteration, "" if it may not.
func (r *reader) endsEarly(l *loop) string {
	if l.step == 0 {
		return fmt.Sprintf("%s does not count: which iterations there are is not known beforehand", l.name)
	}
	why := ""
	label := r.label(l)
	var visit func(n ast.Node, own bool)
	visit = func(n ast.Node, own bool) {
		ast.Inspect(n, func(m ast.Node) bool {
			switch m := m.(type) {
			case *ast.FuncLit:
				return false
			case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
				if m != n {
					visit(m, false) // a plain break in there ends that
					return false
				}
			case *ast.ReturnStmt:
				why = fmt.Sprintf("return in line %d", r.line(m.Pos()))
			case *ast.BranchStmt:
				switch {
				case m.Tok == token.GOTO, m.Tok == token.BREAK && m.Label == nil && own, m.Label != nil && r.leaves(m, l, label):
					why = fmt.Sprintf("%s in line %d", m.Tok, r.line(m.Pos()))
				}
			}
			return true
		})
	}
	visit(l.body, true)
	if why == "" {
		return ""
	}
	return fmt.Sprintf("%s may end early (%s): how far it gets depends on all iterations", l.name, why)
}

// leaves says whether a labelled break or continue leaves the loop: its label is outside, or it breaks the loop itself.
func (r *reader) leaves(b *ast.BranchStmt, l *loop, label string) bool {
	if b.Label.Name == label && label != "" {
		return b.Tok == token.BREAK
	}
	inside := false
	ast.Inspect(l.body, func(n ast.Node) bool {
		if s, ok := n.(*ast.LabeledStmt); ok && s.Label.Name == b.Label.Name {
			inside = true
		}
		return true
	})
	return !inside
}

// label is the label of a loop, "" if it has none.
func (r *reader) label(l *loop) string {
	found := ""
	ast.Inspect(r.root, func(n ast.Node) bool {
		if s, ok := n.(*ast.LabeledStmt); ok && s.Stmt == l.stmt {
			found = s.Label.Name
		}
		return true
	})
	return found
}
