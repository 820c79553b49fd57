package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// networks are those of Fig. 8's successor; the paper added artificial delays to one.
func networks(p place) []place { return []place{p, p.over(0), p.over(100e6)} }

// blocks are the starting points: the automatic block size in each case.
func blocks() (cells []cell) {
	auto := with(automatic, "--balance", "off")
	auto.report = true
	for _, ranks := range []int{2, 4} {
		for _, p := range networks(cores(ranks)) {
			works := []work{sor(500), sor(1000), sor(2000), {"sor", 200, 20000}}
			if ranks == 2 {
				works = works[1:2] // to stay within the hour
			}
			for _, w := range works {
				cells = append(cells, cell{
					name: fmt.Sprintf("%s-p%d-%s", w, ranks, p.net()), place: p, work: w, seconds: 0.35, rounds: 5, local: true,
					variants: []variant{auto},
				})
			}
		}
	}
	return cells
}

// automatic is the variant whose block size the program chooses, and whose predictions are kept.
const automatic = "auto"

// hopeless is how much longer than the best a single run takes with a block size that is not tried again.
const hopeless = 1.5

// near is how many steps from the automatic choice block sizes are tried one by one; farther ones are tried by two steps, and those in
// between where they may be best.
const near = 4

// blockSizes are the powers of the root of two from 1 to m-2, the columns that are strip mined, and that.
func blockSizes(m int) []int {
	var sizes []int
	for k := 0; ; k++ {
		b := int(math.Round(math.Pow(2, float64(k)/2)))
		if b >= m-2 {
			return append(sizes, m-2)
		}
		if len(sizes) == 0 || b > sizes[len(sizes)-1] {
			sizes = append(sizes, b)
		}
	}
}

// Of the two sizes that were best once, the better of three runs each is held against the automatic choice, in pairs of new runs, which are longer: the least of many times is
// low by chance, too. The worst of many cases is low by chance as well: pairs go on until their median is known (measurePairs).
const (
	finalists   = 2
	finals      = 3
	pairSeconds = 0.6
	paired      = "-pairs" // the part of these runs
)

// exploreBlocks measures, in each case, block sizes once, from the automatic choice both ways and no further than to those that are
// hopeless, and then finds out which is best and holds it against the automatic choice.
func exploreBlocks(ctx context.Context, s *session, p part) error {
	share := p.planned(s.scale) / float64(len(p.cells))
	return s.each(p, func(cell) float64 { return share }, func(c cell, until time.Time) error { return exploreCase(ctx, s, c, until) })
}

// timed is a single run with a block size.
type timed struct {
	block int
	time  float64
}

func shorter(a, b timed) int { return cmp.Compare(a.time, b.time) }

// between are the sizes that were not tried beside those that are finalists so far.
func between(sizes []int, tried []timed) (others []int) {
	best := slices.SortedFunc(slices.Values(tried), shorter)
	for _, b := range best[:min(finalists, len(best))] {
		at := slices.Index(sizes, b.block)
		for _, size := range sizes[max(0, at-1):min(at+2, len(sizes))] {
			known := slices.ContainsFunc(tried, func(t timed) bool { return t.block == size })
			if !known && !slices.Contains(others, size) {
				others = append(others, size)
			}
		}
	}
	return others
}

func exploreCase(ctx context.Context, s *session, c cell, pairsUntil time.Time) error {
	fixed := func(b int) variant { return with(strconv.Itoa(b), "--balance", "off", "--block", strconv.Itoa(b)) }
	auto, err := s.run(ctx, c, c.variants[0], 0)
	if err != nil && !errors.Is(err, errRun) {
		return err
	}
	var all []timed
	shortest := math.Inf(1)
	if auto.Time > 0 {
		shortest = auto.Time
	}
	try := func(b int) (float64, error) {
		r, err := s.run(ctx, c, fixed(b), 0)
		if errors.Is(err, errRun) {
			return math.Inf(1), nil
		}
		if err != nil {
			return 0, err
		}
		all = append(all, timed{b, r.Time})
		shortest = min(shortest, r.Time)
		return r.Time, nil
	}
	// Outwards from the automatic choice, each way until two in a row are hopeless: time against block size has one valley.
	sizes := blockSizes(c.work.m)
	from, _ := slices.BinarySearch(sizes, max(1, auto.Block))
	for _, step := range []int{1, -1} {
		bad := 0
		i := from
		if step < 0 {
			i--
		}
		for i >= 0 && i < len(sizes) && bad < 2 {
			t, err := try(sizes[i])
			if err != nil {
				return err
			}
			if t > hopeless*shortest {
				bad++
			} else {
				bad = 0
			}
			if i += step; i-from > near || from-i > near {
				i += step
			}
		}
	}
	for _, b := range between(sizes, all) {
		if _, err := try(b); err != nil {
			return err
		}
	}
	slices.SortFunc(all, shorter)
	c.variants = nil
	for _, t := range all[:min(finalists, len(all))] {
		c.variants = append(c.variants, fixed(t.block).times(finals))
	}
	if err := s.measure(ctx, c); err != nil || len(c.variants) == 0 {
		return err
	}
	best := slices.MinFunc(c.variants, func(a, b variant) int {
		return cmp.Compare(s.store.time(c.part, c.name, a.name).median, s.store.time(c.part, c.name, b.name).median)
	})
	c.part, c.seconds = c.part+paired, pairSeconds
	c.variants = []variant{with(automatic, "--balance", "off"), with(best.name, best.flags...)}
	return s.measurePairs(ctx, c, pairsUntil)
}
