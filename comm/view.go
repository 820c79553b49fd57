package comm

import (
	"fmt"
	"unsafe"
)

const floatBytes = int(unsafe.Sizeof(float64(0)))

// BytesOf returns the memory of f as bytes, without a copy: what is written through one is seen through the other.
// The byte order is the machine's own, which sender and receiver must share.
func BytesOf(f []float64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(f))), len(f)*floatBytes)
}

// FloatsOf is the inverse of BytesOf. It panics if b is not a whole number of float64s or does not start where
// a float64 may; what make([]byte, 8*n) returns always does.
func FloatsOf(b []byte) []float64 {
	if len(b) == 0 {
		return nil
	}
	if len(b)%floatBytes != 0 {
		panic(fmt.Sprintf("comm.FloatsOf: %d bytes are not a whole number of float64s", len(b)))
	}
	p := unsafe.Pointer(unsafe.SliceData(b))
	if uintptr(p)%unsafe.Alignof(float64(0)) != 0 {
		panic("comm.FloatsOf: the bytes do not start where a float64 may")
	}
	return unsafe.Slice((*float64)(p), len(b)/floatBytes)
}

// Within returns at which byte of whole the memory of part begins; false if part does not lie in whole.
func Within(whole, part []byte) (at int, ok bool) {
	from, to := uintptr(unsafe.Pointer(unsafe.SliceData(whole))), uintptr(unsafe.Pointer(unsafe.SliceData(part)))
	if to < from || to-from > uintptr(len(whole)) || len(part) > len(whole)-int(to-from) {
		return 0, false
	}
	return int(to - from), true
}
