package hooks

import (
	"fmt"

	"shiftwork/comm"
)

// Report is what a loop's run came to. Seconds are wall-clock.
type Report struct {
	Interactions    int          `json:"interactions"`     // with the master
	Shifts          int          `json:"shifts"`           // instructions that moved work, with the last one, which nobody obeys if interactions are pipelined
	IterationsMoved int          `json:"iterations_moved"` // each time that an iteration changed its owner
	Move            float64      `json:"move_s"`           // the longest that a rank spent moving
	MasterBusy      float64      `json:"master_cpu_s"`     // the master: receiving, deciding, sending
	Interact        float64      `json:"interact_s"`       // one interaction, measured at start
	Period          float64      `json:"period_s"`         // the last target period; 0: no interaction
	Ranks           []RankReport `json:"ranks"`
	Placement       *Placement   `json:"placement,omitempty"` // of the hook; nil: the program placed it (a free loop: rank 0's, on average)
}

// RankReport is one rank's part.
type RankReport struct {
	Rank       int     `json:"rank"`
	Iterations int     `json:"iterations"` // owned at the end (a single DOALL: done)
	Units      float64 `json:"units"`      // work units done
	Elapsed    float64 `json:"elapsed_s"`
	Compute    float64 `json:"compute_s"`
	Move       float64 `json:"move_s"`
	Taken      int     `json:"taken"` // iterations taken over from other ranks
}

// Wait is the time that was neither computing nor moving, in s.
func (r RankReport) Wait() float64 { return max(0, r.Elapsed-r.Compute-r.Move) }

// Rate is the work done per second of computing, in work units/s.
func (r RankReport) Rate() float64 {
	if r.Compute <= 0 {
		return 0
	}
	return r.Units / r.Compute
}

func gatherReport(c comm.Comm, own RankReport, interactions int, m *master, interact float64, place *Placement, record func(Event)) (*Report, error) {
	var e comm.Encoder
	e.Int(own.Rank)
	e.Int(own.Iterations)
	e.Float64(own.Units)
	e.Float64(own.Elapsed)
	e.Float64(own.Compute)
	e.Float64(own.Move)
	e.Int(own.Taken)
	all, err := comm.Gather(c, 0, e.Message())
	if err != nil || c.Rank() != 0 {
		return nil, err
	}
	rep := &Report{Interactions: interactions, Interact: interact, Placement: place}
	for _, b := range all {
		d := comm.NewDecoder(b)
		r := RankReport{Rank: d.Int(), Iterations: d.Int(), Units: d.Float64(), Elapsed: d.Float64(), Compute: d.Float64(), Move: d.Float64(), Taken: d.Int()}
		if err := d.Finish(); err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
		rep.Ranks = append(rep.Ranks, r)
		rep.IterationsMoved += r.Taken
		rep.Move = max(rep.Move, r.Move)
	}
	if m != nil {
		rep.Shifts, rep.MasterBusy, rep.Period = m.shifts, m.busy.Seconds(), m.period
	}
	record(Event{Kind: "end", Report: rep})
	return rep, nil
}
