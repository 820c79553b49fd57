package loops

import (
	"fmt"
	"math"
	"time"

	"shiftwork/comm"
	"shiftwork/hooks"
	"shiftwork/pipeline"
)

// Barrier is what it cost that the ranks of a DOALL with Halo or After meet once a repetition: the exchange of boundary
// rows, as far as Body did not overlap it, and After. That is t_barrier of equation (12) (S&S 1997),
//
//	efficiency = n t_iteration / (P t_barrier + n t_iteration)
//
// in which n t_iteration is the computing of one repetition on all P ranks. The grain is a whole repetition: a DOALL
// allows no larger one.
type Barrier struct {
	// Smallest of all ranks and repetitions is a lower limit of t_barrier: who comes last finds the others' messages there.
	Smallest   float64 `json:"smallest_s"`
	Mean       float64 `json:"mean_s"`     // over ranks and repetitions, waiting for slower ranks included
	Bound      float64 `json:"bound"`      // the efficiency of equation (12) with Smallest: no balance reaches more
	Efficiency float64 `json:"efficiency"` // with Mean: what was reached, but for interactions and moving
}

// meetings times one rank's barriers.
type meetings struct {
	smallest, sum time.Duration
	n             int
}

func (m *meetings) add(took time.Duration) {
	if m.n == 0 || took < m.smallest {
		m.smallest = took
	}
	m.sum += took
	m.n++
}

// gather makes one Barrier of those of all ranks; all call it, rank 0 with the run time's report, and it gets the result.
// Ranks that have not computed do not count.
func (m *meetings) gather(c comm.Comm, rep *hooks.Report) (*Barrier, error) {
	var e comm.Encoder
	e.Float64(m.smallest.Seconds())
	e.Float64(m.sum.Seconds() / float64(max(1, m.n)))
	all, err := comm.Gather(c, 0, e.Message())
	if err != nil || c.Rank() != 0 {
		return nil, err
	}
	b := &Barrier{Smallest: math.Inf(1)}
	ranks, compute := 0, 0.0
	for r, message := range all {
		d := comm.NewDecoder(message)
		smallest, mean := d.Float64(), d.Float64()
		if err := d.Finish(); err != nil {
			return nil, fmt.Errorf("barrier report: %w", err)
		}
		if rep.Ranks[r].Units == 0 {
			continue
		}
		ranks++
		b.Smallest = min(b.Smallest, smallest)
		b.Mean += mean
		compute += rep.Ranks[r].Compute
	}
	if ranks == 0 {
		return &Barrier{}, nil
	}
	b.Mean /= float64(ranks)
	repetition := compute / float64(max(1, m.n))
	b.Bound = pipeline.BarrierEfficiency(b.Smallest, repetition, 1, ranks)
	b.Efficiency = pipeline.BarrierEfficiency(b.Mean, repetition, 1, ranks)
	return b, nil
}
