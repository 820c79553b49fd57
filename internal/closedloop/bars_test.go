package closedloop

import (
	"fmt"
	"math"
	"testing"

	"shiftwork/lb"
)

func auto(p int, c lb.Config) Decider {
	b, err := lb.New(c, lb.Loop{Ranks: p, Movement: lb.Direct})
	if err != nil {
		panic(err)
	}
	return b
}

func TestBars(t *testing.T) {
	for _, p := range []int{2, 4, 8, 16, 32} {
		line := fmt.Sprintf("P=%d", p)
		for _, cyc := range []float64{60, 20} {
			for _, cfg := range []lb.Config{{Period: 1}, {Period: 1, Filter: "state", Threshold: .1, NoCostBenefit: true}} {
				m := Model{Cycle: cyc, Ranks: p, Noise: .05, MoveFixed: .2, MoveAll: 2, Period: 1, Duration: 40 * cyc}
				rem, mv, or := 0.0, 0.0, 0.0
				for s := range 16 {
					r := m.Run(auto(p, cfg), uint64(s))
					rem += r.Removed() / 16
					mv += float64(r.Moves) / 16 / 40
					or += m.Run(&oracle{}, uint64(s)).Removed() / 16
				}
				line += fmt.Sprintf("  %.2f (%.1f) oracle %.2f", rem, mv, or)
			}
		}
		fmt.Println(line)
	}
	for _, x := range []Model{{Cycle: math.Inf(1)}, {Cycle: 0}} {
		x.Ranks, x.Noise, x.MoveFixed, x.MoveAll, x.Period, x.Duration = 4, .05, .2, 2, 1, 1000
		for s := range 10 {
			x.Duration = 10
			a := x.Run(auto(4, lb.Config{Period: 1}), uint64(s))
			x.Duration = 1000
			b := x.Run(auto(4, lb.Config{Period: 1}), uint64(s))
			fmt.Print(a.Moves, "+", b.Moves-a.Moves, " ")
		}
		fmt.Println()
	}
	for _, p := range []int{2, 4, 8} {
		for _, dips := range []float64{0, .02} {
			line := fmt.Sprintf("dear P=%d dips %.2f:", p, dips)
			for _, cyc := range []float64{4, 5, 6, 8, 10, 12, 16, 20, 30, 40, 60, 90, 120} {
				m := Model{Cycle: cyc, Ranks: p, Noise: .05, Dips: dips, MoveFixed: 2, MoveAll: 20, Period: 1, Duration: 40 * cyc}
				rel, worst, mv := 0.0, 0.0, 0.0
				for s := range 16 {
					r := m.Run(auto(p, lb.Config{Period: 1}), uint64(s))
					rel += r.None / r.Rate / 16
					worst = max(worst, r.None/r.Rate)
					mv += float64(r.Moves) / 16
				}
				line += fmt.Sprintf("  %.0f: %.3f %.3f (%.1f)", cyc, rel, worst, mv)
			}
			fmt.Println(line)
		}
	}
}
