package hooks_test

import (
	"fmt"
	"math"

	"shiftwork/comm"
	"shiftwork/comm/local"
	"shiftwork/dist"
	"shiftwork/hooks"
	"shiftwork/lb"
	"shiftwork/loops"
	"shiftwork/placement"
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

// settle is a nest of two levels around the distributed loop. Where its hook belongs depends on what a substep costs.
func settle(c comm.Comm) error {
	const n, width, steps, substeps = 400, 256, 5, 12
	values := loops.NewMatrix(n, width)
	h, err := hooks.New(c, hooks.Loop{Iterations: dist.Span(0, n), Arrays: []hooks.Array{values}, Adjacent: true}, lb.Auto())
	if err != nil {
		return err
	}
	p, err := h.Place(placement.Nest{
		Levels:      []placement.Level{{Name: "step", Trips: steps}, {Name: "substep", Trips: substeps}, {Name: "row"}},
		Distributed: 2, Order: placement.Synchronous,
	})
	if err != nil {
		return err
	}
	for range steps {
		for range substeps {
			h.Compute(func() {
				for i, v := range values.Rows(h.Range()) {
					values.Rows(h.Range())[i] = (v + math.Sqrt(v+1)) / 2
				}
			})
			if err := comm.Barrier(c); err != nil { // your own communication
				return err
			}
			if _, err := p.End(1); err != nil { // of a substep: the hook, if it belongs here
				return err
			}
		}
		if _, err := p.End(0); err != nil { // of a step: the hook, if it belongs here
			return err
		}
	}
	report, err := h.Finish()
	if report != nil {
		at := report.Placement
		fmt.Printf("%s, after each %s: %v\n", at.Position, at.Loop, at.Share <= placement.MaxShare)
	}
	return err
}

func ExampleHooks_Place() {
	if err := local.Run(2, settle); err != nil {
		fmt.Println(err)
	}
	// Output: lbhook1, after each substep: true
}
