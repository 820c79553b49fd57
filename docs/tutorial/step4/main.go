// Command step4 turns balancing on and says what moves, when and why.
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

// watch prints each decision that moves rows.
type watch struct{}

func (watch) Record(e hooks.Event) {
	if e.Decision != nil && e.Decision.Moved() {
		fmt.Fprintf(os.Stderr, "%6.2f s: rank r begins with row %v: %s\n", e.Time, e.Decision.To.Bounds, e.Decision.Reason)
	}
}

func run(c comm.Comm) error {
	n, inner := plate.N, loops.Span(1, plate.N-1)
	weights, err := dist.NewWeights(inner, plate.Costs()) // what rows cost: 1, or 7 where they are black
	if err != nil {
		return err
	}
	u, lamps := loops.NewMatrix(n, n), loops.NewMatrix(n, n)
	for j := range n {
		plate.Start(j, u.Row(j))
		plate.Lamps(j, lamps.Row(j))
	}
	sweep := loops.DOACROSS{
		Outer: plate.Sweeps, Rows: inner, Strip: inner, Weights: weights,
		Arrays: []loops.Array{u},
		Record: watch{}, // called on rank 0
		Body: func(rows, strip loops.Range) {
			for j := rows.Lo; j < rows.Hi; j++ {
				plate.Relax(j, u.Row(j-1), u.Row(j), u.Row(j+1), lamps.Row(j), strip.Lo, strip.Hi)
			}
		},
	}
	report, err := sweep.Run(c, plate.Balance)
	if err != nil {
		return err
	}
	if report.Report != nil { // rank 0 has what all ranks did
		for _, r := range report.Ranks {
			fmt.Fprintf(os.Stderr, "rank %d on %s: %d rows, computed %.3f s, waited %.3f s, moved %.3f s\n",
				r.Rank, r.Host, r.Iterations, r.Compute, r.Wait(), r.Move)
		}
	}
	own := report.Own[0]
	return plate.Gather(c, own.Lo, own.Hi, u.Row)
}
