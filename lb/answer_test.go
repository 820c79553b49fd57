package lb

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drill shows a movement from one distribution to another, after which rates have answered by e.
func (a *answer) drill(from, to, rates []float64, e float64) {
	n := len(from)
	raw := make([]float64, n)
	for r := range raw {
		raw[r] = rates[r] * math.Pow(to[r]/from[r], -e)
	}
	a.moved(7, from, to, rates, make([]float64, n))
	a.observe(6, raw) // not obeyed yet
	a.observe(7, raw)
}

// Where all rates answer by e, the tempered rates are those after the step: all ranks then end together.
func TestAnswerTempersTheStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(4, 40).Draw(t, "ranks")
		e := rapid.Float64Range(0.3, 1.8).Draw(t, "e")
		work, other, rates := drawAmounts(t, n, "work"), make([]float64, n), drawAmounts(t, n, "rates")
		for r := range n {
			other[r] = work[r] * 2
		}
		var a answer
		for range 2 {
			a.drill(work, other, rates, e)
		}
		require.InDelta(t, e, a.exponent(), 1e-9)
		to := make([]float64, n)
		require.True(t, a.temper(to, rates, work))
		sumWork, sum := 0.0, 0.0
		for r := range n {
			sumWork += work[r]
			sum += to[r]
		}
		for r := range n {
			share := sumWork * to[r] / sum
			require.InEpsilon(t, rates[r]*math.Pow(share/work[r], -e), to[r], 1e-9)
		}
	})
}

func TestAnswerOfAFewRanksIsALoad(t *testing.T) {
	from, to, rates := make([]float64, 8), make([]float64, 8), make([]float64, 8)
	for r := range from {
		from[r], to[r], rates[r] = 100, 140, 10
	}
	to[0] = 10
	var a answer
	for range 20 {
		a.moved(1, from, to, rates, make([]float64, 8))
		a.observe(1, []float64{300, 10, 10, 10, 10, 10, 10, 10}) // rank 0 has recovered meanwhile
	}
	assert.Zero(t, a.exponent())
	assert.False(t, a.temper(make([]float64, 8), rates, from))
}

func TestAnswerNeedsLargeSteps(t *testing.T) {
	from, to, rates := []float64{100, 100, 100, 100}, []float64{120, 120, 80, 80}, []float64{1, 1, 1, 1}
	var a answer
	for range 20 {
		a.drill(from, to, rates, 1)
	}
	assert.Zero(t, a.exponent(), "a fifth more or less work may be noise")
	a.moved(1, from, []float64{200, 200, 50, 50}, rates, []float64{0.3, 0.3, 0.3, 0.3})
	a.observe(1, []float64{0.5, 0.5, 2, 2})
	a.moved(2, from, []float64{200, 200, 50, 50}, rates, []float64{0.3, 0.3, 0.3, 0.3})
	a.observe(2, []float64{0.5, 0.5, 2, 2})
	assert.Zero(t, a.exponent(), "so may twice as much, where rates are that noisy")
}

// The movements of sor on 8 ranks, 7 of which shared a core, in iterations, with the rates that they were planned for and the
// samples of the first period after each: the work of ranks 5 and 6 went up and down by factors of 2 to 5.
func TestAnswerOfARecordedRun(t *testing.T) {
	text, err := os.ReadFile("testdata/shared_core.json")
	require.NoError(t, err)
	var movements []struct{ From, To, Filtered, Raw []float64 }
	require.NoError(t, json.Unmarshal(text, &movements))
	var a answer
	for i, m := range movements {
		a.moved(i, m.From, m.To, m.Filtered, make([]float64, len(m.From)))
		a.observe(i, m.Raw)
		if i == 1 {
			assert.Greater(t, a.exponent(), 0.4, "known after two movements")
		}
	}
	assert.InDelta(t, 0.7, a.exponent(), 0.4)
	// Rank 5 was to go from 152 to 555 iterations in the fourth step at its apparent rate; with the answer it gets half of that.
	fourth := movements[1]
	to := make([]float64, len(fourth.From))
	require.True(t, a.temper(to, fourth.Filtered, fourth.From))
	sum := 0.0
	for _, rate := range to {
		sum += rate
	}
	assert.Less(t, 2499*to[5]/sum, 0.7*fourth.To[5])
}

// A pipeline that fills takes no time for its first strips: by the second status alone the next interaction would come
// after 2500 hooks, 2.9 s, instead of 0.18 s. From a recording of 8 ranks on 2 cores.
func TestPeriodOfALoopThatHasJustBegun(t *testing.T) {
	p := newPeriod(Config{}, Loop{Quantum: 0.0179})
	p.computed(0.0203, 1)
	p.computed(0.000073, 1)
	assert.InDelta(t, 18, p.hooks(0.179), 1)
	p.computed(0.0013, 18)
	assert.Less(t, p.hooks(0.179), 100)
	p.computed(0.0013, 70)
	p.computed(0.0011, 150) // well measured by now: the latest counts
	assert.Equal(t, 163, p.hooks(0.179))
}

// The first sample of a rank takes some quanta: in less chance decides whether it had its core.
func TestFirstSampleCoversSomeQuanta(t *testing.T) {
	b, err := New(Config{}, Loop{Ranks: 2, Movement: Direct, Quantum: 0.02})
	require.NoError(t, err)
	status := func(r, k int, elapsed, rate float64) Status {
		return Status{Rank: r, Interaction: k, Obeyed: -1, PhasesLeft: -1, Phases: 1, Elapsed: elapsed, Compute: elapsed / 2,
			Units: rate * elapsed / 2, Owned: 100, OwnedIterations: 100}
	}
	d := b.Decide([]Status{status(0, 0, 0.01, 1), status(1, 0, 0.01, 1000)})
	assert.Equal(t, []float64{0, 0}, d.Raw)
	assert.Equal(t, "no rates yet, or no work", d.Reason)
	d = b.Decide([]Status{status(0, 1, 0.19, 100), status(1, 1, 0.19, 100)})
	assert.InDelta(t, 95.05, d.Raw[0], 1e-6, "both statuses make the sample")
	assert.InDelta(t, 145, d.Raw[1], 1e-6)
	d = b.Decide([]Status{status(0, 2, 0.01, 90), status(1, 2, 0.01, 90)})
	assert.InDelta(t, 90, d.Raw[0], 1e-6, "a sample a status from then on")
}

func TestAnAnswerOfAFewIsNone(t *testing.T) {
	var a answer
	for k := range 12 { // less than two thirds show one
		a.show([]float64{0, 1, 0.9, 0, 1}[k%5])
	}
	assert.Zero(t, a.exponent())
}
