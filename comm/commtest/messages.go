package commtest

import (
	"errors"
	"time"

	"shiftwork/comm"
)

// Tags are different in each case only to make a failure easier to read.
var messages = []property{
	{"order is kept per source and tag", 2, func(r rank) {
		const n = 20
		tags := []int{101, 102, 103}
		if r.Rank() != 0 {
			var reqs []comm.Request
			for i := range n {
				for _, tag := range tags {
					reqs = append(reqs, r.isend(0, tag, pattern(lengths[i%len(lengths)], i)))
				}
			}
			r.waitAll(reqs)
			return
		}
		// Another order of tags and of sources than any in which they were sent.
		for _, tag := range []int{103, 101, 102} {
			for from := r.Size() - 1; from > 0; from-- {
				for i := range n {
					r.receive(from, tag, pattern(lengths[i%len(lengths)], i))
				}
			}
		}
	}},

	{"order is kept between a short message and a long one before it", 2, func(r rank) {
		switch r.Rank() {
		case 0:
			long := r.isend(1, 104, pattern(1<<20, 1))
			short := r.isend(1, 104, pattern(3, 2))
			r.wait(short)
			r.wait(long)
		case 1:
			r.receive(0, 104, pattern(1<<20, 1))
			r.receive(0, 104, pattern(3, 2))
		}
	}},

	{"empty messages are messages", 2, func(r rank) {
		switch r.Rank() {
		case 0:
			r.send(1, 111, nil)
			r.send(1, 111, []byte{})
			r.send(1, 111, []byte{7})
			r.wait(r.isend(1, 111, nil))
		case 1:
			r.receive(0, 111, nil)
			st, err := r.Probe(0, 111)
			r.works(err)
			r.expect(st, 0, 111, nil, nil)
			r.receive(0, 111, []byte{})
			r.receive(0, 111, []byte{7})
			r.expect(r.wait(r.irecv(0, 111, nil)), 0, 111, nil, nil)
		}
	}},

	{"a message may be shorter than the receive buffer", 2, func(r rank) {
		switch r.Rank() {
		case 0:
			r.send(1, 112, pattern(5, 1))
		case 1:
			b := make([]byte, 9)
			b[5] = 99
			st, err := r.Recv(0, 112, b)
			r.works(err)
			r.expect(st, 0, 112, b[:5], pattern(5, 1))
			r.holds(b[5] == 99, "the buffer was changed behind the message")
		}
	}},

	{"16 MiB in one message", 2, func(r rank) {
		switch r.Rank() {
		case 0:
			r.send(1, 121, pattern(16<<20, 3))
		case 1:
			r.receive(0, 121, pattern(16<<20, 3))
		}
	}},

	{"long exchange around a ring, Isend first", 2, func(r rank) {
		const n = 1 << 20
		q := r.isend(r.right(), 122, pattern(n, r.Rank()))
		r.receive(r.left(), 122, pattern(n, r.left()))
		r.wait(q)
	}},

	{"long exchange around a ring, Irecv first", 2, func(r rank) {
		const n = 1 << 20
		b := make([]byte, n)
		q := r.irecv(r.left(), 123, b)
		r.send(r.right(), 123, pattern(n, r.Rank()))
		r.expect(r.wait(q), r.left(), 123, b, pattern(n, r.left()))
	}},

	{"all to all in mixed lengths", 1, func(r rank) {
		length := func(from, to int) int { return lengths[(3*from+to)%len(lengths)] }
		var reqs []comm.Request
		in := make([][]byte, r.Size())
		for from := range in {
			in[from] = make([]byte, length(from, r.Rank()))
			reqs = append(reqs, r.irecv(from, 124, in[from]))
		}
		for to := range r.Size() {
			reqs = append(reqs, r.isend(to, 124, pattern(length(r.Rank(), to), r.Rank())))
		}
		for range reqs {
			i, st, err := r.WaitAny(reqs)
			r.works(err)
			r.holds(i >= 0 && reqs[i] != nil, "WaitAny returned %d, which is not pending", i)
			if i < len(in) {
				r.expect(st, i, 124, in[i], pattern(length(i, r.Rank()), i))
			}
			reqs[i] = nil
		}
	}},

	{"probe any, then receive from the source probed", 2, func(r rank) {
		const n = 10
		if r.Rank() != 0 {
			for i := range n {
				r.send(0, 131, pattern(100*r.Rank()+i, i))
			}
			return
		}
		got := make([]int, r.Size())
		for range n * (r.Size() - 1) {
			st, err := r.Probe(comm.Any, 131)
			r.works(err)
			from := st.Source
			r.holds(from > 0 && from < r.Size(), "probed a message from rank %d", from)
			want := pattern(100*from+got[from], got[from])
			r.expect(st, from, 131, want, want)
			r.receive(from, 131, want)
			got[from]++
		}
		for from := 1; from < r.Size(); from++ {
			r.holds(got[from] == n, "received %d messages from rank %d, want %d", got[from], from, n)
		}
	}},

	{"a receive from any gets each message once", 2, func(r rank) {
		if r.Rank() != 0 {
			r.send(0, 132, pattern(10, r.Rank()))
			return
		}
		seen := make([]bool, r.Size())
		receive := func(st comm.Status, b []byte) {
			from := st.Source
			r.holds(from > 0 && from < r.Size() && !seen[from], "received again, or for no reason, from rank %d", from)
			r.expect(st, from, 132, b, pattern(10, from))
			seen[from] = true
		}
		b := make([]byte, 10)
		q := r.irecv(comm.Any, 132, b)
		receive(r.wait(q), b)
		for range r.Size() - 2 {
			st, err := r.Recv(comm.Any, 132, b)
			r.works(err)
			receive(st, b)
		}
	}},

	{"Iprobe is false before and true after, and consumes nothing", 2, func(r rank) {
		const tag, start = 133, 134
		switch r.Rank() {
		case 0:
			_, found, err := r.Iprobe(1, tag)
			r.works(err)
			r.holds(!found, "Iprobe sees a message that was not sent")
			r.send(1, start, nil)
			for found = false; !found; {
				var st comm.Status
				st, found, err = r.Iprobe(1, tag)
				r.works(err)
				if found {
					want := pattern(50, 1)
					r.expect(st, 1, tag, want, want)
				} else {
					r.pause(100 * time.Microsecond)
				}
			}
			_, found, err = r.Iprobe(comm.Any, tag)
			r.works(err)
			r.holds(found, "Iprobe consumed the message")
			_, found, err = r.Iprobe(1, start)
			r.works(err)
			r.holds(!found, "Iprobe sees a message with another tag")
			r.receive(1, tag, pattern(50, 1))
			_, found, err = r.Iprobe(comm.Any, tag)
			r.works(err)
			r.holds(!found, "Iprobe sees a message that was received")
		case 1:
			r.receive(0, start, nil)
			r.send(0, tag, pattern(50, 1))
		}
	}},

	{"a message too long for its buffer is an error, and the next one arrives", 2, func(r rank) {
		const tag = 141
		sizes := []int{11, 100000}
		switch r.Rank() {
		case 0:
			for _, n := range sizes {
				for range 3 {
					r.wait(r.isend(1, tag, pattern(n, 1)))
					r.send(1, tag, pattern(10, 2))
				}
			}
		case 1:
			b := make([]byte, 10)
			truncated := func(err error) {
				r.holds(errors.Is(err, comm.ErrTruncated), "the error is %v, want comm.ErrTruncated", err)
				var where *comm.Error
				r.holds(errors.As(err, &where) && where.Rank == r.Rank() && where.Tag == tag, "the error %v does not say where", err)
				r.receive(0, tag, pattern(10, 2))
			}
			for range sizes {
				_, err := r.Recv(0, tag, b)
				truncated(err)
				_, err = r.irecv(0, tag, b).Wait()
				truncated(err)
				i, _, err := r.WaitAny([]comm.Request{nil, r.irecv(0, tag, b)})
				r.holds(i == 1, "WaitAny returned %d, want 1, the request that failed", i)
				truncated(err)
			}
		}
	}},

	{"a peer or tag that does not exist is an error", 1, func(r rank) {
		b := make([]byte, 1)
		bad := func(what string, err error) {
			var where *comm.Error
			r.holds(errors.As(err, &where), "%s: the error is %v, want a *comm.Error", what, err)
			r.holds(where.Rank == r.Rank(), "%s: the error names rank %d", what, where.Rank)
		}
		all := func(what string, peer, tag int, alsoSend bool) {
			if alsoSend {
				bad("Send to "+what, r.Send(peer, tag, b))
				_, err := r.Isend(peer, tag, b)
				bad("Isend to "+what, err)
			}
			_, err := r.Recv(peer, tag, b)
			bad("Recv from "+what, err)
			_, err = r.Irecv(peer, tag, b)
			bad("Irecv from "+what, err)
			_, err = r.Probe(peer, tag)
			bad("Probe of "+what, err)
			_, _, err = r.Iprobe(peer, tag)
			bad("Iprobe of "+what, err)
		}
		all("a rank past the last", r.Size(), 151, true)
		all("rank -2", -2, 151, true)
		all("a negative tag", r.Rank(), -1, true)
		all("a tag of more than 32 bits", r.Rank(), 1<<32+151, true)
		all("a negative tag of any", comm.Any, -1, false)
		bad("Send to any", r.Send(comm.Any, 151, b))
		_, err := r.Isend(comm.Any, 151, b)
		bad("Isend to any", err)
		// Nothing of this was sent, or is still being received.
		q := r.isend(r.right(), 151, []byte{9})
		r.receive(r.left(), 151, []byte{9})
		r.wait(q)
	}},
}
