package comm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"unsafe"
)

// Shelf is places for letters: bytes that a rank on the same machine reads where they were written. The message to it is a note that tells the place. MPI copies a message into memory of its
// own and out of it, and out of the way in between if nobody waits for it yet; whoever sends parts of rows has packed them before, and unpacks them behind. With a shelf that is two copies. 32 KB took 5 to 18 us to
// send through MPI, as far as the two cores were from one another, and 7 to 12 to receive; by way of a shelf they take 4 to 5 and 5 to 6.
//
// Ranks that do not reach each other's memory find no place. So does who has laid out more than have been read yet. It then sends the letter itself.
type Shelf struct {
	c      Comm
	room   int      // bytes of a place
	inUse  int      // places that are taken in turn: the first ones
	next   int      // of these, to try first
	notes  [][]byte // by place
	shared Shared
}

// NoteBytes is how long a note is.
const NoteBytes = 2

// Of each rank's memory the beginning says, by place, how long the letter is that lies there, and one more: a word for each, a line of the cache apart, since two ranks write it.
const (
	stateBytes = 64
	free       = 0
)

// NewShelf gives every rank so many places, up to 65536, of so many bytes each. They are taken in turn, the first `usual` of them as long as one of these is free: letters should stay in the
// cache. Every rank calls it, with the same numbers. Close it at the end.
func NewShelf(c Comm, usual, places, bytes int) (*Shelf, error) {
	if usual < 0 || usual > places || places > 1<<(8*NoteBytes) || bytes < 0 || bytes >= math.MaxInt32 {
		return nil, fmt.Errorf("comm: a shelf of %d places for %d bytes", places, bytes)
	}
	s := &Shelf{c: c, room: bytes, inUse: usual}
	var err error
	if s.shared, err = Share(c, places*(stateBytes+s.apart())); err != nil {
		return nil, err
	}
	notes := make([]byte, NoteBytes*places)
	for i := range places {
		note := notes[NoteBytes*i:][:NoteBytes:NoteBytes]
		binary.LittleEndian.PutUint16(note, uint16(i))
		s.notes = append(s.notes, note)
	}
	return s, nil
}

// apart is how far places are from one another: whole lines of the cache.
func (s *Shelf) apart() int { return (s.room + stateBytes - 1) / stateBytes * stateBytes }

// Close gives the memory back. Every rank calls it, or none. It fails if a letter of this rank has not been read.
func (s *Shelf) Close() error {
	if s == nil || !s.Reaches(s.c.Rank()) {
		return nil
	}
	err := Barrier(s.c) // until all has been read
	if err != nil {
		return err
	}
	for i := range s.notes {
		if atomic.LoadUint32(state(s.shared.Of[s.c.Rank()], i)) != free {
			err = fmt.Errorf("rank %d has a letter at place %d that nobody has read", s.c.Rank(), i)
		}
	}
	if s.shared.Release != nil {
		s.shared.Release()
	}
	s.shared = Shared{}
	return err
}

// Reaches reports whether this rank and the other one can lay out letters for each other, as long as there are places.
func (s *Shelf) Reaches(rank int) bool {
	return s != nil && rank < len(s.shared.Of) && len(s.shared.Of[rank]) > 0
}

// ReachesAll reports whether all ranks do.
func (s *Shelf) ReachesAll() bool {
	for r := range s.shared.Of {
		if !s.Reaches(r) {
			return false
		}
	}
	return true
}

// Take takes a place for a letter of so many bytes to another rank: room for it, and the note to send when it is written, which must not be changed. Both are nil if there is none.
func (s *Shelf) Take(to, bytes int) (room, note []byte) {
	if !s.Reaches(to) || bytes > s.room {
		return nil, nil
	}
	// All in turn: the other rank's core may have those that it has read of late in its cache still. To take 32 KB back from there was seen to take 14 us, where others took 2 to 5.
	own := s.shared.Of[s.c.Rank()]
	for range s.inUse {
		i := s.next
		s.next = (i + 1) % s.inUse
		if atomic.LoadUint32(state(own, i)) == free {
			return s.take(i, bytes)
		}
	}
	if s.inUse == len(s.notes) {
		return nil, nil
	}
	s.inUse++
	return s.take(s.inUse-1, bytes)
}

// take is for a place that is free.
func (s *Shelf) take(i, bytes int) (room, note []byte) {
	own := s.shared.Of[s.c.Rank()]
	atomic.StoreUint32(state(own, i), uint32(bytes)+1)
	return s.place(own, i)[:bytes], s.notes[i]
}

// Find is the letter that a rank's note is about. It is there until Clear.
func (s *Shelf) Find(from int, note []byte) ([]byte, error) {
	i, err := s.number(from, note)
	if err != nil {
		return nil, err
	}
	bytes := int(atomic.LoadUint32(state(s.shared.Of[from], i))) - 1
	if bytes < 0 || bytes > s.room {
		return nil, noLetter(from, i)
	}
	return s.place(s.shared.Of[from], i)[:bytes], nil
}

// Clear gives a place that Find has found back to its rank: the letter has been read.
func (s *Shelf) Clear(from int, note []byte) error {
	i, err := s.number(from, note)
	if err == nil && atomic.SwapUint32(state(s.shared.Of[from], i), free) == free {
		err = noLetter(from, i)
	}
	return err
}

func noLetter(from, place int) error {
	return fmt.Errorf("no letter of rank %d lies at place %d", from, place)
}

// number is the place that a note tells.
func (s *Shelf) number(from int, note []byte) (int, error) {
	if !s.Reaches(from) {
		return 0, fmt.Errorf("a note from rank %d, whose memory is out of reach", from)
	}
	if len(note) != NoteBytes {
		return 0, errors.New("no note")
	}
	i := int(binary.LittleEndian.Uint16(note))
	if i >= len(s.notes) {
		return 0, fmt.Errorf("a note from rank %d about place %d of %d", from, i, len(s.notes))
	}
	return i, nil
}

func (s *Shelf) place(memory []byte, i int) []byte {
	at := len(s.notes)*stateBytes + i*s.apart()
	return memory[at : at+s.room : at+s.room]
}

// state is the word that says what lies at place i. The memory begins at a page, or is Go's and begins at a word.
func state(memory []byte, i int) *uint32 {
	return (*uint32)(unsafe.Pointer(&memory[i*stateBytes]))
}
