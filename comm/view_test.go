package comm_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"shiftwork/comm"
)

func TestBytesOfAndFloatsOfAreViews(t *testing.T) {
	f := []float64{1.5, math.Pi, -0.25}
	b := comm.BytesOf(f)
	require.Len(t, b, 24)
	require.Equal(t, math.Float64bits(math.Pi), binary.NativeEndian.Uint64(b[8:]))
	f[1] = 7
	require.Equal(t, math.Float64bits(7), binary.NativeEndian.Uint64(b[8:]), "written through the floats")

	back := comm.FloatsOf(b)
	require.Equal(t, f, back)
	back[0] = 3
	require.Equal(t, 3.0, f[0], "written through the view of the view")

	require.Empty(t, comm.BytesOf(nil))
	require.Empty(t, comm.BytesOf([]float64{}))
	require.Empty(t, comm.FloatsOf(nil))
}

func TestFloatsOfRefusesWhatAreNoFloats(t *testing.T) {
	b := make([]byte, 24)
	require.PanicsWithValue(t, "comm.FloatsOf: 23 bytes are not a whole number of float64s", func() { comm.FloatsOf(b[:23]) })
	require.PanicsWithValue(t, "comm.FloatsOf: the bytes do not start where a float64 may", func() { comm.FloatsOf(b[4:12]) })
	for n := range 20 {
		require.Len(t, comm.FloatsOf(make([]byte, 8*n)), n, "what make returns is aligned")
	}
}

func TestWithin(t *testing.T) {
	b := make([]byte, 24)
	for _, c := range []struct {
		part []byte
		at   int
		ok   bool
	}{
		{b, 0, true}, {b[8:16], 8, true}, {b[16:], 16, true},
		{make([]byte, 8), 0, false}, {nil, 0, false},
	} {
		at, ok := comm.Within(b, c.part)
		require.Equal(t, c.ok, ok, "%d bytes", len(c.part))
		require.Equal(t, c.at, at, "%d bytes", len(c.part))
	}
	_, ok := comm.Within(b[8:16], b)
	require.False(t, ok, "begins before it")
	_, ok = comm.Within(b[8:16], b[12:20])
	require.False(t, ok, "ends behind it")
}
