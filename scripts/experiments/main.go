package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"shiftwork/scripts/internal/arguments"
)

type options struct {
	Part     []string `sep:"," placeholder:"NAME" help:"Only this part; again, or names with commas, for more (default: all)."`
	List     bool     `help:"List the parts with the minutes that each takes, and run nothing."`
	Fresh    bool     `help:"Forget what has been measured of the parts, and start anew (default: go on where it stopped)."`
	Budget   float64  `placeholder:"MINUTES" help:"About how long everything may take; less means fewer rounds, then shorter runs (default: ${budget}, or that of the data)."`
	Together bool     `help:"Run what is compared at the same time, on the same CPUs, and where these are too few all of it in slow motion: for a host that others use as well (default: one after the other, or as the data)."`
	Largest  int      `default:"10000" placeholder:"ROWS" help:"Largest grid, of those that are sized for a sweep of ten quota periods; 8 bytes a point (default ${default})."`
	Draw     bool     `help:"Only draw figures and fill in the document from what has been measured."`
	Measure  bool     `help:"Only measure."`

	Programs string `default:"." placeholder:"DIR" help:"Folder of sor, mm and load (default ${default})."`
	Data     string `default:"${data}" placeholder:"DIR" help:"Folder of the CSV files (default ${default})."`
	Figures  string `default:"${figures}" placeholder:"DIR" help:"Folder of the figures (default ${default}; what is measured into another --data is not drawn there, but by --draw)."`
	Document string `default:"${document}" placeholder:"FILE" help:"Document whose tables are filled in (default ${default}; as with --figures)."`
}

// The data of this repository, and what is drawn from them.
const (
	usualData     = "data/evaluation"
	usualFigures  = "docs/figures"
	usualDocument = "docs/evaluation.md"
)

const defaultBudget = 57 // minutes: what is not a run, such as building and drawing, comes on top

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	// A reader that goes away must be an error of a write and not the end, or workstations would be left.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	code := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// command is the program; it returns the exit code.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, help, err := parse(args)
	if help != "" {
		_, _ = io.WriteString(stdout, help)
		return 0
	}
	if err == nil {
		err = o.run(ctx, stdout)
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, context.Canceled):
		_, _ = fmt.Fprintln(stderr, "experiments: interrupted; start again to go on")
		return 1
	}
	_, _ = fmt.Fprintln(stderr, "experiments:", strings.ReplaceAll(err.Error(), "\n", "; "))
	if errors.Is(err, arguments.ErrRefused) {
		return 2
	}
	return 1
}

func parse(args []string) (o options, help string, err error) {
	help, err = arguments.Parse("experiments", "Measure, draw and tabulate what the evaluation shows.",
		kong.Vars{"budget": strconv.Itoa(defaultBudget), "data": usualData, "figures": usualFigures, "document": usualDocument}, args, &o)
	if help != "" {
		return o, help, nil
	}
	if err != nil {
		return o, "", err
	}
	switch {
	case o.Budget < 0 || math.IsNaN(o.Budget) || o.Budget > 1e5:
		err = arguments.Refuse("--budget=%g: minutes above 0 are accepted", o.Budget)
	case o.Largest < 2000 || o.Largest > 100_000:
		err = arguments.Refuse("--largest=%d: rows from 2000 to 100000 are accepted", o.Largest)
	case o.Draw && o.Measure:
		err = arguments.Refuse("--draw and --measure exclude each other")
	}
	names := []string{}
	for _, p := range parts(o.Largest) {
		names = append(names, p.name)
	}
	for _, name := range o.Part {
		if err == nil && !slices.Contains(names, name) {
			err = arguments.Refuse("--part=%s: %s are accepted", name, strings.Join(names, ", "))
		}
	}
	return o, "", err
}

// parts are all parts as this data set has them.
func (o options) parts(st *store, large int) []part {
	all := parts(large)
	if o.Together || st.together() {
		allAtOnce(all, runtime.NumCPU())
	}
	return all
}

func (o options) wants(p part) bool { return len(o.Part) == 0 || slices.Contains(o.Part, p.name) }

// strange reports whether drawing would put other data into this repository's figures or document.
func (o options) strange() bool {
	return filepath.Clean(o.Data) != usualData && (filepath.Clean(o.Figures) == usualFigures || filepath.Clean(o.Document) == usualDocument)
}

func (o options) run(ctx context.Context, stdout io.Writer) error {
	st, err := load(o.Data)
	if err != nil {
		return err
	}
	if !o.Draw {
		if err := o.measure(ctx, st, stdout); err != nil || o.List || o.Measure {
			return err
		}
		if o.strange() {
			_, err := fmt.Fprintf(stdout, "%s has what was measured; %s and %s are as they were: --draw, --figures and --document fill in others\n", o.Data, o.Figures, o.Document)
			return err
		}
	}
	if len(st.order) == 0 {
		return arguments.Refuse("%s holds no measurements: run this without --draw first", o.Data)
	}
	if err := draw(st, o.Figures, stdout); err != nil {
		return err
	}
	return document(st, o.Document, stdout)
}

// measure runs what is wanted and not there.
func (o options) measure(ctx context.Context, st *store, stdout io.Writer) (err error) {
	large := o.Largest
	if text := st.setting("large"); text != "" && !(o.Fresh && len(o.Part) == 0) {
		large, _ = strconv.Atoi(text)
	}
	if o.List {
		o.list(st, large, stdout)
		return nil
	}
	if err := o.programs(); err != nil {
		return err
	}
	if err := os.MkdirAll(o.Data, 0o755); err != nil {
		return err
	}
	if o.Fresh {
		if err := st.forget(o.Part, len(o.Part) == 0); err != nil {
			return err
		}
	}
	if err := o.settings(st); err != nil {
		return err
	}
	if o.Fresh {
		for _, name := range o.Part {
			if err := st.set(anew+name, fmt.Sprintf("%s, with %s on %s, %d CPUs", time.Now().Format(time.DateOnly), commit(o.Programs), cpu(), runtime.NumCPU())); err != nil {
				return err
			}
		}
	}
	temp, err := os.MkdirTemp("", "experiments-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	s := newSession(st, o.Programs, temp, stdout)
	defer func() { err = errors.Join(err, s.close()) }()
	if large, err = o.large(ctx, s); err != nil {
		return err
	}
	all := o.parts(st, large)
	plan := fit(all, budgetOf(st))
	for i, p := range all {
		if !o.wants(p) {
			s.spent += p.planned(plan.of(p))
			continue
		}
		if plan, err = s.shorten(all[i:], plan); err != nil {
			return err
		}
		s.scale, s.planned, s.spare = plan.of(p), s.done, s.spareFor(all[i:], plan)
		for _, q := range all[i:] {
			if o.wants(q) {
				s.planned += q.planned(plan.of(q))
			}
		}
		s.say("== %s: %s", p.name, p.about)
		before := s.done
		if p.explore != nil {
			err = p.explore(ctx, s, p)
		} else {
			err = s.measureAll(ctx, p)
		}
		if err != nil {
			return err
		}
		s.done = before + p.planned(s.scale)
	}
	if len(s.failures) > 0 {
		return fmt.Errorf("%d runs failed: %s", len(s.failures), strings.Join(s.failures, "; "))
	}
	return nil
}

// list prints the plan.
func (o options) list(st *store, large int, w io.Writer) {
	all := o.parts(st, large)
	budget := cmp.Or(o.Budget, budgetOf(st))
	s := fit(all, budget)
	sum := 0.0
	for _, p := range all {
		if !o.wants(p) {
			continue
		}
		minutes := p.planned(s.of(p)) / 60
		sum += minutes
		_, _ = fmt.Fprintf(w, "%-12s %5.1f min, until %3.0f  %s\n", p.name, minutes, sum, p.about)
	}
	_, _ = fmt.Fprintf(w, "%-12s %5.1f min; what is promised: rounds x %.1f, lengths x %.1f; the rest: rounds x %.1f, lengths x %.1f\n",
		"all", sum, s.promised.part, s.promised.length, s.rest.part, s.rest.length)
}

// programs refuses a folder without them.
func (o *options) programs() error {
	dir, err := filepath.Abs(o.Programs)
	if err != nil {
		return err
	}
	o.Programs = dir
	for _, name := range []string{"sor", "mm", "load"} {
		if _, err := exec.LookPath(filepath.Join(dir, name)); err != nil {
			return arguments.Refuse("--programs=%s: there is no program %s (make build makes it)", o.Programs, name)
		}
	}
	return nil
}

// settings notes what the data set is made with, or refuses to mix it with another one.
func (o options) settings(st *store) error {
	budget := strconv.FormatFloat(cmp.Or(o.Budget, budgetOf(st)), 'g', -1, 64)
	here := machine(o.Programs)
	if was := st.setting("budget"); was != "" {
		if was != budget {
			return arguments.Refuse("--budget=%s: %s was measured with %s: give the same, or --fresh", budget, o.Data, was)
		}
		if o.Together && !st.together() {
			return arguments.Refuse("--together: %s was measured without it: leave it out, or --fresh", o.Data)
		}
		for _, is := range here {
			if was := st.setting(is.Name); was != "" && was != is.Value && (is.Name == "cpu" || is.Name == "cpus") && !o.Fresh {
				return arguments.Refuse("--data=%s: it was measured where %s is %s, and here it is %s: --fresh measures anew, in another folder nothing is lost, --draw only draws", o.Data, is.Name, was, is.Value)
			}
		}
		return nil
	}
	all := append([]setting{{"budget", budget}, {"begun", time.Now().UTC().Format("2006-01-02")}}, here...)
	if o.Together {
		all = append(all, setting{together, "what is compared ran at the same time"})
	}
	for _, one := range all {
		if err := st.set(one.Name, one.Value); err != nil {
			return err
		}
	}
	return nil
}

// large is the size of the grid of which a sweep of four small workstations takes ten quota periods, or --largest.
func (o options) large(ctx context.Context, s *session) (int, error) {
	if text := s.store.setting("large"); text != "" {
		return strconv.Atoi(text)
	}
	z, err := s.size(ctx, cell{work: sor4000})
	if err != nil {
		return 0, err
	}
	point := z.CPU / 16e6
	p := small(4)
	n := 500 * int(math.Round(math.Sqrt(10*p.period.Seconds()*p.total()/point)/500))
	n = min(max(n, 2000), o.Largest)
	return n, s.store.set("large", strconv.Itoa(n))
}

// grainOf fills in the block size of the fixed grain, which needs the time of an iteration: equation (3).
func (s *session) grainOf(ctx context.Context, c cell) cell {
	c.variants = slices.Clone(c.variants)
	for i, v := range c.variants {
		at := slices.Index(v.flags, "FIXED")
		if at < 0 {
			continue
		}
		z, err := s.size(ctx, c)
		if err != nil {
			continue // the runs will say so
		}
		column := z.CPU / c.place.total() / float64(c.work.m) // s of a rank for its part of a column
		block := min(c.work.m-2, max(1, int(math.Round(fixedGrain*c.place.period.Seconds()/column))))
		v.flags = slices.Clone(v.flags)
		v.flags[at] = strconv.Itoa(block)
		c.variants[i] = v
	}
	return c
}
