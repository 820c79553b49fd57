package hooks

import (
	"fmt"
	"time"

	"shiftwork/comm"
	"shiftwork/dist"
	"shiftwork/lb"
)

// master is the balancer's role in rank 0: it collects the statuses of one interaction after the other, lets lb decide
// and sends every rank its instruction. It has no thread of its own: rank 0 serves it at its hooks and
// while it waits, so it costs nothing when there is nothing to do.
type master struct {
	c        comm.Comm
	balancer *lb.Balancer
	direct   bool
	record   func(Event)
	send     func(to int, in *instruction) error // starts sending an instruction
	call     func(to, interaction int) error     // asks a rank to report now; nil: ranks report in step

	round     int            // the interaction being collected
	now, next []lb.Status    // statuses of round and, from ranks that are ahead, of round+1
	have      []bool         // now[rank] has arrived
	haveNext  []bool         // next[rank] has arrived
	missing   int            // statuses of this round that have not arrived
	idle      []bool         // had no work left at the last decision
	called    bool           // this round's missing ranks were asked to report
	final     bool           // the last decision has been sent
	own       []*instruction // rank 0's own instructions, oldest first
	sends     mover          // instructions on their way
	perRank   [][]dist.Transfer

	busy      time.Duration // receiving, deciding, sending; not waiting
	shifts    int           // decisions that moved work
	period    float64       // s, of the last decision
	limit     string        // what set it, but for the end of the loop
	threshold float64       // of the last decision
	setup     lb.Loop
	grid      lb.Grid   // of learned weights
	estimate  *estimate // what balancing brings

	blocks dist.Block // by the last decision (Adjacent loops)
	fewest [3]int     // iterations that a rank has by the last decisions, and on the way to them
	wanted int        // the same by the last one, if nothing but the rates counted
}

func newMaster(c comm.Comm, b *lb.Balancer, setup lb.Loop, direct bool, record func(Event)) *master {
	n := c.Size()
	m := &master{
		c: c, balancer: b, direct: direct, record: record, sends: mover{c: c}, idle: make([]bool, n),
		now: make([]lb.Status, n), next: make([]lb.Status, n),
		have: make([]bool, n), haveNext: make([]bool, n), missing: n,
		perRank: make([][]dist.Transfer, n),
		setup:   setup, estimate: newEstimate(setup),
	}
	if !direct {
		for r := setup.FirstWorker; r < n; r++ {
			count := setup.Start.Range(r).Len()
			if m.wanted == 0 || count < m.wanted {
				m.wanted = count
			}
		}
		m.blocks = setup.Start.Clone()
		m.fewest = [3]int{m.wanted, m.wanted, m.wanted}
	}
	if setup.Learn {
		m.grid = lb.NewGrid(setup.Start.Span(), n-setup.FirstWorker)
	}
	m.send = func(to int, in *instruction) error { return m.sends.isend(to, tagInstruction, in.encode()) }
	return m
}

// poll receives the statuses that have arrived and decides when all are there. It does not wait.
func (m *master) poll() error {
	for {
		st, ok, err := m.c.Iprobe(comm.Any, tagStatus)
		if err != nil || !ok {
			return err
		}
		if err := m.receive(st); err != nil {
			return err
		}
	}
}

// serve waits until rank 0's instruction for the interaction is there.
func (m *master) serve(interaction int) (*instruction, error) {
	for {
		if in := m.take(interaction); in != nil {
			return in, nil
		}
		st, err := m.c.Probe(comm.Any, tagStatus)
		if err != nil {
			return nil, err
		}
		if err := m.receive(st); err != nil {
			return nil, err
		}
	}
}

// take returns rank 0's own instruction for the interaction, or nil if it is not decided yet.
func (m *master) take(interaction int) *instruction {
	if len(m.own) == 0 || m.own[0].interaction > interaction {
		return nil
	}
	in := m.own[0]
	m.own = m.own[1:]
	return in
}

func (m *master) receive(st comm.Status) error {
	began := m.c.Now()
	defer func() { m.busy += m.c.Now() - began }()
	b := make([]byte, st.Len)
	if _, err := m.c.Recv(st.Source, tagStatus, b); err != nil {
		return err
	}
	return m.accept(st.Source, b)
}

// accept takes in the status that a rank has sent.
func (m *master) accept(from int, b []byte) error {
	s, err := decodeStatus(b)
	if err != nil {
		return err
	}
	if s.Rank != from {
		return fmt.Errorf("rank %d sent a status that says it is from rank %d", from, s.Rank)
	}
	return m.add(s)
}

// add files one status. A rank may be one interaction ahead of the slowest, not more: it waits for the instruction
// that answers its previous status before, or soon after, it sends another.
func (m *master) add(s lb.Status) error {
	switch {
	case s.Interaction == m.round && !m.have[s.Rank]:
		m.now[s.Rank], m.have[s.Rank] = s, true
		m.missing--
	case s.Interaction == m.round+1 && !m.haveNext[s.Rank]:
		m.next[s.Rank], m.haveNext[s.Rank] = s, true
	default:
		return fmt.Errorf("rank %d reported interaction %d while the master collects %d: do all ranks execute the hook equally often?", s.Rank, s.Interaction, m.round)
	}
	if m.call != nil && !m.called && m.missing > 0 && s.OwnedIterations == 0 && !m.idle[s.Rank] && s.Interaction == m.round {
		// A rank has run dry: do not let it wait for the others' next regular report.
		m.called = true
		for r, ok := range m.have {
			if !ok {
				if err := m.call(r, m.round); err != nil {
					return err
				}
			}
		}
	}
	for m.missing == 0 && !m.final {
		if err := m.decide(); err != nil {
			return err
		}
	}
	return nil
}

// keepFewest remembers how few iterations a decision leaves to a rank.
func (m *master) keepFewest(d *lb.Decision) {
	span := d.To.Span()
	most, least, total := span.Len(), span.Len(), 0.0
	for _, units := range d.Targets {
		total += units
	}
	for r := m.setup.FirstWorker; r < m.setup.Ranks; r++ {
		least = min(least, d.To.Range(r).Intersect(m.blocks.Range(r)).Len()) // one boundary may move before the other
		if total > 0 {
			most = min(most, int(d.Targets[r]/total*float64(span.Len())))
		}
	}
	m.blocks = d.To.Clone()
	m.wanted = most
	copy(m.fewest[1:], m.fewest[:])
	m.fewest[0] = least
}

func (m *master) decide() error {
	for r := range m.now {
		m.now[r].Age = max(0, m.c.Now().Seconds()-m.now[r].Age) // on its way, Age is the time of sending, the master's clock
	}
	m.estimate.add(m.now)
	d := m.balancer.Decide(m.now)
	m.period, m.threshold = d.Period, d.Threshold
	if d.Limit != "end" {
		m.limit = d.Limit
	}
	if len(d.Profile) > 0 {
		w, err := m.grid.Weights(d.Profile)
		if err != nil {
			return fmt.Errorf("weights that the balancer has learned: %w", err)
		}
		m.estimate.reweighed(m.setup.Start, w)
	}
	if d.Moved() {
		m.shifts++
	}
	if !m.direct {
		m.keepFewest(&d)
	}
	m.record(Event{Kind: "decision", Statuses: m.now, Decision: &d})
	for r := range m.perRank {
		m.perRank[r] = m.perRank[r][:0]
	}
	if m.direct {
		for _, t := range d.Transfers {
			m.perRank[t.From] = append(m.perRank[t.From], t)
			m.perRank[t.To] = append(m.perRank[t.To], t)
		}
	}
	// The instructions sent before were received before the ranks sent the statuses that are answered now.
	if err := m.sends.flush(); err != nil {
		return err
	}
	for r := range m.perRank {
		in := instruction{interaction: m.round, nextHook: d.NextHook, period: d.Period, final: d.Final, sent: m.c.Now().Seconds(), transfers: m.perRank[r], weights: d.Weights, profile: d.Profile}
		if !m.direct {
			in.own = d.To.Range(r)
		}
		if r == m.c.Rank() {
			in.transfers = append([]dist.Transfer(nil), in.transfers...)
			m.own = append(m.own, &in)
			continue
		}
		if err := m.send(r, &in); err != nil {
			return err
		}
	}
	for r := range m.now {
		m.idle[r] = m.now[r].OwnedIterations == 0
	}
	m.final = d.Final
	m.round++
	m.called = false
	m.now, m.next = m.next, m.now
	m.have, m.haveNext = m.haveNext, m.have
	clear(m.haveNext)
	m.missing = 0
	for _, ok := range m.have {
		if !ok {
			m.missing++
		}
	}
	return nil
}
