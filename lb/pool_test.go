package lb

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/dist"
)

// decideBy makes decisions by so many statuses of these rates and waits, each after a period of 1 s in which ranks compute when they do not wait.
func decideBy(t *testing.T, n int, rates, waits []float64) *Balancer {
	b, err := New(Config{Period: 1}, Loop{Ranks: len(rates), Movement: Direct, Quantum: 0.01})
	require.NoError(t, err)
	for k := range n {
		statuses := make([]Status, len(rates))
		for r := range rates {
			computed := 1 - waits[r]
			statuses[r] = Status{Rank: r, Interaction: k, Obeyed: k - 1, PhasesLeft: -1, Phases: 1, Elapsed: 1, Compute: computed, Wait: waits[r],
				Units: rates[r] * computed, Owned: 100, OwnedIterations: 100}
		}
		b.Decide(statuses)
	}
	return b
}

func TestEquallyFastUntilKnownOtherwise(t *testing.T) {
	busy := make([]float64, 4)
	b := decideBy(t, 1, []float64{100, 110, 120, 40}, busy)
	assert.InDeltaSlice(t, []float64{110, 110, 110, 40}, b.pooled.rates, 1, "a tenth may be noise after one sample, a third of the rate is none")
	b = decideBy(t, 60, []float64{100, 110, 120, 40}, busy)
	assert.InDeltaSlice(t, []float64{100, 110, 120, 40}, b.pooled.rates, 1e-9, "always the same rates are no noise")
}

func TestTheRankThatIsWaitedForKeepsItsRate(t *testing.T) {
	rates := []float64{100, 100, 90, 100}
	b := decideBy(t, 1, rates, make([]float64, 4))
	assert.InDeltaSlice(t, []float64{97.5, 97.5, 97.5, 97.5}, b.pooled.rates, 0.5)
	b = decideBy(t, 1, rates, []float64{0.3, 0.3, 0, 0.3})
	assert.InDeltaSlice(t, rates, b.pooled.rates, 1e-9)
}

// A boundary that moves when it can takes as long as the movements before, not as an interaction, and not for ever.
func TestDelayIsWhatMovementsTook(t *testing.T) {
	b, err := New(Config{}, Loop{Ranks: 2, Movement: Direct, OneByOne: true})
	require.NoError(t, err)
	assert.InDelta(t, 0.1, b.delay(0.1), 1e-12, "nothing is known")
	b.settling.ordered(3, 10)
	b.settling.observe(2, 10.2, 0.1)
	assert.InDelta(t, 0.1, b.delay(0.1), 1e-12, "not obeyed yet")
	b.settling.observe(3, 10.4, 0.1)
	assert.InDelta(t, 0.4, b.delay(0.1), 1e-12)
	b.settling.ordered(4, 11)
	b.settling.observe(4, 311, 0.1)
	assert.InDelta(t, (0.4+mostSettling*0.1)/2, b.delay(0.1), 1e-12)
}

// awaiting are a balancer of four ranks and statuses of five quanta in which the others, as fast as each other, have waited for rank 0, whose rate is slow times as high.
func awaiting(t *testing.T, slow float64) (*Balancer, []Status) {
	b, err := New(Auto(), Loop{Ranks: 4, Movement: Adjacent, OneByOne: true, Start: dist.Even(dist.Span(0, 400), 4, 0), Quantum: 0.01})
	require.NoError(t, err)
	var statuses []Status
	for r := range 4 {
		s := Status{Rank: r, Obeyed: -1, Units: 50 * slow, Compute: 0.05 * slow, Elapsed: 0.05, Wait: 0.05 - 0.05*slow, Phases: 10, PhasesLeft: 10000, Owned: 100, OwnedIterations: 100}
		if r == 0 {
			s.Compute, s.Wait = 0.05, 0
		}
		statuses = append(statuses, s)
	}
	return b, statuses
}

// That ranks wait says nothing while the pipeline fills.
func TestWaitsOfAFillingPipelineAreNoEvidence(t *testing.T) {
	b, statuses := awaiting(t, 0.7)
	first := b.Decide(statuses)
	assert.Empty(t, first.Transfers, first.Reason)
	for r := range statuses {
		statuses[r].Interaction++
	}
	second := b.Decide(statuses)
	assert.NotEmpty(t, second.Transfers, second.Reason)
}

// What five quanta show of a rank may be off by one: a quarter less is no reason yet to move work, half of the rate is.
func TestFirstRatesAreOffByAQuantum(t *testing.T) {
	for slow, moves := range map[float64]bool{0.77: false, 0.5: true} {
		b, statuses := awaiting(t, slow)
		b.rated = filled // as if the pipeline were full
		d := b.Decide(statuses)
		assert.Equal(t, moves, len(d.Transfers) > 0, "%g: %s", slow, d.Reason)
		if !moves {
			assert.Contains(t, d.Reason, "may be noise")
		}
	}
}
