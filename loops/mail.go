package loops

import (
	"slices"

	"shiftwork/comm"
	"shiftwork/internal/machine"
)

// mail is a rank's boundary rows on their way to its neighbours: parts of rows of all arrays, several in one message if they are short.
type mail struct {
	c      comm.Comm
	in     receiver // from which boundary rows come
	arrays []Array
	shelf  *comm.Shelf // for longer letters to and from neighbours on this machine; nil: there is none
	sent   []letter    // in the order in which they were sent
	spare  [][]byte    // buffers of letters that have left
	pieces []piece     // that letters are made of
	cuts   int         // how often these were others, or may have been
	inbox  [2][]byte   // of tagDown and tagUp: messages from the left may be waited for while others come from the right
}

// letter is a message that may be under way still.
type letter struct {
	q comm.Request
	b []byte
}

// piece is a part of a row.
type piece struct {
	row  int
	part Range
	skip bool // it is received and forgotten
}

// longestLetter is how many bytes pieces are put together and cut to: MPI delivers short messages while their receiver or their sender computes.
const longestLetter = 62 << 10

// mostStock is how many spare buffers there are at most before the first letter: more than 28 were not seen on their way.
const mostStock = 32

// fewestPlaces is how many letters a shelf has room for at least, if need be. Four ranks with 500 x 500 points have more than two under way, though all of a lean's rows fit into two: a
// letter is of one strip.
const fewestPlaces = 16

// maxHead is how long the head of a message may be.
const maxHead = 8

// shelved is how long letters are at least, in bytes, that are worth a place on the shelf.
const shelved = 1 << 10

// cut cuts pieces where a letter is full: what they are is as many bytes, and as few letters, however long each of them is.
func (m *mail) cut(pieces []piece) []piece {
	m.pieces = m.pieces[:0]
	m.cuts++
	room := longestLetter
	for _, p := range pieces {
		size := m.bytes(p)
		for size > room {
			columns := p.part.Len() * room / size
			if columns == 0 && room < longestLetter { // into the next one
				room = longestLetter
				continue
			}
			rest := Span(p.part.Lo+max(1, columns), p.part.Hi)
			if rest.Empty() {
				break
			}
			p.part.Hi = rest.Lo
			m.pieces = append(m.pieces, p)
			p.part = rest
			size, room = m.bytes(p), longestLetter
		}
		m.pieces = append(m.pieces, p)
		room -= size
	}
	return m.pieces
}

// bytes is how many a piece has.
func (m *mail) bytes(p piece) (n int) {
	if p.part.Empty() {
		return 0
	}
	for _, a := range m.arrays {
		n += len(a.Part(p.row, p.part))
	}
	return n
}

// letters is how many messages so many bytes take, or mostStock.
func letters(bytes int) int { return min(mostStock, (bytes+longestLetter-1)/longestLetter) }

// stock makes so many spare buffers, with memory behind them. To find that while the loop runs takes 20 us a page on a virtual
// machine: four ranks with 40% of a CPU each took 0.2 s longer, and one of them looked as if it had half its speed.
func (m *mail) stock(buffers int) {
	const size = longestLetter + maxHead
	all := make([]byte, buffers*size)
	machine.Populate(all)
	for ; len(all) > 0; all = all[size:] {
		m.spare = append(m.spare, all[:0:size])
	}
}

// send starts to send head and the pieces; nothing if all are empty or there is no neighbour.
func (m *mail) send(to, tag int, head []byte, pieces []piece) error {
	if to < 0 {
		return nil
	}
	err := m.reap()
	if err != nil {
		return err
	}
	for pieces = m.cut(pieces); len(pieces) > 0; head = nil {
		n, bytes := m.letter(pieces)
		if bytes += len(head); bytes > 0 {
			b, note := m.paper(to, bytes)
			b = append(b, head...)
			m.each(pieces[:n], func(part []byte) { b = append(b, part...) })
			l := letter{b: b}
			if note != nil {
				l.b, b = nil, note
			} else if len(b) == comm.NoteBytes {
				b = append(b, 0) // or it would be taken for a note
			}
			if l.q, err = m.c.Isend(to, tag, b); err != nil {
				return err
			}
			m.sent = append(m.sent, l)
		}
		pieces = pieces[n:]
	}
	return nil
}

// paper is room for a letter of so many bytes, on the shelf, with the note to send, or in a spare buffer.
func (m *mail) paper(to, bytes int) (room, note []byte) {
	if bytes >= shelved {
		if room, note = m.shelf.Take(to, bytes); note != nil {
			return room[:0], note
		}
	}
	if last := len(m.spare) - 1; last >= 0 {
		room, m.spare = m.spare[last][:0], m.spare[:last]
	}
	return slices.Grow(room, bytes), nil
}

// receive waits for what send sends, and puts head and the pieces where they belong. That may change while it waits, but not how long they are.
func (m *mail) receive(from, tag int, head []byte, pieces func() []piece) error {
	if from < 0 {
		return nil
	}
	all := m.cut(pieces())
	for done := 0; done < len(all); head = nil {
		n, bytes := m.letter(all[done:])
		if bytes += len(head); bytes > 0 {
			inbox, cuts := m.room(tag, bytes+1), m.cuts
			st, err := m.in.Recv(from, tag, inbox)
			if err != nil {
				return err
			}
			if m.cuts != cuts {
				all = m.cut(pieces())
			}
			text, note, err := m.unfold(from, inbox[:st.Len], bytes)
			if err != nil {
				return err
			}
			text = text[copy(head, text):]
			for _, p := range all[done : done+n] {
				text = m.open(p, text)
			}
			if note != nil {
				if err := m.shelf.Clear(from, note); err != nil {
					return err
				}
			}
		}
		done += n
	}
	return nil
}

// unfold is the letter of so many bytes that has come, or that a note which has come tells of.
func (m *mail) unfold(from int, come []byte, bytes int) (text, note []byte, err error) {
	switch {
	case len(come) == comm.NoteBytes:
		if text, err = m.shelf.Find(from, come); err != nil {
			return nil, nil, err
		}
		if len(text) == bytes {
			return text, come, nil
		}
		return nil, nil, wrongLength(len(text), from, bytes)
	case len(come) == bytes || bytes == comm.NoteBytes && len(come) == bytes+1:
		return come[:bytes], nil, nil
	}
	return nil, nil, wrongLength(len(come), from, bytes)
}

// open puts a piece where it belongs and returns what lies behind it in the letter.
func (m *mail) open(p piece, text []byte) []byte {
	if p.part.Empty() {
		return text
	}
	for _, a := range m.arrays {
		part := a.Part(p.row, p.part)
		if !p.skip {
			copy(part, text)
		}
		text = text[len(part):]
	}
	return text
}

// seam sends an empty letter: what was sent before it and is not received yet is not wanted any more.
func (m *mail) seam(to, tag int) error {
	m.cuts++
	q, err := m.c.Isend(to, tag, nil)
	if err == nil {
		m.sent = append(m.sent, letter{q: q})
	}
	return err
}

// skip forgets letters up to the next seam. They hold pieces of rows like p.
func (m *mail) skip(from, tag int, p piece) error {
	p.part.Hi = min(p.part.Hi, p.part.Lo+1)
	inbox := m.room(tag, longestLetter+m.bytes(p)+maxHead)
	for {
		st, err := m.in.Recv(from, tag, inbox)
		if err != nil || st.Len == 0 {
			return err
		}
		if st.Len == comm.NoteBytes {
			if err := m.shelf.Clear(from, inbox[:st.Len]); err != nil {
				return err
			}
		}
	}
}

// room is where a message of so many bytes comes to.
func (m *mail) room(tag, bytes int) []byte {
	in := &m.inbox[tagDown-tag]
	*in = slices.Grow((*in)[:0], bytes)[:bytes]
	return *in
}

// letter is how many of the pieces go into one message, and its length.
func (m *mail) letter(pieces []piece) (n, bytes int) {
	for ; n < len(pieces); n++ {
		more := m.bytes(pieces[n])
		if n > 0 && bytes+more > longestLetter {
			break
		}
		bytes += more
	}
	return n, bytes
}

func (m *mail) each(pieces []piece, f func(part []byte)) {
	for _, p := range pieces {
		if p.part.Empty() {
			continue
		}
		for _, a := range m.arrays {
			f(a.Part(p.row, p.part))
		}
	}
}

// reap takes back the buffers of the first letters that have left, without waiting.
func (m *mail) reap() error {
	n := 0
	for ; n < len(m.sent); n++ {
		if _, done, err := m.sent[n].q.Test(); err != nil {
			return err
		} else if !done {
			break
		}
		m.takeBack(m.sent[n])
	}
	m.sent = append(m.sent[:0], m.sent[n:]...)
	return nil
}

// flush waits until all letters have left.
func (m *mail) flush() error {
	for _, l := range m.sent {
		if _, err := l.q.Wait(); err != nil {
			return err
		}
		m.takeBack(l)
	}
	m.sent = m.sent[:0]
	return nil
}

func (m *mail) takeBack(l letter) {
	if l.b != nil { // no seam
		m.spare = append(m.spare, l.b)
	}
}

func waitAll(reqs []comm.Request) error {
	for i, q := range reqs {
		if q == nil {
			continue
		}
		reqs[i] = nil
		if _, err := q.Wait(); err != nil {
			return err
		}
	}
	return nil
}
