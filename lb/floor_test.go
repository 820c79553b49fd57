package lb

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/dist"
)

// streaming is a loop of four ranks whose sweeps stream, 100 units each, over a slow network.
func streaming() Loop {
	return Loop{Ranks: 4, Movement: Adjacent, OneByOne: true, MoveUnit: 0.4, Start: dist.Even(dist.Span(0, 400), 4, 0)}
}

// tell makes the statuses of one sweep of so many s, of which ranks compute for these parts and wait for the rest.
func tell(k int, sweep float64, computing ...float64) []Status {
	var out []Status
	for r, part := range computing {
		out = append(out, Status{Rank: r, Interaction: k, Obeyed: k - 1, Units: 100, Compute: part * sweep, Elapsed: sweep, Wait: (1 - part) * sweep,
			Phases: 1, PhasesLeft: -1, Owned: 100, OwnedIterations: 100})
	}
	return out
}

func TestTheFloorIsKnownWhereAlsoTheSlowestRankWaitsOrMessagesWereTimed(t *testing.T) {
	half, hardly := []float64{0.5, 0.25, 0.25, 0.25}, []float64{0.95, 0.48, 0.48, 0.48}
	times := func(n int, parts []float64) (all [][]Status) {
		for k := range n {
			all = append(all, tell(k, 2, parts...))
		}
		return all
	}
	quota := times(4, half)
	for _, s := range quota {
		s[0].Compute = 1.8 // s that a rank would need that never waits
	}
	silent := times(4, half)
	for _, s := range silent {
		s[3].Units, s[3].Compute = 0, 0
	}
	moving := times(3, half) // what comes behind the second one moves work
	moving[1][0].MoveTransfers, moving[1][0].MoveTime, moving[1][0].Elapsed = 1, 8, 10
	moving[2][0].Elapsed, moving[2][0].Wait = 7, 6
	apart := streaming()
	apart.OneByOne = false
	fast, unknown := streaming(), streaming()
	fast.MoveUnit, unknown.MoveUnit = 0.3, 0
	slow, two := streaming(), streaming()
	slow.MoveUnit = 1.5
	two.Ranks, two.Start = 2, dist.Even(dist.Span(0, 200), 2, 0)
	for name, c := range map[string]struct {
		loop     Loop
		statuses [][]Status
		seen     bool
		want     float64
	}{
		"half":                              {streaming(), times(1, half), false, 2},
		"half, always":                      {streaming(), times(9, half), false, 2},
		"hardly":                            {streaming(), times(9, hardly), false, 0.8},
		"half, two statuses behind a move":  {streaming(), times(2, half), true, 0},
		"half, three":                       {streaming(), times(3, half), true, 2},
		"a rank has come to compute":        {streaming(), append(times(3, half), tell(3, 2, hardly...)), true, 0.8},
		"once among many":                   {streaming(), append(times(9, hardly), times(1, half)...), true, 0.8},
		"half, but a quota stops who waits": {streaming(), quota, false, 0.8},
		"a rank tells nothing":              {streaming(), silent, false, 0},
		"what a movement took":              {streaming(), moving, false, 2},
		"half of the time, a fast network":  {fast, times(9, half), false, 0.6},
		"hardly, one way takes most of it":  {slow, times(9, hardly), false, 1.5},
		"hardly, one neighbour":             {two, times(9, hardly[:2]), false, 0.4},
		"half, it is not known how fast":    {unknown, times(9, half), false, 0},
		"ranks meet in each round":          {apart, times(9, half), false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := New(Config{Period: 2, NoThreshold: true, Policy: Off}, c.loop)
			require.NoError(t, err)
			for _, s := range c.statuses {
				b.Decide(s)
			}
			b.cost.seen = c.seen
			assert.InDelta(t, c.want, b.leastSweep(), 1e-9)
		})
	}
}

// A plan is worth what it makes a sweep shorter: nothing where messages take longer before and after, and otherwise what exceeds them.
func TestOnlyWhatExceedsTheFloorIsLost(t *testing.T) {
	b, err := New(Config{Period: 2}, streaming())
	require.NoError(t, err)
	b.Decide(tell(0, 2, 0.5, 0.25, 0.25, 0.25)) // 2 s a sweep; rates are 100 and 200 units/s
	even, rates := []float64{100, 100, 100, 100}, []float64{100, 200, 200, 200}
	o := Outlook{Rank: 0, Rate: 25}
	here, there := b.losses(even, rates, o)
	assert.Zero(t, here, "1 s of computing and 0.57 s: a sweep takes 2 s either way")
	assert.InDelta(t, 0.5, there, 1e-9, "4 s of computing; the best that is left is 2 s")
	b.floor = floor{}
	here, there = b.losses(even, rates, o)
	assert.InDelta(t, 1-4.0/7, here, 1e-9)
	assert.InDelta(t, 1-400.0/625/4, there, 1e-9)
}

// The first movement costs what its data takes, where that is known, but at least a period.
func TestTheDataOfAFirstMovementIsKnown(t *testing.T) {
	for _, c := range []struct{ moveUnit, direct, adjacent float64 }{{0, 1, 1}, {1e-3, 1, 1}, {0.1, 6, 10}} {
		for movement, want := range map[Movement]float64{Direct: c.direct, Adjacent: c.adjacent} { // rank 1 hands 40 units on
			loop := streaming()
			loop.OneByOne, loop.Movement, loop.MoveUnit = false, movement, c.moveUnit
			b, err := New(Config{Period: 1}, loop)
			require.NoError(t, err)
			from, to := []float64{100, 100, 100, 100}, []float64{40, 120, 120, 120}
			assert.InDelta(t, want, b.moveCost(from, to), 0.1, "%v, %g s a unit", movement, c.moveUnit)
			assert.Zero(t, b.moveCost(from, from))
			b.cost.learn(1, 60, 0.6)
			assert.Less(t, b.moveCost(from, to), 2.0, "what it took is known now")
		}
	}
	_, err := New(Config{}, Loop{Ranks: 2, Movement: Direct, MoveUnit: math.NaN()})
	require.ErrorContains(t, err, "moving a work unit takes NaN s")
}
