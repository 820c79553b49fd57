package main

import (
	"context"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	host "shiftwork/internal/machine"
	"shiftwork/internal/mpirun"
)

// A virtual machine has its processors to itself as far as it can see, and yet a neighbour on the same core takes the caches and the vector
// units from it for a minute or two: runs take up to half as long again, and no counter tells. What does is the time of a
// piece of the same computing on each processor, before and after each run: with --patience a round in which neighbours were busy is done again, all of it.

const (
	// paceSize and paceSweeps are the piece: it lives in the second-level cache, as the programs' tiles do, and takes a sixth of a second.
	paceSize, paceSweeps = 1000, 600
	// disturbed is from how many times what the piece takes beside nobody a processor has other work: without any the slower of two processors takes up to 1.17 times as long, beside
	// some 1.3 or more.
	disturbed = 1.25
	// quietest is the part of all looks that have been beside nobody, if anything has: the shortest of all would be shorter the longer an evaluation goes on, and ever more would be
	// taken for disturbed.
	quietest = 0.1
	// pause is how long to wait until the next look, beside other work.
	pause = 3 * time.Second
	// firstLooks are taken before anything is measured: without short times nothing looks disturbed.
	firstLooks = 10
)

// pace tells how fast the processors are beside what others do on their host.
type pace struct {
	program  string        // sor
	patience time.Duration // what is left of the time to wait for quiet, and to do runs again
	times    []float64     // s, of all looks at all processors, in ascending order
}

// newPace looks for the first times, beside those of the runs that are there. It needs sor.
func newPace(ctx context.Context, program string, patience time.Duration, known []beside) (*pace, error) {
	p := &pace{program: program, patience: patience}
	for _, b := range known {
		p.note(b.Before*b.Quiet, b.After*b.Quiet)
	}
	for range firstLooks {
		if _, err := p.look(ctx); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *pace) note(times ...float64) {
	for _, t := range times {
		at, _ := slices.BinarySearch(p.times, t)
		p.times = slices.Insert(p.times, at, t)
	}
}

// quiet is what the piece takes beside nobody, in s, as far as is known.
func (p *pace) quiet() float64 { return p.times[int(quietest*float64(len(p.times)))] }

// look is how many times as long as beside nobody the slowest processor takes.
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
	p.note(times...)
	return slices.Max(times) / p.quiet(), nil
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

// undisturbed runs variants of a round one after the other, and all of them again as long as others on the host disturb one and patience lasts. An error is not one of a run.
func (s *session) undisturbed(ctx context.Context, c cell, variants []variant, round int) ([]taken, error) {
	for {
		all, paces, err := s.turn(ctx, c, variants, round)
		if err != nil || s.pace == nil {
			return all, err
		}
		slowest := 0.0
		for _, b := range paces {
			slowest = max(slowest, b.Before, b.After)
		}
		kept := slowest < disturbed || s.pace.patience <= 0
		for _, b := range paces {
			b.Kept = kept
			if err := s.store.addPace(b); err != nil {
				return nil, err
			}
		}
		if kept {
			return all, nil
		}
		for _, t := range all {
			s.pace.patience -= t.took
		}
		s.say("%s %s, round %d: a processor took %.2f times as long as it might: once more", c.part, c.name, round+1, slowest)
	}
}

// turn runs variants of a round once, as far as the first that others have disturbed, and tells how fast the processors were before and after each.
func (s *session) turn(ctx context.Context, c cell, variants []variant, round int) (all []taken, paces []beside, err error) {
	z, err := s.size(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	before, err := s.calm(ctx)
	for _, v := range variants {
		if err != nil {
			return nil, nil, err
		}
		t := s.take(ctx, c, v, round, z)
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if all = append(all, t); s.pace == nil {
			continue
		}
		var after float64
		if after, err = s.pace.look(ctx); err != nil {
			return nil, nil, err
		}
		paces = append(paces, beside{c.part, c.name, v.name, round, t.run.Time, before, after, s.pace.quiet(), false})
		if after >= disturbed && s.pace.patience > 0 {
			break
		}
		before = after
	}
	return all, paces, err
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
		case max(b.Before, b.After) >= disturbed:
			kept++
		}
	}
	return all, again, kept
}
