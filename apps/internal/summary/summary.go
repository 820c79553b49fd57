package summary

import (
	"fmt"

	"shiftwork/hooks"
)

// The definitions, as they are printed.
const (
	DefineParallel      = "load balance x communication efficiency"
	DefineBalance       = "mean compute / longest compute"
	DefineCommunication = "longest compute / elapsed"
	DefineLost          = "elapsed - mean compute = imbalance + waiting + moving + balancing"
	DefineImbalance     = "longest compute - mean compute"
	DefineOthers        = "of the rank that computed longest"
	DefineRemoved       = "1 - (compute - even + overhead) / (start - even)"
	DefineStart         = "computing with the starting shares, at the rates that were measured, where all wait for the slowest"
	DefineFreeStart     = "the longest computing of a rank of its starting share, at the rates that were measured"
	DefineEven          = "computing with perfect shares at these rates"
)

// Summary is what a run came to. The definitions are in the package's documentation.
type Summary struct {
	Elapsed        float64 `json:"elapsed_s"` // of the rank that took longest
	MeanCompute    float64 `json:"mean_compute_s"`
	LongestCompute float64 `json:"longest_compute_s"`

	Parallel      Measure `json:"parallel_efficiency"`
	Balance       Measure `json:"load_balance"`
	Communication Measure `json:"communication_efficiency"`

	Lost    Lost  `json:"lost"`
	Slowest int   `json:"slowest_rank"` // the one that computed longest
	Ranks   []Row `json:"ranks"`

	Moved      float64     `json:"moved"` // iterations that changed their owner, over all iterations; above 1 if they move again and again
	Gain       *Gain       `json:"gain,omitempty"`
	Sentence   string      `json:"sentence"`
	Parameters []Parameter `json:"parameters"`
	Hosts      []Host      `json:"hosts"`
	Build      hooks.Build `json:"build"`
}

// Measure is a number with its definition.
type Measure struct {
	Value      float64 `json:"value"`
	Definition string  `json:"definition"`
}

// Lost is where the time went that is elapsed and not computed on average, in s.
type Lost struct {
	Total     float64 `json:"total_s"`
	Imbalance float64 `json:"imbalance_s"`
	Waiting   float64 `json:"waiting_s"`
	Moving    float64 `json:"moving_s"`
	Balancing float64 `json:"balancing_s"`
}

// Row is one rank.
type Row struct {
	Rank     int     `json:"rank"`
	Host     string  `json:"host"`
	Owned    int     `json:"iterations"` // at the end
	Units    float64 `json:"units"`      // work done
	Share    float64 `json:"share"`      // of all work done
	RateMin  float64 `json:"rate_min"`
	Rate     float64 `json:"rate_mean"`
	RateMax  float64 `json:"rate_max"`
	Compute  float64 `json:"compute_s"`
	Wait     float64 `json:"wait_s"` // interactions included
	Move     float64 `json:"move_s"`
	Interact float64 `json:"interact_s"` // of Wait
}

// Gain is what balancing brought, with the formula.
type Gain struct {
	hooks.Gain
	Would      float64 `json:"would_have_cost_s"`
	Did        float64 `json:"did_cost_s"`
	Removed    float64 `json:"removed"`
	Definition string  `json:"definition"`

	StartDefinition string `json:"start_definition"`
	EvenDefinition  string `json:"even_definition"`
}

// Host is a machine and how many ranks ran there.
type Host struct {
	Name  string `json:"name"`
	Ranks int    `json:"ranks"`
}

// Parameter is a parameter of balancing: what it was in the end and why.
type Parameter struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Why   string `json:"why"`
}

// Of summarises a run. more are parameters that the hooks know nothing of.
func Of(rep *hooks.Report, more ...Parameter) *Summary {
	s := &Summary{Build: rep.Build, Slowest: -1}
	units := 0.0
	for _, r := range rep.Ranks {
		units += r.Units
	}
	for i, r := range rep.Ranks {
		row := Row{
			Rank: r.Rank, Host: r.Host, Owned: r.Iterations, Units: r.Units, RateMin: r.RateMin, Rate: r.Rate(), RateMax: r.RateMax,
			Compute: r.Compute, Wait: r.Wait(), Move: r.Move, Interact: r.Interact,
		}
		if row.RateMax == 0 { // without interactions there is one rate only
			row.RateMin, row.RateMax = row.Rate, row.Rate
		}
		row.RateMin, row.RateMax = min(row.RateMin, row.Rate), max(row.RateMax, row.Rate) // the mean has in it what is before the first interaction and after the last
		if units > 0 {
			row.Share = r.Units / units
		}
		s.Ranks = append(s.Ranks, row)
		s.Elapsed = max(s.Elapsed, r.Elapsed)
		s.MeanCompute += r.Compute / float64(len(rep.Ranks))
		if s.Slowest < 0 || r.Compute > s.LongestCompute {
			s.Slowest, s.LongestCompute = i, r.Compute
		}
		s.host(r.Host)
	}
	s.Balance = Measure{part(s.MeanCompute, s.LongestCompute), DefineBalance}
	s.Communication = Measure{part(s.LongestCompute, s.Elapsed), DefineCommunication}
	s.Parallel = Measure{part(s.MeanCompute, s.Elapsed), DefineParallel}
	s.lose()
	s.Moved = part(float64(rep.IterationsMoved), float64(rep.Iterations))
	s.Parameters = append(parameters(rep), more...)
	if g := rep.Gain; g != nil {
		s.Gain = &Gain{Gain: *g, Would: g.Would(), Did: g.Did(), Removed: g.Removed(), Definition: DefineRemoved,
			StartDefinition: either(g.Free, DefineFreeStart, DefineStart), EvenDefinition: DefineEven}
	}
	s.Sentence = s.sentence(rep)
	return s
}

// part is x/y, 0 where nothing was there to divide.
func part(x, y float64) float64 {
	if !(y > 0) {
		return 0
	}
	return x / y
}

func (s *Summary) host(name string) {
	for i := range s.Hosts {
		if s.Hosts[i].Name == name {
			s.Hosts[i].Ranks++
			return
		}
	}
	s.Hosts = append(s.Hosts, Host{name, 1})
}

func (s *Summary) lose() {
	if s.Slowest < 0 {
		return
	}
	slow := s.Ranks[s.Slowest]
	rest := max(0, s.Elapsed-s.LongestCompute)
	s.Lost = Lost{
		Total: max(0, s.Elapsed-s.MeanCompute), Imbalance: max(0, s.LongestCompute-s.MeanCompute),
		Moving: min(rest, slow.Move),
	}
	s.Lost.Balancing = min(rest-s.Lost.Moving, slow.Interact)
	s.Lost.Waiting = rest - s.Lost.Moving - s.Lost.Balancing
}

// where names a rank and, if that tells more, its host.
func (s *Summary) where(rank int) string {
	if len(s.Hosts) < 2 {
		return fmt.Sprintf("rank %d", rank)
	}
	return fmt.Sprintf("rank %d on %s", rank, s.Ranks[rank].Host)
}
