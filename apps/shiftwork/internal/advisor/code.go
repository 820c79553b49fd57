package advisor

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"go/types"
	"math"
	"slices"
	"strings"

	"shiftwork/placement"
)

// coder writes the code to insert for one nest.
type coder struct {
	*reader
	loop        *loop
	finding     finding
	position    placement.Position
	file        *ast.File
	nest        []*loop
	distributed int

	comm, run string   // names of the Comm and of the run time that are free in the function
	turns     string   // counts iterations between the hooks of a strip-mined loop
	back      []string // code that copies RANGE to where the caller of the function has it
	notes     []string
}

// code is the code to be put in place of the nest, and what there is to note about it. It is empty where the library
// has no form for the nest.
func (c *coder) code() (text string, notes []string) {
	c.comm = c.unused("c", "ranks", "world")
	c.run = c.unused("h", "hook", "balance")
	c.turns = c.unused("turns", "executions")
	switch l := c.loop; {
	case !l.countsUp():
		return "", []string{fmt.Sprintf(noCode+"%s must count up by one between bounds of one line, as the ranges do that the ranks get", l.name)}
	case !c.fixed(l):
		return "", []string{fmt.Sprintf(noCode+"the bounds of %s change in the nest, and ranges are handed out once", l.name)}
	}
	var b strings.Builder
	switch {
	case c.finding.order == placement.Free && c.position.Level == c.distributed:
		c.free(&b)
	case c.finding.order == placement.Pipelined && !c.options.Hooks && c.fitsDoacross():
		c.doacross(&b)
	default:
		if why := c.noHooks(); why != "" {
			return "", []string{noCode + why}
		}
		c.hooks(&b)
	}
	text, err := tidy(b.String())
	if err != nil {
		return "", append(c.notes, noCode+err.Error())
	}
	return text, c.notes
}

// noCode begins a note that says why there is none.
const noCode = "no code: "

// tidy formats statements.
func tidy(statements string) (string, error) {
	const before, after = "package p\n\nfunc _() {\n", "\n}\n"
	text, err := format.Source([]byte(before + statements + after))
	if err != nil {
		return "", fmt.Errorf("what was made of it is not Go: %w", err)
	}
	lines := strings.Split(strings.TrimSuffix(strings.TrimSpace(string(text)), "}"), "\n")[3:]
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, "\t")
	}
	return strings.TrimSpace(strings.Join(lines, "\n")) + "\n", nil
}

// unused is the first of some names that the function does not use for anything.
func (c *coder) unused(names ...string) string {
	used := map[string]bool{}
	ast.Inspect(c.root, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			used[id.Name] = true
		}
		return true
	})
	for _, n := range names {
		if !used[n] {
			return n
		}
	}
	for k := 2; ; k++ {
		if n := fmt.Sprint(names[0], k); !used[n] {
			return n
		}
	}
}

// fixed says whether a loop's bounds are the same whenever it is executed in this nest.
func (c *coder) fixed(l *loop) bool {
	for _, o := range c.nest {
		if o != l && o.symbol != "" && (l.low.contains(o.symbol) || l.high.contains(o.symbol)) {
			return false
		}
	}
	changes := false
	for o := l.parent; o != nil; o = o.parent {
		for _, x := range bounds(l) {
			ast.Inspect(x, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					v := c.object(id)
					_, variable := v.(*types.Var)
					changes = changes || variable && v != l.variable && (c.assignedIn(v, o.body) || v.Pos() > o.body.Pos() &&
						v.Pos() < o.body.End())
				}
				return true
			})
		}
	}
	return !changes
}

// bounds are the expressions that say how far a loop runs.
func bounds(l *loop) []ast.Node {
	switch s := l.stmt.(type) {
	case *ast.ForStmt:
		return []ast.Node{s.Init, s.Cond}
	case *ast.RangeStmt:
		return []ast.Node{s.X}
	}
	return nil
}

// between is the text between two positions of the file, without the mark.
func (c *coder) between(from, to token.Pos) string {
	text := string(c.text[c.file][c.fset.PositionFor(from, false).Offset:c.fset.PositionFor(to, false).Offset])
	if !strings.Contains(text, directive) {
		return text
	}
	lines := strings.Split(text, "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(strings.TrimSpace(l), directive) })
	return strings.Join(lines, "\n")
}

// inside is the text of a loop's body.
func (c *coder) inside(l *loop) string { return c.between(l.body.Lbrace+1, l.body.Rbrace) }

// over is a loop with the variable of another and other bounds.
func (c *coder) over(l *loop, lo, hi, body string) string {
	name, first := l.name, ""
	if l.variable == nil {
		name = c.unused("k", "row")
	} else if !isInt(l) {
		name = c.unused("k", "row")
		first = fmt.Sprintf("%s := %s(%s)\n", l.name, types.TypeString(l.variable.Type(),
			func(*types.Package) string { return "" }), name)
	}
	if s, ok := l.stmt.(*ast.RangeStmt); ok && s.Value != nil {
		if id, ok := s.Value.(*ast.Ident); ok && id.Name != "_" {
			first += fmt.Sprintf("%s %s %s[%s]\n", id.Name, s.Tok, c.show(s.X), name)
		}
	}
	return fmt.Sprintf("for %s := %s; %s < %s; %s++ {\n%s%s\n}", name, lo, name, hi, name, first, strings.TrimSpace(body))
}

// head is the comment above the code.
func (c *coder) head(b *strings.Builder, imports ...string) {
	fmt.Fprintf(b, "// In place of the nest, in a function that has %s, the comm.Comm that spmd.Main gives, and returns an error.\n", c.comm)
	fmt.Fprintf(b, "// It imports %s. What is only read must be complete on every rank.\n", strings.Join(imports, ", "))
}

// rows declares arrays whose rows move with the iterations, and returns their names.
func (c *coder) rows(b *strings.Builder, placeholder string) (names string, matrices bool) {
	var list []string
	for _, a := range c.finding.arrays {
		base := a.name[strings.LastIndex(a.name, ".")+1:]
		base = strings.Map(func(x rune) rune {
			if x == '_' || x >= '0' && x <= '9' || x >= 'a' && x <= 'z' || x >= 'A' && x <= 'Z' {
				return x
			}
			return -1
		}, base)
		if base == "" || base[0] >= '0' && base[0] <= '9' {
			base = "moving" + base
		}
		name := c.unused(base+"Rows", base+"Moving")
		if slices.Contains(list, name) {
			name += fmt.Sprint(len(list))
		}
		list = append(list, name)
		stride := a.stride.String()
		switch {
		case a.dim == 0 && isFloats(a.typ, 2) && stride == "1" && len(a.subs) == 2:
			fmt.Fprintf(b, "%s := loops.NewMatrix(len(%s), len(%s[0])) // rows that move with their iterations\n", name,
				a.name, a.name)
			k := c.unused("k", "row")
			fmt.Fprintf(b, "for %[1]s := range %[2]s {\ncopy(%[3]s.Row(%[1]s), %[2]s[%[1]s])\n", k, a.name, name)
			fmt.Fprintf(b, "%[2]s[%[1]s] = %[3]s.Row(%[1]s) // the code goes on using %[2]s\n}\n", k, a.name, name)
			matrices = true
		case a.dim == 0 && isFloats(a.typ, 1) && len(a.subs) == 1 && c.writable(a.stride):
			if stride == "1" {
				fmt.Fprintf(b, "%s := loops.NewMatrix(len(%s), 1) // rows that move with their iterations\n", name, a.name)
			} else {
				fmt.Fprintf(b, "%s := loops.NewMatrix(len(%s)/(%s), %s) // rows that move with their iterations\n", name, a.name,
					stride, stride)
			}
			if !strings.Contains(a.name, ".") { // a variable of the function: its caller has the slice as it was
				given := c.unused(a.name+"Given", a.name+"Before")
				fmt.Fprintf(b, "%s := %s\n", given, a.name)
				c.back = append(c.back, fmt.Sprintf("copy(%s[RANGE.Lo*(%s):RANGE.Hi*(%s)], %s.Rows(RANGE))\n", given, stride,
					stride, name))
			}
			fmt.Fprintf(b, "copy(%s.Data(), %s)\n%s = %s.Data() // the code goes on using %s\n", name, a.name, a.name, name,
				a.name)
			matrices = true
		default:
			fmt.Fprintf(b, "var %s %s // to be written: packs and unpacks what iterations have of %s\n", name, placeholder,
				a.name)
			c.notes = append(c.notes, fmt.Sprintf("%s is no matrix of float64 by rows: write a %s for it", a.name, placeholder))
		}
	}
	if len(list) == 0 {
		c.notes = append(c.notes, "no array was found that moves with the iterations: list those that do in Arrays")
	}
	return strings.Join(list, ", "), matrices
}

// isFloats says whether a type is []float64 (depth 1) or [][]float64 (depth 2).
func isFloats(t types.Type, depth int) bool {
	if t == nil {
		return false
	}
	if depth == 0 {
		b, ok := types.Unalias(t).(*types.Basic)
		return ok && b.Kind() == types.Float64
	}
	s, ok := types.Unalias(t).(*types.Slice)
	return ok && isFloats(s.Elem(), depth-1)
}

// writable says whether a polynomial is an expression of Go.
func (c *coder) writable(p poly) bool {
	for _, factor := range p {
		if factor != math.Trunc(factor) {
			return false
		}
	}
	return p != nil && !strings.ContainsAny(p.String(), "#?")
}

func (c *coder) span(l *loop) string {
	return fmt.Sprintf("Span(%s, %s)", asInt(l, l.lo), asInt(l, l.hi))
}

// isInt says whether a loop's variable is an int, or may well be.
func isInt(l *loop) bool {
	if l.variable == nil {
		return true
	}
	b, ok := l.variable.Type().Underlying().(*types.Basic)
	return ok && (b.Kind() == types.Int || b.Kind() == types.Invalid)
}

// asInt is a bound of a loop as an int.
func asInt(l *loop, bound string) string {
	if isInt(l) {
		return bound
	}
	return "int(" + bound + ")"
}

const failed = "err != nil {\nreturn err\n}\n"

// begin writes how code around package hooks begins: its imports and its arrays, whose names it returns.
func (c *coder) begin(b *strings.Builder) (arrays string) {
	imports := []string{"dist", "hooks", "lb"}
	var rows strings.Builder
	arrays, matrices := c.rows(&rows, "hooks.Array")
	if matrices {
		imports = append(imports, "loops")
	}
	c.head(b, imports...)
	b.WriteString(rows.String())
	return arrays
}

// free is the paper's MM: strips of the distributed loop, whose length the run time sets.
func (c *coder) free(b *strings.Builder) {
	arrays := c.begin(b)
	repeat, repetition := "", "_"
	if c.finding.simple {
		outer := c.loop.parent
		repeat = fmt.Sprintf("\nRepeat: %s, // each iteration of %s so often", outer.hi, c.loop.name)
		if outer.variable != nil && c.mentions(outer.variable, c.loop.stmt) {
			repetition = outer.name
		}
	}
	fmt.Fprintf(b, "%s, err := hooks.NewFree(%s, hooks.FreeLoop{\nName: %q, Iterations: dist.%s, // %s%s\n",
		c.run, c.comm, c.named(), c.span(c.loop), c.loop.name, repeat)
	fmt.Fprintf(b, "Arrays: []hooks.Array{%s},\n}, lb.Auto())\nif %s", arrays, failed)
	own := c.unused("own", "mine")
	fmt.Fprintf(b, "for {\n%s, %s, ok, err := %s.Next() // %s: a strip of %s, as long as the run time finds good\n",
		repetition, own, c.run, c.position.Name, c.loop.name)
	fmt.Fprintf(b, "if %sif !ok {\nbreak\n}\n%s\n}\n", failed, c.over(c.loop, own+".Lo", own+".Hi", c.inside(c.loop)))
	fmt.Fprintf(b, "if _, err := %s.Finish(); %s", c.run, failed)
	c.after(b, c.run+".Owned()", true)
	if c.finding.simple && c.loop.parent.variable != nil && c.loop.parent.variable.Type() != types.Typ[types.Int] &&
		repetition != "_" {
		c.notes = append(c.notes, fmt.Sprintf("%s is an int in this code", repetition))
	}
}

// named is what the loop is called in messages and records.
func (c *coder) named() string {
	if fn, ok := c.root.(*ast.FuncDecl); ok {
		return fn.Name.Name
	}
	return c.loop.name
}

// mentions says whether a variable is used below a node.
func (c *coder) mentions(o types.Object, n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && c.object(id) == o {
			found = true
		}
		return true
	})
	return found
}

// after says where the result is, and brings it to where the caller has it. Own are the rank's rows: one range, or
// several.
func (c *coder) after(b *strings.Builder, own string, several bool) {
	if len(c.finding.arrays) == 0 {
		return
	}
	var names []string
	for _, a := range c.finding.arrays {
		names = append(names, a.name)
	}
	fmt.Fprintf(b, "// Each rank has the rows %s of %s now.\n", own, strings.Join(names, ", "))
	if len(c.back) == 0 {
		return
	}
	r := c.unused("rows", "part", "done")
	if several {
		fmt.Fprintf(b, "for _, %s := range %s {\n", r, own)
	} else {
		fmt.Fprintf(b, "%s := %s\n", r, own)
	}
	for _, text := range c.back {
		b.WriteString(strings.ReplaceAll(text, "RANGE", r))
	}
	if several {
		b.WriteString("}\n")
	}
}

// fitsDoacross says whether loops.DOACROSS does all of the nest: it passes one row in each direction, strip by strip.
func (c *coder) fitsDoacross() bool {
	strip, outer := c.nest[c.distributed-1], c.nest[:c.distributed-1]
	if len(outer) > 1 || !strip.countsUp() || !c.fixed(strip) || len(c.finding.arrays) == 0 ||
		len(c.finding.apart) == 0 || c.position.Level != c.distributed-1 {
		return false
	}
	for _, d := range c.finding.apart {
		if d.outer < -1 || d.outer > 1 || d.outer > 0 && d.inner != 0 || d.outer < 0 && d.inner > 0 {
			return false
		}
	}
	if len(outer) == 1 {
		o := outer[0]
		child := strip
		if c.finding.tiled != nil {
			child = c.loop
		}
		if !o.countsUp() || o.lo != "0" || len(o.body.List) != 1 || o.body.List[0] != child.stmt || o.variable != nil &&
			c.mentions(o.variable, c.loop.stmt) {
			return false
		}
	}
	return c.finding.tiled != nil || len(strip.body.List) == 1 && strip.body.List[0] == c.loop.stmt
}

// doacross is the paper's SOR, strip mined: the library passes the boundaries and calls the hook after each strip.
func (c *coder) doacross(b *strings.Builder) {
	var rows strings.Builder
	arrays, _ := c.rows(&rows, "loops.Array")
	c.head(b, "lb", "loops")
	b.WriteString(rows.String())
	strip := c.nest[c.distributed-1]
	sweeps := "1"
	if c.distributed > 1 {
		sweeps = c.nest[0].hi
	}
	own, part := c.unused("own", "mine"), c.unused("strip", "part")
	c.run = c.unused("report", "result")
	fmt.Fprintf(b, "%s, err := loops.DOACROSS{ // %s: it calls the hook after each strip of %s\n",
		c.run, c.position.Name, strip.name)
	fmt.Fprintf(b, "Name: %q, Outer: %s, Rows: loops.%s, Strip: loops.%s, // %s; %s\n",
		c.named(), sweeps, c.span(c.loop), c.span(strip), c.loop.name, strip.name)
	fmt.Fprintf(b, "Arrays: []loops.Array{%s},\nBody: func(%s, %s loops.Range) {\n%s\n},\n}.Run(%s, lb.Auto())\nif %s",
		arrays, own, part, c.block(own, part), c.comm, failed)
	if len(c.back) == 0 {
		fmt.Fprintf(b, "_ = %s.Own\n", c.run)
	}
	c.after(b, c.run+".Own", true)
}

// block is the nest of one strip of the own iterations.
func (c *coder) block(own, part string) string {
	strip := c.nest[c.distributed-1]
	if c.finding.tiled != nil { // the marked loop outside, as it was written, with the strip's columns
		inner := c.over(strip, part+".Lo", part+".Hi", c.inside(strip))
		return c.over(c.loop, own+".Lo", own+".Hi", c.between(c.loop.body.Lbrace+1, strip.stmt.Pos())+inner)
	}
	inner := c.over(c.loop, own+".Lo", own+".Hi", c.inside(c.loop))
	return c.over(strip, part+".Lo", part+".Hi",
		c.between(strip.body.Lbrace+1, c.loop.stmt.Pos())+inner+c.between(c.loop.stmt.End(), strip.body.Rbrace))
}

// noHooks says why a bare hook cannot be inserted, "" if it can.
func (c *coder) noHooks() string {
	if c.finding.order == placement.Pipelined {
		if strip := c.nest[c.distributed-1]; !strip.countsUp() || !c.fixed(strip) {
			return fmt.Sprintf("%s must count up by one between fixed bounds to be strip mined", strip.name)
		}
	}
	return ""
}

// hooks is the nest with a bare hook, for programs that do their own communication.
func (c *coder) hooks(b *strings.Builder) {
	arrays := c.begin(b)
	fmt.Fprintf(b, "%s, err := hooks.New(%s, hooks.Loop{\nName: %q, Iterations: dist.%s, // %s\n",
		c.run, c.comm, c.named(), c.span(c.loop), c.loop.name)
	fmt.Fprintf(b, "Arrays: []hooks.Array{%s},\nAdjacent: true,\n}, lb.Auto())\nif %s", arrays, failed)
	if c.counting() {
		fmt.Fprintf(b, "%s := 0\n", c.turns)
	}
	if c.finding.order == placement.Pipelined {
		fmt.Fprintf(b, "const %s = %d // or what pipeline.Choose says, but not less\n", c.unused("block", "width"), max(1,
			c.position.Strip))
		c.notes = append(c.notes, "boundaries that are on their way while rows move must be received in hooks.Loop.Before; loops.DOACROSS does all of this")
	}
	b.WriteString(c.level(0))
	fmt.Fprintf(b, "\nif _, err := %s.Finish(); %s", c.run, failed)
	c.after(b, c.run+".Range()", false)
	for _, l := range c.nest[:c.distributed] {
		if l != c.finding.tiled && len(l.body.List) > 1 {
			c.notes = append(c.notes, fmt.Sprintf("code beside the marked loop, in %s, runs on every rank and finds only the rank's own rows up to date", l.name))
			break
		}
	}
}

// counting says whether iterations between hooks have to be counted.
func (c *coder) counting() bool {
	return c.position.Strip > 0 && !(c.finding.order == placement.Pipelined && c.position.Level == c.distributed-1)
}

// hook is the call, for the end of a loop's body, empty if it is not there.
func (c *coder) hook(level int) string {
	if level != c.position.Level {
		return ""
	}
	call := fmt.Sprintf("if _, err := %s.Hook(); err != nil { // %s: rows may have moved after it\nreturn err\n}\n",
		c.run, c.position.Name)
	if c.counting() {
		return fmt.Sprintf("if %s++; %s%%%d == 0 {\n%s}\n", c.turns, c.turns, c.position.Strip, call)
	}
	return call
}

// level is a loop of the nest and what is inside, with the hook.
func (c *coder) level(i int) string {
	l := c.nest[i]
	switch {
	case c.finding.order == placement.Pipelined && i == c.distributed-1:
		block, first, part := c.unused("block", "width"), c.unused("first", "low"), c.unused("strip", "part")
		own := c.unused("own", "mine")
		lo, hi := asInt(l, l.lo), asInt(l, l.hi)
		return fmt.Sprintf("for %s := %s; %s < %s; %s += %s {\n%s := dist.Span(%s, min(%s+%s, %s))\n%s := %s.Range()\n"+
			"// Receive this strip of row %s.Lo-1 from the left neighbour,\n"+
			"// and of row %s.Hi, as the sweep before left it, from the right.\n"+
			"%s.Begin()\n%s\n%s.EndPart(float64(%s.Len()) / float64((%s)-(%s)))\n"+
			"// Send this strip of the last row to the right neighbour, and of the first row to the left.\n%s}",
			first, lo, first, hi, first, block, part, first, first, block, hi,
			own, c.run, own, own, c.run, c.block(own, part), c.run, part, hi, lo, c.hook(i))
	case i == c.distributed:
		own := c.unused("own", "mine")
		return fmt.Sprintf("%s.Compute(func() { // timed: rates are made of this\n%s := %s.Range()\n%s\n})",
			c.run, own, c.run, c.over(l, own+".Lo", own+".Hi", c.inside(l)))
	}
	next := c.nest[i+1]
	if next == c.finding.tiled && next != nil {
		next = c.loop
	}
	text := c.between(l.stmt.Pos(), next.stmt.Pos()) + c.level(i+1)
	if c.finding.order == placement.Synchronous && i == c.distributed-1 {
		text += "\n// Here the ranks combine what they have found: sums, largest values. Rows of their neighbours that they read they\n" +
			"// exchange after the hook, or before the next loop over rows: at the hook the neighbours may become others.\n"
	}
	return text + strings.TrimRight(c.between(next.stmt.End(), l.body.Rbrace), " \t\n") + "\n" + c.hook(i) + "}"
}
