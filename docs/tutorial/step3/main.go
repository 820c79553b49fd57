// Command step3 gives the loop to Shiftwork: it passes the boundary rows, and cuts the columns into strips.
package main

import (
	"shiftwork/comm"
	"shiftwork/docs/tutorial/plate"
	"shiftwork/lb"
	"shiftwork/loops"
	"shiftwork/spmd"
)

func main() {
	plate.Parse()
	spmd.Main(plate.Ranks, run)
}

func run(c comm.Comm) error {
	n := plate.N
	u, lamps := loops.NewMatrix(n, n), loops.NewMatrix(n, n)
	for j := range n {
		plate.Start(j, u.Row(j))
		plate.Lamps(j, lamps.Row(j))
	}
	sweep := loops.DOACROSS{
		Outer: plate.Sweeps, Rows: loops.Span(1, n-1), Strip: loops.Span(1, n-1),
		Arrays: []loops.Array{u},
		Body: func(rows, strip loops.Range) {
			for j := rows.Lo; j < rows.Hi; j++ {
				plate.Relax(j, u.Row(j-1), u.Row(j), u.Row(j+1), lamps.Row(j), strip.Lo, strip.Hi)
			}
		},
	}
	report, err := sweep.Run(c, lb.Config{Policy: lb.Off})
	if err != nil {
		return err
	}
	own := report.Own[0]
	return plate.Gather(c, own.Lo, own.Hi, u.Row)
}
