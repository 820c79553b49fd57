package checksum

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
)

// Sum is the checksum of a result.
type Sum uint64

// String returns the 16 digits of the result line.
func (s Sum) String() string { return fmt.Sprintf("%016x", uint64(s)) }

// Row hashes one row.
func Row(values []float64) uint64 {
	h := sha256.New()
	var buf [4096]byte
	for len(values) > 0 {
		n := min(len(buf)/8, len(values))
		for i, v := range values[:n] {
			binary.LittleEndian.PutUint64(buf[i*8:], math.Float64bits(v))
		}
		_, _ = h.Write(buf[:n*8]) // a hash never fails
		values = values[n:]
	}
	return binary.LittleEndian.Uint64(h.Sum(buf[:0]))
}

// Of is the checksum of the rows with these hashes, in this order.
func Of(rows []uint64) Sum {
	b := make([]byte, 0, 8*len(rows))
	for _, r := range rows {
		b = binary.LittleEndian.AppendUint64(b, r)
	}
	h := sha256.Sum256(b)
	return Sum(binary.BigEndian.Uint64(h[:])) // printed, these are the first digits of the SHA-256
}
