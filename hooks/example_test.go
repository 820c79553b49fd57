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

// grow counts: a loop of the program's own, with its own communication.
func grow(c comm.Comm) error {
	const n, width, steps = 1000, 64, 10
	values := loops.NewMatrix(n, width) // any hooks.Array will do
	h, err := hooks.New(c, hooks.Loop{Iterations: dist.Span(0, n), Arrays: []hooks.Array{values}}, lb.Auto())
	if err != nil {
		return err
	}
	largest := 0.0
	for range steps {
		h.Compute(func() { // timed: this is what rates are made of
			for _, own := range h.Ranges() {
				for i := range values.Rows(own) {
					values.Rows(own)[i]++
					largest = max(largest, values.Rows(own)[i])
				}
			}
		})
		if largest, err = comm.AllreduceMax(c, largest); err != nil { // your own communication
			return err
		}
		if _, err := h.Hook(); err != nil { // Ranges may differ from here on, and the data is there
			return err
		}
	}
	if c.Rank() == 0 {
		fmt.Println("largest value", largest)
	}
	_, err = h.Finish()
	return err
}

func Example() {
	if err := local.Run(3, grow); err != nil {
		fmt.Println(err)
	}
	// Output: largest value 10
}
