package commtest

import (
	"bytes"
	"errors"

	"shiftwork/comm"
)

var lending = []property{
	{"what is lent arrives whole and in order", 2, func(r rank) {
		switch r.Rank() {
		case 0:
			var reqs []comm.Request
			var lent [][]byte
			for i, n := range lengths {
				lent = append(lent, pattern(n, i))
				q, err := comm.Lend(r.Comm, 1, 301, lent[i])
				r.works(err)
				reqs = append(reqs, q)
			}
			for i, q := range reqs {
				r.holds(r.wait(q).Len == lengths[i], "%d bytes were lent", lengths[i])
				clear(lent[i]) // they are this rank's again
			}
			r.send(1, 302, nil)
		case 1:
			all := make([][]byte, len(lengths))
			for i, n := range lengths {
				var st comm.Status
				if i%2 == 0 {
					found, err := r.Probe(0, 301)
					r.works(err)
					st, err = comm.Borrow(r.Comm, found, func(bytes int) []byte {
						all[i] = make([]byte, bytes)
						return all[i]
					})
					r.works(err)
				} else {
					all[i] = make([]byte, n)
					q, err := comm.Iborrow(r.Comm, 0, 301, all[i])
					r.works(err)
					st = r.wait(q)
				}
				r.expect(st, 0, 301, all[i], pattern(n, i))
			}
			r.receive(0, 302, nil)
			for i, n := range lengths {
				r.holds(bytes.Equal(all[i], pattern(n, i)), "the %d bytes changed when their lender had them back", n)
			}
		}
	}},

	{"all lend to one side and borrow from the other at once", 2, func(r rank) {
		const n = 1 << 20
		b := make([]byte, n+1)
		in, err := comm.Iborrow(r.Comm, r.left(), 303, b[:n])
		r.works(err)
		out, err := comm.Lend(r.Comm, r.right(), 303, pattern(n, r.Rank()))
		r.works(err)
		for done := false; !done; {
			var st comm.Status
			if st, done, err = in.Test(); done {
				r.works(err)
				r.expect(st, r.left(), 303, b[:n], pattern(n, r.left()))
			}
			r.pause(1e5)
		}
		r.wait(out)
	}},

	{"a loan that fails leaves nothing behind", 2, func(r rank) {
		lent := pattern(1000, 1)
		if r.Rank() == 0 {
			_, err := comm.Lend(r.Comm, 1, -1, lent)
			r.holds(err != nil, "a negative tag was accepted")
			q, err := comm.Lend(r.Comm, 1, 305, lent)
			r.works(err)
			r.wait(q)
		}
		if r.Rank() == 1 {
			found, err := r.Probe(0, 305)
			r.works(err)
			b := make([]byte, len(lent))
			_, err = comm.Borrow(r.Comm, found, func(n int) []byte { return b[:n] })
			r.works(err)
			r.holds(bytes.Equal(b, lent), "another loan arrived")
		}
	}},

	{"who lends more than there is room for is told, and nothing is written", 2, func(r rank) {
		switch {
		case !comm.CanRead(r.Comm, (r.Rank()+1)%2): // a truncated message: another property
		case r.Rank() == 0:
			q, err := comm.Lend(r.Comm, 1, 304, pattern(1<<20, 1))
			r.works(err)
			r.wait(q)
		case r.Rank() == 1:
			b := make([]byte, 100)
			found, err := r.Probe(0, 304)
			r.works(err)
			_, err = comm.Borrow(r.Comm, found, func(int) []byte { return b[:99] })
			r.holds(errors.Is(err, comm.ErrTruncated), "a truncated loan: %v", err)
			r.holds(bytes.Equal(b, make([]byte, 100)), "a truncated loan was written")
		}
	}},
}
