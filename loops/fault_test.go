package loops_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"shiftwork/comm"
	"shiftwork/comm/local"
	"shiftwork/comm/sim"
	"shiftwork/internal/faulttest"
	"shiftwork/lb"
	"shiftwork/loops"
)

// serialLoop is a loop that knows what it must come to: run compares what its rank owns in the end with that.
type serialLoop func(c comm.Comm) (*loops.Report, error)

// program makes a loop one that can be disturbed.
func program(name string, units func(ranks int) float64, loop func(ranks int) serialLoop) faulttest.Program {
	return faulttest.Program{Name: name, Start: func(ranks int) (func(c *sim.Comm) error, func(t *testing.T)) {
		run := loop(ranks)
		var rep *loops.Report
		rank := func(c *sim.Comm) error {
			r, err := run(c)
			if c.Rank() == 0 {
				rep = r
			}
			return err
		}
		return rank, func(t *testing.T) {
			require.NotNil(t, rep)
			requireSums(t, rep, units(ranks))
		}
	}}
}

// sweeps is a DOACROSS whose block size is given, or 0: chosen.
func sweeps(cfg lb.Config, block, outer int) faulttest.Program {
	nest := func(ranks int) relaxation {
		return relaxation{rows: 3 * ranks, cols: 7, arrays: 1, sweeps: outer, block: block}
	}
	return program(fmt.Sprintf("DOACROSS,%v,%v,block %d,dedicated=%v", cfg.Policy, cfg.Interaction, block, cfg.DedicatedMaster),
		func(ranks int) float64 { return float64(outer * nest(ranks).rows) },
		func(ranks int) serialLoop {
			x := nest(ranks)
			want := x.serial()
			return func(c comm.Comm) (*loops.Report, error) { return x.run(c, cfg, want) }
		})
}

// leaningSweeps is a DOACROSS whose blocks lean, with as many rows as that takes; where a rank becomes slow they may stand still.
func leaningSweeps(cfg lb.Config, outer int, leant *int) faulttest.Program {
	nest := func(ranks int) relaxation {
		return relaxation{rows: 33 * ranks, cols: 4, arrays: 1, sweeps: outer, block: 2, reach: 1}
	}
	return program(fmt.Sprintf("leaning,%v,%v", cfg.Policy, cfg.Interaction),
		func(ranks int) float64 { return float64(outer * nest(ranks).rows) },
		func(ranks int) serialLoop {
			x := nest(ranks)
			want := x.serial()
			return func(c comm.Comm) (*loops.Report, error) {
				u := x.matrices(loops.Initial(c, x.span(), cfg))
				j := newJitter(c)
				d := loops.DOACROSS{
					Outer: x.sweeps, Rows: x.span(), Strip: x.strip(), Block: x.block, Quantum: 0.004, Reach: x.reach, Arrays: []loops.Array{u[0]},
					Body: func(rows, strip loops.Range) {
						x.body(u, rows, strip)
						work(c, 1e-6*float64(rows.Len()*strip.Len())*j.factor())
					},
				}
				rep, err := d.Run(c, cfg)
				if err != nil {
					return nil, err
				}
				*leant = max(*leant, rep.Lean)
				for _, r := range rep.Own {
					if err := sameRows(u[0], want[0], r); err != nil {
						return nil, fmt.Errorf("rank %d: %w", c.Rank(), err)
					}
				}
				return rep, checkOwners(c, x.span(), rep.Own)
			}
		})
}

// repetitions is a DOALL.
func repetitions(cfg lb.Config, x stencil) faulttest.Program {
	of := func(ranks int) stencil {
		x.rows, x.cols = 3*ranks, 5
		return x
	}
	return program(fmt.Sprintf("DOALL,%v,%v,halo=%v,overlap=%v,stop %d", cfg.Policy, cfg.Interaction, x.halo, x.overlap, x.stop),
		func(ranks int) float64 { x := of(ranks); return float64(x.done() * x.rows) },
		func(ranks int) serialLoop {
			x := of(ranks)
			want := x.serial()
			return func(c comm.Comm) (*loops.Report, error) { return x.run(c, cfg, want) }
		})
}

// mostRuns of each DOACROSS are tried, unless -faults.all asks for all (package faulttest): its calibration takes thousands of messages.
const mostRuns = 250

// disturbed calls f for the loops that the tests disturb, with the number of runs. Work moves at each interaction.
func disturbed(ranks int, f func(p faulttest.Program, most int)) (leant int) {
	rotate := lb.Config{Policy: lb.Rotate, Period: 1e-9}
	random := lb.Config{Policy: lb.Random, Period: 1e-9, Seed: 3, Interaction: lb.Synchronous}
	dedicated := lb.Config{Policy: lb.Random, Period: 1e-9, Seed: 3, DedicatedMaster: ranks > 2}
	f(sweeps(rotate, 3, 3), mostRuns)
	f(sweeps(random, 3, 2), mostRuns)
	f(sweeps(dedicated, 0, 6), mostRuns)
	f(leaningSweeps(rotate, 12, &leant), mostRuns)
	f(repetitions(rotate, stencil{repeat: 3, halo: true, overlap: true}), 0)
	f(repetitions(random, stencil{repeat: 3, stop: 2}), 0)
	f(repetitions(dedicated, stencil{repeat: 2}), 0)
	return leant
}

// Two and three ranks: each fault at each message and each operation in turn; of DOACROSS loops many of them.
func TestEachFaultAtEachPoint(t *testing.T) {
	t.Parallel()
	network := 0
	for ranks := 2; ranks <= 3; ranks++ {
		leant := disturbed(ranks, func(p faulttest.Program, most int) {
			network++
			t.Run(fmt.Sprintf("%d ranks,%s,network %d", ranks, p.Name, network%len(networks)), func(t *testing.T) {
				faulttest.Each(t, machine(network, ranks), p, most)
			})
		})
		require.Positive(t, leant, "blocks did not lean")
	}
}

// Eight ranks: random points, and random delays of all messages at once.
func TestSomeFaultsOfEightRanks(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(4, 7))
	network := 0
	disturbed(8, func(p faulttest.Program, _ int) {
		network++
		t.Run(p.Name, func(t *testing.T) { faulttest.Sample(t, machine(network, 8), p, 20, random) })
	})
}

// On real goroutines a rank that ends without a word, at any of its strips, ends the run: no rank hangs, and the error names it.
func TestALostGoroutineEndsTheLoop(t *testing.T) {
	const ranks = 3
	for lost := range ranks {
		for at := range 8 {
			ended := [ranks]bool{}
			err := local.Run(ranks, func(c comm.Comm) error {
				defer func() { ended[c.Rank()] = true }()
				strips := 0
				d := sweepsOf(func(_, _ loops.Range) {
					if strips++; c.Rank() == lost && strips > at {
						runtime.Goexit()
					}
				})
				_, err := d.Run(c, lb.Config{Policy: lb.Random, Period: 1e-9})
				return err
			}, local.Rendezvous([]int{-1, 64, local.DefaultRendezvous}[at%3]))
			require.ErrorContains(t, err, fmt.Sprintf("rank %d: ", lost))
			require.Equal(t, [ranks]bool{true, true, true}, ended)
		}
	}
}
