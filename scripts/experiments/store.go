package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jszwec/csvutil"

	"shiftwork/scripts/lab/cluster"
	"shiftwork/scripts/lab/measure"
)

// run is one line of runs.csv. Lists are joined by colons, loads by semicolons.
type run struct {
	Part, Cell, Variant string
	Round               int
	Work                string
	N, M, Iterations    int
	Ranks               int
	CPU                 string // share of each workstation
	CPUs                int    // how many the evaluation had on that machine: a series can be of two machines
	PeriodMS            float64
	Net                 string
	Loads               string
	Flags               string
	Time                float64 `csv:"time_s"`
	Setup               float64 `csv:"setup_s"`
	Began               float64 `csv:"began_s"` // on the clock of the loads
	Elapsed             float64 `csv:"elapsed_s"`
	Compete             string  `csv:"compete_s"` // of each workstation, in seconds of all of it
	AppCPU              float64 `csv:"app_cpu_s"`
	LoadCPU             float64 `csv:"load_cpu_s"`
	MasterCPU           float64 `csv:"master_cpu_s"`
	Interactions        int
	Shifts              int
	Moved               int     `csv:"iterations_moved"`
	Move                float64 `csv:"move_s"`
	BalancePeriod       float64 `csv:"balance_period_s"`
	Block               int
	Checksum            string
	Verified            string
}

// key tells runs apart.
type key struct {
	part, cell, variant string
	round               int
}

func (r run) key() key { return key{r.Part, r.Cell, r.Variant, r.Round} }

// shares are the shares of the workstations, in CPUs.
func (r run) shares() []float64 { return numbers(r.CPU) }

func (r run) compete() []float64 { return numbers(r.Compete) }

// quantum is the quota period in s.
func (r run) quantum() float64 { return r.PeriodMS / 1e3 }

func (r run) loads() []cluster.Load {
	var loads []cluster.Load
	for _, script := range strings.Split(r.Loads, ";") {
		if l, err := cluster.ParseLoad(script); err == nil {
			loads = append(loads, l)
		}
	}
	return loads
}

// efficiency is equation (2'), relative to a workstation of speed 1 that takes so many seconds for the run's work alone.
func (r run) efficiency(sequential, reference float64) float64 {
	speeds := r.shares()
	for i := range speeds {
		speeds[i] /= reference
	}
	return measure.Efficiency(sequential, r.Time, speeds, r.compete())
}

func numbers(text string) []float64 {
	var all []float64
	for _, word := range strings.Split(text, ":") {
		if x, err := strconv.ParseFloat(word, 64); err == nil {
			all = append(all, x)
		}
	}
	return all
}

// sample is one line of traces.csv: one rank at one interaction. Times are s, rates work units/s.
type sample struct {
	Part, Cell, Variant string
	Round               int
	Interaction, Rank   int
	At                  float64 `csv:"t_s"` // since the loop began
	Raw, Filtered       float64
	Share               float64 // of the work that the rank owns, before the instruction is obeyed
	Elapsed             float64 `csv:"elapsed_s"`
	Compute             float64 `csv:"compute_s"`
	Wait                float64 `csv:"wait_s"`
	Move                float64 `csv:"move_s"`
	Moved               bool    // the instruction moves work
}

// point is one line of curves.csv: a prediction.
type point struct {
	Part, Cell string
	Block      int
	Sweep      float64 `csv:"sweep_s"`
	Chosen     bool
}

// size is one line of sizes.csv: what an iteration of a work costs on this machine. Of mm it is one multiplication of
// unitSize.
type size struct {
	Work string
	CPU  float64 `csv:"cpu_s"` // s of a CPU, of all ranks together
}

// setting is one line of setting.csv: what must be the same for the whole data set.
type setting struct{ Name, Value string }

// store is a folder of CSV files.
type store struct {
	folder   string
	settings []setting
	sizes    map[string]size
	runs     map[key]run
	order    []key
	samples  []sample
	points   []point
}

func load(folder string) (*store, error) {
	s := &store{folder: folder, sizes: map[string]size{}, runs: map[key]run{}}
	var sizes []size
	var runs []run
	err := errors.Join(
		read(s.file("setting"), &s.settings), read(s.file("sizes"), &sizes), read(s.file("runs"), &runs),
		read(s.file("traces"), &s.samples), read(s.file("curves"), &s.points))
	if err != nil {
		return nil, err
	}
	for _, z := range sizes {
		s.sizes[z.Work] = z
	}
	for _, r := range runs {
		s.note(r)
	}
	// A run's line comes last: without it, what was written before belongs to a run that will be made again.
	missing := func(part, cell, variant string, round int) bool {
		_, ok := s.runs[key{part, cell, variant, round}]
		return !ok
	}
	samples, points := len(s.samples), len(s.points)
	s.samples = slices.DeleteFunc(s.samples, func(x sample) bool { return missing(x.Part, x.Cell, x.Variant, x.Round) })
	s.points = slices.DeleteFunc(s.points, func(x point) bool { return missing(x.Part, x.Cell, automatic, 0) })
	if len(s.samples) < samples || len(s.points) < points {
		return s, errors.Join(rewrite(s.file("traces"), s.samples), rewrite(s.file("curves"), s.points))
	}
	return s, nil
}

func (s *store) file(name string) string { return filepath.Join(s.folder, name+".csv") }

func (s *store) note(r run) {
	if _, known := s.runs[r.key()]; !known {
		s.order = append(s.order, r.key())
	}
	s.runs[r.key()] = r
}

// like is a run that those of a cell are compared with, if there is any.
func (s *store) like(c cell) (run, bool) {
	for _, k := range s.order {
		if r := s.runs[k]; k.part == c.part && k.cell == c.name && r.Work == c.work.String() {
			return r, true
		}
	}
	return run{}, false
}

func (s *store) setting(name string) string {
	for _, one := range s.settings {
		if one.Name == name {
			return one.Value
		}
	}
	return ""
}

// together is the setting of a data set whose variants of a round ran at the same time: cell.atOnce.
const together = "together"

func (s *store) together() bool { return s.setting(together) != "" }

func (s *store) set(name, value string) error {
	one := setting{name, value}
	s.settings = append(s.settings, one)
	return appendTo(s.file("setting"), []setting{one})
}

func (s *store) addSize(z size) error {
	s.sizes[z.Work] = z
	return appendTo(s.file("sizes"), []size{z})
}

func (s *store) addRun(r run) error {
	s.note(r)
	return appendTo(s.file("runs"), []run{r})
}

func (s *store) addSamples(x []sample) error {
	s.samples = append(s.samples, x...)
	return appendTo(s.file("traces"), x)
}

func (s *store) addPoints(x []point) error {
	s.points = append(s.points, x...)
	return appendTo(s.file("curves"), x)
}

// allAnew reports whether every part that there is was measured anew, after the rest.
func (s *store) allAnew() bool {
	return !slices.ContainsFunc(s.order, func(k key) bool { return s.setting(anew+strings.TrimSuffix(k.part, paired)) == "" })
}

// forget removes what belongs to the parts, settings too where all is true, and sizes always: they are of the machine as it was, and runs that are sized by them might be half as long as planned.
func (s *store) forget(parts []string, all bool) error {
	files := []string{"sizes"}
	if all {
		files = append(files, "setting", "runs", "traces", "curves")
	}
	for _, name := range files {
		if err := os.Remove(s.file(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if all {
		*s = store{folder: s.folder, sizes: map[string]size{}, runs: map[key]run{}}
		return nil
	}
	s.sizes = map[string]size{}
	gone := func(part string) bool { return slices.Contains(parts, strings.TrimSuffix(part, paired)) }
	s.settings = slices.DeleteFunc(s.settings, func(x setting) bool { return gone(strings.TrimPrefix(strings.TrimPrefix(x.Name, anew), scaled)) })
	s.samples = slices.DeleteFunc(s.samples, func(x sample) bool { return gone(x.Part) })
	s.points = slices.DeleteFunc(s.points, func(x point) bool { return gone(x.Part) })
	s.order = slices.DeleteFunc(s.order, func(k key) bool { return gone(k.part) })
	var runs []run
	for _, k := range s.order {
		runs = append(runs, s.runs[k])
	}
	s.runs = map[key]run{}
	for _, r := range runs {
		s.runs[r.key()] = r
	}
	return errors.Join(rewrite(s.file("setting"), s.settings), rewrite(s.file("runs"), runs), rewrite(s.file("traces"), s.samples), rewrite(s.file("curves"), s.points))
}

// read reads a CSV file into a slice; a file that is not there has no lines. A last line that was cut off, because the
// program was killed while it wrote, is left out, and the next one is written in its place.
func read[T any](file string, into *[]T) error {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if whole := bytes.LastIndexByte(text, '\n') + 1; whole < len(text) {
		text = text[:whole]
		if err := os.Truncate(file, int64(whole)); err != nil {
			return err
		}
	}
	d, err := csvutil.NewDecoder(csv.NewReader(bytes.NewReader(text)))
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	d.DisallowMissingColumns = true
	if err := d.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w (--fresh starts anew)", file, err)
	}
	return nil
}

// appendTo adds lines to a CSV file in one write, with a header if it is new.
func appendTo[T any](file string, lines []T) error {
	if len(lines) == 0 {
		return nil
	}
	_, err := os.Stat(file)
	text, err := encode(lines, errors.Is(err, fs.ErrNotExist))
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// rewrite replaces a CSV file.
func rewrite[T any](file string, lines []T) error {
	if len(lines) == 0 {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text, err := encode(lines, true)
	if err != nil {
		return err
	}
	return replaceFile(file, text)
}

// replaceFile writes a file beside its place and renames it.
func replaceFile(file string, text []byte) error {
	temp := file + ".part"
	if err := os.WriteFile(temp, text, 0o644); err != nil {
		return err
	}
	return os.Rename(temp, file)
}

func encode[T any](lines []T, header bool) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	e := csvutil.NewEncoder(w)
	e.AutoHeader = header
	e.WithMarshalers(csvutil.MarshalFunc(func(x float64) ([]byte, error) { return strconv.AppendFloat(nil, x, 'g', 7, 64), nil }))
	for _, line := range lines {
		if err := e.Encode(line); err != nil {
			return nil, err
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

// began is a run's begin on the clock of its loads.
func (r run) began() time.Duration { return time.Duration(r.Began * float64(time.Second)) }
