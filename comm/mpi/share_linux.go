//go:build cgo && !nompi

package mpi

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"shiftwork/internal/machine"
)

const sharedName = "shiftwork" // in /proc/PROCESS/maps

// offerMemory makes memory that is there: there is no page to find later, nor one that is missing.
func offerMemory(bytes int) (offer, error) {
	file, err := unix.MemfdCreate(sharedName, unix.MFD_CLOEXEC)
	if err != nil {
		return noOffer, err
	}
	o := offer{file: file}
	if err = unix.Fallocate(file, 0, 0, int64(bytes)); err == nil {
		o.memory, err = unix.Mmap(file, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		o.close()
		return noOffer, err
	}
	machine.Populate(o.memory)
	return o, nil
}

func (o offer) close() { _ = unix.Close(o.file) }

// mapMemory maps what another process has offered.
func mapMemory(process, file, bytes int) ([]byte, error) {
	path := fmt.Sprintf("/proc/%d/fd/%d", process, file)
	if name, err := os.Readlink(path); err != nil || !strings.HasPrefix(name, "/memfd:"+sharedName) {
		return nil, errNoMemory // in another container, perhaps
	}
	there, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(there) }() // the mapping stays
	var st unix.Stat_t
	if err := unix.Fstat(there, &st); err != nil || st.Size != int64(bytes) {
		return nil, errNoMemory
	}
	return unix.Mmap(there, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

func unmap(b []byte) {
	if b != nil {
		_ = unix.Munmap(b) // it ends with the process, else
	}
}
