// Command step2 divides the rows among ranks, which pass boundary rows to each other.
package main

import (
	"shiftwork/comm"
	"shiftwork/dist"
	"shiftwork/docs/tutorial/plate"
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
	own := dist.Even(dist.Span(1, n-1), c.Size(), 0).Range(c.Rank()) // this rank's rows
	u, lamps := make([][]float64, n), make([][]float64, n)
	for j := own.Lo - 1; j <= own.Hi; j++ { // and the rows next to them
		u[j], lamps[j] = make([]float64, n), make([]float64, n)
		plate.Start(j, u[j])
		plate.Lamps(j, lamps[j])
	}

	for sweep := range plate.Sweeps {
		if !first { // the row above, as left by this sweep
			if _, err := c.Recv(c.Rank()-1, down, comm.BytesOf(u[own.Lo-1])); err != nil {
				return err
			}
		}
		if !last && sweep > 0 { // the row below, as left by the sweep before
			if _, err := c.Recv(c.Rank()+1, up, comm.BytesOf(u[own.Hi])); err != nil {
				return err
			}
		}
		for j := own.Lo; j < own.Hi; j++ {
			plate.Relax(j, u[j-1], u[j], u[j+1], lamps[j], 1, n-1)
			if j == own.Lo && !first && sweep < plate.Sweeps-1 { // the rank before waits for this row
				if err := c.Send(c.Rank()-1, up, comm.BytesOf(u[j])); err != nil {
					return err
				}
			}
		}
		if !last {
			if err := c.Send(c.Rank()+1, down, comm.BytesOf(u[own.Hi-1])); err != nil {
				return err
			}
		}
	}
	return plate.Gather(c, own.Lo, own.Hi, func(j int) []float64 { return u[j] })
}
