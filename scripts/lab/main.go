package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"shiftwork/scripts/internal/arguments"
	"shiftwork/scripts/lab/cluster"
	"shiftwork/scripts/lab/measure"
)

type flags struct {
	Workstations int           `placeholder:"COUNT" help:"How many workstations (default: as many as --speeds has, or 4)."`
	CPU          float64       `name:"cpu" default:"0.4" placeholder:"SHARE" help:"Share of one CPU that a workstation of speed 1 has, above 0 to 1 (default ${default})."`
	Speeds       string        `placeholder:"S:S:..." help:"Speed of each workstation, relative to --cpu, such as 1:2:4 (default: all 1)."`
	Period       time.Duration `default:"10ms" placeholder:"DURATION" help:"Period of the CPU quotas, 1ms to 1s (default ${default})."`
	Slice        time.Duration `default:"0s" placeholder:"DURATION" help:"The scheduler's base slice for all processes of the lab, 100us to 100ms; 0s is the kernel's (default ${default})."`
	Unlimited    bool          `help:"No quotas: workstations share the machine's CPUs as the scheduler divides them (default: quotas of --cpu)."`
	Pin          bool          `help:"Bind each workstation to one CPU, so that application and load take turns (default: they may run at the same time)."`
	Master       string        `default:"shared" enum:"shared,dedicated" placeholder:"WHERE" help:"shared: rank 0 computes and balances; dedicated: it only balances, outside the workstations (default ${default})."`

	Network   bool   `help:"Give each workstation a network namespace and an address (default: ranks share memory)."`
	Bandwidth string `placeholder:"RATE" help:"Limit of each workstation's link in each direction, such as 100mbit; needs --network (default: none)."`

	Load        []string `sep:"none" placeholder:"SCRIPT" help:"A competing load, such as 'ws=0 from=0 to=end on=2s off=2s', from=loop if it is to begin with a loop that has --progress; again for more (default: none)."`
	LoadProgram string   `default:"./load" placeholder:"PATH" help:"The program that competes: apps/load (default ${default})."`

	Compare    int    `placeholder:"ROUNDS" help:"Run the program with --balance off, on, and off without loads, interleaved, so many times (default: run it once)."`
	Sequential string `placeholder:"HOW" help:"The program's time on one rank without loads, for efficiencies: seconds, measure, or none (default: measure with --compare, else none)."`
	JSON       bool   `name:"json" help:"Print one JSON object; the program's output goes to standard error (default: lines)."`

	Command []string `arg:"" name:"program" help:"The program and its flags, after --."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	// A reader that goes away must be an error of a write and not the end, or nothing would be removed. (Ignoring the signal
	// would have children ignore it.)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the program; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f, help, err := parse(args)
	if help != "" {
		_, _ = io.WriteString(stdout, help)
		return 0
	}
	code := 0
	if err == nil {
		var p *plan
		if p, err = f.plan(stdout, stderr); err == nil {
			code, err = p.run(ctx)
		}
	}
	var left *leftBehind
	switch {
	case err == nil:
		return code
	case ctx.Err() != nil && !errors.As(err, &left):
		_, _ = fmt.Fprintln(stderr, "lab: interrupted; everything was removed")
		return 1
	}
	_, _ = fmt.Fprintln(stderr, "lab:", strings.ReplaceAll(err.Error(), "\n", "; "))
	if errors.Is(err, arguments.ErrRefused) {
		return 2
	}
	return 1
}

// leftBehind is the error of a cluster that could not be removed.
type leftBehind struct{ err error }

func (l *leftBehind) Error() string { return "not everything could be removed: " + l.err.Error() }

// parse reads the command line; help is not empty if that was asked for.
func parse(args []string) (f flags, help string, err error) {
	help, err = arguments.Parse("lab", "Make this machine a cluster of workstations, run an MPI program on it "+
		"beside competing loads, and say what they cost.", nil, args, &f)
	if err != nil {
		return f, "", err
	}
	return f, help, nil
}

// plan is what the flags ask for.
type plan struct {
	config         cluster.Config
	reference      float64 // CPU share of speed 1
	job            cluster.Job
	rounds         int
	measure        bool    // t_sequential is to be measured
	sequential     float64 // t_sequential in s; 0: unknown
	json           bool
	stdout, stderr io.Writer
}

func (f *flags) plan(stdout, stderr io.Writer) (*plan, error) {
	speeds, err := parseSpeeds(f.Speeds)
	if err != nil {
		return nil, err
	}
	switch {
	case f.Workstations < 0:
		return nil, arguments.Refuse("--workstations=%d: a number from 1 on is accepted", f.Workstations)
	case speeds == nil:
		count := f.Workstations
		if count == 0 {
			count = 4
		}
		speeds = slices.Repeat([]float64{1}, count)
	case f.Workstations != 0 && f.Workstations != len(speeds):
		return nil, arguments.Refuse("--speeds=%s: %d speeds for %d workstations", f.Speeds, len(speeds), f.Workstations)
	}
	if !(f.CPU > 0 && f.CPU <= 1) {
		return nil, arguments.Refuse("--cpu=%g: a share above 0 up to 1 is accepted", f.CPU)
	}
	p := &plan{
		config: cluster.Config{
			Period: f.Period, Slice: f.Slice, Unlimited: f.Unlimited, Pin: f.Pin, Master: f.Master == "dedicated", Network: f.Network,
		},
		job:    cluster.Job{Command: f.Command, LoadProgram: f.LoadProgram, Stdout: stdout, Stderr: stderr},
		rounds: f.Compare, reference: f.CPU, json: f.JSON, stdout: stdout, stderr: stderr,
	}
	for _, s := range speeds {
		p.config.CPU = append(p.config.CPU, s*f.CPU)
	}
	if f.Bandwidth != "" {
		if p.config.Bandwidth, err = parseBandwidth(f.Bandwidth); err != nil {
			return nil, err
		}
	}
	for _, script := range f.Load {
		l, err := cluster.ParseLoad(script)
		if err != nil {
			return nil, err
		}
		if l.Workstation >= len(speeds) {
			return nil, arguments.Refuse("load %q: there is no workstation %d: 0 to %d are accepted", script, l.Workstation, len(speeds)-1)
		}
		p.job.Loads = append(p.job.Loads, l)
	}
	if f.JSON {
		p.job.Stdout = stderr
	}
	if f.Compare < 0 {
		return nil, arguments.Refuse("--compare=%d: a number of rounds from 1 on is accepted", f.Compare)
	}
	if f.Compare > 0 {
		p.job.Stdout = nil // many runs; the figures are what counts
		if err := measure.CheckCommand(f.Command); err != nil {
			return nil, arguments.Refuse("%v", err)
		}
	}
	switch f.Sequential {
	case "":
		p.measure = f.Compare > 0
	case "measure":
		p.measure = true
	case "none":
	default:
		p.sequential, err = strconv.ParseFloat(strings.TrimSuffix(f.Sequential, "s"), 64)
		if err != nil || !(p.sequential > 0 && p.sequential < 1e9) {
			return nil, arguments.Refuse("--sequential=%s: seconds above 0, measure or none are accepted", f.Sequential)
		}
	}
	return p, nil
}

// parseSpeeds parses 1:2:4; no text is no speeds.
func parseSpeeds(text string) ([]float64, error) {
	if text == "" {
		return nil, nil
	}
	var speeds []float64
	for _, part := range strings.Split(text, ":") {
		s, err := strconv.ParseFloat(part, 64)
		if err != nil || !(s > 0 && s < 1e6) {
			return nil, arguments.Refuse("--speeds=%s: %q is not a speed: numbers above 0, such as 1:2:4, are accepted",
				text, part)
		}
		speeds = append(speeds, s)
	}
	return speeds, nil
}

// parseBandwidth parses what tc accepts as a rate in bits, into bit/s.
func parseBandwidth(text string) (float64, error) {
	number, unit := strings.TrimSuffix(text, "bit"), 1.0
	if number != text && number != "" {
		switch number[len(number)-1] {
		case 'k':
			unit = 1e3
		case 'm':
			unit = 1e6
		case 'g':
			unit = 1e9
		}
		if unit > 1 {
			number = number[:len(number)-1]
		}
		if x, err := strconv.ParseFloat(number, 64); err == nil && x > 0 && x < 1e12 {
			return x * unit, nil
		}
	}
	return 0, arguments.Refuse("--bandwidth=%s: a rate such as 10mbit, 1gbit or 500kbit is accepted", text)
}

// run does what was planned; it returns the exit code.
func (p *plan) run(ctx context.Context) (code int, err error) {
	// The cluster first: what it refuses is refused before anything runs for long.
	c, err := cluster.New(p.config)
	if err != nil {
		return 0, err
	}
	defer func() {
		if failure := c.Close(); failure != nil {
			err = errors.Join(err, &leftBehind{failure})
		}
	}()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s := measure.Setting{Cluster: c, Reference: p.reference, Job: p.job, Sequential: p.sequential}
	if p.measure {
		alone := p.job
		alone.Stdout = nil
		if s.Sequential, err = measure.Sequential(ctx, p.config, p.reference, alone); err != nil {
			return 0, fmt.Errorf("measuring the sequential time: %w", err)
		}
	}
	var report report
	if p.rounds > 0 {
		progress := p.stdout
		if p.json {
			progress = p.stderr
		}
		comparison, err := measure.Compare(ctx, s, p.rounds, progress)
		if err != nil {
			return 0, err
		}
		report = reportComparison(s, comparison)
	} else {
		s.Job.Command = measure.WithMaster(p.config, s.Job.Command)
		result, err := c.Run(ctx, s.Job)
		if err != nil {
			return 0, err
		}
		report, code = reportRun(s, result), result.Code
	}
	if p.json {
		return code, report.writeJSON(p.stdout)
	}
	return code, report.writeLines(p.stdout)
}
