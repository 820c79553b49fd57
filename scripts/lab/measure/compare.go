package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"shiftwork/scripts/lab/cluster"
)

// Mode is one way of running a program.
type Mode string

// The modes of a comparison. Dedicated is without balancing and without loads.
const (
	Off       Mode = "off"
	On        Mode = "on"
	Dedicated Mode = "dedicated"
)

// Modes are all modes, in the order of the first round.
var Modes = []Mode{Off, On, Dedicated}

// Runner runs jobs on workstations; a *cluster.Cluster does.
type Runner interface {
	Run(ctx context.Context, job cluster.Job) (*cluster.Result, error)
	Config() cluster.Config
}

// Setting is what is measured, and where.
type Setting struct {
	Cluster   Runner
	Reference float64 // CPU share of the reference workstation, whose speed is 1
	// Job is the program without --balance, with its loads. It must follow the contract of this repository's programs:
	// a flag --balance, and a result line with time_s and checksum.
	Job cluster.Job
	// Sequential is the program's time in s on one rank, alone on the reference workstation; 0 if unknown, and then
	// there are no efficiencies.
	Sequential float64
}

// Speeds are those of the workstations, relative to the reference.
func (s Setting) Speeds() []float64 {
	shares := s.Cluster.Config().CPU
	speeds := make([]float64, len(shares))
	for i, share := range shares {
		speeds[i] = share / s.Reference
	}
	return speeds
}

// Efficiency is that of a run, and false where it cannot be told.
func (s Setting) Efficiency(r *cluster.Result) (float64, bool) {
	elapsed, ok := r.TimeSeconds()
	if !ok || s.Sequential <= 0 {
		return 0, false
	}
	compete := make([]float64, len(r.Workstations))
	for i, share := range s.Cluster.Config().CPU {
		// A second of a workstation is share seconds of CPU time.
		compete[i] = r.Workstations[i].Compete.Seconds() / share
	}
	return Efficiency(s.Sequential, elapsed, s.Speeds(), compete), true
}

// Comparison is the outcome of interleaved runs.
type Comparison struct {
	Runs       map[Mode][]*cluster.Result
	Times      map[Mode][]float64 // time_s in s, by round
	Median     map[Mode]float64   // of Times
	Efficiency map[Mode]float64   // medians over the runs; empty where t_sequential is unknown
	Ideal      float64            // s, from the median dedicated time
	// Removed is the share of the penalty that balancing removed, from the medians; not to be used unless Penalty is
	// true: the loads cost something that balancing could remove.
	Removed  float64
	Penalty  bool
	Checksum string // the same in all runs
}

// Compare runs the program so many rounds, each with balancing off and on beside the loads and dedicated. Who goes
// first changes from round to round, so that a drift of the machine's speed favours nobody. progress gets a line for
// each round; nil is none. Results that differ between runs are an error: balancing must not change them.
func Compare(ctx context.Context, s Setting, rounds int, progress io.Writer) (*Comparison, error) {
	if err := CheckCommand(s.Job.Command); err != nil {
		return nil, err
	}
	if rounds < 1 {
		return nil, errors.New("a comparison has at least one round")
	}
	c := &Comparison{
		Runs: map[Mode][]*cluster.Result{}, Times: map[Mode][]float64{},
		Median: map[Mode]float64{}, Efficiency: map[Mode]float64{},
	}
	for round := range rounds {
		for i := range Modes {
			mode := Modes[(round+i)%len(Modes)]
			if err := c.run(ctx, s, mode); err != nil {
				return nil, fmt.Errorf("round %d, %s: %w", round+1, mode, err)
			}
		}
		if progress != nil {
			last := func(m Mode) float64 { return c.Times[m][round] }
			if _, err := fmt.Fprintf(progress, "round %d: off %.3f s, on %.3f s, dedicated %.3f s\n",
				round+1, last(Off), last(On), last(Dedicated)); err != nil {
				return nil, err
			}
		}
	}
	c.conclude(s)
	return c, nil
}

// CheckCommand refuses a command that says itself whether to balance.
func CheckCommand(command []string) error {
	if names(command, "--balance") {
		return errors.New("--balance is set by the comparison: leave it out of the command")
	}
	return nil
}

// WithMaster is the command as it runs on a cluster of that configuration: where the master has a place of its own, the
// program is told so.
func WithMaster(cfg cluster.Config, command []string) []string {
	if !cfg.Master || names(command, "--master") {
		return command
	}
	return append(slices.Clone(command), "--master", "dedicated")
}

// names says whether a command has a flag.
func names(command []string, flag string) bool {
	return slices.ContainsFunc(command, func(arg string) bool { return arg == flag || strings.HasPrefix(arg, flag+"=") })
}

func (c *Comparison) run(ctx context.Context, s Setting, mode Mode) error {
	job := s.Job
	balance := string(mode)
	if mode == Dedicated {
		balance, job.Loads = string(Off), nil
	}
	job.Command = WithMaster(s.Cluster.Config(), append(slices.Clone(job.Command), "--balance", balance))
	r, seconds, err := timed(ctx, s.Cluster, job)
	if err != nil {
		return err
	}
	sum := r.Line["checksum"]
	if c.Checksum == "" {
		c.Checksum = sum
	}
	if sum != c.Checksum {
		return fmt.Errorf("the result has checksum %s, and that of an earlier run %s", sum, c.Checksum)
	}
	c.Runs[mode] = append(c.Runs[mode], r)
	c.Times[mode] = append(c.Times[mode], seconds)
	return nil
}

// timed is a run that must succeed and say its time.
func timed(ctx context.Context, on Runner, job cluster.Job) (*cluster.Result, float64, error) {
	r, err := on.Run(ctx, job)
	if err != nil {
		return nil, 0, err
	}
	if r.Code != 0 {
		return nil, 0, fmt.Errorf("%s ended with exit code %d", job.Command[0], r.Code)
	}
	seconds, ok := r.TimeSeconds()
	if !ok {
		return nil, 0, fmt.Errorf("%s printed no result line with a time_s", job.Command[0])
	}
	return r, seconds, nil
}

func (c *Comparison) conclude(s Setting) {
	for _, mode := range Modes {
		c.Median[mode] = Median(c.Times[mode])
		var efficiencies []float64
		for _, r := range c.Runs[mode] {
			if e, ok := s.Efficiency(r); ok {
				efficiencies = append(efficiencies, e)
			}
		}
		if len(efficiencies) > 0 {
			c.Efficiency[mode] = Median(efficiencies)
		}
	}
	var began []float64
	for _, r := range c.Runs[On] {
		began = append(began, float64(r.Began))
	}
	c.Ideal = Ideal(c.Median[Dedicated], s.Speeds(), s.Job.Loads, time.Duration(Median(began)))
	c.Removed, c.Penalty = PenaltyRemoved(c.Median[Off], c.Median[On], c.Ideal)
}

// Sequential measures t_sequential: the program's time in s on one rank, alone on a workstation that is the reference.
// The workstation is made as those of cfg are, and removed.
func Sequential(ctx context.Context, cfg cluster.Config, reference float64, job cluster.Job) (s float64, err error) {
	cfg.CPU, cfg.Network, cfg.Bandwidth, cfg.Master = []float64{reference}, false, 0, false
	alone, err := cluster.New(cfg)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, alone.Close()) }()
	job.Loads = nil
	job.Command = append(slices.Clone(job.Command), "--balance", string(Off))
	_, s, err = timed(ctx, alone, job)
	return s, err
}
