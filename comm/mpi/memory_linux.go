//go:build cgo && !nompi

package mpi

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// letSiblingsRead lets the descendants of the process that has started this one, which are the ranks of this job, read its memory also where Yama allows it to
// ancestors only. Without Yama there is nothing to allow.
func letSiblingsRead() { _ = unix.Prctl(unix.PR_SET_PTRACER, uintptr(os.Getppid()), 0, 0, 0) }

// readMemory copies from an address of another process. The kernel copies up to 2 GiB at a time.
func readMemory(process int, address uint64, b []byte) error {
	for len(b) > 0 {
		local := []unix.Iovec{{Base: &b[0]}}
		local[0].SetLen(min(len(b), 1<<30))
		n, err := unix.ProcessVMReadv(process, local, []unix.RemoteIovec{{Base: uintptr(address), Len: min(len(b), 1<<30)}}, 0)
		if err == unix.ESRCH {
			err = errProcessEnded
		}
		if err != nil {
			return fmt.Errorf("the memory of process %d: %w", process, err)
		}
		if n <= 0 {
			return fmt.Errorf("the memory of process %d: nothing there", process)
		}
		b, address = b[n:], address+uint64(n)
	}
	return nil
}
