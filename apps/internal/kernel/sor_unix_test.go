//go:build linux || darwin

package kernel

import (
	"os"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// fenced returns n values with a page before or behind them that nobody can read.
func fenced(t *testing.T, n int, behind bool) []float64 {
	page := os.Getpagesize()
	size := (8*n + page - 1) / page * page
	memory, err := unix.Mmap(-1, 0, size+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(memory)) })
	fence, first := memory[:page], page
	if behind {
		fence, first = memory[size:], size-8*n
	}
	require.NoError(t, unix.Mprotect(fence, unix.PROT_NONE))
	return unsafe.Slice((*float64)(unsafe.Pointer(&memory[first])), n)
}

// A block may fill the grid, and the grid its memory: one value too many, read or written, ends the test program.
func TestNothingOutsideTheGridIsTouched(t *testing.T) {
	const most = 60
	for _, behind := range []bool{false, true} {
		memory := fenced(t, (most+2)*(most+42), behind)
		for height := 1; height <= most; height += 1 + height/20*5 {
			for width := 1; width <= most+40; width += 1 + width/80*3 {
				n := (height + 2) * (width + 2)
				u := memory[:n]
				if behind {
					u = memory[len(memory)-n:]
				}
				for _, path := range paths {
					copy(u, roughGrid(height+2, width+2, 1))
					path.relax(NewSOR(paperOmega, true), u, width+2, Span{1, 1 + height}, Span{1, 1 + width})
				}
			}
		}
	}
}

// Other goroutines may own what surrounds a block: it must not be written, not even with the value that it has. Here it
// is in pages that nobody can write: each row is three pages, the block has those in the middle.
func TestSurroundingsAreNotWritten(t *testing.T) {
	page := os.Getpagesize() / 8 // values
	stride := 3 * page
	const most = 40
	for _, height := range []int{1, 15, 16, 33, most} {
		memory, err := unix.Mmap(-1, 0, (height+2)*stride*8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		require.NoError(t, err)
		u := unsafe.Slice((*float64)(unsafe.Pointer(&memory[0])), (height+2)*stride)
		copy(u, roughGrid(height+2, stride, 1))
		require.NoError(t, unix.Mprotect(memory, unix.PROT_READ))
		for j := 1; j <= height; j++ {
			own := (j*stride + page) * 8
			require.NoError(t, unix.Mprotect(memory[own:own+page*8], unix.PROT_READ|unix.PROT_WRITE))
		}
		for _, path := range paths {
			for _, cols := range []Span{{page, 2 * page}, {page + 1, 2 * page}, {page, page + 33}, {2*page - 50, 2 * page}} {
				path.relax(NewSOR(paperOmega, true), u, stride, Span{1, 1 + height}, cols)
			}
		}
		require.NoError(t, unix.Munmap(memory))
	}
}
