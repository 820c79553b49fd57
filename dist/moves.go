package dist

// Move is one message of a shift as one rank sees it.
type Move struct {
	Peer       int   // the neighbour, rank-1 or rank+1
	Send       bool  // false: receive
	Iterations Range // global indices handed over
}

// Moves returns the messages of rank, in the order in which it must execute them, that turn its block own into next.
// Every rank computes its messages from its own two blocks: neighbours agree on the boundary between them. There is at most one message per boundary: a
// send to the right hands over the rank's highest rows, a send to the left its lowest, some of which it may just have
// received from the other side.
//
// Order: a rank sends first, unless it would send more than all but spread of what it owns; then it first receives from the other side. Spread is within
// how many iterations of a boundary data of either side may lie, 0 where each iteration's data are all on one rank. This
// cannot deadlock, even if a send waits for its receive: a cycle of waiting ranks on a chain would need two neighbours
// that wait for each other in different messages, and there is only one message between two neighbours.
func Moves(own, next Range, rank, spread int) []Move {
	var sends, receives []Move
	receiveFirst := false

	switch { // left boundary, with rank-1
	case next.Lo > own.Lo:
		sends = append(sends, Move{Peer: rank - 1, Send: true, Iterations: Span(own.Lo, next.Lo)})
		receiveFirst = next.Lo+spread > own.Hi
	case next.Lo < own.Lo:
		receives = append(receives, Move{Peer: rank - 1, Iterations: Span(next.Lo, own.Lo)})
	}
	switch { // right boundary, with rank+1
	case next.Hi < own.Hi:
		sends = append(sends, Move{Peer: rank + 1, Send: true, Iterations: Span(next.Hi, own.Hi)})
		receiveFirst = receiveFirst || next.Hi-spread < own.Lo
	case next.Hi > own.Hi:
		receives = append(receives, Move{Peer: rank + 1, Iterations: Span(own.Hi, next.Hi)})
	}
	if receiveFirst {
		return append(receives, sends...)
	}
	return append(sends, receives...)
}
