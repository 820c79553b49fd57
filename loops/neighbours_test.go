package loops_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"shiftwork/comm/sim"
	"shiftwork/lb"
	"shiftwork/loops"
)

// neighbours is how fast two processors are, of which each has two ranks, where other users of the host take none, a quarter or 0.37 of one, for so many s on average.
func neighbours(seed uint64, stay float64) [][]sim.Step {
	var processors [2][]sim.Step
	for p := range processors {
		rnd := rand.New(rand.NewPCG(seed, uint64(p)))
		for at := 0.0; at < 60; at += stay * (0.01 + rnd.ExpFloat64()) {
			processors[p] = append(processors[p], sim.Step{From: at, Speed: []float64{1, 0.75, 0.63}[rnd.IntN(3)]})
		}
	}
	return [][]sim.Step{processors[0], processors[1], processors[0], processors[1]}
}

// besideNeighbours is the mean, over hosts, of the time with balancing over that without it.
func besideNeighbours(hosts uint64, stay float64, machine sim.Config, run func(machine sim.Config, cfg lb.Config) *loops.Report) (ratio, shifts float64) {
	off := lb.Config{Policy: lb.Off}
	still, moving := 0.0, 0.0
	for seed := range hosts {
		machine.Speed = neighbours(seed, stay)
		without, with := run(machine, off), run(machine, lb.Auto())
		still, moving, shifts = still+without.Time, moving+with.Time, shifts+float64(with.Shifts)
	}
	return moving / still, shifts / float64(hosts)
}

// Nobody has loads of his own, but the host has other users. What they do for a tenth of a second is over before work could answer it, and costs next to nothing; what lasts pays.
func TestOtherUsersOfTheHost(t *testing.T) {
	t.Parallel()
	machine := rationed(swinging{}.quotas(0.01, 0.002))
	sweeps := func(machine sim.Config, cfg lb.Config) *loops.Report { return sweeping(t, machine, 4000, 4000, cfg) }
	product := func(machine sim.Config, cfg lb.Config) *loops.Report { return rationedProduct(t, machine, cfg) }
	for _, x := range []struct {
		what       string
		run        func(machine sim.Config, cfg lb.Config) *loops.Report
		stay, most float64 // s, of the time without balancing
	}{
		{"sweeps", sweeps, 0.1, 1.02}, {"sweeps", sweeps, 1, 0.95},
		{"product", product, 0.1, 1.02}, {"product", product, 1, 0.95},
	} {
		ratio, shifts := besideNeighbours(8, x.stay, machine, x.run)
		t.Logf("%s beside neighbours that come for %g s: %.3f of the time, %.1f movements", x.what, x.stay, ratio, shifts)
		assert.Less(t, ratio, x.most, "%s, %g s", x.what, x.stay)
	}
}

// rationedProduct is one product of 3840 rows, which takes four ranks with 0.4 of a processor 2.5 s.
func rationedProduct(t *testing.T, machine sim.Config, cfg lb.Config) *loops.Report {
	const rows, pieces, rate = 3840, 8, 960 // rows/s
	return reportIn(t, machine, func(c *sim.Comm) (*loops.Report, error) {
		return loops.DOALL{
			Rows: loops.Span(0, rows), Arrays: []loops.Array{loops.NewMatrix(rows, 8)}, Quantum: 0.01, Pieces: pieces,
			Piece: productPiece(c, pieces, rate),
		}.Run(c, cfg)
	})
}

// Rows that take half a millisecond each to travel are no reason to lose time either, beside a load of 1 s in every 2 s and neighbours. 200 hosts have 1.001 and 1.001 of the time.
// They had 1.007 and 1.007 where what is left of the loop was reckoned by the phases beside the load alone, and 0.998 and 1.003 where only that had changed, and not yet the strips.
func TestDearMovesBesideNeighbours(t *testing.T) {
	t.Parallel()
	run := func(machine sim.Config, cfg lb.Config) *loops.Report { return sweeping(t, machine, 8000, 512, cfg) }
	machine := rationed(swinging{cycle: 2}.quotas(0.01, 0.002))
	machine.Alpha, machine.Beta = 5e-5, 1.25e-7
	for _, stay := range []float64{0.3, 1} {
		ratio, shifts := besideNeighbours(40, stay, machine, run)
		t.Logf("neighbours that come for %g s: %.3f of the time, %.1f movements", stay, ratio, shifts)
		assert.Less(t, ratio, 1.02, "%g s", stay)
	}
}
