package kernel

// portable relaxes a block by wavefronts of four rows, in Go alone. It returns the bits of the largest change.
func (s SOR) portable(u []float64, stride int, rows, cols Span) uint64 {
	row := func(j int) []float64 { return u[j*stride : (j+1)*stride : (j+1)*stride] }
	var largest uint64
	j := rows.Lo
	for ; j+4 <= rows.Hi; j += 4 {
		largest = max(largest, s.four(row(j-1), row(j), row(j+1), row(j+2), row(j+3), row(j+4), cols.Lo, cols.Hi))
	}
	if j+2 <= rows.Hi {
		largest = max(largest, s.two(row(j-1), row(j), row(j+1), row(j+2), cols.Lo, cols.Hi))
		j += 2
	}
	if j < rows.Hi {
		largest = max(largest, s.one(row(j-1), row(j), row(j+1), cols.Lo, cols.Hi))
	}
	return largest
}

// one relaxes columns [lo, hi) of the row r.
func (s SOR) one(up, r, down []float64, lo, hi int) uint64 {
	q, k := s.quarter, s.keep
	n := hi - lo
	up, down = up[lo:hi], down[lo:hi]
	left, centre := r[lo-1], r[lo]
	c := r[lo : hi+1]
	up, down = up[:n], down[:n]
	c = c[:n+1]
	if !s.track {
		for t := range n {
			right := c[t+1]
			left = float64(q*(((up[t]+down[t])+right)+left)) + float64(k*centre)
			c[t] = left
			centre = right
		}
		return 0
	}
	var largest uint64
	for t := range n {
		right := c[t+1]
		left = float64(q*(((up[t]+down[t])+right)+left)) + float64(k*centre)
		largest = max(largest, magnitude(left-centre))
		c[t] = left
		centre = right
	}
	return largest
}

// two relaxes columns [lo, hi) of r0 and then of r1, as a wavefront: r1 one column behind r0.
func (s SOR) two(up, r0, r1, down []float64, lo, hi int) uint64 {
	q, k := s.quarter, s.keep
	n := hi - lo - 1 // steps in which both rows have a point
	largest := s.one(up, r0, r1, lo, lo+1)
	if n > 0 {
		up, a0, a1, dn := up[lo+1 : hi+1][:n+1], r0[lo+1 : hi+1][:n+1], r1[lo:hi][:n+1], down[lo:hi][:n+1]
		l0, l1 := r0[lo], r1[lo-1]
		c0, c1 := a0[0], a1[0]
		if s.track {
			for t := range n {
				e1, e0 := a1[t+1], a0[t+1]
				l1 = float64(q*(((l0+dn[t])+e1)+l1)) + float64(k*c1)
				l0 = float64(q*(((up[t]+e1)+e0)+l0)) + float64(k*c0)
				largest = max(largest, magnitude(l1-c1), magnitude(l0-c0))
				a1[t], a0[t] = l1, l0
				c1, c0 = e1, e0
			}
		} else {
			for t := range n {
				e1, e0 := a1[t+1], a0[t+1]
				l1 = float64(q*(((l0+dn[t])+e1)+l1)) + float64(k*c1)
				l0 = float64(q*(((up[t]+e1)+e0)+l0)) + float64(k*c0)
				a1[t], a0[t] = l1, l0
				c1, c0 = e1, e0
			}
		}
	}
	return max(largest, s.one(r0, r1, down, hi-1, hi))
}

// four relaxes columns [lo, hi) of r0, r1, r2 and r3 in this order, as a wavefront: each row one column behind the one
// above it. See the picture in the package's documentation.
func (s SOR) four(up, r0, r1, r2, r3, down []float64, lo, hi int) uint64 {
	n := hi - lo - 3 // steps in which all four rows have a point
	if n <= 0 {
		return max(s.one(up, r0, r1, lo, hi), s.one(r0, r1, r2, lo, hi),
			s.one(r1, r2, r3, lo, hi), s.one(r2, r3, down, lo, hi))
	}
	head := s.left(up, r0, r1, r2, r3, lo)
	// Each row is cut so that step t has its point at index t and its right neighbour at t+1; equal lengths let the
	// compiler drop the bounds checks.
	w := wave{
		up: up[lo+3 : hi+1][:n+1], down: down[lo : hi-2][:n+1],
		a0: r0[lo+3 : hi+1][:n+1], a1: r1[lo+2 : hi][:n+1], a2: r2[lo+1 : hi-1][:n+1], a3: r3[lo : hi-2][:n+1],
		l0: r0[lo+2], l1: r1[lo+1], l2: r2[lo], l3: r3[lo-1],
	}
	var body uint64
	if s.track {
		body = w.runTracked(s.quarter, s.keep)
	} else {
		w.run(s.quarter, s.keep)
	}
	return max(head, body, s.right(r0, r1, r2, r3, down, hi))
}

// left relaxes the triangle at the left of a wavefront: three points of r0 from column lo on, two of r1, one of r2. In
// short strips the triangles count: written out, their points overlap.
func (s SOR) left(up, r0, r1, r2, r3 []float64, lo int) uint64 {
	u, a, b, c, d := up[lo:lo+3], r0[lo-1:lo+4], r1[lo-1:lo+3], r2[lo-1:lo+2], r3[lo:lo+1]
	a0 := s.point(a[0], u[0], b[1], a[2], a[1])
	a1 := s.point(a0, u[1], b[2], a[3], a[2])
	a2 := s.point(a1, u[2], b[3], a[4], a[3])
	b0 := s.point(b[0], a0, c[1], b[2], b[1])
	b1 := s.point(b0, a1, c[2], b[3], b[2])
	c0 := s.point(c[0], b0, d[0], c[2], c[1])
	var largest uint64
	if s.track {
		largest = max(magnitude(a0-a[1]), magnitude(a1-a[2]), magnitude(a2-a[3]),
			magnitude(b0-b[1]), magnitude(b1-b[2]), magnitude(c0-c[1]))
	}
	a[1], a[2], a[3], b[1], b[2], c[1] = a0, a1, a2, b0, b1, c0
	return largest
}

// right relaxes the triangle at the right: the last point of r1 before column hi, the last two of r2, the last three of
// r3.
func (s SOR) right(r0, r1, r2, r3, down []float64, hi int) uint64 {
	a, b, c, d, e := r0[hi-1:hi], r1[hi-2:hi+1], r2[hi-3:hi+1], r3[hi-4:hi+1], down[hi-3:hi]
	b0 := s.point(b[0], a[0], c[2], b[2], b[1])
	c0 := s.point(c[0], b[0], d[2], c[2], c[1])
	c1 := s.point(c0, b0, d[3], c[3], c[2])
	d0 := s.point(d[0], c[0], e[0], d[2], d[1])
	d1 := s.point(d0, c0, e[1], d[3], d[2])
	d2 := s.point(d1, c1, e[2], d[4], d[3])
	var largest uint64
	if s.track {
		largest = max(magnitude(b0-b[1]), magnitude(c0-c[1]), magnitude(c1-c[2]),
			magnitude(d0-d[1]), magnitude(d1-d[2]), magnitude(d2-d[3]))
	}
	b[1], c[1], c[2], d[1], d[2], d[3] = b0, c0, c1, d0, d1, d2
	return largest
}

// point is the new value of a point from its neighbours and itself.
func (s SOR) point(left, up, down, right, centre float64) float64 {
	return float64(s.quarter*(((up+down)+right)+left)) + float64(s.keep*centre)
}

// wave is the middle part of a wavefront over four rows: a0 to a3 the rows, each from its first point, l0 to l3 the
// values at the left of these points.
type wave struct {
	up, a0, a1, a2, a3, down []float64
	l0, l1, l2, l3           float64
}

func (w *wave) run(q, k float64) {
	up, a0, a1, a2, a3, dn := w.up, w.a0, w.a1, w.a2, w.a3, w.down
	a0, a1, a2, a3, dn = a0[:len(up)], a1[:len(up)], a2[:len(up)], a3[:len(up)], dn[:len(up)]
	l0, l1, l2, l3 := w.l0, w.l1, w.l2, w.l3
	c0, c1, c2, c3 := a0[0], a1[0], a2[0], a3[0]
	for t := 0; t < len(up)-1; t++ {
		// From the last row to the first, so that l(k-1) still is what row k-1 computed in the step before.
		e3 := a3[t+1]
		l3 = float64(q*(((l2+dn[t])+e3)+l3)) + float64(k*c3)
		a3[t] = l3
		c3 = e3
		e2 := a2[t+1]
		l2 = float64(q*(((l1+e3)+e2)+l2)) + float64(k*c2)
		a2[t] = l2
		c2 = e2
		e1 := a1[t+1]
		l1 = float64(q*(((l0+e2)+e1)+l1)) + float64(k*c1)
		a1[t] = l1
		c1 = e1
		e0 := a0[t+1]
		l0 = float64(q*(((up[t]+e1)+e0)+l0)) + float64(k*c0)
		a0[t] = l0
		c0 = e0
	}
}

func (w *wave) runTracked(q, k float64) uint64 {
	up, a0, a1, a2, a3, dn := w.up, w.a0, w.a1, w.a2, w.a3, w.down
	a0, a1, a2, a3, dn = a0[:len(up)], a1[:len(up)], a2[:len(up)], a3[:len(up)], dn[:len(up)]
	l0, l1, l2, l3 := w.l0, w.l1, w.l2, w.l3
	c0, c1, c2, c3 := a0[0], a1[0], a2[0], a3[0]
	var m0, m1, m2, m3 uint64
	for t := 0; t < len(up)-1; t++ {
		e3 := a3[t+1]
		l3 = float64(q*(((l2+dn[t])+e3)+l3)) + float64(k*c3)
		m3 = max(m3, magnitude(l3-c3))
		a3[t] = l3
		c3 = e3
		e2 := a2[t+1]
		l2 = float64(q*(((l1+e3)+e2)+l2)) + float64(k*c2)
		m2 = max(m2, magnitude(l2-c2))
		a2[t] = l2
		c2 = e2
		e1 := a1[t+1]
		l1 = float64(q*(((l0+e2)+e1)+l1)) + float64(k*c1)
		m1 = max(m1, magnitude(l1-c1))
		a1[t] = l1
		c1 = e1
		e0 := a0[t+1]
		l0 = float64(q*(((up[t]+e1)+e0)+l0)) + float64(k*c0)
		m0 = max(m0, magnitude(l0-c0))
		a0[t] = l0
		c0 = e0
	}
	return max(m0, m1, m2, m3)
}
