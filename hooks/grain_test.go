package hooks

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// try runs chunks of a body whose rate depends on their length until the grain is settled, and returns its choice.
func try(t *testing.T, left int, rate func(n int) float64) int {
	t.Helper()
	var g grain
	for range 100 {
		n := g.next(1, left, left, left)
		g.learn(n, rate(n), 0, 1)
		if left -= n; g.settled {
			return g.next(1, left, left, left)
		}
	}
	t.Fatal("never settled")
	return 0
}

func TestGrain(t *testing.T) {
	overhead := func(n int) float64 { return float64(n) / (float64(n) + 20) } // a call costs as much as 20 iterations
	assert.Equal(t, 1, try(t, 100000, func(int) float64 { return 7 }), "a body that does not care")
	assert.Equal(t, 1024, try(t, 100000, overhead), "calls cost: 4096 at once are less than 5% faster than 1024, those more than 5% faster than 256")
	assert.LessOrEqual(t, try(t, 200, overhead), 16, "but a trial takes a sixteenth of the work at most")
	slow := 0
	assert.GreaterOrEqual(t, try(t, 100000, func(n int) float64 {
		slow++
		if slow%2 == 0 {
			return overhead(n) / 3
		}
		return overhead(n)
	}), 64, "every second chunk is disturbed")
}

// A body that reads a matrix for each call must not do so for single rows, where a rank has thousands.
func TestTheFirstTrialIsASmallPartOfTheWork(t *testing.T) {
	for front, want := range map[int]int{1: 1, 100: 1, 1023: 1, 1024: 4, 2000: 4, 100000: 256} {
		var g grain
		assert.Equal(t, want, g.next(1, front, front, front), "%d iterations", front)
	}
	for _, enough := range []int{1, 4, 16, 64, 256} { // a sixteenth of enough iterations cost as much as a call
		got := try(t, 100000, func(n int) float64 { return float64(n) / (float64(n) + float64(enough)/16) })
		assert.Contains(t, []int{max(1, enough/4), enough, 4 * enough}, got, "%d", enough)
	}
}

func TestGrainNearTheEnd(t *testing.T) {
	g := grain{size: 64, settled: true}
	assert.Equal(t, 64, g.next(1, 1000, 1000, 1000))
	assert.Equal(t, 200, g.next(200, 1000, 1000, 1000), "longer where the hook allows it")
	assert.Equal(t, 40, g.next(1, 80, 80, 80))
	assert.Equal(t, 1, g.next(1, 2, 2, 2))
	assert.Equal(t, 1, g.next(1, 1, 1, 1))
	g = grain{size: 48, settled: true, call: 20} // a call takes as long as 20 iterations: rather that than many calls at the end
	assert.Equal(t, 48, g.next(1, 100, 100, 100))
	assert.Equal(t, 30, g.next(1, 60, 60, 60))
	assert.Equal(t, 30, g.next(1, 30, 30, 30))
	assert.Equal(t, 10, g.next(1, 30, 10, 10), "the rest is elsewhere")
	g.pieces = 4 // of which each may be the last one here
	assert.Equal(t, 48, g.next(1, 200, 200, 200))
	assert.Equal(t, 150, g.next(1, 150, 150, 150))
}

func TestWhatACallCostsIsLearned(t *testing.T) {
	g := grain{}
	for left := 10000; !g.settled; {
		n := g.next(1, left, left, left)
		g.learn(n, float64(n)/(float64(n)+20), 0, 1)
		left -= n
	}
	assert.InDelta(t, 20, g.call, 3)
	short := 0
	for _, n := range rounds(&g, 1000, 2*longChunk, func(n, _ int) float64 { return float64(n) / (float64(n) + 20) }) {
		if n < g.size {
			short++
		}
	}
	assert.Less(t, float64(short)*20, 0.011*1000*float64(g.size), "comparisons take 1 %% of the time")
	assert.Positive(t, short)
}

// settledAt is a grain that has chosen a length.
func settledAt(size int) grain { return grain{size: size, settled: true} }

// rounds lets a grain cut chunks of a body whose rate depends on the length and on how far the loop has come, and returns
// how long they were. Each takes so many quanta.
func rounds(g *grain, count int, quanta float64, rate func(n, round int) float64) []int {
	var lengths []int
	for round := range count {
		n := g.next(1, 1e9, 1e9, 1e9)
		lengths = append(lengths, n)
		g.learn(n, rate(n, round), quanta, 1)
	}
	return lengths
}

func TestALengthChosenInErrorIsCorrected(t *testing.T) {
	// The body does not care; its iterations become lighter, then heavier.
	for name, rate := range map[string]func(n, round int) float64{
		"constant": func(int, int) float64 { return 5 },
		"lighter":  func(_, round int) float64 { return 5 + float64(round) },
		"heavier":  func(_, round int) float64 { return 500 - 2*float64(round) },
	} {
		g := settledAt(64)
		lengths := rounds(&g, 20, 0, rate)
		assert.Equal(t, 1, lengths[len(lengths)-1], "%s: %v", name, lengths)
		g = settledAt(64)
		assert.Equal(t, 1, rounds(&g, 11, 2*longChunk, rate)[10], "%s: sooner where chunks take long", name)
	}
}

// The trial of a long chunk may have been disturbed, so that a short one was chosen; or that is as fast.
func TestALengthTooShortIsCorrected(t *testing.T) {
	for name, c := range map[string]struct {
		until func(n int) int // as fast as a chunk of so many
		want  int
	}{
		"disturbed": {func(n int) int { return n }, 64},
		"as fast":   {func(n int) int { return min(n, 16) }, 16},
	} {
		rate := func(n int) float64 { n = c.until(n); return float64(n) / (float64(n) + 20) }
		var g grain
		for left := 1300; !g.settled; {
			n := g.next(1, left, left, left)
			if n < 64 {
				g.learn(n, rate(n), 0.05*float64(n), 1)
			} else {
				g.learn(n, rate(n)/3, 0.05*float64(n), 1)
			}
			left -= n
		}
		assert.Equal(t, 16, g.size, name)
		lengths := rounds(&g, 8, 0, func(n, _ int) float64 { return rate(n) })
		assert.Equal(t, c.want, lengths[7], "%s: %v", name, lengths)
	}
}

func TestALengthThatPaysStays(t *testing.T) {
	g := settledAt(64)
	short := 0
	lengths := rounds(&g, 2000, 2*longChunk, func(n, _ int) float64 { return float64(n) / (float64(n) + 20) })
	for _, n := range lengths {
		if n < 64 {
			short++
		}
	}
	assert.Equal(t, 64, lengths[1999])
	assert.Less(t, short, 45, "doubted rarely")
	// Where the period asks for longer chunks anyway, there is nothing to doubt.
	g = settledAt(8)
	for range 100 {
		assert.Equal(t, 56, g.next(50, 1e9, 1e9, 1e9), "in eights")
		g.learn(56, 1, 2*longChunk, 1)
	}
}

// A rank that owns fewer iterations than the next trial asks for must settle, or it would never report.
func TestTrialsEndAtTheEndOfTheBlock(t *testing.T) {
	var g grain
	for range 20 {
		n := g.next(1, 1e9, 40, 40)
		assert.LessOrEqual(t, n, 40)
		g.learn(n, float64(n), 0, 1)
	}
	assert.True(t, g.settled)
	assert.Equal(t, 40, g.size, "longer is better by all trials, but there are 40")
}

// Of a body that reads a matrix for each call, longer chunks are a little faster still where they take many periods: that is not worth
// the wait for them.
func TestLongChunksMustBeWorthTheirDelay(t *testing.T) {
	length := func(quanta float64) int {
		var g grain
		for left := 1300; !g.settled; {
			n := g.next(1, left, left, left)
			g.learn(n, float64(n)/(float64(n)+2), quanta*(float64(n)+2), 1)
			left -= n
		}
		return g.size
	}
	assert.Greater(t, length(0.01), 60)
	// b/(a n) + grainDelay quanta n is least at sqrt(2 / (0.002 x 0.5)) = 45.
	assert.InDelta(t, 45, length(0.5), 15)
	assert.Less(t, length(5), 20)
}
