package commtest

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"shiftwork/comm"
)

// Case is one property of the contract. All ranks call Body; an error says what does not hold on this rank, and the
// caller must then end the job, because the other ranks may be waiting for it.
type Case struct {
	Name     string // group and property, "collectives: Bcast from every root"
	MinRanks int
	Body     func(c comm.Comm) error
}

// Cases returns the suite.
func Cases() []Case {
	var all []Case
	for _, group := range []struct {
		name       string
		properties []property
	}{{"messages", messages}, {"requests", requests}, {"lending", lending}, {"sharing", sharing}, {"collectives", collectives}, {"clocks", clocks}} {
		for _, p := range group.properties {
			all = append(all, Case{Name: group.name + ": " + p.name, MinRanks: p.minRanks, Body: p.body})
		}
	}
	return all
}

// Run runs every case with 2, 3 and 4 ranks. run must call body on each of that many ranks and report on t the error
// with which that ends.
func Run(t *testing.T, name string, run func(t *testing.T, ranks int, body func(c comm.Comm) error)) {
	for ranks := 2; ranks <= 4; ranks++ {
		for _, k := range Cases() {
			if ranks >= k.MinRanks {
				t.Run(fmt.Sprintf("%s/%d ranks/%s", name, ranks, k.Name), func(t *testing.T) {
					run(t, ranks, k.Body)
				})
			}
		}
	}
}

// property is a case whose check gives up by a panic with a violation.
type property struct {
	name     string
	minRanks int
	check    func(r rank)
}

type violation struct{ err error }

func (p property) body(c comm.Comm) (err error) {
	defer func() {
		if v := recover(); v != nil {
			broken, ok := v.(violation)
			if !ok {
				panic(v)
			}
			err = fmt.Errorf("%s: %w", p.name, broken.err)
		}
	}()
	p.check(rank{c})
	return comm.Barrier(c)
}

// rank is a Comm whose operations must succeed.
type rank struct{ comm.Comm }

// holds gives up unless ok.
func (r rank) holds(ok bool, format string, args ...any) {
	if !ok {
		panic(violation{fmt.Errorf("rank %d of %d: %s", r.Rank(), r.Size(), fmt.Sprintf(format, args...))})
	}
}

func (r rank) works(err error) {
	r.holds(err == nil, "unexpected error: %v", err)
}

func (r rank) send(to, tag int, b []byte) {
	r.works(r.Send(to, tag, b))
}

// receive expects exactly want.
func (r rank) receive(from, tag int, want []byte) {
	b := make([]byte, len(want))
	st, err := r.Recv(from, tag, b)
	r.works(err)
	r.expect(st, from, tag, b, want)
}

func (r rank) expect(st comm.Status, from, tag int, b, want []byte) {
	r.holds(st == comm.Status{Source: from, Tag: tag, Len: len(want)},
		"received %+v, want %d bytes from rank %d with tag %d", st, len(want), from, tag)
	r.holds(bytes.Equal(b, want), "the %d bytes from rank %d with tag %d are not those that were sent", len(want), from, tag)
}

func (r rank) isend(to, tag int, b []byte) comm.Request {
	q, err := r.Isend(to, tag, b)
	r.works(err)
	return q
}

func (r rank) irecv(from, tag int, b []byte) comm.Request {
	q, err := r.Irecv(from, tag, b)
	r.works(err)
	return q
}

func (r rank) wait(q comm.Request) comm.Status {
	st, err := q.Wait()
	r.works(err)
	return st
}

func (r rank) waitAll(reqs []comm.Request) {
	for _, q := range reqs {
		r.wait(q)
	}
}

// pause passes time on this rank: virtual where time is, else real.
func (r rank) pause(d time.Duration) {
	if w, ok := r.Comm.(comm.Worker); ok {
		w.Work(d.Seconds()) // at the default speed of 1 unit per second
	} else {
		time.Sleep(d)
	}
}

// others returns the ranks but this one, ascending.
func (r rank) others() []int {
	var all []int
	for o := range r.Size() {
		if o != r.Rank() {
			all = append(all, o)
		}
	}
	return all
}

func (r rank) left() int  { return (r.Rank() + r.Size() - 1) % r.Size() }
func (r rank) right() int { return (r.Rank() + 1) % r.Size() }

// pattern returns n bytes that differ from those of every other seed below 251, and from themselves shifted.
func pattern(n, seed int) []byte {
	b := make([]byte, n)
	period := min(n, 251)
	for i := range period {
		b[i] = byte((i*i + seed) % 251)
	}
	for done := period; done > 0 && done < n; done *= 2 {
		copy(b[done:], b[:done])
	}
	return b
}

// lengths on both sides of where transports change from buffering to waiting for the receive.
var lengths = []int{0, 1, 8, 1000, 4096, 4097, 65536, 65537, 100000}
