package loops_test

import (
	"fmt"

	"shiftwork/comm"
	"shiftwork/comm/local"
	"shiftwork/lb"
	"shiftwork/loops"
)

// relaxPlate is Gauss-Seidel on a plate with one hot edge: what main passes to spmd.Main.
func relaxPlate(c comm.Comm) error {
	const n, sweeps = 200, 40
	u := loops.NewMatrix(n, n) // rows in blocks over the ranks; a row moves with its iteration
	for i := range n {
		u.Row(0)[i] = 100 // the hot edge; everything else starts cold
	}
	sweep := loops.DOACROSS{
		Outer: sweeps, Rows: loops.Span(1, n-1), Strip: loops.Span(1, n-1),
		Arrays: []loops.Array{u}, Reach: 1, // row[i-1], row[i+1]
		Body: func(rows, strip loops.Range) {
			for j := rows.Lo; j < rows.Hi; j++ {
				above, row, below := u.Row(j-1), u.Row(j), u.Row(j+1)
				for i := strip.Lo; i < strip.Hi; i++ {
					row[i] = 0.25 * (row[i-1] + above[i] + row[i+1] + below[i])
				}
			}
		},
	}
	report, err := sweep.Run(c, lb.Auto())
	if err == nil && c.Rank() == 0 { // the first rows stay with rank 0
		fmt.Printf("%d sweeps, %.6f degrees below the hot edge\n", report.Steps, u.Row(1)[n/2])
	}
	return err
}

func ExampleDOACROSS() {
	if err := local.Run(4, relaxPlate); err != nil {
		fmt.Println(err)
	}
	// Output: 40 sweeps, 87.433661 degrees below the hot edge
}
