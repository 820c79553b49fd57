package pipeline

import "math"

// Leaning is a pipelined loop whose blocks lean: in each of a lean's sweeps they lie a row lower than in the one before, and behind the last one jump back, so that
// no rank waits for an answer but there. A rank does a strip in all sweeps of a batch before it goes on to the next strip.
//
//	one lean of two batches, three strips
//	rank 0  |1111111|2222222|3333333|1111111|2222222|3333333|  turn
//	rank 1          |1111111|2222222|3333333|1111111|2222222|3333333|
//
// Each sweep sends a row to the right, and brings one to the left with all others of its lean: behind the last batch, strip by strip. With S = Sweeps in B = Batches and M
// strips, per sweep:
//
//	busy = m Work + (B M Strip + S M PerSweep) / S      a strip costs something in each batch, and in each of its sweeps
//	wire = m Wire + (1 - 1/B) max(busy, m Wire)         what travels to the left travels during one batch; to the right during all
//	turn = (m/M) Turn / B                               where blocks turn back, once a lean, for a strip of a batch
//	     = m Turn / B (2/(M+1))^R                       where R > 1 ranks share a processor
//	T(M) = max(busy, wire) + turn
//
// Where blocks turn back a rank waits for the second strip of its right neighbour's last batch. That is a strip behind, and on the first and the last rank, which have more to do in
// one half of a lean than in the other, by an eighth of a batch more: with four strips it is done by then, and what remains is its message and, as no rank computes evenly, part of a strip: Turn. Ranks that share processors wait
// for the computing of both strips, of the M + 1 that a batch takes two neighbours, but others compute meanwhile: a processor has nothing to do when all its ranks wait at once.
type Leaning struct {
	Iterations int     // m, columns
	Work       float64 // s per iteration: computing, on the rank that has most to do; of all ranks that share its processor
	Wire       float64 // s per iteration: what its messages take on their way
	Turn       float64 // s per iteration of a strip of a batch: what is waited for where blocks turn back, and all else that lasts as long as such a strip, once a lean
	Strip      float64 // s: what a strip of a batch costs beside that
	PerSweep   float64 // s: what it costs for each sweep of the batch
	Sweeps     int     // S, of a lean, >= 1
	Batches    int     // B, of a lean, >= 1
	Sharing    float64 // R, ranks that share a processor; 1 or less: each has its own
}

// Predict is the time of one sweep, in s, with strips of so many iterations.
func (l Leaning) Predict(block int) float64 {
	m, batches := float64(l.Iterations), float64(max(1, l.Batches))
	block = max(1, min(block, l.Iterations))
	strips := float64(ceilDiv(l.Iterations, block))
	busy := m*l.Work + strips*l.each()
	wire := m*l.Wire + (1-1/batches)*max(busy, m*l.Wire)
	turn := float64(block) * l.Turn / batches
	if l.Sharing > 1 {
		turn = m * l.Turn / batches * math.Pow(2/(strips+1), l.Sharing)
	}
	return max(busy, wire) + turn
}

// each is what a strip costs a sweep beside its columns, in s.
func (l Leaning) each() float64 {
	return float64(max(1, l.Batches))*l.Strip/float64(max(1, l.Sweeps)) + l.PerSweep
}

// Affordable is how many strips there may be if all of them together are to cost at most such a share of the computing: at least 1.
func (l Leaning) Affordable(share float64) int {
	n := share * float64(l.Iterations) * l.Work / l.each()
	if !(n < float64(l.Iterations)) { // also where nothing is known to cost anything
		return max(1, l.Iterations)
	}
	return max(1, int(n))
}

// WireBound reports whether messages on their way set the pace, and not the processor: then leans of one batch are fastest.
func (l Leaning) WireBound() bool { return l.Wire > l.Work }

// Strips is how many strips, from least (at least 1) to most, take the shortest time, and the most of those that take equally long.
func (l Leaning) Strips(least, most int) int {
	least = max(1, least)
	best, shortest := least, math.Inf(1)
	for n := least; n <= most; n++ {
		if t := l.Predict(ceilDiv(l.Iterations, n)); t <= shortest {
			best, shortest = n, t
		}
	}
	return best
}

// Fewest is how many strips, from least (at least 1) to most, are enough to take no more than such a part longer than the best number of them.
func (l Leaning) Fewest(least, most int, longer float64) int {
	best := l.Strips(least, most)
	enough := (1 + longer) * l.Predict(ceilDiv(l.Iterations, best))
	for n := max(1, least); n < best; n++ {
		if l.Predict(ceilDiv(l.Iterations, n)) <= enough {
			return n
		}
	}
	return best
}

// Curve predicts the time of a sweep for the same block sizes as Loop.Curve.
func (l Leaning) Curve() []Point { return curve(l.Iterations, l.Predict) }
