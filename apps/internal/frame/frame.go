package frame

import (
	"errors"
	"fmt"
	"os"
	"time"

	"shiftwork/apps/internal/checksum"
	"shiftwork/apps/internal/cli"
	"shiftwork/apps/internal/result"
	"shiftwork/comm"
	"shiftwork/lb"
	"shiftwork/loops"
	"shiftwork/spmd"
)

// Main parses the arguments into flags, of which shared is a part, runs the program on every rank and ends the process.
func Main(name, description string, flags any, shared *cli.Shared, run func(c comm.Comm) error) {
	spmd.CatchStop(false) // before MPI starts, which takes a while: until then a warning would end a rank
	err := cli.Parse(name, description, os.Args[1:], flags)
	ranks := int(shared.Ranks)
	if err != nil {
		ranks = 1
	}
	spmd.Main(ranks, func(c comm.Comm) error {
		var help *cli.Help
		switch {
		case errors.As(err, &help):
			if c.Rank() == 0 {
				_, err := fmt.Print(help.Text)
				return err
			}
			return nil
		case err != nil:
			return &spmd.UsageError{Err: err}
		}
		return run(c)
	})
}

// Refused makes err, if any rank has one, the usage error of all ranks.
func Refused(c comm.Comm, err error) error {
	if err = comm.Agree(c, err); err != nil {
		return &spmd.UsageError{Err: err}
	}
	return nil
}

// Config is the balancer's configuration that the flags ask for, on so many ranks.
func Config(ranks int, s *cli.Shared) (lb.Config, error) {
	var faults []error
	cfg := lb.Auto()
	set := func(err error) {
		if err != nil {
			faults = append(faults, err)
		}
	}
	var err error
	cfg.Policy, err = lb.ParsePolicy(s.Balance)
	set(err)
	cfg.Interaction, err = lb.ParseInteraction(s.Interaction)
	set(err)
	cfg.Movement, err = lb.ParseMovement(s.Movement)
	set(err)
	cfg.Filter = s.Filter.String()
	cfg.Period = s.Period.Value.Seconds()
	cfg.Threshold = s.Threshold.Value
	cfg.NoThreshold = !s.Threshold.Auto && s.Threshold.Value == 0
	cfg.NoCostBenefit = s.CostBenefit == "off"
	cfg.DedicatedMaster = s.Master == "dedicated"
	if cfg.DedicatedMaster && ranks < 2 {
		set(cli.Refuse("master", s.Master, "shared on 1 rank: a dedicated master needs another that computes"))
	}
	set(cfg.Validate())
	return cfg, errors.Join(faults...)
}

// Rows are the global rows of a result that are on this rank: contiguous, one behind the other in Values.
type Rows struct {
	loops.Range
	Values []float64
}

// Checksum is the hash of all n rows of a result in index order, on rank 0. Every row must be on exactly one rank.
func Checksum(c comm.Comm, n int, own []Rows) (checksum.Sum, error) {
	var e comm.Encoder
	e.Int(len(own))
	for _, r := range own {
		e.Int(r.Lo)
		e.Int(r.Hi)
		width := width(r)
		for i := range r.Len() {
			e.Uint64(checksum.Row(r.Values[i*width : (i+1)*width]))
		}
	}
	all, err := comm.Gather(c, 0, e.Message())
	if err != nil || c.Rank() != 0 {
		return 0, err
	}
	sums, seen := make([]uint64, n), make([]bool, n)
	for rank, b := range all {
		d := comm.NewDecoder(b)
		for range d.Int() {
			for i, hi := d.Int(), d.Int(); i < hi && d.Err() == nil; i++ {
				if i < 0 || i >= n || seen[i] {
					return 0, fmt.Errorf("row %d of %d is on rank %d and on another", i, n, rank)
				}
				seen[i], sums[i] = true, d.Uint64()
			}
		}
		if err := d.Finish(); err != nil {
			return 0, err
		}
	}
	for i, ok := range seen {
		if !ok {
			return 0, fmt.Errorf("row %d of %d is on no rank", i, n)
		}
	}
	return checksum.Of(sums), nil
}

func width(r Rows) int {
	if r.Len() == 0 {
		return 0
	}
	return len(r.Values) / r.Len()
}

const tagVerify = 1

// Verify compares the rows of all ranks, bit for bit, with those that serial returns on rank 0, which is called while
// the others wait. The verdict is rank 0's.
func Verify(c comm.Comm, own []Rows, serial func() (func(row int) []float64, error)) (bool, error) {
	return VerifyRows(c, own, func() (func(int, []float64) bool, error) {
		row, err := serial()
		return func(i int, got []float64) bool { return equal(row(i), got) }, err
	})
}

// VerifyRows is Verify for results that are right in another sense: serial returns a function that judges a row, whose values
// are valid during the call.
func VerifyRows(c comm.Comm, own []Rows, serial func() (func(row int, got []float64) bool, error)) (bool, error) {
	if c.Rank() != 0 {
		for _, r := range own {
			head := comm.BytesOf([]float64{float64(r.Lo), float64(r.Hi)})
			if err := c.Send(0, tagVerify, head); err != nil {
				return false, err
			}
			width := width(r)
			for i := range r.Len() {
				if err := c.Send(0, tagVerify, comm.BytesOf(r.Values[i*width:(i+1)*width])); err != nil {
					return false, err
				}
			}
		}
		return false, c.Send(0, tagVerify, nil) // the end
	}
	right, err := serial()
	if err != nil {
		return false, err
	}
	same := true
	for _, r := range own {
		width := width(r)
		for i := range r.Len() {
			same = same && right(r.Lo+i, r.Values[i*width:(i+1)*width])
		}
	}
	var got []float64
	head := make([]float64, 2)
	for rank := 1; rank < c.Size(); rank++ {
		for {
			st, err := c.Recv(rank, tagVerify, comm.BytesOf(head))
			if err != nil {
				return false, err
			}
			if st.Len == 0 {
				break
			}
			for i := int(head[0]); i < int(head[1]); i++ {
				st, err := c.Probe(rank, tagVerify)
				if err != nil {
					return false, err
				}
				if 8*len(got) != st.Len {
					got = make([]float64, st.Len/8)
				}
				if _, err := c.Recv(rank, tagVerify, comm.BytesOf(got)); err != nil {
					return false, err
				}
				same = same && right(i, got)
			}
		}
	}
	return same, nil
}

// equal compares bits: NaN equals the same NaN, and 0 differs from -0.
func equal(a, b []float64) bool { return string(comm.BytesOf(a)) == string(comm.BytesOf(b)) }

// Line fills the parts of the result line that every program has from the loop's report.
func Line(app string, c comm.Comm, s *cli.Shared, rep *loops.Report) result.Line {
	l := result.Line{
		App: app, Ranks: c.Size(), Transport: c.Transport(), Balance: s.Balance, Block: rep.Block,
		Time: seconds(rep.Time), Calibrate: seconds(rep.Calibrate),
	}
	if r := rep.Report; r != nil {
		l.Period = seconds(r.Period)
		l.Interactions, l.Shifts, l.Moved = r.Interactions, r.Shifts, r.IterationsMoved
		l.MoveTime, l.MasterCPU = seconds(r.Move), seconds(r.MasterBusy)
	}
	return l
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Finish prints the summary and the result line on rank 0, writes the report that the flags ask for, and fails on
// every rank if the result was verified and is wrong, or something could not be written: unwritten, of done (Recorder), too.
func Finish(c comm.Comm, s *cli.Shared, l result.Line, rep *loops.Report, unwritten error) error {
	err := unwritten
	if c.Rank() == 0 {
		sum := summarise(rep)
		if s.Report != "" {
			err = errors.Join(err, flagged("report", writeReport(s.Report, l, rep, sum)))
		}
		if !s.Quiet {
			_ = printSummary(os.Stdout, sum, false) // the terminal may be gone; the result line will say so too
		}
		if _, lost := fmt.Println(l); lost != nil {
			err = errors.Join(err, fmt.Errorf("the result line is lost: %w", lost))
		}
		if l.Verified != nil && !*l.Verified {
			err = errors.Join(err, errors.New("the result differs from the serial run's"))
		}
	}
	return Agree(c, err)
}
