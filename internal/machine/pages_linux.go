package machine

import (
	"os"

	"golang.org/x/sys/unix"
)

// Populate lets the system put memory behind the whole pages of b, as writing to them would; what they hold stays. It takes as long as that,
// which on a virtual machine whose host has to find the memory is up to 4 ms/MB. Where it cannot, writing will do it.
func Populate(b []byte) { advise(b, unix.MADV_POPULATE_WRITE) } // Linux 5.14

// HugePages asks for pages of 2 MiB behind b, if it has a few of them.
func HugePages(b []byte) {
	const huge = 2 << 20
	if len(b) >= 2*huge {
		advise(b, unix.MADV_HUGEPAGE)
	}
}

// advise tells the system about the whole pages of b, since it takes no others. What it does not know is only slower.
func advise(b []byte, advice int) {
	if len(b) == 0 {
		return
	}
	page := os.Getpagesize()
	before := Padding(b, page)
	if before >= len(b) {
		return
	}
	b = b[before:]
	if b = b[:len(b)/page*page]; len(b) > 0 {
		_ = unix.Madvise(b, advice)
	}
}
