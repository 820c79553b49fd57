package sim_test

import (
	"fmt"

	"shiftwork/comm/sim"
)

// A rank that slows down to a quarter after one second, and another that waits for its result.
func ExampleRun() {
	res, err := sim.Run(sim.Config{
		Ranks: 2,
		Alpha: 100e-6, // 100 µs per message
		Beta:  10e-9,  // 100 MB/s
		Speed: [][]sim.Step{{{From: 0, Speed: 1000}, {From: 1, Speed: 250}}},
	}, func(c *sim.Comm) error {
		result := make([]byte, 4000)
		if c.Rank() == 0 {
			c.Work(1500) // work units: 1000 in the first second, 500 in the next two
			return c.Send(1, 0, result)
		}
		_, err := c.Recv(0, 0, result)
		fmt.Println("rank 1 has the result at", c.Now())
		return err
	})
	fmt.Println("rank 1 waited", res.Ranks[1].Waited, err)
	// Output:
	// rank 1 has the result at 3.00014s
	// rank 1 waited 3.00014s <nil>
}

// Both ranks send a long message before they receive: correct only where messages are buffered.
func ExampleDeadlockError() {
	_, err := sim.Run(sim.Config{Ranks: 2}, func(c *sim.Comm) error {
		other := 1 - c.Rank()
		rows := make([]byte, 65536)
		if err := c.Send(other, 3, rows); err != nil {
			return err
		}
		_, err := c.Recv(other, 3, rows)
		return err
	})
	fmt.Println(err)
	// Output:
	// deadlock at 0s: rank 0 waits for rank 1 (send, tag 3, 65536 bytes: no receive posted); rank 1 waits for rank 0 (send, tag 3, 65536 bytes: no receive posted)
}
