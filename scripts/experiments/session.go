package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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
	pace     *pace     // nil: nobody looks what others do on the host
	out      io.Writer // progress

	cluster *cluster.Cluster
	at      place

	planned, done float64 // s of the plan, and of it what is done or was there already
	most          float64 // what done may come to where more runs turn out to be needed than were planned; 0: anything
	worked, took  float64 // s of the plan that runs were planned to take, and that they took
	spent         float64 // s that everything has taken so far; of parts that are not wanted, what they were planned to take
	failures      []string
}

// errRun is a run that failed twice: it is left out, and the others go on.
var errRun = errors.New("run failed")

// close removes the workstations.
func (s *session) close() error {
	if s.cluster == nil {
		return nil
	}
	err := s.cluster.Close()
	s.cluster = nil
	return err
}

// open makes the workstations of a place, unless they are there.
func (s *session) open(p place) error {
	if s.cluster != nil && s.at.key() == p.key() {
		return nil
	}
	if err := s.close(); err != nil {
		return err
	}
	c, err := cluster.New(p.config())
	if err != nil {
		return err
	}
	s.cluster, s.at = c, p
	return nil
}

// measure runs all runs of a cell that are not there.
func (s *session) measure(ctx context.Context, c cell) error {
	most := 0
	for _, v := range c.variants {
		most = max(most, s.scale.rounds(c.roundsOf(v)))
	}
	for round := range most {
		for i := range c.variants {
			v := c.variants[(round+i)%len(c.variants)]
			if round >= s.scale.rounds(c.roundsOf(v)) {
				continue
			}
			if _, err := s.run(ctx, c, v, round); err != nil && !errors.Is(err, errRun) {
				return err
			}
		}
	}
	return nil
}

// run returns the run of a variant in a round: from the store, or measured and put there.
func (s *session) run(ctx context.Context, c cell, v variant, round int) (run, error) {
	expected := c.run(v, s.scale)
	if s.done += expected; s.most > 0 {
		s.done = min(s.done, s.most)
	}
	if r, ok := s.store.runs[key{c.part, c.name, v.name, round}]; ok {
		s.clock(expected, r.Elapsed)
		return r, nil
	}
	z, err := s.size(ctx, c)
	if err != nil {
		return run{}, err
	}
	r, took, failure := s.undisturbed(ctx, c, v, round, z)
	if failure == nil {
		failure = s.keep(c, v, round)
	}
	s.clock(expected, took.Seconds())
	switch {
	case ctx.Err() != nil:
		return run{}, ctx.Err()
	case failure != nil:
		s.failures = append(s.failures, fmt.Sprintf("%s, %s, %s, round %d: %v", c.part, c.name, v.name, round+1, failure))
		s.say("%s %s %s, round %d: FAILED twice: %v", c.part, c.name, v.name, round+1, failure)
		return run{}, errRun
	}
	if err := s.store.addRun(r); err != nil {
		return run{}, err
	}
	s.say("%s %s %s, round %d: %.3f s", c.part, c.name, v.name, round+1, r.Time)
	return r, nil
}

// clock notes what a run has taken, in s, that was planned to take so long.
func (s *session) clock(planned, took float64) {
	s.worked, s.took, s.spent = s.worked+planned, s.took+took, s.spent+took
}

// say prints a line of progress with the time that is left.
func (s *session) say(format string, args ...any) {
	left := (s.planned - s.done) * s.slowness()
	share := 100.0
	if s.planned > 0 {
		share = min(100, 100*s.done/s.planned)
	}
	_, _ = fmt.Fprintf(s.out, "%3.0f%%  %3.0f min left  %s\n", share, math.Ceil(max(0, left)/60), fmt.Sprintf(format, args...))
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

// size is what an iteration of a cell's work costs: from the store, or measured.
func (s *session) size(ctx context.Context, c cell) (size, error) {
	name, where := c.sized()
	if z, ok := s.store.sizes[name]; ok {
		return z, nil
	}
	if err := s.open(where); err != nil {
		return size{}, err
	}
	if _, err := s.calm(ctx); err != nil {
		return size{}, err
	}
	began := time.Now()
	defer func() { s.spent += time.Since(began).Seconds() }()
	w := c.work
	unit := 1e-9 * float64(max(1, w.n)) * float64(max(1, w.m)) // CPU seconds of an iteration, to begin with: 1 ns a point
	if w.program == "mm" {
		unit *= float64(w.n) / 8
	}
	aim, least, wanted := long/10, math.Inf(1), sizings
	if c.local {
		wanted = 1 // its runs are short
	}
	for try, told := 0, 0; ; try++ {
		command, n, _, count := w.command(s.programs, aim*where.total(), unit)
		if w.n == 0 {
			command, n = []string{s.programs + "/mm", "--n", strconv.Itoa(unitSize)}, unitSize
		}
		limited, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("not done after a minute"))
		r, err := s.cluster.Run(limited, cluster.Job{Command: append(command, "--quiet", "--balance", "off")})
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
			if w.n == 0 || seconds > long/2 {
				told++
			}
		}
		if told >= wanted || try > 2*wanted+2 {
			s.say("%s: an iteration takes %.4g s of a CPU", name, least)
			z := size{Work: name, CPU: least}
			return z, s.store.addSize(z)
		}
		unit, aim = min(unit, least), long
	}
}

// patience is how long a run may take beside several times what is planned: on a machine that others use everything may stand
// still for a minute, which is no fault of the run.
const patience = 100 * time.Second

// try runs once.
func (s *session) try(ctx context.Context, c cell, v variant, round int, z size) (run, error) {
	if err := s.open(c.place); err != nil {
		return run{}, err
	}
	command, n, m, count := c.work.command(s.programs, s.scale.length*c.seconds*c.place.total(), z.CPU)
	talk := "--quiet"
	if slices.ContainsFunc(v.loads, func(l cluster.Load) bool { return l.FromLoop }) {
		talk = "--progress" // says when the loop begins
	}
	command = append(append(command, talk), v.flags...)
	if v.keepsTrace(round) {
		command = append(command, "--record", s.record())
	}
	if v.keepsCurve(round) {
		command = append(command, "--report", s.report())
	}
	limit := patience + time.Duration(6*c.run(v, s.scale)*float64(time.Second))
	limited, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done after %v", limit.Round(time.Second)))
	defer cancel()
	var complaint strings.Builder
	result, err := s.cluster.Run(limited, cluster.Job{
		Command: command, Loads: v.loads, LoadProgram: s.programs + "/load", Stderr: &complaint,
	})
	if err != nil {
		return run{}, fmt.Errorf("%s: %w", strings.Join(command, " "), err)
	}
	if result.Code != 0 {
		return run{}, fmt.Errorf("%s: exit code %d: %s", strings.Join(command, " "), result.Code, strings.TrimSpace(complaint.String()))
	}
	r, err := s.row(c, v, round, result)
	if err != nil {
		return run{}, fmt.Errorf("%s: %w", strings.Join(command, " "), err)
	}
	r.N, r.M, r.Iterations = n, m, count
	return r, s.sameResult(r)
}

// keepsTrace and keepsCurve are whether a round's run is kept in more detail.
func (v variant) keepsTrace(round int) bool { return v.trace && round == 0 }
func (v variant) keepsCurve(round int) bool { return v.report && round == 0 }

// record and report are the files of the last run.
func (s *session) record() string { return filepath.Join(s.temp, "record.jsonl") }
func (s *session) report() string { return filepath.Join(s.temp, "report.json") }

// keep puts into the store what the last run has besides its line.
func (s *session) keep(c cell, v variant, round int) error {
	if v.keepsTrace(round) {
		if err := s.keepTrace(c, v, s.record()); err != nil {
			return err
		}
	}
	if v.keepsCurve(round) {
		return s.keepCurve(c, s.report())
	}
	return nil
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
		CPU: c.place.shares(), PeriodMS: 1e3 * c.place.period.Seconds(), Net: c.place.net(),
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

// keepTrace puts a recording into traces.csv.
func (s *session) keepTrace(c cell, v variant, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // read only
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	lines.Scan() // the schema
	var all []sample
	for lines.Scan() {
		var e hooks.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("%s: %w", file, err)
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
				Part: c.part, Cell: c.name, Variant: v.name, Interaction: e.Decision.Interaction, Rank: st.Rank, At: e.Time,
				Raw: e.Decision.Raw[i], Filtered: e.Decision.Filtered[i], Share: st.Owned / max(total, 1),
				Elapsed: st.Elapsed, Compute: st.Compute, Wait: st.Wait, Move: st.MoveTime, Moved: e.Decision.Moved(),
			})
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	s.store.samples = slices.DeleteFunc(s.store.samples, func(x sample) bool {
		return x.Part == c.part && x.Cell == c.name && x.Variant == v.name
	})
	return s.store.addSamples(all)
}

// keepCurve puts the last curve of a report into curves.csv.
func (s *session) keepCurve(c cell, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
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
		return fmt.Errorf("%s: %w", file, err)
	}
	if len(report.Tunings) == 0 {
		return nil // the loop was too short to choose from costs: there is no prediction
	}
	var all []point
	for _, p := range report.Tunings[len(report.Tunings)-1].Curve {
		all = append(all, point{Part: c.part, Cell: c.name, Block: p.Block, Sweep: p.Sweep, Chosen: p.Chosen})
	}
	return s.store.addPoints(all)
}
