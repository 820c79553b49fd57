//go:build cgo && !nompi

package mpi

import (
	"crypto/rand"
	"errors"
	"fmt"

	"shiftwork/comm"
)

// Share maps memory of each rank into those that share memory with it, as MPI sees it, where the user leaves them that and the system lets them. MPI has windows for it; what makes
// one waits as MPI's own calls do, and sixteen ranks on two cores took a second longer.
func (c *Comm) Share(bytes int) (comm.Shared, error) {
	s := comm.Shared{Of: make([][]byte, c.size)}
	fail := func(err error) (comm.Shared, error) {
		return comm.Shared{}, fmt.Errorf("rank %d shares memory: %w", c.rank, err)
	}
	own := noOffer
	if c.shares && bytes > 0 {
		var err error
		if own, err = offerMemory(bytes + signBytes); err == nil {
			defer own.close()
			_, _ = rand.Read(own.memory[len(own.memory)-signBytes:]) // never fails
		}
	}
	var e comm.Encoder
	e.Int(own.file)
	e.Bytes(sign(own.memory))
	all, err := comm.AllGather(c, e.Message())
	if err != nil {
		return fail(err)
	}
	mapped := make([][]byte, c.size)
	mapped[c.rank] = own.memory
	s.Release = func() {
		for _, b := range mapped {
			unmap(b)
		}
	}
	works := 1.0
	for r, text := range all {
		d := comm.NewDecoder(text)
		file, signed := d.Int(), d.Bytes()
		if err := d.Finish(); err != nil {
			return fail(err)
		}
		if file < 0 {
			works = 0
		}
		process := c.memory.processes[r]
		if works == 0 || process == 0 {
			continue
		}
		if mapped[r], err = mapMemory(process, file, bytes+signBytes); err != nil || string(sign(mapped[r])) != string(signed) {
			works = 0
		}
	}
	// It is also where all have mapped what they reach.
	if works, err = comm.AllreduceMin(c, works); err != nil {
		return fail(err)
	}
	if works == 0 {
		s.Release()
		return comm.Shared{Of: s.Of}, nil
	}
	for r, b := range mapped {
		if b != nil {
			s.Of[r] = b[:bytes:bytes]
		}
	}
	return s, nil
}

// Behind the memory are random bytes by which others see that it is the one they mean: in containers a process may have another number.
const signBytes = 16

// sign is that of some memory, if there is any.
func sign(memory []byte) []byte {
	if memory == nil {
		return nil
	}
	return memory[len(memory)-signBytes:]
}

// offer is memory of this process which others can map until it is closed.
type offer struct {
	memory []byte
	file   int // its number in this process; -1: there is none
}

var noOffer = offer{file: -1}

var errNoMemory = errors.New("no memory that others can map")
