package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strconv"

	"shiftwork/apps/internal/summary"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"percent": func(x float64) string { return strconv.FormatFloat(100*x, 'f', 1, 64) + "%" },
	"width": func(x, of float64) template.CSS {
		return template.CSS(strconv.FormatFloat(100*x/max(x, of, 1e-12), 'f', 3, 64) + "%")
	},
	"seconds": func(x float64) string { return strconv.FormatFloat(x, 'f', 3, 64) },
	"short":   func(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) },
	"hosts":   func(s *summary.Summary) bool { return s != nil && len(s.Hosts) > 1 },
	"count": func(n int, what string) string {
		if n != 1 {
			what += "s"
		}
		return fmt.Sprintf("%d %s", n, what)
	},
}).Parse(pageHTML))

// view is what the template shows of a loop.
type view struct {
	*Loop
	Data  data
	Lines bool // one line for each rank, not rows of colour
}

// Page writes the page of a run; name is what it is called there, such as the recording's file name.
func Page(w io.Writer, run *Run, name string) error {
	views := make([]view, len(run.Loops))
	for i, l := range run.Loops {
		views[i] = view{Loop: l, Data: l.data(), Lines: l.Ranks <= lines}
	}
	return page.Execute(w, struct {
		Name      string
		Truncated bool
		Loops     []view
		Style     template.CSS
		Script    template.JS

		DefineBalance, DefineCommunication, DefineParallel, DefineLost, DefineImbalance, DefineOthers, DefineRemoved string
	}{
		name, run.Truncated, views, template.CSS(pageCSS), template.JS(pageJS),
		summary.DefineBalance, summary.DefineCommunication, summary.DefineParallel, summary.DefineLost, summary.DefineImbalance,
		summary.DefineOthers, summary.DefineRemoved,
	})
}
