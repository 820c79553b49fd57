package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"shiftwork/comm"
)

// Wait is what a blocked rank waits for. A rank in a WaitAny has several.
type Wait struct {
	Rank  int
	Op    string // "send", "receive" or "probe"
	Peer  int    // or comm.Any
	Tag   int
	Bytes int    // length of the message or of the receive's buffer
	Why   string // what is missing, in words
}

func (w Wait) String() string { return fmt.Sprintf("rank %d %s", w.Rank, w.what()) }

func (w Wait) what() string {
	length := ""
	if w.Op != "probe" {
		length = fmt.Sprintf(", %d bytes", w.Bytes)
	}
	return fmt.Sprintf("waits for %s (%s, tag %d%s: %s)", rankName(w.Peer), w.Op, w.Tag, length, w.Why)
}

// DeadlockError says that no rank can ever run again.
type DeadlockError struct {
	At    time.Duration // the latest clock of a blocked rank
	Waits []Wait        // of all blocked ranks, by rank
	Cycle []int         // ranks each of which waits for the next, the last for the first; nil if there is none
}

func (e *DeadlockError) Error() string {
	var cycle, others []string
	for _, r := range e.Cycle {
		for _, w := range e.Waits {
			if w.Rank == r {
				cycle = append(cycle, w.String())
			}
		}
	}
	for _, w := range e.Waits {
		if !slices.Contains(e.Cycle, w.Rank) {
			others = append(others, w.String())
		}
	}
	return fmt.Sprintf("deadlock at %v: %s", e.At, strings.Join(append(cycle, others...), "; "))
}

func (s *simulation) deadlock() *DeadlockError {
	e := &DeadlockError{}
	waitsFor := make([][]int, len(s.ranks)) // by rank, ascending
	for _, c := range s.ranks {
		if c.ended {
			continue
		}
		e.At = max(e.At, c.clock.duration())
		for _, w := range c.waits() {
			e.Waits = append(e.Waits, w)
			for r := range s.ranks {
				if w.Peer == r || w.Peer == comm.Any && r != c.rank {
					waitsFor[c.rank] = append(waitsFor[c.rank], r)
				}
			}
		}
		slices.Sort(waitsFor[c.rank])
	}
	e.Cycle = findCycle(waitsFor)
	return e
}

// findCycle returns the first cycle that a depth-first search from the lowest rank meets.
func findCycle(edges [][]int) []int {
	var path []int
	seen := make([]bool, len(edges))
	var visit func(r int) []int
	visit = func(r int) []int {
		if i := slices.Index(path, r); i >= 0 {
			return slices.Clone(path[i:])
		}
		if seen[r] {
			return nil
		}
		seen[r] = true
		path = append(path, r)
		for _, next := range edges[r] {
			if cycle := visit(next); cycle != nil {
				return cycle
			}
		}
		path = path[:len(path)-1]
		return nil
	}
	for r := range edges {
		if cycle := visit(r); cycle != nil {
			return cycle
		}
	}
	return nil
}

// waits describes what a blocked rank waits for.
func (c *Comm) waits() []Wait {
	var all []Wait
	if w := c.waiting; w.probe {
		all = append(all, Wait{Rank: c.rank, Op: "probe", Peer: w.from, Tag: w.tag, Why: c.whyNoMessage(w.from)})
	}
	for _, r := range c.waiting.requests {
		w := Wait{Rank: c.rank, Op: r.op, Peer: r.peer, Tag: r.tag, Bytes: len(r.buffer)}
		if r.op == "send" {
			w.Why = c.s.ranks[r.peer].whyNoReceive(c.rank)
		} else {
			w.Why = c.whyNoMessage(r.peer)
		}
		all = append(all, w)
	}
	return all
}

// whyNoMessage says why a receive from `from` on this rank has nothing to match.
func (c *Comm) whyNoMessage(from int) string {
	why := "no message sent"
	if from != comm.Any && c.s.ranks[from].ended {
		why = fmt.Sprintf("no message sent, and rank %d has returned", from)
	}
	var tags []int
	for _, m := range c.arrived {
		if from == m.who || from == comm.Any {
			tags = append(tags, m.tag)
		}
	}
	return why + otherTags(", but messages", tags)
}

// whyNoReceive says why a send from `from` to this rank has nothing to match.
func (c *Comm) whyNoReceive(from int) string {
	why := "no receive posted"
	if c.ended {
		why = fmt.Sprintf("no receive posted, and rank %d has returned", c.rank)
	}
	var tags []int
	for _, r := range c.posted {
		if r.peer == from || r.peer == comm.Any {
			tags = append(tags, r.tag)
		}
	}
	return why + otherTags(", but receives", tags)
}

func otherTags(what string, tags []int) string {
	if len(tags) == 0 {
		return ""
	}
	slices.Sort(tags)
	return fmt.Sprintf("%s with other tags: %s", what, strings.Trim(fmt.Sprint(slices.Compact(tags)), "[]"))
}

// limit is the error of a run that seems to go on for ever.
func (s *simulation) limit(what string) error {
	var text []string
	for _, c := range s.ranks {
		state := "last operation " + cmp.Or(c.doing.op, "none")
		switch {
		case c.ended:
			state = "has returned"
		case c.blocked:
			var waits []string
			for _, w := range c.waits() {
				waits = append(waits, w.String())
			}
			state = strings.Join(waits, ", ")
		}
		text = append(text, fmt.Sprintf("rank %d at %v: %s", c.rank, c.clock.duration(), state))
	}
	return fmt.Errorf("%w: %s; %s", ErrLimit, what, strings.Join(text, "; "))
}

// leaks lists what a run has left behind.
func (s *simulation) leaks() []string {
	var all []string
	for _, c := range s.ranks {
		for _, m := range c.arrived {
			all = append(all, fmt.Sprintf("rank %d never received a message from rank %d, tag %d, %d bytes", c.rank, m.who, m.tag, len(m.data)))
		}
		slices.SortFunc(c.open, func(a, b *request) int { return cmp.Compare(a.number, b.number) })
		for _, r := range c.open {
			all = append(all, fmt.Sprintf("rank %d never finished a request: %s, %s, tag %d, %d bytes", c.rank, r.op, rankName(r.peer), r.tag, len(r.buffer)))
		}
	}
	return all
}

func rankName(r int) string {
	if r == comm.Any {
		return "any rank"
	}
	return fmt.Sprintf("rank %d", r)
}
