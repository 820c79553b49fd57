package advisor

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// source is one package as far as it could be understood.
type source struct {
	fset  *token.FileSet
	files []*ast.File
	text  map[*ast.File][]byte
	info  *types.Info
	funcs map[types.Object]*ast.FuncDecl // functions and methods declared here
}

// load reads a Go file, or the packages in a folder, or with /... at the end in all folders below it.
func load(path string) ([]*source, error) {
	names, err := goFiles(path)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	packages := map[string]*source{}
	var order []string
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, plain(err))
		}
		file, err := parse(fset, name, content)
		if err != nil {
			return nil, err
		}
		if len(names) > 1 && !builds(file) {
			continue
		}
		key := filepath.Dir(name) + " " + file.Name.Name
		s := packages[key]
		if s == nil {
			s = &source{fset: fset, text: map[*ast.File][]byte{}}
			packages[key] = s
			order = append(order, key)
		}
		s.files = append(s.files, file)
		s.text[file] = content
	}
	var all []*source
	for _, key := range order {
		packages[key].check()
		all = append(all, packages[key])
	}
	return all, nil
}

// parse parses one file; the error is one line with the first fault.
func parse(fset *token.FileSet, name string, content []byte) (*ast.File, error) {
	file, err := parser.ParseFile(fset, name, content, parser.ParseComments|parser.SkipObjectResolution)
	if list := (scanner.ErrorList)(nil); errors.As(err, &list) && len(list) > 0 {
		return nil, fmt.Errorf("%s: not Go source: %s", list[0].Pos, list[0].Msg)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: not Go source: %w", name, err)
	}
	return file, nil
}

// goFiles are the Go files that a path names, in order.
func goFiles(path string) ([]string, error) {
	root, below := strings.CutSuffix(path, "...")
	if below {
		root = filepath.Clean(root + ".")
	}
	info, err := os.Stat(root)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: accepted are a Go file, a folder, or a folder with /... for all below it", path,
			plain(err))
	}
	if !info.IsDir() {
		if filepath.Ext(root) != ".go" {
			return nil, fmt.Errorf("%s: its name does not end in .go: accepted are a Go file, a folder, or a folder with /... for all below it", path)
		}
		return []string{root}, nil
	}
	var names []string
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", name, plain(err))
		case d.IsDir() && name != root && (!below || ignored(d.Name())):
			return filepath.SkipDir
		case d.Type().IsRegular() && filepath.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go"):
			names = append(names, name)
		}
		return nil
	})
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%s: no Go files there", path)
	}
	return names, err
}

// ignored says whether the go command ignores folders of this name, or they hold what is not this program.
func ignored(name string) bool {
	return name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

// plain is the reason of an error of the file system, without the path that it repeats.
func plain(err error) error {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}

// builds says whether a file's build constraint holds here with cgo off and no tags.
func builds(file *ast.File) bool {
	for _, group := range file.Comments {
		if group.Pos() > file.Package {
			break
		}
		for _, c := range group.List {
			if !constraint.IsGoBuild(c.Text) {
				continue
			}
			if x, err := constraint.Parse(c.Text); err == nil {
				return x.Eval(func(tag string) bool {
					return tag == runtime.GOOS || tag == runtime.GOARCH || tag == "unix" && runtime.GOOS != "windows" ||
						strings.HasPrefix(tag, "go1.")
				})
			}
		}
	}
	return true
}

// check resolves names and types. Errors are passed over: what they concern stays unknown, and a package that is not
// imported makes many.
func (s *source) check() {
	s.info = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	cfg := types.Config{
		Importer: nothing{}, FakeImportC: true, DisableUnusedImportCheck: true, Error: func(error) {},
		Sizes: types.SizesFor("gc", "amd64"), // an int is wide enough for any constant bound, wherever this runs
	}
	_, _ = cfg.Check(s.files[0].Name.Name, s.fset, s.files, s.info) // the error is the first of those passed over
	s.funcs = map[types.Object]*ast.FuncDecl{}
	for _, f := range s.files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				if obj := s.info.Defs[fn.Name]; obj != nil {
					s.funcs[obj] = fn
				}
			}
		}
	}
}

// nothing imports no package.
type nothing struct{}

func (nothing) Import(path string) (*types.Package, error) {
	return nil, fmt.Errorf("%s is not loaded", path)
}

// mark is a comment that marks a loop.
type mark struct {
	pos   token.Pos
	loop  ast.Stmt // *ast.ForStmt or *ast.RangeStmt
	word  string
	hints map[string]float64
}

const directive = "//shiftwork:distribute"

// marks are the marked loops of a file in order; the error is for a mark that is not above a loop or says what is not
// accepted.
func (s *source) marks(file *ast.File) ([]mark, error) {
	loops := map[int]ast.Stmt{} // by the line on which the statement begins
	ast.Inspect(file, func(n ast.Node) bool {
		stmt, ok := n.(ast.Stmt)
		if !ok {
			return true
		}
		inner := stmt
		for l, ok := inner.(*ast.LabeledStmt); ok; l, ok = inner.(*ast.LabeledStmt) {
			inner = l.Stmt
		}
		switch inner.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			if line := s.line(stmt.Pos()); loops[line] == nil {
				loops[line] = inner
			}
		}
		return true
	})
	var found []mark
	for _, group := range file.Comments {
		for _, c := range group.List {
			rest, ok := strings.CutPrefix(c.Text, directive)
			if !ok || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
				continue
			}
			m := mark{pos: c.Pos(), loop: loops[s.line(group.End())+1]}
			if m.loop == nil {
				return nil, fmt.Errorf("%s: %s is not on a loop: accepted is the line above a for statement", s.at(c.Pos()),
					directive)
			}
			if slices.ContainsFunc(found, func(o mark) bool { return o.loop == m.loop }) {
				return nil, fmt.Errorf("%s: the loop is marked twice", s.at(c.Pos()))
			}
			if err := m.parse(rest); err != nil {
				return nil, fmt.Errorf("%s: %w", s.at(c.Pos()), err)
			}
			found = append(found, m)
		}
	}
	for _, a := range found {
		for _, b := range found {
			if a.loop != b.loop && a.loop.Pos() <= b.loop.Pos() && b.loop.End() <= a.loop.End() {
				return nil, fmt.Errorf("%s: a loop inside a marked loop cannot be marked: one loop of a nest is distributed",
					s.at(b.pos))
			}
		}
	}
	return found, nil
}

// parse reads what stands behind the directive.
func (m *mark) parse(rest string) error {
	m.hints = map[string]float64{}
	for _, word := range strings.Fields(rest) {
		name, value, hint := strings.Cut(word, "=")
		var n float64
		switch {
		case hint:
			if _, err := fmt.Sscanf(value, "%g", &n); err != nil || !(n >= 1 && n <= 1e15) || n != float64(int64(n)) {
				return fmt.Errorf("%q is not accepted behind %s, only name=count with a whole number from 1 on", word, directive)
			}
			m.hints[name] = n
		case m.word == "" && slices.Contains([]string{"free", "pipelined", "synchronous"}, word):
			m.word = word
		default:
			return fmt.Errorf("%q is not accepted behind %s, only one of free, pipelined, synchronous, and hints such as n=1000", word, directive)
		}
	}
	return nil
}

func (s *source) line(pos token.Pos) int { return s.fset.PositionFor(pos, false).Line }

// at is file:line of a position.
func (s *source) at(pos token.Pos) string {
	p := s.fset.PositionFor(pos, false)
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}
