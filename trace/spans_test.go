package trace

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"shiftwork/dist"
)

// Whatever the spans: not more than the limit, none is lost, they stay in order, keep their sums in each window, and the
// long ones their place.
func TestSpansAreDrawnTogetherAndNoneIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(leastLimit, 3*leastLimit).Draw(t, "limit")
		count := rapid.IntRange(1, 3000).Draw(t, "spans")
		scale := rapid.SampledFrom([]float64{1, 1e3, 1e6, 1e10}).Draw(t, "scale")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		l := newSpans(limit)
		var all []span
		at := time.Duration(0)
		for i := range count {
			s := span{kind: kind(random.IntN(len(kindNames))), loop: uint16(random.IntN(maxLoops)), number: i, units: 1, iterations: dist.Span(i, i+1)}
			at += time.Duration(random.IntN(2)) * time.Duration(random.ExpFloat64()*scale)
			s.start = at
			at += time.Duration(random.ExpFloat64() * scale)
			s.end = at
			all = append(all, s)
			before := l.resolution()
			coarser := l.add(s)
			require.Equal(t, coarser, l.resolution() > before)
			require.Less(t, len(l.list), limit)
		}
		requireSame(t, all, &l)
	})
}

func requireSame(t *rapid.T, all []span, l *spans) {
	type window struct {
		at   time.Duration
		kind kind
		loop uint16
	}
	res := max(1, l.resolution())
	sums := func(list []span) map[window]time.Duration {
		m := map[window]time.Duration{}
		for _, s := range list {
			w := window{s.start / res, s.kind, s.loop}
			if s.end > (w.at+1)*res {
				w.at = -1 - s.start // it crosses: it must be there as it is
			}
			if s.end > s.start {
				m[w] += s.end - s.start
			}
		}
		return m
	}
	require.Equal(t, sums(all), sums(l.list))
	seen, units := 0, 0.0
	for i, s := range l.list {
		seen += int(s.count)
		units += s.units
		require.LessOrEqual(t, s.start, s.end)
		require.Positive(t, s.count)
		if i > 0 {
			require.LessOrEqual(t, l.list[i-1].end, s.start, "spans %d and %d overlap", i-1, i)
		}
	}
	require.Equal(t, len(all), seen)
	require.Equal(t, len(all), l.seen)
	require.InDelta(t, float64(len(all)), units, 1e-6)
	if l.resolution() == 0 {
		require.Len(t, l.list, len(all))
	}
}

// What the part has been given stays as it is, until all becomes coarser.
func TestWhatIsBeforeOpenDoesNotChange(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	l := newSpans(leastLimit)
	var closed []span
	at := time.Duration(0)
	for range 5000 {
		s := span{kind: kind(random.IntN(3)), start: at, end: at + time.Duration(random.ExpFloat64()*1e5)}
		at = s.end
		if l.add(s) {
			closed = nil
		}
		require.True(t, slices.Equal(closed, l.list[:len(closed)]))
		closed = append([]span(nil), l.list[:l.open]...)
	}
	require.NotZero(t, l.shift)
}
