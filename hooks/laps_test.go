package hooks

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"shiftwork/comm"
	"shiftwork/dist"
	"shiftwork/lb"
)

func TestPartsAreTheOwnIterations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		span := dist.Span(-5, rapid.IntRange(20, 3000).Draw(t, "n"))
		grid := lb.NewGrid(span, rapid.IntRange(2, 10).Draw(t, "workers"))
		if grid.Cells == 0 {
			return
		}
		var own dist.Intervals
		for range rapid.IntRange(0, 5).Draw(t, "ranges") {
			lo := rapid.IntRange(span.Lo, span.Hi-1).Draw(t, "lo")
			own.Add(dist.Span(lo, rapid.IntRange(lo, span.Hi).Draw(t, "hi")))
		}
		most := rapid.IntRange(0, lb.MaxTimings).Draw(t, "most")
		parts := cutParts(own.Ranges(), grid, most)
		require.LessOrEqual(t, len(parts), max(most, len(own.Ranges())))
		var all dist.Intervals
		n := 0
		for i, p := range parts {
			require.False(t, p.Empty())
			if i > 0 {
				require.LessOrEqual(t, parts[i-1].Hi, p.Lo, "in ascending order")
			}
			all.Add(p)
			n += p.Len()
		}
		require.Equal(t, own.Len(), n, "each once")
		require.Equal(t, own.Ranges(), all.Ranges())
	})
}

func TestOneBlockIsCutIntoAsManyPartsAsMayBe(t *testing.T) {
	grid := lb.NewGrid(dist.Span(0, 1280), 4) // 128 cells of 10
	assert.Len(t, cutParts([]dist.Range{dist.Span(0, 300)}, grid, lb.MaxTimings), 30, "a cell each")
	assert.Len(t, cutParts([]dist.Range{dist.Span(0, 640)}, grid, lb.MaxTimings), 22, "three cells each")
	assert.Equal(t, []dist.Range{dist.Span(5, 8)}, cutParts([]dist.Range{dist.Span(5, 8)}, grid, 7))
	assert.Len(t, cutParts([]dist.Range{dist.Span(0, 300)}, grid, 0), 1, "a phase too short to be timed in parts")
}

func TestTheScheduleOfMeasuring(t *testing.T) {
	s := newSchedule(lb.NewGrid(dist.Span(0, 100), 2))
	count := func(from, to int) (n int) {
		for k := from; k < to; k++ {
			if s.measures(k) {
				n++
			}
		}
		return n
	}
	assert.Equal(t, 8, count(0, 8))
	assert.Equal(t, 10, count(8, 88), "later one in eight")
	s.restart(100)
	assert.Equal(t, 8, count(100, 108), "again, after new weights")
	off := newSchedule(lb.NewGrid(dist.Span(0, 3), 2))
	assert.False(t, off.measures(0), "too few iterations to learn anything")
}

func TestWeightsFromTheMaster(t *testing.T) {
	w := learned{grid: lb.NewGrid(dist.Span(0, 64), 2)}
	changed, err := w.adopt(&instruction{weights: 3})
	require.NoError(t, err)
	assert.False(t, changed, "nothing was announced")
	assert.Zero(t, w.version)
	units := make([]float64, w.grid.Cells)
	for c := range units {
		units[c] = float64(1 + c%2)
	}
	changed, err = w.adopt(&instruction{weights: 3, profile: units})
	require.NoError(t, err)
	assert.True(t, changed)
	assert.Equal(t, 3, w.version)
	assert.Equal(t, 96.0, w.Units(dist.Span(0, 64)))
	for _, bad := range [][]float64{units[1:], append([]float64{0}, units[1:]...)} {
		_, err = w.adopt(&instruction{weights: 4, profile: bad})
		require.ErrorContains(t, err, "weights from the master")
		assert.Equal(t, 3, w.version)
	}
}

// FuzzMessages reads any bytes as a status and as an instruction: neither may panic or take more memory than the bytes
// account for, and what could be read must encode to the same bytes.
func FuzzMessages(f *testing.F) {
	f.Add(encodeStatus(&lb.Status{Rank: 1, Weights: 2, Timings: []lb.Timing{{Lo: 3, Hi: 5, Seconds: 0.25}}}))
	f.Add((&instruction{weights: 1, transfers: []dist.Transfer{{From: 1, To: 2, Units: 3}}, profile: []float64{0.5, 1.5}}).encode())
	var e comm.Encoder
	for range 17 {
		e.Int(1 << 40)
	}
	f.Add(e.Message())
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := decodeStatus(b); err == nil {
			require.LessOrEqual(t, len(s.Timings)*timingBytes, len(b))
			require.Equal(t, b, encodeStatus(&s))
		}
		if in, err := decodeInstruction(b); err == nil {
			require.LessOrEqual(t, 8*len(in.profile)+32*len(in.transfers), len(b))
			again, err := decodeInstruction(in.encode())
			require.NoError(t, err)
			require.Len(t, again.profile, len(in.profile))
		}
	})
}

func TestMessagesWithLearnedWeights(t *testing.T) {
	s := lb.Status{Rank: 2, Interaction: 7, Units: 1.5, Weights: 4, Timings: []lb.Timing{{Lo: -3, Hi: 9, Seconds: 1e-3}, {Lo: 9, Hi: 11, Seconds: 2}}}
	got, err := decodeStatus(encodeStatus(&s))
	require.NoError(t, err)
	assert.Equal(t, s, got)
	in := &instruction{interaction: 3, nextHook: 2, weights: 5, profile: []float64{1, 0.25, 1.75}, transfers: []dist.Transfer{{From: 0, To: 1, Units: 2}}}
	back, err := decodeInstruction(in.encode())
	require.NoError(t, err)
	assert.Equal(t, in, back)
}
