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
	// A wavefront cannot be preempted: garbage collection waits for it. These bound a call to some 200 µs, and twice that with AVX2 or tracking. Each costs
	// as many idle steps as there are lanes. The frames of wave16 and wave8 have room for widest columns.
	widest = 1024
	area   = 512 << 10 // points
	most   = 32        // blocks

	// streamed is how many columns are worth a stream of 16 lanes.
	streamed = 50
)

// narrowest is how many columns a wavefront needs. A lane is a pair of columns behind the one above it. In narrower blocks the first lane would
// begin its next row before the last one has read what it overwrites there.
func narrowest(lanes int) int { return 2 * lanes }

// fewest is how many rows left over are faster with some lanes idle than in portable code.
func fewest(lanes int) int { return lanes/4 + 1 }

// block is rows x cols points, the first of them at first; at least 1 row and narrowest to widest columns.
type block struct {
	first      *float64
	rows, cols int
}

// wave16 relaxes n blocks, one or more, as one wavefront of 16 lanes, in a grid with rows of length stride. A lane begins the next block while lanes after it still are
// in the one before: see wavefront.follows. It returns the bits of the largest change if track is set, else 0.
//
// It writes nothing but the blocks. It reads the row above a block, the row below and the columns at both sides; also, because
// it reads columns in pairs, one value more at the right if cols is even, up to first[rows*stride+cols+1], up to three more in rows
// behind which it begins others, and in place of lanes that wait for their first row any value between the row above and this one.
//
//go:noescape
func wave16(blocks *block, n, stride int, quarter, keep float64, track bool) (largest uint64)

// wave8 is the same with 8 lanes.
//
//go:noescape
func wave8(blocks *block, n, stride int, quarter, keep float64, track bool) (largest uint64)

// fastest relaxes blocks in the fastest way that this processor has.
func (s SOR) fastest(u []float64, stride int, blocks []Block) uint64 {
	w := wavefront{SOR: s, u: u, stride: stride}
	for _, b := range blocks {
		if !b.empty() {
			w.add(b.Rows, b.Cols)
		}
	}
	w.end()
	return w.largest
}

// wavefront collects blocks through which one wavefront can pass.
type wavefront struct {
	SOR
	u       []float64
	stride  int
	largest uint64

	lanes     int
	blocks    [most]block // not yet relaxed
	n, points int         // of them
	rows      Span        // of the last of them those that its last lanes have in work
	cols      Span        // its columns
}

// add relaxes the points of a block, or collects them.
func (w *wavefront) add(rows, cols Span) {
	lanes := lanes
	if lanes > 8 && (cols.size() < narrowest(lanes) || rows.size() < lanes) {
		lanes = 8
	}
	if lanes == 0 || cols.size() < narrowest(lanes) || collides(w.stride) {
		w.left(rows, cols)
		return
	}
	for n := pieces(lanes, cols.size()); n > 1; n-- {
		next := cols.Lo + (cols.size()/n&^3 | 2)
		w.piece(lanes, rows, Span{cols.Lo, next})
		cols.Lo = next
	}
	w.piece(lanes, rows, cols)
}

// pieces is into how many pieces so many columns are cut, at most widest. All but the last have two columns more than a multiple of four, which makes the number of steps even: then 16 lanes
// need not leave their stream where rows end. There are so many that the last one is like them, or has one column more, if that does not make them too narrow for a stream.
func pieces(lanes, columns int) int {
	const limit = widest - 4 // the last one may be wider than the others
	n := (columns + limit - 1) / limit
	if even := (columns-2*n)%4 < 2; lanes == 16 && !even && columns/(n+1) >= streamed {
		n++
	}
	return n
}

// piece is add with up to widest columns.
func (w *wavefront) piece(lanes int, rows, cols Span) {
	hi := rows.Hi
	if cols.size()%2 == 0 && rows.Hi*w.stride+cols.Hi+1 >= len(w.u) {
		hi-- // the wavefront would read a value that is not there
	}
	if rest := (hi - rows.Lo) % lanes; rest < fewest(lanes) {
		hi -= rest
	}
	height := max(area/cols.size()/lanes, 1) * lanes
	for j := rows.Lo; j < hi; j += height {
		w.collect(lanes, Span{j, min(j+height, hi)}, cols)
	}
	if hi < rows.Hi {
		w.left(Span{hi, rows.Hi}, cols)
	}
}

// collect adds what lanes can relax.
func (w *wavefront) collect(lanes int, rows, cols Span) {
	points := rows.size() * cols.size()
	if w.n == most || w.points+points > area || lanes != w.lanes || !w.follows(rows, cols) {
		w.end()
	}
	w.blocks[w.n] = block{first: &w.u[rows.Lo*w.stride+cols.Lo], rows: rows.size(), cols: cols.size()}
	w.n++
	w.points += points
	w.lanes = lanes
	w.rows, w.cols = Span{rows.Hi - 1 - (rows.size()-1)%lanes, rows.Hi}, cols
}

// follows reports whether lanes may begin these rows while the ones after them still are in the last rows of the block before. A lane is a step behind the one above
// it and takes two columns a step, so a point is relaxed in the step in which its row and half its column, counted from where lane 0 began, add up to. Every point that
// both have, or one of them has beside one of the other's, must be passed by the first wavefront, and written, before the second one reads it. Lanes read
// up to four steps ahead, and write up to three late. All rows before the last ones have ended by then.
func (w *wavefront) follows(rows, cols Span) bool {
	const margin = 8
	steps := w.cols.size()/2 + 1 // from the first row of the one to that of the other
	return rows.Lo-w.rows.Lo+(cols.Lo-w.cols.Lo+1)/2 <= steps-margin
}

// end relaxes what has been collected.
func (w *wavefront) end() {
	if w.n == 0 {
		return
	}
	if w.lanes == 16 {
		w.largest = max(w.largest, wave16(&w.blocks[0], w.n, w.stride, w.quarter, w.keep, w.track))
	} else {
		w.largest = max(w.largest, wave8(&w.blocks[0], w.n, w.stride, w.quarter, w.keep, w.track))
	}
	w.n, w.points = 0, 0
}

// left relaxes at once what is left over.
func (w *wavefront) left(rows, cols Span) {
	w.end()
	w.largest = max(w.largest, w.portable(w.u, w.stride, rows, cols))
}

// collides reports whether everything that the lanes have in work is in one set of the first-level cache: from one lane
// to the next it is one row less two columns, and a way of the cache has 4 KiB. Then portable code is as fast.
func collides(stride int) bool {
	const way = 4096 / 8 // values
	return stride%way == 2
}
