package loops

import "shiftwork/internal/machine"

// A sweep over more rows than the cache holds is bound by the memory, and so are many sweeps one after the other. While blocks
// lean, a strip can be swept several times in a row: README.md, "Several sweeps in a batch".

const (
	// longestBatch is how many sweeps at most a strip is swept in a row. Memory then has a 16th of the work, and where blocks turn
	// back a rank may be almost as many sweeps ahead of its right neighbour.
	longestBatch = 16
	// quotaBatch takes its place under CPU quotas: chance decides how much of each quota period a load leaves to a rank, and it takes more slack to
	// even that out. Four ranks with 40% of a CPU each, one beside a load, take 10% longer with 16.
	quotaBatch = 32
	// wireBatch takes its place where messages set the pace: rows travel to the left during a lean's last batch only, and that should be its only one.
	wireBatch = 64
	// mostTokens is how often about, in a batch, a rank tells its left neighbour that it comes along, where it has no rows for it.
	mostTokens = 8
	// alone is how far blocks lean, so to say, if there is only one: nobody waits for its batches.
	alone = 2 * longestBatch
)

// tileBytes is how much memory the rows and columns take that several sweeps pass over at a time, 0 for half of the second-level cache:
// they should stay there, and smaller ones have more edges.
var tileBytes = 0

const (
	// vectorBytes divides the length of wide strips, and by how much they lie farther to the left from sweep to sweep: bodies that take two numbers at a time
	// find them in all strips and sweeps as they lie in the first (NewMatrixAt). Otherwise half of these take 4% longer.
	vectorBytes = 16
	// wideStrip is how many columns are wide.
	wideStrip = 64
	// slantShare is how many times a batch's way to the left strips are wide: the last one is longer by that, and the first one shorter.
	slantShare = 4
)

// rowGroup divides the height of most tiles that are higher: bodies that take several rows at once have none left over.
const rowGroup = 16

// batch is a number of sweeps that a rank does strip by strip: each strip is swept by all of them before the next strip is. Blocks go
// one row lower in each of its sweeps, and strips skew columns to the left.
type batch struct {
	sweep, count int     // its first sweep, and how many there are
	strips       []Range // of the first one
	skew         int     // Reach at least
	shift, after int     // by how many rows blocks are shifted in the first sweep, and in the one behind the batch
	back         bool    // its first sweep takes over rows from the right
	tokens       bool    // the right rank tells how far it is also where no rows travel to the left
	floor        int     // rows from there on, where they are not swept in the batch yet, have travelled or will: the right rank has them, the left one perhaps
	more         int     // by how many rows blocks may lean to either side, as far as neighbours have each other's rows
	ordinal      int     // how many batches were before it
	hooks        int     // and how many hooks
}

// last is the batch's last sweep.
func (b *batch) last() int { return b.sweep + b.count - 1 }

// slack is by how many sweeps the distance between neighbours may vary: a rank is ahead of its right neighbour by a strip of all sweeps at least, and by all strips but two at most.
func (b *batch) slack() float64 {
	if b.count == 1 {
		return 0
	}
	strips := len(b.strips)
	return float64(b.count) * float64(max(0, strips-3)) / float64(strips)
}

// sendsUp reports whether rows travel to the left after the last sweep: none do where the next one is a row lower again.
func (b *batch) sendsUp() bool { return b.after >= b.lowest() }

// lowest is the shift of the last sweep.
func (b *batch) lowest() int { return b.shift - b.count + 1 }

// part is what sweep k of the batch does of its strip number i; it may be empty.
func (x *across) part(b *batch, i, k int) Range {
	first, skewed := x.d.Strip.Lo, k*b.skew
	part := Span(max(first, b.strips[i].Lo-skewed), max(first, b.strips[i].Hi-skewed))
	if i == len(b.strips)-1 {
		part.Hi = x.d.Strip.Hi
	}
	return part
}

// leaning is what rows become in sweep k of the batch, with the ends that lean.
func (b *batch) leaning(rows Range, k int, lo, hi bool) Range {
	if lo {
		rows.Lo += b.shift - k
	}
	if hi {
		rows.Hi += b.shift - k
	}
	return rows
}

// next is the batch that comes next.
func (x *across) next() batch {
	stop := x.stop()
	x.lean.step(x.rep.Steps, stop)
	b := batch{
		sweep: x.rep.Steps, count: 1, strips: x.strips, shift: x.lean.now, back: x.lean.back(), tokens: x.tokens, more: x.boundary.more,
		floor: x.lean.now, ordinal: x.past.current().ordinal + 1, hooks: x.h.PhasesDone(),
	}
	if before := x.past.current(); before.sendsUp() {
		b.floor = before.lowest()
	}
	most := x.lean.length(b.sweep, stop, x.longest)
	for b.count < most && !x.single {
		x.lean.step(b.sweep+b.count, stop)
		b.count++
	}
	b.after = x.lean.after
	b.skew = x.d.Reach
	if skew := roundUp(b.skew, x.vector); x.width >= max(wideStrip, slantShare*(b.count-1)*skew) {
		b.skew = skew
	}
	return b
}

// vector is how many columns are whole vectors of every array.
func (d *DOACROSS) vector() int {
	if d.Rows.Empty() || d.Strip.Empty() {
		return 1
	}
	n := 1
	for _, a := range d.Arrays {
		for n*len(a.Part(d.Rows.Lo, Span(d.Strip.Lo, d.Strip.Lo+1)))%vectorBytes != 0 {
			n *= 2
		}
	}
	return n
}

// whole is how many columns a strip or a tile of so many should have: whole vectors, if it is wide.
func (x *across) whole(columns int) int {
	if columns < wideStrip {
		return columns
	}
	return roundUp(columns, x.vector)
}

// roundUp is the least multiple of unit that is n or more.
func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }

// chooseLongest is how long batches may be, on rank 0.
func (x *across) chooseLongest() int {
	switch {
	case x.wireBound:
		return wireBatch
	case x.rationed:
		return quotaBatch
	}
	return longestBatch
}

// downs are the parts of strip number i, one of each sweep of a batch, of the last row to the left of a boundary, which is in front of row lo when
// blocks stand upright.
func (x *across) downs(b *batch, i, lo int) []piece {
	x.pieces = x.pieces[:0]
	for k := range b.count {
		x.pieces = append(x.pieces, piece{row: lo + b.shift - k - 1, part: x.part(b, i, k)})
	}
	return x.pieces
}

// ups are the parts of strip number i of the rows that travel to the left over such a boundary after a batch; an empty one where none do.
func (x *across) ups(b *batch, i, lo int) []piece {
	x.pieces = x.pieces[:0]
	if !b.sendsUp() {
		return append(x.pieces, piece{})
	}
	for row := lo + b.lowest(); row <= lo+b.after; row++ {
		x.pieces = append(x.pieces, piece{row: row, part: x.part(b, i, b.count-1)})
	}
	return x.pieces
}

// tokenUp says in their place that the strip is done.
func (x *across) tokenUp(b *batch, i int) []byte {
	if !b.sendsUp() && b.tokens && i%max(1, len(b.strips)/mostTokens) == 0 {
		return x.token[:]
	}
	return nil
}

// compute does strip number i of a batch for rows of which one end or both lean, and returns the work units times columns that this took.
func (x *across) compute(b *batch, i int, rows Range, lo, hi bool) float64 {
	work := 0.0
	for k := range b.count {
		work += x.d.Weights.Units(b.leaning(rows, k, lo, hi)) * float64(x.part(b, i, k).Len())
	}
	x.parts = x.parts[:0]
	first := x.pauses.first + b.sweep
	if b.count == 1 {
		x.parts = append(x.parts, Part{first, b.leaning(rows, 0, lo, hi), b.strips[i]})
		x.bodies()
		return work
	}
	// Seen from where rows and columns are counted along with blocks and strips, iteration (k, row, column) is at (row + k, column +
	// k skew) and needs lesser places only, or the same one, of sweeps up to k. Nothing that it needs is overwritten before it: the
	// next sweep is at no lesser place there.
	all, columns := Span(b.leaning(rows, 0, lo, hi).Lo, b.leaning(rows, b.count-1, lo, hi).Hi+b.count-1), b.strips[i]
	if i == len(b.strips)-1 {
		columns.Hi += (b.count - 1) * b.skew
	}
	height, width := x.tile(all, columns)
	x.cutRows(all, height, b.count-1, !lo, !hi)
	for c := columns.Lo; c < columns.Hi; c += width {
		for _, tile := range x.tiles {
			for k := range b.count {
				tileRows := Span(tile.Lo-k, tile.Hi-k).Intersect(b.leaning(rows, k, lo, hi))
				tileColumns := Span(c-k*b.skew, c+width-k*b.skew).Intersect(x.part(b, i, k))
				if !tileRows.Empty() && !tileColumns.Empty() {
					x.parts = append(x.parts, Part{first + k, tileRows, tileColumns})
				}
			}
		}
	}
	x.bodies()
	return work
}

// cutRows cuts rows into x.tiles of at most the given height. At the first and the last row, if these do not lean, rows come and go from sweep to sweep, so many in all: there is a tile for them, with what is
// left over of the others, which have whole groups of rows, as many in each sweep.
func (x *across) cutRows(rows Range, height, come int, first, last bool) {
	x.tiles = x.tiles[:0]
	middle := rows
	if first {
		middle.Lo = min(rows.Lo+come, rows.Hi)
	}
	if last {
		middle.Hi = max(rows.Hi-come, middle.Lo)
	}
	rest := middle.Len() % rowGroup
	if first {
		middle.Lo += rest
	} else {
		middle.Hi -= rest
	}
	x.tiles = append(x.tiles, Span(rows.Lo, middle.Lo))
	for r := middle.Lo; r < middle.Hi; r += height {
		x.tiles = append(x.tiles, Span(r, min(r+height, middle.Hi)))
	}
	x.tiles = append(x.tiles, Span(middle.Hi, rows.Hi))
}

// bodies does x.parts.
func (x *across) bodies() {
	if x.d.Bodies != nil {
		x.d.Bodies(x.parts)
		return
	}
	for _, p := range x.parts {
		x.d.Body(p.Rows, p.Strip)
	}
}

// tile is the size of the equal pieces into which a strip is cut, which fit the cache: rather wide than high, since memory is
// read along rows, but not flat, since each has an edge.
func (x *across) tile(rows, columns Range) (height, width int) {
	if rows.Empty() || columns.Empty() {
		return 1, 1
	}
	points := x.cached()
	width = x.whole(even(columns.Len(), x.widest()))
	height = even(rows.Len(), max(1, points/width))
	if height > rowGroup {
		height = roundUp(height, rowGroup)
	}
	return height, width
}

// cached is how many columns of a row, in all arrays, a tile may have in all.
func (x *across) cached() int {
	most := tileBytes
	if most == 0 {
		most = machine.Cache() / 2
	}
	return max(1, most/max(1, x.mail.bytes(piece{row: x.d.Rows.Lo, part: Span(x.d.Strip.Lo, x.d.Strip.Lo+1)})))
}

// widest is how many columns a tile has at most.
func (x *across) widest() int {
	points, wide := x.cached(), 1
	for wide*wide < 4*points {
		wide *= 2
	}
	return wide
}

// even is the size of the pieces, but perhaps the last, into which n is cut evenly, so that none is larger than most.
func even(n, most int) int {
	pieces := (n + most - 1) / most
	return (n + pieces - 1) / pieces
}
