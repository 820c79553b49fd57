// Command step6 is step 2 again, with its own loop and its own messages, balanced by the hook alone.
package main

import (
	"fmt"
	"os"

	"shiftwork/comm"
	"shiftwork/dist"
	"shiftwork/docs/tutorial/plate"
	"shiftwork/hooks"
	"shiftwork/loops"
	"shiftwork/spmd"
)

func main() {
	plate.Parse()
	spmd.Main(plate.Ranks, run)
}

// Tags of the messages between neighbours.
const (
	down = iota // to the next rank: the last row, as left by this sweep
	up          // to the rank before: the first row, as left by this sweep
)

func run(c comm.Comm) error {
	n, first, last := plate.N, c.Rank() == 0, c.Rank() == c.Size()-1
	weights, err := dist.NewWeights(dist.Span(1, n-1), plate.Costs())
	if err != nil {
		return err
	}
	u, lamps := loops.NewMatrix(n, n), loops.NewMatrix(n, n)
	for j := range n {
		plate.Start(j, u.Row(j))
		plate.Lamps(j, lamps.Row(j)) // on every rank, so it need not move
	}
	send := func(to, tag, j int) error { return c.Send(to, tag, comm.BytesOf(u.Row(j))) }
	recv := func(from, tag, j int) error {
		_, err := c.Recv(from, tag, comm.BytesOf(u.Row(j)))
		return err
	}

	below := false // a message with the row below this rank's rows is under way
	h, err := hooks.New(c, hooks.Loop{
		Iterations: dist.Span(1, n-1), Weights: weights, Arrays: []hooks.Array{u}, Adjacent: true, Phases: plate.Sweeps - 1,
		Before: func(have, want dist.Range) error { // rows are about to move
			if !below || have.Hi == want.Hi {
				return nil
			}
			below = want.Hi > have.Hi // whoever gives rows away has the one below the rest; else it comes again
			return recv(c.Rank()+1, up, have.Hi)
		},
	}, plate.Balance)
	if err != nil {
		return err
	}
	for sweep := range plate.Sweeps {
		own := h.Range()
		if !first {
			if err := recv(c.Rank()-1, down, own.Lo-1); err != nil {
				return err
			}
		}
		if below {
			if err := recv(c.Rank()+1, up, own.Hi); err != nil {
				return err
			}
		}
		again := sweep < plate.Sweeps-1
		relax := func(j int) { plate.Relax(j, u.Row(j-1), u.Row(j), u.Row(j+1), lamps.Row(j), 1, n-1) }
		h.Begin() // what is timed is computing, not waiting
		relax(own.Lo)
		h.EndPart(0)
		if !first && again {
			if err := send(c.Rank()-1, up, own.Lo); err != nil {
				return err
			}
		}
		h.Begin()
		for j := own.Lo + 1; j < own.Hi; j++ {
			relax(j)
		}
		h.End()
		if !last {
			if err := send(c.Rank()+1, down, own.Hi-1); err != nil {
				return err
			}
		}
		if !again {
			break
		}
		below = !last
		if _, err := h.Hook(); err != nil {
			return err
		}
		if now := h.Range(); now.Lo > own.Lo { // rows have gone to the rank before: it needs the one below them
			if err := send(c.Rank()-1, up, now.Lo); err != nil {
				return err
			}
		}
	}
	report, err := h.Finish()
	if err != nil {
		return err
	}
	if report != nil { // on rank 0
		fmt.Fprintf(os.Stderr, "%d rows moved in %d shifts\n", report.IterationsMoved, report.Shifts)
	}
	own := h.Range()
	return plate.Gather(c, own.Lo, own.Hi, u.Row)
}
