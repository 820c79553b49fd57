package hooks_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"shiftwork/comm/sim"
	"shiftwork/dist"
	"shiftwork/hooks"
	"shiftwork/internal/faulttest"
	"shiftwork/lb"
)

// inStep is a loop whose ranks execute the hook equally often.
func inStep(m mechanism, adjacent bool) faulttest.Program {
	const steps = 3
	return faulttest.Program{Name: fmt.Sprintf("hooks,%v,adjacent=%v", m, adjacent), Start: func(ranks int) (func(c *sim.Comm) error, func(t *testing.T)) {
		span := dist.Span(3, 3+2*ranks)
		l := newLedger(span, steps)
		var rep *hooks.Report
		rank := func(c *sim.Comm) error {
			r, err := phases(c, hooks.Loop{Iterations: span, Adjacent: adjacent}, m.config(), newRows(span), l, steps)
			if c.Rank() == 0 {
				rep = r
			}
			return err
		}
		return rank, func(t *testing.T) {
			l.requireOnce(t)
			requireSums(t, rep, ranks, span.Len(), float64(steps*span.Len()))
		}
	}}
}

// apart is a loop whose ranks never wait for each other.
func apart(m mechanism, pieces int) faulttest.Program {
	const repeat = 1
	return faulttest.Program{Name: fmt.Sprintf("free,%v,%d pieces", m, pieces), Start: func(ranks int) (func(c *sim.Comm) error, func(t *testing.T)) {
		span := dist.Span(5, 5+4*ranks)
		l := newLedger(span, repeat*pieces)
		var rep *hooks.Report
		rank := func(c *sim.Comm) error {
			r, err := once(c, hooks.FreeLoop{Iterations: span, Repeat: repeat, Pieces: pieces}, m.config(), l, 0.01)
			if c.Rank() == 0 {
				rep = r
			}
			return err
		}
		return rank, func(t *testing.T) {
			l.requireOnce(t)
			requireSums(t, rep, ranks, span.Len(), float64(repeat*span.Len()))
		}
	}}
}

// protocols are small runs of both run times, with all that they do: the agreements at the start, interactions, moves of work, and the
// report at the end. Work moves at each interaction.
func protocols(ranks int) []faulttest.Program {
	pipelined, synchronous := mechanism{lb.Rotate, lb.Pipelined, false}, mechanism{lb.Random, lb.Synchronous, false}
	dedicated := mechanism{lb.Random, lb.Pipelined, ranks > 2}
	return []faulttest.Program{
		inStep(pipelined, true), inStep(synchronous, true), inStep(dedicated, false), apart(dedicated, 1), apart(synchronous, 3),
	}
}

// Two and three ranks: each fault at each message and each operation in turn.
func TestEachFaultAtEachPoint(t *testing.T) {
	network := 0
	for ranks := 2; ranks <= 3; ranks++ {
		for _, p := range protocols(ranks) {
			network++
			t.Run(fmt.Sprintf("%d ranks,%s,network %d", ranks, p.Name, network%len(networks)), func(t *testing.T) {
				faulttest.Each(t, machine(network, ranks), p, 0)
			})
		}
	}
}

// Eight ranks: random points, and random delays of all messages at once.
func TestSomeFaultsOfEightRanks(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 7))
	for i, p := range protocols(8) {
		t.Run(p.Name, func(t *testing.T) { faulttest.Sample(t, machine(i, 8), p, 40, random) })
	}
}
