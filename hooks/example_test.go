package hooks_test

import (
	"fmt"

	"shiftwork/comm"
	"shiftwork/comm/local"
	"shiftwork/dist"
	"shiftwork/hooks"
	"shiftwork/lb"
	"shiftwork/loops"
)

// decay halves values until the largest is below a bound: a loop of the program's own, with its own communication.
func decay(c comm.Comm) error {
	const n, width = 1000, 64
	values := loops.NewMatrix(n, width) // any hooks.Array will do
	h, err := hooks.New(c, hooks.Loop{Iterations: dist.Span(0, n), Arrays: []hooks.Array{values}}, lb.Auto())
	if err != nil {
		return err
	}
	for _, own := range h.Ranges() {
		for i := range values.Rows(own) {
			values.Rows(own)[i] = 1
		}
	}
	for step, largest := 1, 1.0; largest > 1e-3; step++ {
		mine := 0.0
		h.Compute(func() { // timed: this is what rates are made of
			for _, own := range h.Ranges() {
				for i, v := range values.Rows(own) {
					values.Rows(own)[i] = v / 2
					mine = max(mine, v/2)
				}
			}
		})
		if largest, err = comm.AllreduceMax(c, mine); err != nil {
			return err
		}
		if _, err := h.Hook(); err != nil { // Ranges may differ from here on, and the data is there
			return err
		}
		if c.Rank() == 0 && largest <= 1e-3 {
			fmt.Println("done after", step, "steps")
		}
	}
	_, err = h.Finish()
	return err
}

func Example() {
	if err := local.Run(3, decay); err != nil {
		fmt.Println(err)
	}
	// Output: done after 10 steps
}
