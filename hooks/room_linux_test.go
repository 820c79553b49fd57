package hooks_test

import (
	"os"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"shiftwork/comm"
	"shiftwork/comm/local"
	"shiftwork/dist"
	"shiftwork/hooks"
	"shiftwork/lb"
)

// pages is an array whose iterations are one page each.
type pages struct{ memory []byte }

func (p pages) Bytes(r dist.Range) []byte {
	return p.memory[r.Lo*os.Getpagesize() : r.Hi*os.Getpagesize()]
}
func (p pages) Pack(r dist.Range, buf []byte) []byte { return append(buf, p.Bytes(r)...) }
func (p pages) Unpack(r dist.Range, b []byte) error  { copy(p.Bytes(r), b); return nil }

// resident is how many of the iterations have memory behind them.
func (p pages) resident(t *testing.T, r dist.Range) (n int) {
	if r.Empty() {
		return 0
	}
	b, in := p.Bytes(r), make([]byte, r.Len())
	_, _, code := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(unsafe.Pointer(&in[0])))
	require.Zero(t, code)
	for _, is := range in {
		n += int(is & 1)
	}
	return n
}

// Rows that come find memory, where they may come and if they may.
func TestRoomForRowsThatMayCome(t *testing.T) {
	const count, ranks = 90, 3
	for _, policy := range []lb.Policy{lb.On, lb.Off} {
		memory := make([]pages, ranks)
		for r := range memory {
			b, err := unix.Mmap(-1, 0, count*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
			require.NoError(t, err)
			defer func() { require.NoError(t, unix.Munmap(b)) }()
			require.NoError(t, unix.Madvise(b, unix.MADV_NOHUGEPAGE))
			memory[r] = pages{b}
		}
		require.NoError(t, local.Run(ranks, func(c comm.Comm) error {
			h, err := hooks.New(c, hooks.Loop{
				Iterations: dist.Span(0, count), Arrays: []hooks.Array{memory[c.Rank()]}, Adjacent: true, Phases: 1,
			}, lb.Config{Policy: policy})
			if err != nil {
				return err
			}
			_, err = h.Finish()
			return err
		}))
		room := 10 // a third of a rank's rows
		if policy == lb.Off {
			room = 0
		}
		assert.Equal(t, room, memory[0].resident(t, dist.Span(0, count)), "to the right of 0..29")
		assert.Equal(t, room, memory[1].resident(t, dist.Span(0, 30)))
		assert.Equal(t, room, memory[1].resident(t, dist.Span(60, count)))
		assert.Equal(t, room, memory[2].resident(t, dist.Span(0, 60)))
	}
}
