package loops

import (
	"math"
	"time"

	"shiftwork/comm"
	"shiftwork/pipeline"
)

// measureShift measures t_fixed and t_incr of equation (8): the time to shift an empty message, and each further
// element, from one rank to the next (S&S 1997, section 4.2.4). A message travels along all ranks and back; the fastest
// of several rounds counts, so that a competing load does not. At most about 50 ms.
func measureShift(c comm.Comm) (pipeline.Costs, error) {
	const elements = 1024
	var costs pipeline.Costs
	if c.Size() == 1 {
		return costs, nil
	}
	empty, err := fastestRound(c, nil)
	if err != nil {
		return costs, err
	}
	full, err := fastestRound(c, make([]byte, 8*elements))
	if err != nil {
		return costs, err
	}
	hops := float64(2 * (c.Size() - 1))
	costs.Fixed = empty / hops
	costs.Incr = max(0, (full-empty)/hops/elements)
	return costs, nil
}

// fastestRound is the shortest time in seconds, of up to 20 within 20 ms, that b takes from rank 0 to the last rank and
// back; the same on every rank.
func fastestRound(c comm.Comm, b []byte) (float64, error) {
	last := c.Size() - 1
	shortest, began := math.Inf(1), c.Now()
	for range 20 {
		if c.Rank() > 0 {
			if _, err := c.Recv(c.Rank()-1, tagTime, b); err != nil {
				return 0, err
			}
		}
		start := c.Now()
		if c.Rank() < last {
			if err := c.Send(c.Rank()+1, tagTime, b); err != nil {
				return 0, err
			}
			if _, err := c.Recv(c.Rank()+1, tagTime, b); err != nil {
				return 0, err
			}
		}
		shortest = min(shortest, (c.Now() - start).Seconds())
		if c.Rank() > 0 {
			if err := c.Send(c.Rank()-1, tagTime, b); err != nil {
				return 0, err
			}
		}
		enough := []byte{0}
		if c.Now()-began > 20*time.Millisecond {
			enough[0] = 1
		}
		if err := comm.Bcast(c, 0, enough); err != nil {
			return 0, err
		}
		if enough[0] == 1 {
			break
		}
	}
	result := comm.BytesOf([]float64{shortest})
	err := comm.Bcast(c, 0, result)
	return comm.FloatsOf(result)[0], err
}
