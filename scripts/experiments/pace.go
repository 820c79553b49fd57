package main

import (
	"context"
	"fmt"
	"math"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	host "shiftwork/internal/machine"
	"shiftwork/internal/mpirun"
)

// A virtual machine has its processors to itself as far as it can see, and yet a neighbour on the same core takes the caches and the vector
// units from it for a minute or two: runs take up to half as long again, and no counter tells. What does is the time of a
// piece of the same computing on each processor, beside each run: with --patience runs whose neighbours were busy are done again.

const (
	// paceSize and paceSweeps are the piece: it lives in the second-level cache, as the programs' tiles do, and takes a tenth of a second.
	paceSize, paceSweeps = 1000, 300
	// disturbed is from how many times the shortest of these times on a processor has other work: without any they differ by a tenth, beside some they are 1.3 or more.
	disturbed = 1.2
	// pause is how long to wait until the next look, beside other work.
	pause = 3 * time.Second
	// firstLooks are taken before anything is measured: without a short time nothing looks disturbed.
	firstLooks = 10
)

// pace tells how fast the processors are beside what others do on their host.
type pace struct {
	program  string        // sor
	patience time.Duration // what is left of the time to wait for quiet, and to do runs again
	least    float64       // s, the shortest time so far of any processor
}

// newPace looks for the first times. It needs sor.
func newPace(ctx context.Context, program string, patience time.Duration) (*pace, error) {
	p := &pace{program: program, patience: patience}
	for range firstLooks {
		if _, err := p.look(ctx); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// look is how many times as long as the shortest time so far the slowest processor takes.
func (p *pace) look(ctx context.Context) (float64, error) {
	cpus, err := host.CPUs()
	if err != nil {
		return 0, err
	}
	times := make([]float64, len(cpus))
	all, ctx := errgroup.WithContext(ctx)
	for i, cpu := range cpus {
		all.Go(func() (err error) {
			times[i], err = p.time(ctx, cpu)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return 0, err
	}
	longest := 0.0
	for _, t := range times {
		longest = max(longest, t)
		if p.least == 0 || t < p.least {
			p.least = t
		}
	}
	return longest / p.least, nil
}

// time is how long the piece takes on one processor, in s.
func (p *pace) time(ctx context.Context, cpu int) (float64, error) {
	command := exec.CommandContext(ctx, "taskset", "-c", strconv.Itoa(cpu), p.program, "--n", strconv.Itoa(paceSize), "--iterations", strconv.Itoa(paceSweeps),
		"--ranks", "1", "--balance", "off", "--quiet")
	out, err := command.Output()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", strings.Join(command.Args, " "), err)
	}
	if t, err := strconv.ParseFloat(mpirun.Fields(string(out))["time_s"], 64); err == nil && t > 0 {
		return t, nil
	}
	return 0, fmt.Errorf("%s: no result line with a time_s above 0", strings.Join(command.Args, " "))
}

// calm waits until no processor has other work, as far as patience goes, and returns the last look; 0 if nobody looks.
func (s *session) calm(ctx context.Context) (float64, error) {
	if s.pace == nil {
		return 0, nil
	}
	for looks := 0; ; looks++ {
		slowest, err := s.pace.look(ctx)
		if err != nil || slowest < disturbed || s.pace.patience <= 0 {
			return slowest, err
		}
		if looks == 0 {
			s.say("other work on the host, a processor takes %.2f times as long as it might: waiting, %.0f min more at most", slowest, math.Ceil(s.pace.patience.Minutes()))
		}
		s.pace.patience -= pause
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// undisturbed runs once, and again as long as others on the host disturb it and patience lasts. It returns how long the run that it keeps has taken.
func (s *session) undisturbed(ctx context.Context, c cell, v variant, round int, z size) (run, time.Duration, error) {
	for {
		before, err := s.calm(ctx)
		if err != nil {
			return run{}, 0, err
		}
		began := time.Now()
		r, err := s.try(ctx, c, v, round, z)
		if err != nil && ctx.Err() == nil {
			r, err = s.try(ctx, c, v, round, z) // once more: a machine that others use has its moments
		}
		took := time.Since(began)
		if err != nil || s.pace == nil {
			return r, took, err
		}
		after, err := s.pace.look(ctx)
		if err != nil {
			return run{}, 0, err
		}
		slowest := max(before, after)
		kept := slowest < disturbed || s.pace.patience <= 0
		err = s.store.addPace(beside{c.part, c.name, v.name, round, r.Time, slowest, kept})
		if kept || err != nil {
			return r, took, err
		}
		s.say("%s %s %s, round %d: %.3f s, but a processor took %.2f times as long as it might: once more", c.part, c.name, v.name, round+1, r.Time, slowest)
		s.pace.patience -= took
	}
}

// besides counts the runs beside which somebody looked, of the data: all, those that were done again, and those that were kept although others disturbed them.
func (s *store) besides() (all, again, kept int) {
	for _, b := range s.paces {
		if _, there := s.runs[key{b.Part, b.Cell, b.Variant, b.Round}]; !there {
			continue
		}
		all++
		switch {
		case !b.Kept:
			again++
		case b.Slowest >= disturbed:
			kept++
		}
	}
	return all, again, kept
}
