package machine

import "unsafe"

// CacheLine is how many bytes the processor's caches move at a time, on amd64; twice that on some others.
const CacheLine = 64

// Padding is how many bytes b begins before the next multiple of so many: 0 if it begins at one.
func Padding(b []byte, bytes int) int {
	return int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) % uintptr(bytes))
}
