package hooks

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"shiftwork/comm"
	"shiftwork/lb"
)

// Report is what a loop's run came to. Seconds are wall-clock.
type Report struct {
	Interactions    int          `json:"interactions"`     // with the master
	Shifts          int          `json:"shifts"`           // instructions that moved work, with the last one, which nobody obeys if interactions are pipelined
	IterationsMoved int          `json:"iterations_moved"` // each time that an iteration changed its owner
	Move            float64      `json:"move_s"`           // the longest that a rank spent moving
	MasterBusy      float64      `json:"master_cpu_s"`     // the master: receiving, deciding, sending
	Interact        float64      `json:"interact_s"`       // one interaction, measured at start
	Period          float64      `json:"period_s"`         // the last target period; 0: no interaction
	Ranks           []RankReport `json:"ranks"`
	Placement       *Placement   `json:"placement,omitempty"` // of the hook; nil: the program placed it (a free loop: rank 0's, on average)

	Iterations int      `json:"iterations"`     // of the distributed loop
	Settings   Settings `json:"settings"`       // what was asked for, and what was found at run time
	Gain       *Gain    `json:"gain,omitempty"` // nil: nothing is known, because balancing was off or there was no interaction
	Build      Build    `json:"build"`
}

// Settings are the parameters of balancing: as they were asked for, and what they came to in the end.
type Settings struct {
	Balance     string  `json:"balance"`      // the policy
	Filter      string  `json:"filter"`       // of rates
	Interaction string  `json:"interaction"`  // pipelined or synchronous
	Movement    string  `json:"movement"`     // adjacent or direct
	CostBenefit bool    `json:"cost_benefit"` // whether work moves only where that pays
	Dedicated   bool    `json:"dedicated"`    // whether rank 0 balances only
	AskedPeriod float64 `json:"asked_period_s,omitempty"`
	Limit       string  `json:"period_limit,omitempty"` // what set the last period (lb.Decision.Limit), but for the end of the loop
	Threshold   float64 `json:"threshold"`              // the last one
	AutoFound   bool    `json:"threshold_auto"`         // it was found at run time
	Quantum     float64 `json:"quantum_s,omitempty"`    // the scheduling quantum of the machine
}

// Build is the program that ran.
type Build struct {
	Version   string `json:"version"`          // of the program's module; "(devel)" if it was built in its folder
	Commit    string `json:"commit,omitempty"` // and "+changes" behind it where the folder held others than the commit's
	Go        string `json:"go"`
	Transport string `json:"transport"`     // "mpi", "local" or "sim"
	MPI       string `json:"mpi,omitempty"` // the library's name and version
}

// RankReport is one rank's part.
type RankReport struct {
	Rank       int     `json:"rank"`
	Iterations int     `json:"iterations"` // owned at the end (a single DOALL: done)
	Units      float64 `json:"units"`      // work units done
	Elapsed    float64 `json:"elapsed_s"`
	Compute    float64 `json:"compute_s"`
	Move       float64 `json:"move_s"`
	Taken      int     `json:"taken"` // iterations taken over from other ranks

	Host     string  `json:"host"`
	Interact float64 `json:"interact_s"` // spent in interactions, waiting for the master included; a free loop: sending statuses
	RateMin  float64 `json:"rate_min"`   // units/s: the smallest rate between two interactions, not of less than 1 ms
	RateMax  float64 `json:"rate_max"`   // and the largest; both 0 without interactions
}

// Wait is the time that was neither computing nor moving, in s.
func (r RankReport) Wait() float64 { return max(0, r.Elapsed-r.Compute-r.Move) }

// Rate is the work done per second of computing, in work units/s.
func (r RankReport) Rate() float64 {
	if r.Compute <= 0 {
		return 0
	}
	return r.Units / r.Compute
}

func (r RankReport) encode(e *comm.Encoder) {
	e.Int(r.Rank)
	e.Int(r.Iterations)
	for _, x := range []float64{r.Units, r.Elapsed, r.Compute, r.Move, r.Interact, r.RateMin, r.RateMax} {
		e.Float64(x)
	}
	e.Int(r.Taken)
	e.Text(r.Host)
}

func (r *RankReport) decode(d *comm.Decoder) {
	r.Rank = d.Int()
	r.Iterations = d.Int()
	for _, x := range []*float64{&r.Units, &r.Elapsed, &r.Compute, &r.Move, &r.Interact, &r.RateMin, &r.RateMax} {
		*x = d.Float64()
	}
	r.Taken = d.Int()
	r.Host = d.Text()
}

// gatherReport completes rep, which holds what rank 0 knows of the loop, with the parts of all ranks. rest is what this rank
// did after its last status.
func gatherReport(c comm.Comm, own RankReport, rest tail, rep Report, m *master, record func(Event)) (*Report, error) {
	own.Rank, own.Host = c.Rank(), host()
	var e comm.Encoder
	own.encode(&e)
	e.Float64(rest.units)
	e.Float64(rest.compute)
	e.Int(rest.version)
	all, err := comm.Gather(c, 0, e.Message())
	if err != nil || c.Rank() != 0 {
		return nil, err
	}
	rests := make([]tail, len(all))
	for i, b := range all {
		d := comm.NewDecoder(b)
		var r RankReport
		r.decode(d)
		rests[i] = tail{units: d.Float64(), compute: d.Float64(), version: d.Int()}
		if err := d.Finish(); err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
		rep.Ranks = append(rep.Ranks, r)
		rep.IterationsMoved += r.Taken
		rep.Move = max(rep.Move, r.Move)
	}
	rep.Build = build(c)
	if m != nil {
		rep.Shifts, rep.MasterBusy, rep.Period = m.shifts, m.busy.Seconds(), m.period
		rep.Settings.Limit, rep.Settings.Quantum = m.limit, m.setup.Quantum
		if m.round > 0 {
			rep.Settings.Threshold = m.threshold
			first := m.setup.FirstWorker
			rep.Gain = m.estimate.gain(rests[first].version, rests, rep.Move+leastInteract(rep.Ranks[first:]))
		}
	}
	record(Event{Kind: "end", Report: &rep})
	return &rep, nil
}

// leastInteract is the shortest time that one of the ranks spent in interactions: what the others spent more is waiting for
// each other.
func leastInteract(ranks []RankReport) float64 {
	least := ranks[0].Interact
	for _, r := range ranks {
		least = min(least, r.Interact)
	}
	return least
}

// settingsOf are what a configuration asks for.
func settingsOf(cfg lb.Config, adjacent bool) Settings {
	movement := lb.Direct
	if adjacent {
		movement = lb.Adjacent
	}
	s := Settings{
		Balance: cfg.Policy.String(), Filter: cfg.Filter, Interaction: cfg.Interaction.String(), Movement: movement.String(),
		CostBenefit: !cfg.NoCostBenefit, Dedicated: cfg.DedicatedMaster, AskedPeriod: cfg.Period,
		Threshold: cfg.Threshold, AutoFound: cfg.Threshold == 0 && !cfg.NoThreshold,
	}
	if s.Filter == "" {
		s.Filter = "auto"
	}
	return s
}

// host is the name of the machine that this rank runs on.
func host() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

// implementation is what a transport may say of the library below it.
type implementation interface{ Implementation() string }

// build is what the running program was made of.
func build(c comm.Comm) Build {
	b := Build{Version: "unknown", Go: runtime.Version(), Transport: c.Transport()}
	if lib, ok := c.(implementation); ok {
		b.MPI = lib.Implementation()
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version = info.Main.Version
	changed := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			changed = s.Value == "true"
		}
	}
	if changed && b.Commit != "" {
		b.Commit += "+changes"
	}
	return b
}
