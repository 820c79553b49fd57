package summary

import (
	"fmt"
	"strconv"
	"strings"

	"shiftwork/hooks"
)

// A sentence is said of a load only if it would have cost this part of the time; what is less may be the scatter of rates.
const noticeable = 0.02

// Even says whether uneven shares would have cost so little that Gain.Removed means nothing. It needs a Gain.
func (s *Summary) Even() bool { return s.Gain.Would < noticeable*s.Elapsed }

// sentence says in plain words what balancing came to.
func (s *Summary) sentence(rep *hooks.Report) string {
	policy := rep.Settings.Balance
	slow := ""
	if s.Slowest >= 0 {
		slow = fmt.Sprintf("%s computed longest, %s more than the mean", s.where(s.Slowest), percent(part(s.Lost.Imbalance, s.MeanCompute)))
	}
	switch {
	case len(s.Ranks) < 2:
		return "There was one rank, and nothing to balance."
	case policy == "":
		return "An older version made the recording and did not say what balancing brought; " + slow + "."
	case policy == "off":
		return "Balancing was off, so nothing is known of what it would have brought; " + slow + "."
	case policy != "on":
		return fmt.Sprintf("Work moved for no reason, as the policy %s asks for: nothing can be said of what balancing brings.", policy)
	case s.Gain == nil:
		return "The ranks never talked to the balancer, so nothing is known of what it would have brought; " + slow + "."
	case s.Even():
		return fmt.Sprintf("The load was even: with the starting shares it would have cost %s of the time; balancing %s.",
			percent(part(s.Gain.Would, s.Elapsed)), s.moved())
	case s.Moved == 0:
		return fmt.Sprintf("Balancing moved nothing; %s cost %s s, by the rates that were measured.", s.load(), short(s.Gain.Did))
	case s.Gain.Did >= s.Gain.Would:
		return fmt.Sprintf("Balancing could not make up for %s: it would have cost %s s, and cost %s s; balancing %s.",
			s.load(), short(s.Gain.Would), short(s.Gain.Did), s.moved())
	}
	return fmt.Sprintf("Balancing removed %.0f%% of the time that %s would have cost (%s of %s s); it %s.",
		100*s.Gain.Removed, s.load(), short(s.Gain.Would-s.Gain.Did), short(s.Gain.Would), s.moved())
}

// load names the ranks that would have been slow: one that is to blame for most of it, or two, or none in particular.
func (s *Summary) load() string {
	first, second := -1, -1
	for r, b := range s.Gain.Slowed {
		switch {
		case first < 0 || b > s.Gain.Slowed[first]:
			first, second = r, first
		case second < 0 || b > s.Gain.Slowed[second]:
			second = r
		}
	}
	const most = 0.7
	switch {
	case s.Gain.Slowed[first] >= most:
		return "the load on " + s.where(first)
	case second >= 0 && s.Gain.Slowed[first]+s.Gain.Slowed[second] >= most:
		return fmt.Sprintf("the loads on %s and %s", s.where(first), s.where(second))
	}
	return "the loads on several ranks"
}

func (s *Summary) moved() string {
	if s.Moved == 0 {
		return "moved nothing"
	}
	if s.Moved > 1 {
		return fmt.Sprintf("moved each row %.1f times on average", s.Moved)
	}
	return fmt.Sprintf("moved %s of the rows", percent(s.Moved))
}

// parameters says what was chosen and why.
func parameters(rep *hooks.Report) []Parameter {
	t := rep.Settings
	if t.Balance == "" {
		return nil
	}
	all := []Parameter{{"balance", t.Balance, "as asked for"}}
	if t.Balance == "off" || rep.Interactions == 0 {
		return all
	}
	all = append(all,
		Parameter{"period", short(rep.Period) + " s", whyPeriod(rep)},
		Parameter{"threshold", percent(t.Threshold), whyThreshold(t)},
		Parameter{"filter", t.Filter, either(t.Filter == "auto", "remembers the levels between which rates move", "as asked for")},
		Parameter{"interaction", t.Interaction, either(t.Interaction == "pipelined", "nobody waits for the master", "as asked for: ranks wait for the master")},
		Parameter{"movement", t.Movement, either(t.Movement == "adjacent", "each rank keeps one block: work shifts between neighbours", "work moves between any two ranks")},
		Parameter{"cost-benefit", either(t.CostBenefit, "on", "off"), either(t.CostBenefit, "work moves only where that pays", "as asked for: work moves whatever it costs")},
	)
	if p := rep.Placement; p != nil {
		all = append(all, Parameter{"hook", strings.TrimSpace(p.Position + " " + p.Loop), p.Reason})
	}
	return all
}

func whyPeriod(rep *hooks.Report) string {
	switch rep.Settings.Limit {
	case "fixed":
		return "as asked for"
	case "interaction":
		return fmt.Sprintf("so that interactions take 5%% of the time at most; one took %s s at the start", short(rep.Interact))
	case "movement":
		return "so that movements, which took long, do not come too often"
	case "quantum":
		return fmt.Sprintf("ten times the scheduling quantum of %s s or more, so that a rate is right to 10%%", short(rep.Settings.Quantum))
	}
	return "the end of the loop was near"
}

func whyThreshold(t hooks.Settings) string {
	if !t.AutoFound {
		return "as asked for"
	}
	return "found from how much rates scatter; the imbalance from which on work moves"
}

func either(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

func percent(x float64) string { return strconv.FormatFloat(100*x, 'f', 1, 64) + "%" }

// short is a number with three digits that count, without an exponent where people need none.
func short(x float64) string {
	s := strconv.FormatFloat(x, 'g', 3, 64)
	if !strings.Contains(s, "e") {
		return s
	}
	if x >= 999 && x < 1e6 || x == 0 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return s
}
