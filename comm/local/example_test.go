package local_test

import (
	"fmt"

	"shiftwork/comm"
	"shiftwork/comm/local"
)

// Four goroutine ranks agree on the slowest of them.
func ExampleRun() {
	err := local.Run(4, func(c comm.Comm) error {
		slowest, err := comm.AllreduceMax(c, float64(10*c.Rank()))
		if c.Rank() == 0 {
			fmt.Println(slowest)
		}
		return err
	})
	fmt.Println(err)
	// Output:
	// 30
	// <nil>
}
