package commtest

import (
	"bytes"
	"math"
	"time"

	"shiftwork/comm"
)

var collectives = []property{
	{"no rank leaves a Barrier before the last has entered", 1, func(r rank) {
		const tag = 301
		for late := range r.Size() {
			if r.Rank() != late {
				r.works(comm.Barrier(r))
				r.send(late, tag, nil)
				continue
			}
			r.pause(10 * time.Millisecond)
			_, found, err := r.Iprobe(comm.Any, tag)
			r.works(err)
			r.holds(!found, "another rank has left the Barrier that this rank has not entered")
			r.works(comm.Barrier(r))
			for _, from := range r.others() {
				r.receive(from, tag, nil)
			}
		}
	}},

	{"Bcast from every root in every length", 1, func(r rank) {
		for root := range r.Size() {
			for i, n := range lengths {
				b := make([]byte, n)
				if r.Rank() == root {
					copy(b, pattern(n, i))
				}
				r.works(comm.Bcast(r, root, b))
				r.holds(bytes.Equal(b, pattern(n, i)), "Bcast of %d bytes from rank %d brought others", n, root)
			}
		}
	}},

	{"Gather to every root, lengths differ", 1, func(r rank) {
		for root := range r.Size() {
			all, err := comm.Gather(r, root, pattern(lengths[r.Rank()%len(lengths)], r.Rank()))
			r.works(err)
			if r.Rank() == root {
				r.holdsAll(all, func(from int) []byte { return pattern(lengths[from%len(lengths)], from) })
			} else {
				r.holds(all == nil, "Gather returned %d entries on a rank that is not the root", len(all))
			}
		}
	}},

	{"AllGather, lengths differ", 1, func(r rank) {
		for i := range lengths {
			block := func(from int) []byte { return pattern(lengths[(from+i)%len(lengths)], from) }
			all, err := comm.AllGather(r, block(r.Rank()))
			r.works(err)
			r.holdsAll(all, block)
		}
	}},

	{"Allreduce is the extreme of all ranks on all ranks", 1, func(r rank) {
		for extreme := range r.Size() {
			x := float64(r.Rank()) / 8
			if r.Rank() == extreme {
				x = 1000
			}
			got, err := comm.AllreduceMax(r, x)
			r.works(err)
			r.holds(got == 1000, "AllreduceMax returned %v, want 1000", got)
			got, err = comm.AllreduceMin(r, -x)
			r.works(err)
			r.holds(got == -1000, "AllreduceMin returned %v, want -1000", got)

			x = math.Inf(1)
			if r.Rank() == extreme {
				x = math.NaN()
			}
			got, err = comm.AllreduceMax(r, x)
			r.works(err)
			r.holds(math.IsNaN(got), "AllreduceMax returned %v, want NaN", got)
		}
	}},

	{"a root that does not exist is an error", 1, func(r rank) {
		for _, root := range []int{-1, r.Size()} {
			r.holds(comm.Bcast(r, root, nil) != nil, "Bcast from rank %d worked", root)
			_, err := comm.Gather(r, root, nil)
			r.holds(err != nil, "Gather to rank %d worked", root)
		}
	}},

	{"collectives that follow each other are kept apart, however skewed the ranks", 1, func(r rank) {
		for i := range 30 {
			// Every rank is late in some rounds: all the others are then as far ahead as they can be.
			if i%(r.Size()+1) == r.Rank() {
				r.pause(time.Millisecond)
			}
			root := i % r.Size()
			b := []byte{0}
			if r.Rank() == root {
				b[0] = byte(i)
			}
			r.works(comm.Bcast(r, root, b))
			r.holds(b[0] == byte(i), "round %d: Bcast brought %d", i, b[0])

			all, err := comm.Gather(r, root, []byte{byte(i), byte(r.Rank())})
			r.works(err)
			if r.Rank() == root {
				r.holdsAll(all, func(from int) []byte { return []byte{byte(i), byte(from)} })
			}
			all, err = comm.AllGather(r, []byte{byte(r.Rank()), byte(i)})
			r.works(err)
			r.holdsAll(all, func(from int) []byte { return []byte{byte(from), byte(i)} })

			got, err := comm.AllreduceMax(r, float64(i*100+r.Rank()))
			r.works(err)
			r.holds(got == float64(i*100+r.Size()-1), "round %d: AllreduceMax returned %v", i, got)
			got, err = comm.AllreduceMin(r, float64(i*100+r.Rank()))
			r.works(err)
			r.holds(got == float64(i*100), "round %d: AllreduceMin returned %v", i, got)
			if i%3 == 0 {
				r.works(comm.Barrier(r))
			}
		}
	}},
}

func (r rank) holdsAll(all [][]byte, want func(from int) []byte) {
	r.holds(len(all) == r.Size(), "%d entries, want one for each of %d ranks", len(all), r.Size())
	for from, b := range all {
		r.holds(bytes.Equal(b, want(from)), "the entry of rank %d is not what it gave", from)
	}
}
