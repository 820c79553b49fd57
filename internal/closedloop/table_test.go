package closedloop

import (
	"fmt"
	"testing"

	"shiftwork/dist"
	"shiftwork/lb"
)

type oracle struct {
	owned []float64
	truth []float64
}

func (o *oracle) Truth(s []float64) { o.truth = s }
func (o *oracle) Decide(st []lb.Status) lb.Decision {
	if o.owned == nil {
		for _, s := range st {
			o.owned = append(o.owned, s.Owned)
		}
	}
	sum, total := 0.0, 0.0
	for r := range st {
		sum += o.truth[r]
		total += o.owned[r]
	}
	want := make([]float64, len(st))
	d := 0.0
	for r := range want {
		want[r] = total * o.truth[r] / sum
		d = max(d, want[r]-o.owned[r])
	}
	if d < 1 {
		return lb.Decision{}
	}
	tr := dist.Direct(o.owned, want)
	copy(o.owned, want)
	return lb.Decision{Transfers: tr}
}

func TestTable(t *testing.T) {
	mk := func(c lb.Config, p int) func() Decider {
		return func() Decider {
			b, err := lb.New(c, lb.Loop{Ranks: p, Movement: lb.Direct})
			if err != nil {
				panic(err)
			}
			return b
		}
	}
	p := 4
	for _, row := range []struct {
		name string
		mk   func() Decider
	}{
		{"oracle", func() Decider { return &oracle{} }},
		{"raw", mk(lb.Config{Filter: "raw", Threshold: .1, Period: 1}, p)},
		{"fixed:.5", mk(lb.Config{Filter: "fixed:0.5", Threshold: .1, Period: 1}, p)},
		{"state", mk(lb.Config{Filter: "state", Threshold: .1, Period: 1}, p)},
		{"step", mk(lb.Config{Filter: "step", Threshold: .1, Period: 1}, p)},
		{"raw nocb", mk(lb.Config{Filter: "raw", Threshold: .1, Period: 1, NoCostBenefit: true}, p)},
		{"fixed:.5 nocb", mk(lb.Config{Filter: "fixed:0.5", Threshold: .1, Period: 1, NoCostBenefit: true}, p)},
		{"state nocb", mk(lb.Config{Filter: "state", Threshold: .1, Period: 1, NoCostBenefit: true}, p)},
		{"auto", mk(lb.Config{Period: 1}, p)},
	} {
		line := fmt.Sprintf("%-14s", row.name)
		for _, col := range []Model{{Cycle: 60}, {Cycle: 20}, {Cycle: 60, Dips: .02}, {Cycle: 20, Dips: .02}} {
			col.Ranks, col.Noise, col.MoveFixed, col.MoveAll, col.Period = p, .05, .2, 2, 1
			col.Duration = 40 * col.Cycle
			const seeds = 16
			m, mv := 0.0, 0.0
			for s := range seeds {
				r := col.Run(row.mk(), uint64(s))
				m += r.Removed() / seeds
				mv += float64(r.Moves) / seeds / 40
			}
			line += fmt.Sprintf(" %6.2f (%4.1f)", m, mv)
		}
		fmt.Println(line)
	}
}
