package hooks

import (
	"shiftwork/dist"
	"shiftwork/internal/machine"
)

// The first time that a row comes to a rank there is no memory behind its addresses. The system has to find and clear it while both ranks wait: that takes
// as long as sending the row, or ten times as long on a virtual machine whose host has to find memory as well. It happens when the loop is worst
// divided; and movements back, which find memory there, would be taken to be as dear. So it is done before the loop begins.
const (
	// roomShare is for how many rows more there is room, on each side, as a part of those that a rank begins with: what a boundary moves by where one
	// rank becomes half as fast.
	roomShare = 1.0 / 3
	// roomMemory is the most that the ranks of one machine take for it, of the memory that is left.
	roomMemory = 1.0 / 8
	// littleMemory, in bytes, a rank takes without asking what is left: to ask costs a dozen system calls.
	littleMemory = 1 << 20
)

// makeRoom puts memory behind rows next to this rank's that may come, where they are received into place.
func (h *Hooks) makeRoom() {
	all, own := h.loop.Iterations, h.block
	if !h.loop.Adjacent || own.Empty() {
		return
	}
	bytes := 0 // of an iteration
	for _, a := range h.loop.Arrays {
		if p, ok := a.(InPlace); ok {
			bytes += len(p.Bytes(dist.Span(own.Lo, own.Lo+1)))
		}
	}
	if bytes == 0 {
		return
	}
	rows := int(roomShare * float64(own.Len()))
	rows = h.spareMemory(2*bytes*rows) / (2 * bytes)
	for _, a := range h.loop.Arrays {
		if p, ok := a.(InPlace); ok {
			machine.Populate(p.Bytes(dist.Span(max(all.Lo, own.Lo-rows), own.Lo)))
			machine.Populate(p.Bytes(dist.Span(own.Hi, min(all.Hi, own.Hi+rows))))
		}
	}
}

// spareMemory is how many bytes this rank may take beforehand, of those that it would like.
func (h *Hooks) spareMemory(wanted int) int {
	if wanted <= littleMemory {
		return wanted
	}
	return min(wanted, int(roomMemory*float64(machine.MemoryLeft())/float64(h.c.Size())))
}

// Reserve puts memory behind so many bytes for what is packed where iterations change their owner: for one movement to either side, and for one that comes.
// Loops of which much is packed (not InPlace) call it before they begin, for the same reason. Where nothing can move it does nothing, nor where this is more than 1 MiB and
// all ranks of the machine would take more than an eighth of the memory that is left.
func (h *Hooks) Reserve(bytes int) {
	const rooms = 3
	if !h.active || h.spareMemory(rooms*bytes) < rooms*bytes {
		return
	}
	room := func() []byte {
		b := make([]byte, bytes)
		machine.Populate(b)
		return b
	}
	for _, m := range []*mover{&h.move, &h.oneByOne.above.sends} {
		m.spare = append(m.spare, room())
	}
	h.move.scratch = room()
}
