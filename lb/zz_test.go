package lb

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestZZ(t *testing.T) {
	for _, ranks := range []int{2, 4, 16, 64} {
		bad := 0
		for seed := range uint64(100) {
			cfg, loop := secondPeriod(ranks)
			s := newSim(t, cfg, loop, 100*ranks)
			s.noise, s.rng = 0.05, rand.New(rand.NewPCG(seed, 77))
			s.speed = func(int, float64) float64 { return 100 }
			for range 1000 {
				if len(s.step().Transfers) > 0 {
					bad++
				}
			}
		}
		fmt.Println(ranks, "moves in 100 x 1000:", bad)
	}
	for _, P := range []int{4, 8, 16} {
		for _, cyc := range []float64{60, 20} {
			for _, cfg := range []Config{{Policy: Off}, {Threshold: .1, Filter: "raw"}, {Threshold: .1}, {Threshold:.1,NoCostBenefit:true}, {}, {Filter: "step"}, {Filter: "step", Threshold: .1}} {
				tot, moves := 0.0, 0
				for seed := range uint64(8) {
					cfg.Period = 1
					rng := rand.New(rand.NewPCG(seed, 5))
					phase := rng.Float64() * cyc
					n := 1000 * P
					s := newSim(t, cfg, Loop{Ranks: P, Movement: Adjacent}, n)
					s.noise, s.rng, s.moveFixed, s.moveAll = 0.05, rng, .2, 2
					s.speed = func(r int, t float64) float64 {
						x := (t + phase) / cyc
						x -= float64(int(x))
						if r == 0 && x > .5 {
							return 500
						}
						return 1000
					}
					// many short sweeps: 10 per period
					s.speed = func(f func(int, float64) float64) func(int, float64) float64 {
						return func(r int, t float64) float64 { return 10 * f(r, t) }
					}(s.speed)
					for s.t < 40*cyc {
						s.step()
					}
					tot += s.done / s.t / (10 * 1000 * (float64(P) - .25))
					moves += s.moves
				}
				none := float64(P)/(float64(P)-.25)*.75
				e := tot / 8
				fmt.Printf("P=%d cyc=%v %v/%v/%q nocb=%v eff %.3f moves/cycle %.1f removed %.2f\n", P, cyc, cfg.Policy, cfg.Threshold, cfg.Filter, cfg.NoCostBenefit, e, float64(moves)/8/40, (1/none-1/e)/(1/none-1))
			}
		}
	}
}
