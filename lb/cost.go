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
	known              float64 // s per unit, from before the loop: what c is until a movement is seen

	transfers, units []float64 // of each rank in the movement that is looked at; scratch
}

// fade is how much weight the past keeps at each new movement: the fit rests on about 1/(1-fade) of them.
const fade = 0.8

// negligible is the part of the time that a fitted cost may be below zero and still count as zero.
const negligible = 0.05

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
// half of the time is put down to either: small movements are then taken to be neither free nor as dear as large ones.
// Before the first movement they are what is known from before the loop.
func (m *costModel) fit() (perTransfer, perUnit float64) {
	determinant := m.tt*m.uu - m.tu*m.tu
	if determinant > 1e-6*m.tt*m.uu {
		a := (m.ty*m.uu - m.uy*m.tu) / determinant
		c := (m.uy*m.tt - m.ty*m.tu) / determinant
		if a*m.tt >= -negligible*m.ty && c*m.uu >= -negligible*m.uy {
			return max(0, a), max(0, c)
		}
	}
	switch {
	case m.uu > 0:
		return m.ty / m.tt / 2, m.uy / m.uu / 2
	case m.tt > 0:
		return m.ty / m.tt, 0
	}
	return 0, m.known
}

// predict returns the cost of the transfers in s, but at least that of a message per transfer; before the first movement no
// more is known.
func (m *costModel) predict(transfers []dist.Transfer, ranks int, message float64) float64 {
	a, c := m.fit()
	return m.most(transfers, ranks, max(a, message), c)
}

// most is the largest a transfers + c units of a rank that takes part in the transfers.
func (m *costModel) most(transfers []dist.Transfer, ranks int, a, c float64) float64 {
	if len(m.transfers) != ranks {
		m.transfers, m.units = make([]float64, ranks), make([]float64, ranks)
	}
	for _, t := range transfers {
		m.transfers[t.From], m.transfers[t.To], m.units[t.From], m.units[t.To] = 0, 0, 0, 0
	}
	most := 0.0
	for _, t := range transfers {
		for _, r := range [2]int{t.From, t.To} {
			m.transfers[r]++
			m.units[r] += t.Units
			most = max(most, a*m.transfers[r]+c*m.units[r])
		}
	}
	return most
}
