package commtest

import (
	"bytes"

	"shiftwork/comm"
)

var sharing = []property{
	{"what one rank writes into shared memory others read", 2, func(r rank) {
		for i, n := range []int{8, 4096, 100000} {
			first, err := comm.Share(r.Comm, n)
			r.works(err)
			second, err := comm.Share(r.Comm, n) // another one
			r.works(err)
			r.holds(len(first.Of) == r.Size() && len(second.Of) == r.Size(), "memory of %d and %d ranks", len(first.Of), len(second.Of))
			others := 0
			for from, b := range first.Of {
				if b == nil {
					continue
				}
				others++
				r.holds(len(b) == n && bytes.Equal(b, make([]byte, n)), "%d bytes of rank %d that are not all zero, or not %d", len(b), from, n)
			}
			r.holds(others == 0 || first.Of[r.Rank()] != nil, "others' memory is in reach, and this rank's own is not")
			r.works(comm.Barrier(r))
			copy(first.Of[r.Rank()], pattern(n, i+r.Rank()))
			r.works(comm.Barrier(r))
			var e comm.Encoder // whom this rank reaches
			for from, b := range first.Of {
				e.Bool(b != nil)
				if b != nil {
					r.holds(bytes.Equal(b, pattern(n, i+from)), "rank %d has written other bytes", from)
				}
			}
			all, err := comm.AllGather(r, e.Message())
			r.works(err)
			for from, text := range all {
				d := comm.NewDecoder(text)
				for to := range r.Size() {
					if reached := d.Bool(); to == r.Rank() {
						r.holds(reached == (first.Of[from] != nil), "rank %d reaches this one: %v; but not the other way round", from, reached)
					}
				}
			}
			r.holds(second.Of[r.Rank()] == nil || bytes.Equal(second.Of[r.Rank()], make([]byte, n)), "two calls gave the same memory")
			for _, s := range []comm.Shared{first, second} {
				if s.Release != nil {
					s.Release()
				}
			}
		}
	}},

	{"letters lie on a shelf until they are read", 2, func(r rank) {
		const places, n, tag = 3, 5000, 401
		s, err := comm.NewShelf(r.Comm, 1, places, n)
		r.works(err)
		var reqs []comm.Request
		laid := 0
		for i := range 2 * places {
			room, note := s.Take(r.right(), n-i)
			if note == nil {
				break
			}
			copy(room, pattern(n-i, i+r.Rank()))
			reqs, laid = append(reqs, r.isend(r.right(), tag, note)), laid+1
		}
		r.works(comm.Barrier(r)) // nobody reads before
		if s.Reaches(r.right()) {
			r.holds(laid == places, "%d letters on %d places", laid, places)
		} else {
			r.holds(laid == 0, "%d letters for a rank that is out of reach", laid)
		}
		for i := range places {
			if !s.Reaches(r.left()) {
				break
			}
			note := make([]byte, comm.NoteBytes)
			_, err := r.Recv(r.left(), tag, note)
			r.works(err)
			text, err := s.Find(r.left(), note)
			r.works(err)
			r.holds(bytes.Equal(text, pattern(n-i, i+r.left())), "another letter lies there")
			r.works(s.Clear(r.left(), note))
			r.holds(s.Clear(r.left(), note) != nil, "a place was cleared twice")
			_, err = s.Find(r.left(), note)
			r.holds(err != nil, "a letter was found where none lies any more")
		}
		r.waitAll(reqs)
		r.works(comm.Barrier(r))
		reqs = nil
		if room, note := s.Take(r.right(), n); note != nil {
			r.holds(len(room) == n, "room for %d bytes", len(room))
			reqs = append(reqs, r.isend(r.right(), tag, note))
		}
		if s.Reaches(r.left()) {
			note := make([]byte, comm.NoteBytes)
			_, err := r.Recv(r.left(), tag, note)
			r.works(err)
			r.works(s.Clear(r.left(), note))
		}
		r.waitAll(reqs)
		r.works(s.Close())
	}},

	{"a shelf on which a letter is left cannot be closed", 2, func(r rank) {
		s, err := comm.NewShelf(r.Comm, 0, 1, 100)
		r.works(err)
		_, note := s.Take(r.right(), 100)
		r.holds((s.Close() != nil) == (note != nil), "closed, with a letter on it: %v", note != nil)
	}},
}
