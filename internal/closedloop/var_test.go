package closedloop
import ("testing";"shiftwork/lb";"fmt")
func sweep() {
	for _, p := range []int{2, 4, 8} {
		for _, dips := range []float64{0, .02} {
			line := fmt.Sprintf("   dear P=%d dips %.2f:", p, dips)
			for _, cyc := range []float64{4, 5, 6, 8, 10, 12, 16, 20, 30, 40, 60, 90, 120} {
				m := Model{Cycle: cyc, Ranks: p, Noise: .05, Dips: dips, MoveFixed: 2, MoveAll: 20, Period: 1, Duration: 40 * cyc}
				rel, mv := 0.0, 0.0
				for s := range 16 {
					r := m.Run(auto(p, lb.Config{Period: 1}), uint64(s))
					rel += r.None / r.Rate / 16
					mv += float64(r.Moves) / 16
				}
				line += fmt.Sprintf(" %.0f:%.3f(%.0f)", cyc, rel, mv)
			}
			fmt.Println(line)
		}
	}
	line := "   table: "
	for _, p := range []int{4,8,16} {
		for _, col := range []Model{{Cycle: 60}, {Cycle: 20}, {Cycle: 60, Dips: .02}, {Cycle: 20, Dips: .02}} {
			col.Ranks, col.Noise, col.MoveFixed, col.MoveAll, col.Period = p, .05, .2, 2, 1
			col.Duration = 40 * col.Cycle
			const seeds = 16
			m, mv := 0.0, 0.0
			for s := range seeds {
				r := col.Run(auto(p, lb.Config{Period:1}), uint64(s))
				m += r.Removed() / seeds
				mv += float64(r.Moves) / seeds / 40
			}
			line += fmt.Sprintf(" %6.2f (%4.1f)", m, mv)
		}
		line += " | "
	}
	fmt.Println(line)
}
func TestVar(t *testing.T) { sweep() }
func TestPeriod(t *testing.T) {
	for _, q := range []float64{.001,.004,.01,.02,.04,.1} {
		line := fmt.Sprint(q)
		for _, cyc := range []float64{60,20} {
			m := Model{Cycle: cyc, Ranks: 4, Noise: .05, MoveFixed: .2, MoveAll: 2, Duration: 40 * cyc}
			rem, mv := 0.0, 0.0
			for s := range 8 {
				b, _ := lb.New(lb.Config{}, lb.Loop{Ranks: 4, Movement: lb.Direct, Quantum: q})
				r := m.Run(b, uint64(s))
				rem += r.Removed() / 8
				mv += float64(r.Moves) / 8/40
			}
			line += fmt.Sprintf(" %.3f (%.1f)", rem, mv)
		}
		fmt.Println(line)
	}
}
