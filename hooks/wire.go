package hooks

import (
	"fmt"

	"shiftwork/comm"
	"shiftwork/dist"
	"shiftwork/lb"
)

// Tags of the run time, just below those of the collectives. A program's own messages use smaller ones.
const (
	tagStatus      = comm.MaxUserTag - 1 - iota // rank to master
	tagInstruction                              // master to rank
	tagHeader                                   // what a direct transfer carries
	tagData                                     // the data of iterations
	tagCall                                     // master to rank: report now; where boundaries move one by one instructions, and the end, too
	tagBelow                                    // to the rank below: what it is offered, and where this rank is
	tagTrial                                    // measured before the loop
	// MaxTag is the largest tag that a program may use beside this package.
	MaxTag = comm.MaxUserTag - 10
)

// encodeCall makes the message that asks a rank to report for an interaction.
func encodeCall(interaction int) []byte {
	var e comm.Encoder
	e.Int(interaction)
	return e.Message()
}

func decodeCall(b []byte) (interaction int, err error) {
	d := comm.NewDecoder(b)
	interaction = d.Int()
	return interaction, d.Finish()
}

// instruction is what the master tells one rank at an interaction.
type instruction struct {
	interaction int
	nextHook    int             // phases until the next interaction
	period      float64         // s until the next interaction, for ranks that go by the clock
	final       bool            // nothing more will be decided
	sent        float64         // s, the master's clock
	own         dist.Range      // adjacent movement: the block from now on
	transfers   []dist.Transfer // direct movement: those of this rank
	weights     int             // version of the weights that it counts in
	profile     []float64       // these weights, where they are new: see lb.Decision
}

func (in *instruction) encode() []byte {
	var e comm.Encoder
	e.Int(in.interaction)
	e.Int(in.nextHook)
	e.Float64(in.period)
	e.Bool(in.final)
	e.Float64(in.sent)
	e.Int(in.own.Lo)
	e.Int(in.own.Hi)
	e.Int(len(in.transfers))
	for _, t := range in.transfers {
		e.Int(t.From)
		e.Int(t.To)
		e.Int(t.Iterations)
		e.Float64(t.Units)
	}
	e.Int(in.weights)
	e.Int(len(in.profile))
	for _, units := range in.profile {
		e.Float64(units)
	}
	return e.Message()
}

func decodeInstruction(b []byte) (*instruction, error) {
	d := comm.NewDecoder(b)
	in := &instruction{interaction: d.Int(), nextHook: d.Int(), period: d.Float64(), final: d.Bool(), sent: d.Float64()}
	in.own = dist.Range{Lo: d.Int(), Hi: d.Int()}
	for n := d.Int(); n > 0 && d.Err() == nil; n-- {
		in.transfers = append(in.transfers, dist.Transfer{From: d.Int(), To: d.Int(), Iterations: d.Int(), Units: d.Float64()})
	}
	in.weights = d.Int()
	for range d.Count(8) {
		in.profile = append(in.profile, d.Float64())
	}
	if err := d.Finish(); err != nil {
		return nil, fmt.Errorf("instruction from the master: %w", err)
	}
	return in, nil
}

// timingBytes is the length of an lb.Timing in a status.
const timingBytes = 24

func encodeStatus(s *lb.Status) []byte {
	var e comm.Encoder
	e.Int(s.Rank)
	e.Int(s.Interaction)
	e.Int(s.Obeyed)
	e.Float64(s.Units)
	e.Float64(s.Compute)
	e.Float64(s.Elapsed)
	e.Float64(s.Wait)
	e.Int(s.Phases)
	e.Int(s.PhasesLeft)
	e.Float64(s.Owned)
	e.Int(s.OwnedIterations)
	e.Int(s.Least)
	e.Float64(s.Slack)
	e.Float64(s.MoveTime)
	e.Int(s.MoveTransfers)
	e.Float64(s.MoveUnits)
	e.Float64(s.Transit)
	e.Float64(s.TransitUnits)
	e.Float64(s.Age)
	e.Float64(s.Interact)
	e.Int(s.Weights)
	e.Int(len(s.Timings))
	for _, t := range s.Timings {
		e.Int(t.Lo)
		e.Int(t.Hi)
		e.Float64(t.Seconds)
	}
	return e.Message()
}

func decodeStatus(b []byte) (lb.Status, error) {
	d := comm.NewDecoder(b)
	s := lb.Status{
		Rank: d.Int(), Interaction: d.Int(), Obeyed: d.Int(),
		Units: d.Float64(), Compute: d.Float64(), Elapsed: d.Float64(), Wait: d.Float64(),
		Phases: d.Int(), PhasesLeft: d.Int(),
		Owned: d.Float64(), OwnedIterations: d.Int(), Least: d.Int(), Slack: d.Float64(),
		MoveTime: d.Float64(), MoveTransfers: d.Int(), MoveUnits: d.Float64(), Transit: d.Float64(), TransitUnits: d.Float64(), Age: d.Float64(),
		Interact: d.Float64(), Weights: d.Int(),
	}
	for range d.Count(timingBytes) {
		s.Timings = append(s.Timings, lb.Timing{Lo: d.Int(), Hi: d.Int(), Seconds: d.Float64()})
	}
	if err := d.Finish(); err != nil {
		return s, fmt.Errorf("status: %w", err)
	}
	return s, nil
}

// part is a range of iterations that travels together, how often each of them has been done, and how many pieces of it since then.
type part struct {
	dist.Range
	repetition, piece int
}

// follows says whether p begins where q ends, and as much of both is done.
func (p part) follows(q part) bool {
	return p.Lo == q.Hi && p.repetition == q.repetition && p.piece == q.piece
}

func encodeParts(b []byte, parts []part) []byte {
	var e comm.Encoder
	e.Int(len(parts))
	for _, p := range parts {
		e.Int(p.Lo)
		e.Int(p.Hi)
		e.Int(p.repetition)
		e.Int(p.piece)
	}
	return append(b, e.Message()...)
}

func decodeParts(b []byte) ([]part, error) {
	d := comm.NewDecoder(b)
	var parts []part
	for n := d.Int(); n > 0 && d.Err() == nil; n-- {
		parts = append(parts, part{Range: dist.Range{Lo: d.Int(), Hi: d.Int()}, repetition: d.Int(), piece: d.Int()})
	}
	return parts, d.Finish()
}
