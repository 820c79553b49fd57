package commtest

import (
	"errors"
	"time"

	"shiftwork/comm"
	"shiftwork/internal/machine"
)

const (
	// longWait for each way of waiting: long beside what each wait may spin before it sleeps (5 ms on a core of its own),
	// and beside its first, short sleeps (40 ms of about 30 µs in 250). In 100 ms these alone come to the share below.
	longWait = 300 * time.Millisecond

	// cpuShare of the waits may be CPU time of this process. One of the three ways of waiting that spins takes a third of it all,
	// less on a busy machine; ones that sleep take some 4%, and the garbage collector or other ranks of the process may
	// take some.
	cpuShare = 0.1

	// cpuTries: one good round is enough, because what disturbs it comes and goes and spinning does not.
	cpuTries = 3
)

var clocks = []property{
	{"Now does not go back", 1, func(r rank) {
		last := r.Now()
		step := func(after string) {
			now := r.Now()
			r.holds(now >= last, "Now went from %v to %v after %s", last, now, after)
			last = now
		}
		for range 100 {
			step("nothing")
		}
		for range 10 {
			q := r.isend(r.right(), 401, nil)
			step("Isend")
			r.receive(r.left(), 401, nil)
			step("Recv")
			r.wait(q)
			step("Wait")
		}
		before := r.Now()
		r.pause(5 * time.Millisecond)
		r.holds(r.Now()-before >= 5*time.Millisecond, "a pause of 5 ms took %v", r.Now()-before)
	}},

	{"waiting sleeps", 2, func(r rank) {
		const tag = 402
		enough := []byte{0}
		for try := 1; enough[0] == 0; try++ {
			r.works(comm.Barrier(r))
			switch r.Rank() {
			case 0:
				began, cpuBegan := r.Now(), processTime()
				r.receive(1, tag, nil)
				_, err := r.Probe(1, tag)
				r.works(err)
				r.receive(1, tag, nil)
				i, _, err := r.WaitAny([]comm.Request{nil, r.irecv(1, tag, nil)})
				r.works(err)
				r.holds(i == 1, "WaitAny returned %d, want 1", i)
				waited, cpu := r.Now()-began, processTime()-cpuBegan
				good := r.Transport() == "sim" || cpu.Seconds() <= cpuShare*waited.Seconds()
				r.holds(good || try < cpuTries, "%v of CPU time in a wait of %v: waiting must sleep", cpu, waited)
				if good {
					enough[0] = 1
				}
			case 1:
				for range 3 {
					r.pause(longWait)
					r.send(0, tag, nil)
				}
			}
			r.works(comm.Bcast(r, 0, enough))
		}
	}},
}

// processTime is the CPU time of this process. Where it is not known it is 0, and every wait passes.
func processTime() time.Duration {
	t, err := machine.CPUTime()
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		panic(err)
	}
	return t
}
