package hooks

import (
	"fmt"
	"slices"
	"time"

	"shiftwork/comm"
	"shiftwork/dist"
)

// Array is data that moves with the iterations that it belongs to. Every rank has an Array for the same
// data and they are listed in the same order everywhere.
type Array interface {
	// Pack appends the data of iterations r to buf and returns the longer buf.
	Pack(r dist.Range, buf []byte) []byte
	// Unpack stores what another rank packed for iterations r, which this rank owns from now on.
	// data is only valid during the call.
	Unpack(r dist.Range, data []byte) error
}

// InPlace is an Array whose iterations lie one behind the other in memory, at addresses that do not change while the
// loop runs. It travels without being packed: sent from where it lies, received into where it belongs.
type InPlace interface {
	Array
	// Bytes is the memory of iterations r: the same length on every rank.
	Bytes(r dist.Range) []byte
}

// mover carries the data of iterations between ranks.
type mover struct {
	c       comm.Comm
	arrays  []Array
	results []Array        // belong to iterations of which some pieces are done, and not all
	pending []comm.Request // sends
	buffers [][]byte       // packed data of pending sends
	spare   [][]byte       // such buffers, of sends that have left
	headers [][]byte       // of pending sends
	scratch []byte
	waited  time.Duration // for ranks that were to give: no part of the movement itself
	traced  *tracedMove   // nil: nobody looks, or nothing moves
}

// await sleeps until a message is there, and counts that as waiting.
func (m *mover) await(from, tag int) (comm.Status, error) {
	began := m.c.Now()
	st, err := m.c.Probe(from, tag)
	m.paused(began)
	return st, err
}

// paused counts the time since began as waiting.
func (m *mover) paused(began time.Duration) {
	now := m.c.Now()
	m.waited += now - began
	if m.traced != nil {
		m.traced.pause(began, now)
	}
}

// give starts sending the data of iterations r. What is packed is sent as it is now.
func (m *mover) give(to int, r dist.Range) error { return m.giveOf(m.arrays, to, r) }

func (m *mover) giveOf(arrays []Array, to int, r dist.Range) error {
	for _, a := range arrays {
		if p, ok := a.(InPlace); ok {
			if err := m.lend(to, p.Bytes(r)); err != nil {
				return err
			}
			continue
		}
		var room []byte
		if last := len(m.spare) - 1; last >= 0 {
			room, m.spare = m.spare[last][:0], m.spare[:last]
		}
		b := a.Pack(r, room)
		m.buffers = append(m.buffers, b)
		if err := m.lend(to, b); err != nil {
			return err
		}
	}
	return nil
}

func (m *mover) lend(to int, b []byte) error {
	q, err := comm.Lend(m.c, to, tagData, b)
	if err == nil {
		m.pending = append(m.pending, q)
	}
	return err
}

func (m *mover) isend(to, tag int, b []byte) error {
	q, err := m.c.Isend(to, tag, b)
	if err == nil {
		m.pending = append(m.pending, q)
	}
	return err
}

// giveParts sends a header that lists the parts and then their data.
func (m *mover) giveParts(to, tag int, header []byte, parts []part) error {
	m.headers = append(m.headers, header)
	if err := m.isend(to, tag, header); err != nil {
		return err
	}
	for _, p := range parts {
		if err := m.giveOf(m.of(p), to, p.Range); err != nil {
			return err
		}
	}
	return nil
}

// of are the arrays whose data travels with a part.
func (m *mover) of(p part) []Array {
	if p.piece == 0 {
		return m.arrays
	}
	return slices.Concat(m.arrays, m.results)
}

// take receives the data of iterations r.
func (m *mover) take(from int, r dist.Range) error { return m.takeOf(m.arrays, from, r) }

func (m *mover) takeOf(arrays []Array, from int, r dist.Range) error {
	for i, a := range arrays {
		if p, ok := a.(InPlace); ok {
			b := p.Bytes(r)
			st, err := m.borrow(from, func(int) []byte { return b })
			if err != nil {
				return err
			}
			if st.Len != len(b) {
				return fmt.Errorf("array %d, iterations %v: rank %d sent %d bytes, %d expected: do all ranks list the same arrays?", i, r, from, st.Len, len(b))
			}
			continue
		}
		st, err := m.borrow(from, func(bytes int) []byte {
			m.scratch = slices.Grow(m.scratch[:0], bytes)[:bytes]
			return m.scratch
		})
		if err != nil {
			return err
		}
		if err := a.Unpack(r, m.scratch[:st.Len]); err != nil {
			return fmt.Errorf("array %d, iterations %v from rank %d: %w", i, r, from, err)
		}
	}
	return nil
}

func (m *mover) borrow(from int, room func(bytes int) []byte) (comm.Status, error) {
	found, err := m.await(from, tagData)
	if err != nil {
		return comm.Status{}, err
	}
	return comm.Borrow(m.c, found, room)
}

// message is one that is being received, and how long it must be.
type message struct {
	request comm.Request
	bytes   int
}

// receive starts to receive the data of a part and returns what is on its way. What cannot be received in place it takes.
func (m *mover) receive(from int, p part) (coming []message, err error) {
	arrays := m.of(p)
	for _, a := range arrays {
		if _, ok := a.(InPlace); !ok {
			return nil, m.takeOf(arrays, from, p.Range)
		}
	}
	for _, a := range arrays {
		b := a.(InPlace).Bytes(p.Range)
		q, err := comm.Iborrow(m.c, from, tagData, b)
		if err != nil {
			return nil, err
		}
		coming = append(coming, message{q, len(b)})
	}
	return coming, nil
}

// arrived looks whether the messages from a rank have arrived, or waits for them, and returns those that have not.
func (m *mover) arrived(from int, coming []message, wait bool) ([]message, error) {
	for len(coming) > 0 {
		next := coming[0]
		st, done, err := next.request.Test()
		if err == nil && !done && wait {
			began := m.c.Now()
			st, err = next.request.Wait()
			m.paused(began)
			done = true
		}
		switch {
		case err != nil:
			return nil, err
		case !done:
			return coming, nil
		case st.Len != next.bytes:
			return nil, fmt.Errorf("rank %d sent %d bytes, %d expected: do all ranks list the same arrays?", from, st.Len, next.bytes)
		}
		coming = coming[1:]
	}
	return nil, nil
}

// flush waits until everything given has left: before the same memory may be given again, and at the end.
func (m *mover) flush() error {
	began := m.c.Now()
	defer func() { m.paused(began) }() // the receivers know how long it took
	for _, q := range m.pending {
		if _, err := q.Wait(); err != nil {
			return err
		}
	}
	clear(m.pending)
	m.pending = m.pending[:0]
	m.left()
	return nil
}

// left takes back the buffers of sends, all of which have left.
func (m *mover) left() {
	m.spare = append(m.spare, m.buffers...)
	clear(m.buffers)
	clear(m.headers)
	m.buffers, m.headers = m.buffers[:0], m.headers[:0]
}

// reap forgets the sends that have left, without waiting.
func (m *mover) reap() error {
	kept := m.pending[:0]
	for _, q := range m.pending {
		if _, done, err := q.Test(); err != nil {
			return err
		} else if !done {
			kept = append(kept, q)
		}
	}
	clear(m.pending[len(kept):])
	m.pending = kept
	if len(kept) == 0 {
		m.left()
	}
	return nil
}

// adjacent turns this rank's block from have into want, exchanging iterations with its neighbours in the order of
// dist.Moves, and returns the number of transfers it took part in. Sends are started, not waited for, until all is
// received: so nobody waits in a circle. Data of both sides lie within spread iterations of a boundary.
func (m *mover) adjacent(have, want dist.Range, spread int) (transfers int, err error) {
	moves := dist.Moves(have, want, m.c.Rank(), spread)
	for _, v := range moves {
		if v.Send {
			err = m.give(v.Peer, v.Iterations)
		} else {
			err = m.take(v.Peer, v.Iterations)
		}
		if err != nil {
			return 0, err
		}
	}
	// Large messages need the sender's help to arrive: one that computed on would help once a phase, and the receiver
	// would wait for many of them.
	return len(moves), m.flush()
}
