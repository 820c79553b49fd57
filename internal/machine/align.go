package machine

import "unsafe"

// CacheLine is how many bytes the processor's caches move at a time, on amd64; twice that on some others.
const CacheLine = 64

// Misaligned is how many bytes behind a multiple of so many b begins.
func Misaligned(b []byte, bytes int) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(b))) % uintptr(bytes))
}
