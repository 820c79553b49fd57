package summary

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// mostRows of the table of ranks are printed for people who watch.
const mostRows = 64

// Write writes the summary as text that fits a terminal. Without all, the table has at most 64 ranks.
func (s *Summary) Write(w io.Writer, all bool) error {
	if len(s.Ranks) < 2 {
		return nil
	}
	p := &printer{w: w}
	s.table(p, all)
	p.line("parallel efficiency %s = load balance %s x communication efficiency %s", percent(s.Parallel.Value),
		percent(s.Balance.Value), percent(s.Communication.Value))
	p.line("  load balance: %s; communication efficiency: %s", DefineBalance, DefineCommunication)
	p.line("lost %.3f s of %.3f s: imbalance %.3f s, waiting %.3f s, moving %.3f s, balancing %.3f s", s.Lost.Total, s.Elapsed,
		s.Lost.Imbalance, s.Lost.Waiting, s.Lost.Moving, s.Lost.Balancing)
	p.line("  lost: %s", DefineLost)
	p.line("  imbalance: %s; the other three: %s", DefineImbalance, DefineOthers)
	slow := s.Ranks[s.Slowest]
	p.line("slowest: %s, computed %.3f s, %s more than the mean, for %s of the work", s.where(s.Slowest), slow.Compute,
		percent(part(s.Lost.Imbalance, s.MeanCompute)), percent(slow.Share))
	if g := s.Gain; g != nil {
		removed := "removed " + percent(g.Removed) + " = " + DefineRemoved
		if s.Even() {
			removed = "too little to say which part of it was removed"
		}
		p.line("estimate: uneven shares would have cost %.3f s and cost %.3f s; %s", g.Would, g.Did, removed)
		p.line("  start %.3f s: %s", g.Start, g.StartDefinition)
		p.line("  even %.3f s: %s; compute %.3f s, overhead %.3f s: as measured", g.Even, g.EvenDefinition, g.Compute, g.Overhead)
	}
	for i, q := range s.Parameters {
		head := ""
		if i == 0 {
			head = "parameters"
		}
		p.line("%-10s  %s %s: %s", head, q.Name, q.Value, q.Why)
	}
	p.line("%s", s.Ran())
	p.line("%s", s.Sentence)
	return p.err
}

func (s *Summary) table(p *printer, all bool) {
	t := tabwriter.NewWriter(p, 0, 0, 2, ' ', tabwriter.AlignRight)
	hosts := len(s.Hosts) > 1
	head := "rank\titerations\tshare of work\trate min\tmean\tmax 1/s\tcompute s\twait s\tmove s\t"
	if hosts {
		head += "  host"
	}
	p.to(t, head)
	for i, r := range s.Ranks {
		if i == mostRows && !all {
			break
		}
		line := fmt.Sprintf("%d\t%d\t%s\t%s\t%s\t%s\t%.3f\t%.3f\t%.3f\t", r.Rank, r.Owned, percent(r.Share),
			short(r.RateMin), short(r.Rate), short(r.RateMax), r.Compute, r.Wait, r.Move)
		if hosts {
			line += "  " + r.Host
		}
		p.to(t, line)
	}
	if p.err == nil {
		p.err = t.Flush()
	}
	if left := len(s.Ranks) - mostRows; left > 0 && !all {
		p.line("... and %d more ranks: --report has them all", left)
	}
}

// Ran is what ran where, in one line.
func (s *Summary) Ran() string {
	b := s.Build
	words := []string{"shiftwork " + b.Version}
	if b.Commit != "" {
		commit, changes, changed := strings.Cut(b.Commit, "+")
		if len(commit) > 12 {
			commit = commit[:12]
		}
		if changed {
			commit += "+" + changes
		}
		words = append(words, "commit "+commit)
	}
	transport := b.Transport
	if b.MPI != "" {
		transport = b.MPI
	}
	words = append(words, b.Go, transport, s.on())
	return strings.Join(words, ", ")
}

// on names the hosts, a few of them.
func (s *Summary) on() string {
	const most = 4
	var names []string
	for i, h := range s.Hosts {
		if i == most {
			names = append(names, fmt.Sprintf("%d more", len(s.Hosts)-most))
			break
		}
		names = append(names, fmt.Sprintf("%s (%d)", h.Name, h.Ranks))
	}
	noun := "host"
	if len(s.Hosts) > 1 {
		noun = "hosts"
	}
	return fmt.Sprintf("%d ranks on %d %s: %s", len(s.Ranks), len(s.Hosts), noun, strings.Join(names, ", "))
}

// printer writes lines and keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) Write(b []byte) (int, error) { return p.w.Write(b) }

func (p *printer) line(format string, args ...any) { p.to(p.w, fmt.Sprintf(format, args...)) }

func (p *printer) to(w io.Writer, line string) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(w, line)
	}
}
