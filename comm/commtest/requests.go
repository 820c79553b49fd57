package commtest

import (
	"time"

	"shiftwork/comm"
)

var requests = []property{
	{"a rank may send to itself", 1, func(r rank) {
		for i, n := range lengths {
			want := pattern(n, i)
			b := make([]byte, n)
			in := r.irecv(r.Rank(), 201, b)
			r.wait(r.isend(r.Rank(), 201, want))
			r.expect(r.wait(in), r.Rank(), 201, b, want)

			clear(b)
			out := r.isend(r.Rank(), 202, want)
			in = r.irecv(comm.Any, 202, b)
			r.expect(r.wait(in), r.Rank(), 202, b, want)
			r.wait(out)
		}
	}},

	{"a buffer may be changed once its Isend is finished", 2, func(r rank) {
		switch r.Rank() {
		case 0:
			for i, n := range lengths {
				b := pattern(n, i)
				q := r.isend(1, 203, b)
				r.wait(q)
				clear(b)
			}
		case 1:
			for i, n := range lengths {
				r.receive(0, 203, pattern(n, i))
			}
		}
	}},

	{"receives match in the order in which they were posted", 2, func(r rank) {
		switch r.Rank() {
		case 0:
			for i := range 4 {
				r.send(1, 204, pattern(10, i))
			}
		case 1:
			b := make([][]byte, 4)
			reqs := make([]comm.Request, 4)
			for i := range reqs {
				b[i] = make([]byte, 10)
				reqs[i] = r.irecv(0, 204, b[i])
			}
			for i := len(reqs) - 1; i >= 0; i-- { // whatever the order of waiting
				r.expect(r.wait(reqs[i]), 0, 204, b[i], pattern(10, i))
			}
		}
	}},

	{"Test is false before and true after", 2, func(r rank) {
		const tag, start = 205, 206
		switch r.Rank() {
		case 0:
			b := make([]byte, 20)
			q := r.irecv(1, tag, b)
			_, done, err := q.Test()
			r.works(err)
			r.holds(!done, "Test says that a receive is done whose message was not sent")
			r.send(1, start, nil)
			for {
				st, done, err := q.Test()
				r.works(err)
				if done {
					r.expect(st, 1, tag, b, pattern(20, 1))
					return
				}
				r.pause(100 * time.Microsecond)
			}
		case 1:
			r.receive(0, start, nil)
			r.send(0, tag, pattern(20, 1))
		}
	}},

	{"WaitAny of nothing but nil is -1", 1, func(r rank) {
		for _, reqs := range [][]comm.Request{nil, {}, {nil}, {nil, nil, nil}} {
			i, st, err := r.WaitAny(reqs)
			r.works(err)
			r.holds(i == -1 && st == comm.Status{}, "WaitAny returned %d, %+v", i, st)
		}
	}},

	{"WaitAny returns the lowest that is done and skips nil", 2, func(r rank) {
		const late, early, start = 207, 208, 209
		switch r.Rank() {
		case 0:
			b := [][]byte{nil, make([]byte, 10), make([]byte, 10), make([]byte, 10)}
			reqs := []comm.Request{nil, r.irecv(1, late, b[1]), r.irecv(1, early, b[2]), r.irecv(1, early, b[3])}
			expect := func(want, tag int) {
				i, st, err := r.WaitAny(reqs)
				r.works(err)
				r.holds(i == want, "WaitAny returned %d, want %d", i, want)
				r.expect(st, 1, tag, b[i], pattern(10, i))
				reqs[i] = nil
			}
			r.send(1, start, nil)
			r.receive(1, start, nil) // after both early ones, which are short, from the same rank
			expect(2, early)
			expect(3, early)
			r.send(1, start, nil)
			expect(1, late)
			i, _, err := r.WaitAny(reqs)
			r.works(err)
			r.holds(i == -1, "WaitAny returned %d after all were finished", i)
		case 1:
			r.receive(0, start, nil)
			r.send(0, early, pattern(10, 2))
			r.send(0, early, pattern(10, 3))
			r.send(0, start, nil)
			r.receive(0, start, nil)
			r.send(0, late, pattern(10, 1))
		}
	}},

	{"WaitAny of sends and receives finishes each once", 1, func(r rank) {
		const n = 25
		var reqs []comm.Request
		in := make([][]byte, n)
		for i := range n {
			in[i] = make([]byte, 5000)
			reqs = append(reqs, r.irecv(r.left(), 210, in[i]))
		}
		for i := range n {
			reqs = append(reqs, r.isend(r.right(), 210, pattern(5000, i)))
		}
		count := 0
		for {
			i, st, err := r.WaitAny(reqs)
			r.works(err)
			if i < 0 {
				break
			}
			if i < n {
				r.expect(st, r.left(), 210, in[i], pattern(5000, i))
			}
			reqs[i] = nil
			count++
		}
		r.holds(count == 2*n, "%d requests were finished, want %d", count, 2*n)
	}},

	{"1000 ping-pongs", 2, func(r rank) {
		// Ranks 0 and 1, 2 and 3, ... play; an odd one out watches.
		partner := r.Rank() ^ 1
		if partner >= r.Size() {
			return
		}
		for i := range 1000 {
			ball := pattern(16, i%251)
			if r.Rank() < partner {
				r.send(partner, 211, ball)
				r.receive(partner, 211, ball)
			} else {
				r.receive(partner, 211, ball)
				r.send(partner, 211, ball)
			}
		}
	}},
}
