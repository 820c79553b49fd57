package machine

import (
	"os"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// resident is which pages of memory have memory behind them.
func resident(t *testing.T, memory []byte) []byte {
	t.Helper()
	page := os.Getpagesize()
	in := make([]byte, len(memory)/page)
	_, _, code := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&memory[0])), uintptr(len(memory)), uintptr(unsafe.Pointer(&in[0])))
	require.Zero(t, code)
	return in
}

func TestPopulate(t *testing.T) {
	page := os.Getpagesize()
	memory, err := unix.Mmap(-1, 0, 8*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Munmap(memory)) }()
	require.NoError(t, unix.Madvise(memory, unix.MADV_NOHUGEPAGE))
	memory[3*page+5] = 7
	Populate(memory[page+1 : 6*page-1]) // the pages 2, 3 and 4, and parts of two more
	assert.Equal(t, []byte{0, 0, 1, 1, 1, 0, 0, 0}, resident(t, memory))
	assert.Equal(t, byte(7), memory[3*page+5])
	for _, b := range [][]byte{nil, memory[1:2], memory[1:page], memory[page-1 : page+1]} {
		Populate(b)
	}
	assert.Equal(t, []byte{0, 0, 1, 1, 1, 0, 0, 0}, resident(t, memory))
	Populate(memory)
	assert.Equal(t, []byte{1, 1, 1, 1, 1, 1, 1, 1}, resident(t, memory))
}
