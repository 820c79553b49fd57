package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"shiftwork/scripts/lab/cluster"
	"shiftwork/scripts/lab/measure"
)

// field is one key=value; values are numbers or text without spaces.
type field struct {
	key   string
	value any
}

// fields keep the order in which they are printed.
type fields []field

func (f *fields) add(key string, value any) { *f = append(*f, field{key, value}) }

// report is what is printed at the end.
type report struct {
	workstations []fields // of a single run
	lab          fields
	rounds       map[measure.Mode][]float64 // time_s of a comparison; JSON only
	program      map[string]string          // the program's result line; JSON only
}

// reportRun is the report of one run. Keys whose values cannot be known are left out.
func reportRun(s measure.Setting, r *cluster.Result) report {
	cfg, speeds := s.Cluster.Config(), s.Speeds()
	out := report{program: r.Line}
	var app, load float64
	for k, u := range r.Workstations {
		var f fields
		f.add("ws", k)
		f.add("cpu", cfg.CPU[k])
		f.add("speed", speeds[k])
		f.add("app_cpu_s", u.App.Seconds())
		f.add("load_cpu_s", u.Load.Seconds())
		f.add("compete_s", u.Compete.Seconds()/cfg.CPU[k])
		if master, err := strconv.ParseFloat(r.Line["master_cpu_s"], 64); err == nil && k == 0 && !cfg.Master {
			f.add("master_cpu_s", master)
		}
		f.add("periods", u.Periods)
		f.add("throttled_periods", u.Throttled)
		f.add("throttled_s", u.ThrottledTime.Seconds())
		out.workstations = append(out.workstations, f)
		app, load = app+u.App.Seconds(), load+u.Load.Seconds()
	}
	out.lab = head(s)
	out.lab.add("code", r.Code)
	out.lab.add("elapsed_s", r.Elapsed.Seconds())
	out.lab.add("app_cpu_s", app)
	out.lab.add("load_cpu_s", load)
	if cfg.Master {
		out.lab.add("master_cpu_s", r.Master.Seconds())
	}
	out.lab.add("launch_cpu_s", r.Launch.Seconds())
	if t, ok := r.TimeSeconds(); ok {
		out.lab.add("began_s", r.Began.Seconds())
		out.lab.add("time_s", t)
	}
	if e, ok := s.Efficiency(r); ok {
		out.lab.add("sequential_s", s.Sequential)
		out.lab.add("efficiency", e)
	}
	if sum := r.Line["checksum"]; sum != "" {
		out.lab.add("checksum", sum)
	}
	return out
}

// reportComparison is the report of a comparison.
func reportComparison(s measure.Setting, c *measure.Comparison) report {
	out := report{lab: head(s), rounds: c.Times}
	out.lab.add("rounds", len(c.Times[measure.On]))
	for _, mode := range measure.Modes {
		out.lab.add(string(mode)+"_s", c.Median[mode])
	}
	out.lab.add("ideal_s", c.Ideal)
	out.lab.add("on_over_off", c.Median[measure.On]/c.Median[measure.Off])
	if c.Penalty {
		out.lab.add("penalty_removed", c.Removed)
	}
	if s.Sequential > 0 {
		out.lab.add("sequential_s", s.Sequential)
		for _, mode := range measure.Modes {
			if e, ok := c.Efficiency[mode]; ok {
				out.lab.add("efficiency_"+string(mode), e)
			}
		}
	}
	if c.Checksum != "" {
		out.lab.add("checksum", c.Checksum)
	}
	return out
}

// head is what describes the cluster.
func head(s measure.Setting) fields {
	cfg := s.Cluster.Config()
	cpus := 0.0
	for _, share := range cfg.CPU {
		cpus += share
	}
	var f fields
	f.add("workstations", len(cfg.CPU))
	f.add("cpus", cpus)
	f.add("period_s", cfg.Period.Seconds())
	if cfg.Slice > 0 {
		f.add("slice_s", cfg.Slice.Seconds())
	}
	if cfg.Unlimited {
		f.add("unlimited", true)
	}
	f.add("pin", cfg.Pin)
	f.add("network", cfg.Network)
	if cfg.Bandwidth > 0 {
		f.add("bandwidth_bit_per_s", cfg.Bandwidth)
	}
	f.add("loads", len(s.Job.Loads))
	return f
}

// String is key=value with spaces between; numbers have four digits.
func (f fields) String() string {
	words := make([]string, len(f))
	for i, one := range f {
		value := fmt.Sprint(one.value)
		if x, ok := one.value.(float64); ok {
			value = strconv.FormatFloat(x, 'g', 4, 64)
			if x >= 1000 {
				value = strconv.FormatFloat(x, 'f', 0, 64)
			}
		}
		words[i] = one.key + "=" + value
	}
	return strings.Join(words, " ")
}

// MarshalJSON is an object with the fields in their order; nothing is rounded.
func (f fields) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	b.WriteByte('{')
	for i, one := range f {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := json.Marshal(one.value)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%q:%s", one.key, value)
	}
	b.WriteByte('}')
	return []byte(b.String()), nil
}

func (r report) writeLines(w io.Writer) error {
	for _, f := range r.workstations {
		if _, err := fmt.Fprintln(w, "workstation:", f); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, "lab:", r.lab)
	return err
}

func (r report) writeJSON(w io.Writer) error {
	return json.NewEncoder(w).Encode(struct {
		Lab          fields                     `json:"lab"`
		Workstations []fields                   `json:"workstations,omitempty"`
		Rounds       map[measure.Mode][]float64 `json:"rounds_s,omitempty"`
		Program      map[string]string          `json:"program,omitempty"`
	}{r.lab, r.workstations, r.rounds, r.program})
}
