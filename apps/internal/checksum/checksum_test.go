package checksum

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

func rows(n, m int) [][]float64 {
	r := rand.New(rand.NewPCG(1, 2))
	u := make([][]float64, n)
	for j := range u {
		u[j] = make([]float64, m)
		for i := range u[j] {
			u[j][i] = r.NormFloat64()
		}
	}
	return u
}

func of(u [][]float64) Sum {
	h := make([]uint64, len(u))
	for j, row := range u {
		h[j] = Row(row)
	}
	return Of(h)
}

// The definition, in one piece; the row is longer than the buffer and no multiple of it.
func TestRowIsItsDefinition(t *testing.T) {
	row := rows(1, 1500)[0]
	b := make([]byte, 8*len(row))
	for i, v := range row {
		binary.LittleEndian.PutUint64(b[8*i:], math.Float64bits(v))
	}
	want := sha256.Sum256(b)
	assert.Equal(t, binary.LittleEndian.Uint64(want[:]), Row(row))
}

// Computed with Python's hashlib and struct. Checksums are compared between versions and machines, so the function must never change.
func TestKnownSums(t *testing.T) {
	assert.Equal(t, "e3b0c44298fc1c14", Of(nil).String())
	assert.Equal(t, "fdd5996ebbdadba1", of([][]float64{{0, 1}, {-2.5, math.Pi}}).String())
	assert.Equal(t, "00000000000000ab", Sum(0xab).String(), "always 16 digits")
}

func TestEveryBitCounts(t *testing.T) {
	u := rows(5, 7)
	sum := of(u)
	for j := range u {
		for i := range u[j] {
			for _, bit := range []int{0, 31, 63} {
				old := u[j][i]
				u[j][i] = math.Float64frombits(math.Float64bits(old) ^ 1<<bit)
				assert.NotEqual(t, sum, of(u), "bit %d of row %d, column %d", bit, j, i)
				u[j][i] = old
			}
		}
	}
	assert.Equal(t, sum, of(u))
	u[1], u[2] = u[2], u[1]
	assert.NotEqual(t, sum, of(u), "rows exchanged")
	u[1], u[2] = u[2], u[1]
	u[3][1], u[3][2] = u[3][2], u[3][1]
	assert.NotEqual(t, sum, of(u), "columns exchanged")
	assert.NotEqual(t, of([][]float64{{0}}), of([][]float64{{math.Copysign(0, -1)}}), "0 and -0")
	assert.NotEqual(t, of([][]float64{{0, 0}}), of([][]float64{{0}, {0}}), "shape")
}
