package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"shiftwork/hooks"
	"shiftwork/scripts/lab/cluster"
)

// session runs cells and keeps what they gave.
type session struct {
	store    *store
	programs string // folder of sor, mm and load
	temp     string
	scale    scale
	cells    []cell    // of the part that is measured
	out      io.Writer // progress

	opening  sync.Mutex
	clusters []*cluster.Cluster // all alike; more than one where variants run at the same time
	at       place
	once     func(ctx context.Context, number int, c cell, v variant, round int, z size) taken // try

	planned, done float64 // s of the plan, and of it what is done or was there already
	most          float64 // what done may come to where more runs turn out to be needed than were planned; 0: anything
	worked, took  float64 // s of the plan that runs were planned to take, and that they took
	paces         []pace  // of the runs of this session
	spent         float64 // s that everything has taken so far; of parts that are not wanted, what they were planned to take
	spare         float64 // s that a part may take for more runs than were planned, so that those to come still fit the budget
	failures      []string
}

// newSession has workstations from the first run on.
func newSession(st *store, programs, temp string, out io.Writer) *session {
	s := &session{store: st, programs: programs, temp: temp, out: out}
	s.once = s.try
	return s
}

// errRun is a run that failed twice: it is left out, and the others go on.
var errRun = errors.New("run failed")

// close removes the workstations.
func (s *session) close() error {
	var errs []error
	for _, c := range s.clusters {
		errs = append(errs, c.Close())
	}
	s.clusters = nil
	return errors.Join(errs...)
}

// open is the cluster of a place with a number from 0 on, made unless it is there. Clusters of another place must not be in use any more.
func (s *session) open(p place, number int) (*cluster.Cluster, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	if s.at.key() != p.key() {
		if err := s.close(); err != nil {
			return nil, err
		}
		s.at = p
	}
	for len(s.clusters) <= number {
		c, err := cluster.New(p.config())
		if err != nil {
			return nil, err
		}
		s.clusters = append(s.clusters, c)
	}
	return s.clusters[number], nil
}

// measure runs all runs of a cell that are not there.
func (s *session) measure(ctx context.Context, c cell) error {
	_, err := s.measureAfter(ctx, c, 0)
	return err
}

// measureAfter is measure but for what the first crowds run. It returns how many crowds the cell has.
func (s *session) measureAfter(ctx context.Context, c cell, first int) (crowds int, err error) {
	for round, crowd := range c.order(s.scale) {
		if crowds++; crowds <= first {
			continue
		}
		if err := s.measureCrowd(ctx, c, crowd, round); err != nil {
			return crowds, err
		}
	}
	return crowds, nil
}

// Rounds of a cell whose first two variants are compared to a hundredth go on until the median of their ratios is known as well as that: of five pairs it may be 0.02 off where others use the host. Where the budget is
// large enough for all rounds, those of cells whose promise is a share of what a load takes go on, too, until that is known: it depends on the dedicated runs as much, which then have as many rounds.
const (
	moreRounds   = 4 // at a time
	mostRounds   = 25
	sure         = 0.005 // standard error of the median: a quarter of what may be lost where nothing competes
	sureShare    = 0.03  // of the share that is removed
	pairPatience = 2     // times as long as planned a part may have taken so far, or there are no more rounds; nor where those to come would not fit the budget
)

// measurePairs runs all runs of a cell that are not there, and more rounds until it is known how its first two variants compare, or the time is up.
func (s *session) measurePairs(ctx context.Context, c cell, until time.Time) error {
	for crowds := 0; ; c.rounds += moreRounds {
		var err error
		if crowds, err = s.measureAfter(ctx, c, crowds); err != nil { // those that were there before are clocked already
			return err
		}
		if c.rounds+moreRounds > mostRounds || s.knows(c) || time.Now().After(until) {
			return nil
		}
	}
}

// knows reports whether what a cell's first two variants are compared for is known.
func (s *session) knows(c cell) bool {
	if c.thorough {
		return s.store.removedError(c.part, c.name, on.name, off.name, dedicated.name) <= sureShare
	}
	return medianError(s.store.ratios(c.part, c.name, c.variants[1].name, c.variants[0].name)) <= sure
}

// measureAll runs all runs of a part's cells that are not there.
func (s *session) measureAll(ctx context.Context, p part) error {
	planned := func(c cell) float64 { return c.planned(s.scale) }
	return s.each(p, planned, func(c cell, until time.Time) error {
		switch c = s.grainOf(ctx, c); {
		case c.thorough && s.scale.part >= 1:
			c.variants = slices.Clone(c.variants)
			c.variants[2].rounds = 0 // as many as of the others
			return s.measurePairs(ctx, c, until)
		case c.paired:
			return s.measurePairs(ctx, c, until)
		}
		return s.measure(ctx, c)
	})
}

// each does something with each cell of a part, which is planned to take so many s, and tells until when there may be more rounds than were planned.
func (s *session) each(p part, planned func(cell) float64, do func(c cell, until time.Time) error) error {
	s.cells = p.cells
	defer func() { s.cells, s.most = nil, 0 }()
	began, so := time.Now(), 0.0 // s that the cells so far were planned to take
	slowness := s.slowness()
	for _, c := range p.cells {
		share := planned(c)
		s.most, so = s.done+share, so+share
		may := min(pairPatience*so, slowness*so+s.spare)
		if err := do(c, began.Add(time.Duration(may*float64(time.Second)))); err != nil {
			return err
		}
		s.done = s.most // what it was planned to be, whatever it was
	}
	return nil
}

// run returns the run of a variant in a round: from the store, or measured and put there.
func (s *session) run(ctx context.Context, c cell, v variant, round int) (run, error) {
	if err := s.measureCrowd(ctx, c, []variant{v}, round); err != nil {
		return run{}, err
	}
	if r, ok := s.store.runs[key{c.part, c.name, v.name, round}]; ok {
		return r, nil
	}
	return run{}, errRun
}

// measureCrowd runs variants of a round at the same time, unless all are there: what they took is compared, so that one that fails leaves none. They run once more after a failure:
// a machine that others use has its moments.
func (s *session) measureCrowd(ctx context.Context, c cell, crowd []variant, round int) error {
	var there []run
	for _, v := range crowd {
		if r, ok := s.store.runs[key{c.part, c.name, v.name, round}]; ok {
			there = append(there, r)
		}
	}
	if len(there) == len(crowd) {
		s.advance(c.lasts(crowd, s.scale), slices.MaxFunc(there, func(a, b run) int { return cmp.Compare(a.Elapsed, b.Elapsed) }).Elapsed)
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	z, err := s.size(ctx, c)
	if err != nil {
		return err
	}
	z.CPU *= s.pace(c)
	var all []taken
	began := time.Now()
	for tries, failed := 0, true; failed && tries < 2; tries++ {
		if all, err = s.take(ctx, c, crowd, round, z); err != nil {
			return err
		}
		failed = slices.ContainsFunc(all, func(t taken) bool { return t.failure != nil })
	}
	s.advance(c.lasts(crowd, s.scale), time.Since(began).Seconds())
	return s.keep(c, round, all)
}

// taken is what a run has given, or why it has failed.
type taken struct {
	variant variant
	run     run
	samples []sample
	points  []point
	failure error
}

// take runs variants at the same time, each on workstations of its own. One that is done runs again and again for company, until all are, and so does the first beside one that has nothing to
// be compared with: the longest would have the machine to itself towards its end. An error is not one of a run.
func (s *session) take(ctx context.Context, c cell, crowd []variant, round int, z size) ([]taken, error) {
	all := make([]taken, len(crowd))
	company, enough := context.WithCancel(ctx)
	defer enough()
	var left atomic.Int64
	left.Store(int64(len(crowd)))
	var wait sync.WaitGroup
	for i := range max(len(crowd), c.crowd) {
		wait.Go(func() {
			v := crowd[i%len(crowd)]
			if i < len(crowd) {
				all[i] = s.once(ctx, i, c, v, round, z)
				all[i].variant = v
				if left.Add(-1) == 0 {
					enough()
				}
			}
			for company.Err() == nil {
				s.once(company, i, c, v, unkept, z)
			}
		})
	}
	wait.Wait()
	return all, ctx.Err()
}

// unkept is the round of runs of which nothing is kept.
const unkept = -1

// keep puts runs into the store, the line of each last; or notes which have failed.
func (s *session) keep(c cell, round int, all []taken) error {
	whole := true
	for _, t := range all {
		if t.failure != nil {
			what := fmt.Sprintf("%s %s %s, round %d", c.part, c.name, t.variant.name, round+1)
			s.failures = append(s.failures, fmt.Sprintf("%s: %v", what, t.failure))
			s.say("%s: FAILED twice: %v", what, t.failure)
			whole = false
		}
	}
	if !whole {
		return nil
	}
	for _, t := range all {
		err := errors.Join(s.store.addSamples(t.samples), s.store.addPoints(t.points))
		if err == nil {
			err = s.store.addRun(t.run)
		}
		if err != nil {
			return err
		}
		s.notePace(c, t)
		s.say("%s %s %s, round %d: %.3f s", c.part, c.name, t.variant.name, round+1, t.run.Time)
	}
	return nil
}

// advance notes that runs at the same time are done that were planned to take so long, and have taken so long, in s.
func (s *session) advance(planned, took float64) {
	if s.done += planned; s.most > 0 {
		s.done = min(s.done, s.most)
	}
	s.clock(planned, took)
}

// clock notes what a run has taken, in s, that was planned to take so long.
func (s *session) clock(planned, took float64) {
	s.worked, s.took, s.spent = s.worked+planned, s.took+took, s.spent+took
}

// say prints a line of progress with the time that is left.
func (s *session) say(format string, args ...any) {
	share, left := "  0", "  ?" // sizes come before there is a plan
	if s.planned > 0 {
		share = fmt.Sprintf("%3.0f", min(100, 100*s.done/s.planned))
		left = fmt.Sprintf("%3.0f", math.Ceil(max(0, (s.planned-s.done)*s.slowness())/60))
	}
	_, _ = fmt.Fprintf(s.out, "%s%%  %s min left  %s\n", share, left, fmt.Sprintf(format, args...))
}

// sized is under which name, and where, the size of a cell's work is measured.
func (c cell) sized() (string, place) {
	if c.local {
		return "local-" + c.name, c.place
	}
	return c.work.String(), four
}

// long is how long the run takes from which a size is told, in s: the first sweeps over a large grid touch its pages for the first time,
// and take several times as long as others.
const long = 2.5

// sizings is how many such runs there are.
const sizings = 3

// sizing is how many runs tell the size of a cell's work, and how long each lasts, in s.
func (c cell) sizing() (runs int, lasts float64) {
	if c.local {
		return 1, 3 * c.seconds // its runs are short, and touch their pages as well
	}
	return sizings, long
}

// sizing is how long it takes, in s, to find the sizes of works in the parts to come.
func (s *session) sizing(toCome []part) float64 {
	sum, counted := 0.0, map[string]bool{}
	for _, p := range toCome {
		for _, c := range p.cells {
			name, _ := c.sized()
			if _, known := s.store.sizes[name]; !known && !counted[name] {
				runs, lasts := c.sizing()
				sum += c.overhead() + float64(runs)*(c.overhead()+lasts)
				counted[name] = true
			}
		}
	}
	return sum
}

// size is what an iteration of a cell's work costs: from the store, or measured.
func (s *session) size(ctx context.Context, c cell) (size, error) {
	name, where := c.sized()
	if z, ok := s.store.sizes[name]; ok {
		return z, nil
	}
	workstations, err := s.open(where, 0)
	if err != nil {
		return size{}, err
	}
	began := time.Now()
	defer func() { s.spent += time.Since(began).Seconds() }()
	w := c.work
	unit := 1e-9 * float64(max(1, w.n)) * float64(max(1, w.m)) // CPU seconds of an iteration, to begin with: 1 ns a point
	if w.program == "mm" {
		unit *= float64(w.n) / 8
	}
	wanted, lasts := c.sizing()
	aim, least := lasts/10, math.Inf(1)
	for try, told := 0, 0; ; try++ {
		command, n, _, count := w.command(s.programs, aim*where.total(), unit)
		if w.n == 0 {
			command, n = []string{s.programs + "/mm", "--n", strconv.Itoa(unitSize)}, unitSize
		}
		limited, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("not done after a minute"))
		r, err := workstations.Run(limited, cluster.Job{Command: append(command, "--quiet", "--balance", "off")})
		cancel()
		if err != nil {
			return size{}, fmt.Errorf("%s: %w", strings.Join(command, " "), err)
		}
		seconds, ok := r.TimeSeconds()
		if r.Code != 0 || !ok {
			return size{}, fmt.Errorf("%s: exit code %d", strings.Join(command, " "), r.Code)
		}
		unit = seconds * where.total() / w.amount(n, count)
		// The first run is short, because nothing is known yet; one that turns out too short after that, because something
		// disturbed the one before, is done again. Others' work on the machine makes runs longer, never shorter: the least of some counts, or all runs
		// of the evaluation would be half as long as planned.
		if w.n == 0 || try > 0 {
			least = min(least, unit)
			if w.n == 0 || seconds > lasts/2 {
				told++
			}
		}
		if told >= wanted || try > 2*wanted+2 {
			s.say("%s: an iteration takes %.4g s of a CPU", name, least)
			z := size{Work: name, CPU: least}
			return z, s.store.addSize(z)
		}
		unit, aim = min(unit, least), lasts
	}
}

// patience is how long a run may take beside several times what is planned: on a machine that others use everything may stand
// still for a minute, which is no fault of the run.
const patience = 100 * time.Second

// try runs once, on the cluster of that number.
func (s *session) try(ctx context.Context, number int, c cell, v variant, round int, z size) (t taken) {
	t.run.Round = round
	fail := func(err error) taken { t.failure = err; return t }
	workstations, err := s.open(c.place, number)
	if err != nil {
		return fail(err)
	}
	cpu, unit := s.scale.length*c.cpu(), z.CPU
	if r, ok := s.alike(c); ok {
		cpu, unit = c.work.amount(r.N, r.Iterations), 1 // as much as those that it is compared with, also where sizes have been measured again since
	}
	command, n, m, count := c.work.command(s.programs, cpu, unit)
	talk := "--quiet"
	if slices.ContainsFunc(v.loads, func(l cluster.Load) bool { return l.FromLoop }) {
		talk = "--progress" // says when the loop begins
	}
	command = append(append(command, talk), v.flags...)
	record, report := filepath.Join(s.temp, fmt.Sprintf("record%d.jsonl", number)), filepath.Join(s.temp, fmt.Sprintf("report%d.json", number))
	traced, curved := round >= 0 && round < v.trace, v.report && round == 0
	if traced {
		command = append(command, "--record", record)
	}
	if curved {
		command = append(command, "--report", report)
	}
	limit := patience + time.Duration(6*c.run(v, s.scale)*float64(time.Second))
	limited, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done after %v", limit.Round(time.Second)))
	defer cancel()
	var complaint strings.Builder
	job := cluster.Job{Command: command, Loads: v.loads, LoadProgram: s.programs + "/load", Stderr: &complaint}
	if round == unkept {
		job.Env = []string{"OMPI_MCA_odls_base_sigkill_timeout=0"} // it is interrupted, and mpirun gives its ranks a second to end
	}
	result, err := workstations.Run(limited, job)
	if err != nil {
		return fail(fmt.Errorf("%s: %w", strings.Join(command, " "), err))
	}
	if result.Code != 0 {
		return fail(fmt.Errorf("%s: exit code %d: %s", strings.Join(command, " "), result.Code, strings.TrimSpace(complaint.String())))
	}
	if t.run, err = s.row(c, v, round, result); err != nil {
		return fail(fmt.Errorf("%s: %w", strings.Join(command, " "), err))
	}
	t.run.N, t.run.M, t.run.Iterations = n, m, count
	if traced {
		if t.samples, err = samplesOf(c, v, round, record); err != nil {
			return fail(err)
		}
	}
	if curved {
		if t.points, err = pointsOf(c, report); err != nil {
			return fail(err)
		}
	}
	return fail(s.sameResult(t.run))
}

// alike is a run of the cell, or of another one of the part that computes as much on other workstations, but for those whose size is their own: their times are drawn in one panel.
func (s *session) alike(c cell) (run, bool) {
	name, _ := c.sized() // tells the work, too
	for _, d := range append([]cell{c}, s.cells...) {
		of, _ := d.sized()
		if of == name && math.Abs(d.cpu()/c.cpu()-1) < 1e-9 {
			if r, ok := s.store.like(d); ok {
				return r, true
			}
		}
	}
	return run{}, false
}

// row makes a line of runs.csv of a result.
func (s *session) row(c cell, v variant, round int, result *cluster.Result) (run, error) {
	seconds, ok := result.TimeSeconds()
	if !ok {
		return run{}, errors.New("no result line with a time_s above 0")
	}
	number := func(name string) float64 {
		x, _ := strconv.ParseFloat(result.Line[name], 64) // what a program does not tell is 0
		return x
	}
	var compete []float64
	var app, load time.Duration
	for k, w := range result.Workstations {
		compete = append(compete, w.Compete.Seconds()/c.place.cpu[k])
		app, load = app+w.App, load+w.Load
	}
	var scripts []string
	for _, l := range v.loads {
		scripts = append(scripts, l.String())
	}
	return run{
		Part: c.part, Cell: c.name, Variant: v.name, Round: round, Work: c.work.String(), Ranks: len(c.place.cpu),
		CPU: c.place.shares(), CPUs: runtime.NumCPU(), PeriodMS: 1e3 * c.place.period.Seconds(), Net: c.place.net(),
		Loads: strings.Join(scripts, ";"), Flags: strings.Join(v.flags, " "),
		Time: seconds, Setup: number("setup_s"), Began: result.Began.Seconds(), Elapsed: result.Elapsed.Seconds(),
		Compete: joined(compete), AppCPU: app.Seconds(), LoadCPU: load.Seconds(), MasterCPU: number("master_cpu_s"),
		Interactions: int(number("interactions")), Shifts: int(number("shifts")), Moved: int(number("iterations_moved")),
		Move: number("move_s"), BalancePeriod: number("period_s"), Block: int(number("block")),
		Checksum: result.Line["checksum"], Verified: result.Line["verified"],
	}, nil
}

// sameResult holds the checksum against those of all runs of the same program and size: neither balancing nor the number of
// ranks nor the network may change a bit.
func (s *session) sameResult(r run) error {
	for _, k := range s.store.order {
		o := s.store.runs[k]
		program := func(r run) string { return strings.SplitN(r.Work, "-", 2)[0] }
		if program(o) == program(r) && o.N == r.N && o.M == r.M && (o.Iterations == r.Iterations || program(r) == "mm") &&
			o.Checksum != r.Checksum {
			return fmt.Errorf("the result has checksum %s, and that of %s %s %s %s", r.Checksum, o.Part, o.Cell, o.Variant, o.Checksum)
		}
	}
	return nil
}

// samplesOf are the lines of traces.csv that a recording gives.
func samplesOf(c cell, v variant, round int, file string) (all []sample, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	lines.Scan() // the schema
	for lines.Scan() {
		var e hooks.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if e.Decision == nil {
			continue
		}
		total := 0.0
		for _, st := range e.Statuses {
			total += st.Owned
		}
		for i, st := range e.Statuses {
			all = append(all, sample{
				Part: c.part, Cell: c.name, Variant: v.name, Round: round, Interaction: e.Decision.Interaction, Rank: st.Rank, At: e.Time,
				Raw: e.Decision.Raw[i], Filtered: e.Decision.Filtered[i], Share: st.Owned / max(total, 1),
				Elapsed: st.Elapsed, Compute: st.Compute, Wait: st.Wait, Move: st.MoveTime, Moved: e.Decision.Moved(),
			})
		}
	}
	return all, lines.Err()
}

// pointsOf are the lines of curves.csv that the last curve of a report gives.
func pointsOf(c cell, file string) (all []point, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var report struct {
		Tunings []struct {
			Curve []struct {
				Block  int     `json:"block"`
				Sweep  float64 `json:"sweep_s"`
				Chosen bool    `json:"chosen"`
			} `json:"curve"`
		} `json:"tunings"`
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(report.Tunings) == 0 {
		return nil, nil // the loop was too short to choose from costs: there is no prediction
	}
	for _, p := range report.Tunings[len(report.Tunings)-1].Curve {
		all = append(all, point{Part: c.part, Cell: c.name, Block: p.Block, Sweep: p.Sweep, Chosen: p.Chosen})
	}
	return all, nil
}
