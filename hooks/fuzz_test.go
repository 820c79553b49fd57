package hooks

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"shiftwork/comm"
	"shiftwork/dist"
	"shiftwork/lb"
)

// FuzzWire gives any bytes to the decoders of the protocol: none may panic or make more of a message than it can hold, what one accepts
// must survive being sent on, and what it refuses must be named as what it is.
func FuzzWire(f *testing.F) {
	in := instruction{
		interaction: 3, nextHook: 7, period: 0.25, final: true, sent: 1.5, own: dist.Span(4, 9), weights: 2, profile: []float64{1, 2.5, 0},
		transfers: []dist.Transfer{{From: 1, To: 2, Iterations: 3, Units: 4.5}},
	}
	f.Add(in.encode())
	f.Add((&instruction{}).encode())
	f.Add(encodeStatus(&lb.Status{Rank: 2, Units: math.Inf(1), Age: math.NaN(), Timings: []lb.Timing{{Lo: 1, Hi: 3, Seconds: 0.5}, {Lo: 3, Hi: 4}}}))
	f.Add(encodeParts(nil, []part{{dist.Span(1, 4), 2, 1}, {dist.Span(-4, 9), 0, 0}}))
	f.Add(bytes.Repeat([]byte{0xff}, 80))
	f.Fuzz(func(t *testing.T, message []byte) {
		if in, err := decodeInstruction(message); err == nil {
			require.LessOrEqual(t, 32*len(in.transfers)+8*len(in.profile), len(message))
			again, err := decodeInstruction(in.encode())
			require.NoError(t, err)
			require.True(t, bytes.Equal(in.encode(), again.encode()))
			require.Len(t, in.encode(), len(message))
		} else {
			require.ErrorIs(t, err, comm.ErrCorrupt)
		}
		if s, err := decodeStatus(message); err == nil {
			require.LessOrEqual(t, timingBytes*len(s.Timings), len(message))
			require.True(t, bytes.Equal(message, encodeStatus(&s)), "every value of a status is written as it was read")
		} else {
			require.ErrorIs(t, err, comm.ErrCorrupt)
		}
		if parts, err := decodeParts(message); err == nil {
			require.LessOrEqual(t, 4*8*len(parts), len(message))
			again, err := decodeParts(encodeParts(nil, parts))
			require.NoError(t, err)
			require.Equal(t, parts, again)
		} else {
			require.ErrorIs(t, err, comm.ErrCorrupt)
		}
	})
}
