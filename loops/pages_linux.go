package loops

import (
	"os"

	"golang.org/x/sys/unix"

	"shiftwork/comm"
)

// hugePages asks for 2 MiB pages. A strip touches a little of every row, which lie pages apart: with pages of 4 KiB each
// row costs an entry of the TLB, and large matrices have more rows than it has entries.
func hugePages(data []float64) {
	const huge = 2 << 20
	if 8*len(data) < 2*huge {
		return
	}
	b := comm.BytesOf(data)
	// The kernel wants whole pages; what the allocator rounds up to at the end is ours as well.
	page := os.Getpagesize()
	_ = unix.Madvise(b[:len(b)/page*page], unix.MADV_HUGEPAGE) // without, it is only slower
}
