//go:build cgo && !nompi

package mpi

import (
	"errors"
	"os"
	"slices"
	"strings"
	"time"
	"unsafe"

	"shiftwork/comm"
)

var errProcessEnded = errors.New("it has ended")

// neighboursMemory is what ranks on one machine know of each other's memory.
type neighboursMemory struct {
	processes []int // by rank, of the others that share memory with this one as MPI sees it; 0: of those that do not
	readable  bool  // their memory, where processors are shared or rationed (comm.Lend)
	word      uint64
}

// mayRead reports whether the user's settings of Open MPI let a rank copy the memory of another one on the same machine by itself.
func mayRead(getenv func(string) string) bool {
	return mayShare(getenv) && getenv("OMPI_MCA_btl_vader_single_copy_mechanism") != "none"
}

// mayShare reports whether they leave ranks on one machine the shared memory.
func mayShare(getenv func(string) string) bool {
	transports := getenv("OMPI_MCA_btl")
	all, without := strings.CutPrefix(transports, "^")
	names := strings.Split(all, ",")
	shared := slices.Contains(names, "vader") || slices.Contains(names, "sm")
	return transports == "" || shared != without
}

// try finds out who is on this node and, if it may, whether their memory can be read, by reading a word. Linux refuses it to processes of other users or in other containers and, as it is often set up, to
// all but a process's ancestors; then nobody reads, so that pairs of ranks need not agree.
func (m *neighboursMemory) try(c *Comm, node int, may bool) error {
	m.word = ^uint64(c.rank)
	if may {
		letSiblingsRead()
	}
	var e comm.Encoder
	e.Int(node)
	e.Int(os.Getpid())
	e.Uint64(uint64(uintptr(unsafe.Pointer(&m.word))))
	all, err := comm.AllGather(c, e.Message())
	if err != nil {
		return err
	}
	m.processes = make([]int, c.size)
	works := 1.0
	if !may {
		works = 0
	}
	for r, text := range all {
		d := comm.NewDecoder(text)
		where, process, address := d.Int(), d.Int(), d.Uint64()
		if err := d.Finish(); err != nil {
			return err
		}
		if where != node || r == c.rank {
			continue
		}
		m.processes[r] = process
		if works == 0 {
			continue
		}
		b := make([]byte, 8)
		if readMemory(process, address, b) != nil || *(*uint64)(unsafe.Pointer(unsafe.SliceData(b))) != ^uint64(r) {
			works = 0
		}
	}
	works, err = comm.AllreduceMin(c, works) // also where each has read the others' words
	m.readable = works == 1
	return err
}

// CanRead says whether this rank can copy the peer's memory.
func (c *Comm) CanRead(peer int) bool {
	return c.memory.readable && peer >= 0 && peer < c.size && c.memory.processes[peer] != 0
}

// endsWithin is how long, after a process has ended, mpirun has to say so and to end the others.
const endsWithin = 10 * time.Second

// Read copies it. If the peer's process has ended there is nothing to read, and this rank waits, as MPI's calls do for a message that never comes: mpirun ends the job and tells
// which rank it was, and how it ended. An error at once would make the job end for a reason that is none.
func (c *Comm) Read(peer int, address uint64, b []byte) error {
	err := readMemory(c.memory.processes[peer], address, b)
	if errors.Is(err, errProcessEnded) {
		time.Sleep(endsWithin)
	}
	return err
}
