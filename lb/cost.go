package lb

import "shiftwork/dist"

// costModel predicts how long a movement takes: the rank that moves most sets the time,
//
//	cost = max over ranks of (a transfers + c units),
//
// with a (s per transfer) and c (s per unit) fitted to past movements by least squares in which older ones fade.
type costModel struct {
	tt, tu, uu, ty, uy float64 // sums of products of transfers, units and time
	seen               bool

	transfers, units []float64 // of each rank in the movement that is looked at; scratch
}

// fade is how much weight the past keeps at each new movement: the fit rests on about 1/(1-fade) of them.
const fade = 0.8

// learn takes in what a movement of these transfers and units took, in s.
func (m *costModel) learn(transfers int, units, time float64) {
	t := float64(transfers)
	for _, sum := range []*float64{&m.tt, &m.tu, &m.uu, &m.ty, &m.uy} {
		*sum *= fade
	}
	m.tt += t * t
	m.tu += t * units
	m.uu += units * units
	m.ty += t * time
	m.uy += units * time
	m.seen = true
}

// fit returns a and c, neither negative. Where the movements seen do not tell them apart, or would make one negative,
// the one that explains them better alone is kept: time per unit if there are units.
func (m *costModel) fit() (perTransfer, perUnit float64) {
	determinant := m.tt*m.uu - m.tu*m.tu
	if determinant > 1e-6*m.tt*m.uu {
		a := (m.ty*m.uu - m.uy*m.tu) / determinant
		c := (m.uy*m.tt - m.ty*m.tu) / determinant
		if a >= 0 && c >= 0 {
			return a, c
		}
		if c < 0 {
			return m.ty / m.tt, 0
		}
	}
	if m.uu > 0 {
		return 0, m.uy / m.uu
	}
	if m.tt > 0 {
		return m.ty / m.tt, 0
	}
	return 0, 0
}

// predict returns the cost of the transfers in s. Before the first movement the cost is unknown, and so that it becomes
// known, taken for nothing but a message per transfer.
func (m *costModel) predict(transfers []dist.Transfer, ranks int, message float64) float64 {
	a, c := m.fit()
	a = max(a, message)
	if len(m.transfers) != ranks {
		m.transfers, m.units = make([]float64, ranks), make([]float64, ranks)
	}
	for _, t := range transfers {
		m.transfers[t.From], m.transfers[t.To], m.units[t.From], m.units[t.To] = 0, 0, 0, 0
	}
	cost := 0.0
	for _, t := range transfers {
		for _, r := range [2]int{t.From, t.To} {
			m.transfers[r]++
			m.units[r] += t.Units
			cost = max(cost, a*m.transfers[r]+c*m.units[r])
		}
	}
	return cost
}

// stability is how long the rates stay as they are.
type stability struct {
	intervals  [8]float64 // s, the latest between changes
	count      int        // changes seen; the first interval begins at the start
	lastChange float64    // s
	lastIndex  int        // interaction of the last change
}

// sameChange is the number of interactions within which changes count as one: a load that begins within a phase shows
// as two steps, and in two ranks one interaction apart.
const sameChange = 3

func (s *stability) changed(now float64, interaction int) {
	if s.count > 0 && interaction-s.lastIndex <= sameChange {
		s.lastIndex = interaction
		return
	}
	s.intervals[s.count%len(s.intervals)] = now - s.lastChange
	s.count++
	s.lastChange, s.lastIndex = now, interaction
}

// forever stands for an unknown, long time, in s. It is finite so that every number of a Decision can be recorded.
const forever = 1e9

// expected returns in s how long the rates will still stay as they are: what is left of t_stable, the mean time between
// the recent changes; once that is over, as long again as they have stayed already; forever if nothing has ever changed.
func (s *stability) expected(now float64) float64 {
	if s.count == 0 {
		return forever
	}
	n := min(s.count, len(s.intervals))
	mean := 0.0
	for _, t := range s.intervals[:n] {
		mean += t / float64(n)
	}
	since := now - s.lastChange
	if since < mean {
		return mean - since
	}
	return since
}
