package kernel

import "golang.org/x/sys/cpu"

// hasWave16 says whether this processor and its operating system have what wave16 needs. Tests turn it off.
var hasWave16 = cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasBMI2

const (
	lanes = 16 // rows that wave16 has in work at a time

	// A lane is a pair of columns behind the one above it. In narrower blocks the first lane would begin its next row
	// before the last one has read what it overwrites there.
	narrowest = 2 * lanes

	// wave16 cannot be preempted: garbage collection waits for it. These bound a call to some 50 µs. Cutting the
	// rows costs 16 idle steps. The frame of wave16 has room for widest columns.
	widest = 1024
	area   = 128 << 10 // points

	// A group of fewer rows than fewest is faster in portable code than with most lanes idle.
	fewest = 6
)

// wave16 relaxes rows x cols points as one wavefront, the first of them at first, in a grid with rows of length stride;
// at least 1 row and narrowest to widest columns. It returns the bits of the largest change if track is set, else 0.
//
// It writes nothing but the block. It reads the row above, the row below and the columns at both sides; also, because
// it reads columns in pairs, one value more at the right if cols is even, up to first[rows*stride+cols+1], and in place
// of lanes that wait for their first row any value between the row above and this one.
//
//go:noescape
func wave16(first *float64, stride, rows, cols int, quarter, keep float64, track bool) (largest uint64)

// fastest relaxes a block in the fastest way that this processor has.
func (s SOR) fastest(u []float64, stride int, rows, cols Span) uint64 {
	if !hasWave16 || cols.size() < narrowest || collides(stride) {
		return s.portable(u, stride, rows, cols)
	}
	var largest uint64
	pieces := (cols.size() + widest - 1) / widest
	for p := range pieces {
		piece := Span{cols.Lo + p*cols.size()/pieces, cols.Lo + (p+1)*cols.size()/pieces}
		largest = max(largest, s.waves(u, stride, rows, piece))
	}
	return largest
}

// waves relaxes up to widest columns.
func (s SOR) waves(u []float64, stride int, rows, cols Span) uint64 {
	hi := rows.Hi
	if cols.size()%2 == 0 && rows.Hi*stride+cols.Hi+1 >= len(u) {
		hi-- // wave16 would read a value that is not there
	}
	if rest := (hi - rows.Lo) % lanes; rest < fewest {
		hi -= rest
	}
	height := max(area/cols.size()/lanes, 1) * lanes
	var largest uint64
	for j := rows.Lo; j < hi; j += height {
		largest = max(largest, wave16(&u[j*stride+cols.Lo], stride, min(height, hi-j), cols.size(),
			s.quarter, s.keep, s.track))
	}
	return max(largest, s.portable(u, stride, Span{hi, rows.Hi}, cols))
}

// collides reports whether everything that the lanes have in work is in one set of the first-level cache: from one lane
// to the next it is one row less two columns, and a way of the cache has 4 KiB. Then portable code is as fast.
func collides(stride int) bool {
	const way = 4096 / 8 // values
	return stride%way == 2
}
