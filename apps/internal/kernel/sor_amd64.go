package kernel

import "golang.org/x/sys/cpu"

// lanes is how many rows the widest wavefront that this processor and its operating system have the instructions for has in work at a
// time: 16, 8, or 0 where it has none. Tests make it less.
var lanes = func() int {
	switch {
	case cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasBMI2:
		return 16
	case cpu.X86.HasAVX2:
		return 8
	}
	return 0
}()

const (
	// A wavefront cannot be preempted: garbage collection waits for it. These bound a call to some 50 µs. Cutting the
	// rows costs as many idle steps as there are lanes. The frames of wave16 and wave8 have room for widest columns.
	widest = 1024
	area   = 128 << 10 // points
)

// narrowest is how many columns a wavefront needs. A lane is a pair of columns behind the one above it. In narrower blocks the first lane would
// begin its next row before the last one has read what it overwrites there.
func narrowest(lanes int) int { return 2 * lanes }

// fewest is how many rows left over are faster with some lanes idle than in portable code.
func fewest(lanes int) int { return lanes * 3 / 8 }

// wave16 relaxes rows x cols points as one wavefront of 16 lanes, the first of them at first, in a grid with rows of length stride;
// at least 1 row and narrowest to widest columns. It returns the bits of the largest change if track is set, else 0.
//
// It writes nothing but the block. It reads the row above, the row below and the columns at both sides; also, because
// it reads columns in pairs, one value more at the right if cols is even, up to first[rows*stride+cols+1], up to three more in rows
// with 16 below them, and in place of lanes that wait for their first row any value between the row above and this one.
//
//go:noescape
func wave16(first *float64, stride, rows, cols int, quarter, keep float64, track bool) (largest uint64)

// wave8 is the same with 8 lanes.
//
//go:noescape
func wave8(first *float64, stride, rows, cols int, quarter, keep float64, track bool) (largest uint64)

// fastest relaxes a block in the fastest way that this processor has.
func (s SOR) fastest(u []float64, stride int, rows, cols Span) uint64 {
	lanes := lanes
	for lanes > 8 && cols.size() < narrowest(lanes) {
		lanes /= 2
	}
	if lanes == 0 || cols.size() < narrowest(lanes) || collides(stride) {
		return s.portable(u, stride, rows, cols)
	}
	var largest uint64
	pieces := (cols.size() + widest - 1) / widest
	for p := range pieces {
		piece := Span{cols.Lo + p*cols.size()/pieces, cols.Lo + (p+1)*cols.size()/pieces}
		largest = max(largest, s.waves(lanes, u, stride, rows, piece))
	}
	return largest
}

// waves relaxes up to widest columns.
func (s SOR) waves(lanes int, u []float64, stride int, rows, cols Span) uint64 {
	hi := rows.Hi
	if cols.size()%2 == 0 && rows.Hi*stride+cols.Hi+1 >= len(u) {
		hi-- // the wavefront would read a value that is not there
	}
	if rest := (hi - rows.Lo) % lanes; rest < fewest(lanes) {
		hi -= rest
	}
	height := max(area/cols.size()/lanes, 1) * lanes
	var largest uint64
	for j := rows.Lo; j < hi; j += height {
		first, n := &u[j*stride+cols.Lo], min(height, hi-j)
		if lanes == 16 {
			largest = max(largest, wave16(first, stride, n, cols.size(), s.quarter, s.keep, s.track))
		} else {
			largest = max(largest, wave8(first, stride, n, cols.size(), s.quarter, s.keep, s.track))
		}
	}
	return max(largest, s.portable(u, stride, Span{hi, rows.Hi}, cols))
}

// collides reports whether everything that the lanes have in work is in one set of the first-level cache: from one lane
// to the next it is one row less two columns, and a way of the cache has 4 KiB. Then portable code is as fast.
func collides(stride int) bool {
	const way = 4096 / 8 // values
	return stride%way == 2
}
