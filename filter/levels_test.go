package filter

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// feed observes n samples of a rate with relative noise, a second apart, and returns the last output.
func feed(s *Levels, rng *rand.Rand, rate, noise float64, n int) (out float64) {
	for range n {
		out = s.Next(noisy(rng, rate, noise))
	}
	return out
}

// alternate feeds cycles of a rate of 10 for some seconds and of 5 for some others.
func alternate(s *Levels, rng *rand.Rand, cycles, high, low int) {
	for range cycles {
		feed(s, rng, 10, 0.02, high)
		feed(s, rng, 5, 0.02, low)
	}
}

func TestLevelsTakesAStepAtTheSecondSample(t *testing.T) {
	for _, to := range []float64{5, 20} {
		var s Levels
		feed(&s, rand.New(rand.NewPCG(1, 1)), 10, 0, 20)
		assert.InDelta(t, 10, s.Next(to), 1e-9, "not after one sample: it may be a dip")
		rate, p := s.Suspect()
		assert.Equal(t, to, rate)
		assert.Equal(t, 0.5, p, "nothing is known of how such suspicions end")
		assert.InDelta(t, 10, s.Level(), 1e-9)
		assert.InDelta(t, to, s.Next(to), 1e-9)
		assert.Equal(t, 1, s.Changes())
		_, p = s.Suspect()
		assert.Equal(t, 0.0, p)
	}
}

func TestLevelsTellsNoiseFromChange(t *testing.T) {
	for _, noise := range []float64{0.01, 0.05, 0.1} {
		var s Levels
		rng := rand.New(rand.NewPCG(1, 2))
		for k := range 20_000 {
			s.Next(noisy(rng, 10, noise))
			if k > 100 {
				require.InDelta(t, 10, s.Level(), 8*noise, "noise %v, sample %d", noise, k)
			}
		}
		assert.LessOrEqual(t, s.Changes(), 20, "noise %v", noise)
		assert.InDelta(t, noise, s.Noise(), noise/3)
	}
}

func TestLevelsPassesNothingOfADipOrASpike(t *testing.T) {
	for _, odd := range []float64{5, 20, 0.01} {
		var s Levels
		rng := rand.New(rand.NewPCG(1, 3))
		feed(&s, rng, 10, 0.02, 20)
		level := s.Level()
		s.Next(odd)
		assert.Equal(t, level, s.Level())
		feed(&s, rng, 10, 0.02, 5)
		assert.Zero(t, s.Changes(), "%v", odd)
		assert.InDelta(t, 10, s.Level(), 0.2)
	}
}

func TestLevelsLearnsThatDipsPass(t *testing.T) {
	var s Levels
	rng := rand.New(rand.NewPCG(1, 4))
	last := 1.0
	for range 8 {
		feed(&s, rng, 10, 0.02, 10)
		s.Next(5)
		_, p := s.Suspect()
		assert.Less(t, p, last, "each dip makes the next less credible")
		last = p
	}
	assert.Less(t, last, 0.1)
	// A load that stays after all is found out at the second sample.
	assert.InDelta(t, 5, s.Next(5), 0.1)
	assert.Equal(t, 1, s.Changes())
}

func TestLevelsRestsOnAtMostSoManySamples(t *testing.T) {
	var s Levels
	rng := rand.New(rand.NewPCG(1, 4))
	for range 3 * stepMemory { // a level that is known from dips alone
		feed(&s, rng, 10, 0.02, 10)
		s.Next(5)
	}
	feed(&s, rng, 5, 0.02, 2)
	require.InDelta(t, 5, s.Level(), 0.2)
	assert.Equal(t, stepMemory, s.Samples())
}

func TestLevelsBelievesAKnownLevelAtOnce(t *testing.T) {
	var s Levels
	rng := rand.New(rand.NewPCG(1, 5))
	alternate(&s, rng, 4, 20, 20)
	feed(&s, rng, 10, 0.02, 20)
	changes := s.Changes()
	assert.InDelta(t, 5, s.Next(5.15), 0.05, "the mean of all visits, not the sample")
	_, p := s.Suspect()
	assert.Greater(t, p, 0.8)
	assert.Equal(t, changes, s.Changes(), "it is not settled yet")
	assert.InDelta(t, 10, s.Level(), 0.1)
	s.Next(5)
	assert.Equal(t, changes+1, s.Changes())
	assert.InDelta(t, 5, s.Level(), 0.05)
	assert.Greater(t, s.Samples(), 20, "the samples of all visits")
}

func TestLevelsTakesAMixedSampleForOneOnTheWay(t *testing.T) {
	var s Levels
	rng := rand.New(rand.NewPCG(1, 6))
	alternate(&s, rng, 3, 20, 20)
	feed(&s, rng, 10, 0.02, 20)
	known, changes := len(s.others), s.Changes()
	s.Next(7.5) // the load came in the middle of the period
	s.Next(5)
	assert.InDelta(t, 5, s.Level(), 0.05)
	assert.Equal(t, changes+1, s.Changes(), "one change, not two")
	assert.Len(t, s.others, known, "7.5 is no level")
	age, _ := s.Stay()
	assert.Equal(t, 2.0, age, "the visit began with the mixed sample")
}

func TestLevelsSuspectsTheKnownLevelBehindAMixedSample(t *testing.T) {
	var s Levels
	rng := rand.New(rand.NewPCG(1, 17))
	alternate(&s, rng, 3, 20, 20)
	feed(&s, rng, 10, 0.02, 20)
	s.Next(7.5)
	rate, p := s.Suspect()
	assert.InDelta(t, 5, rate, 0.05, "the load came in the middle of the period")
	assert.Greater(t, p, 0.7)
	known := len(s.others)
	s.Next(10)
	_, p = s.Suspect()
	assert.Zero(t, p, "or came and went")
	assert.Len(t, s.others, known, "7.5 is no level")
	s.Next(14)
	rate, _ = s.Suspect()
	assert.Equal(t, 14.0, rate, "nothing is known there")
	s.Next(10)
	for range 20 {
		s.Next(7.5)
		feed(&s, rng, 10, 0.02, 5)
	}
	s.Next(7.5)
	_, p = s.Suspect()
	assert.Less(t, p, 0.4, "it comes for half a period each time")
}

func TestLevelsTakesTwoFarOffForOneThatVaries(t *testing.T) {
	var s Levels
	feed(&s, rand.New(rand.NewPCG(1, 14)), 10, 0.08, 10)
	level := s.Level()
	s.Next(5.3)
	s.Next(3.5) // not like the first, but neither is like any before
	assert.Equal(t, 1, s.Changes())
	assert.InDelta(t, 4.4, s.Level(), 1e-9, "the mean of both")
	assert.Greater(t, s.Noise(), 0.1, "it is known that they differ")
	s.Next(5.5)
	assert.Equal(t, 1, s.Changes(), "one more of the kind")
	s.Next(level)
	s.Next(level)
	assert.Equal(t, 2, s.Changes())
	assert.InDelta(t, level, s.Level(), 0.5)
}

// The load came, or went, in the midst of the first of the two.
func TestLevelsForgetsAFirstSampleTakenOnTheWay(t *testing.T) {
	var s Levels
	rng := rand.New(rand.NewPCG(1, 15))
	feed(&s, rng, 5, 0.05, 6)
	s.Next(7.2)
	s.Next(11.3)
	assert.InDelta(t, 9.25, s.Level(), 1e-9, "not known yet")
	s.Next(11.5)
	assert.InDelta(t, 11.4, s.Level(), 1e-9, "the first was on the way")
	feed(&s, rng, 11.5, 0.05, 10)
	assert.Equal(t, 1, s.Changes(), "one change, not two")
	assert.Less(t, s.Noise(), 0.1, "the way is no noise")
}

func TestLevelsFollowsADrift(t *testing.T) {
	for _, each := range []float64{0.998, 1.002} {
		var s Levels
		rng := rand.New(rand.NewPCG(1, 7))
		rate := 10.0
		feed(&s, rng, rate, 0.02, 50)
		for range 400 {
			rate *= each
			s.Next(noisy(rng, rate, 0.02))
			require.InDelta(t, rate, s.Level(), 0.08*rate)
		}
	}
}

// A rank speeds up little by little while a load is there: its visit is as long as the load.
func TestLevelsDoesNotTakeADriftForAVisit(t *testing.T) {
	var s Levels
	rng := rand.New(rand.NewPCG(1, 7))
	feed(&s, rng, 10, 0.05, 20)
	for _, rate := range []float64{4, 4.4, 4.8} {
		feed(&s, rng, rate, 0.05, 20)
	}
	assert.Greater(t, s.Changes(), 1, "the drift was seen")
	feed(&s, rng, 10, 0.05, 5)
	_, stayed := s.Elsewhere()
	assert.InDelta(t, 60, stayed, 5)
}

func TestLevelsFollowsAFactorOfAThousand(t *testing.T) {
	var s Levels
	rng := rand.New(rand.NewPCG(1, 8))
	for range 3 {
		feed(&s, rng, 1000, 0.01, 10)
		assert.InDelta(t, 1000, s.Level(), 20)
		feed(&s, rng, 1, 0.01, 10)
		assert.InDelta(t, 1, s.Level(), 0.02)
	}
	assert.Equal(t, 5, s.Changes())
}

func TestLevelsForgetsOldHabits(t *testing.T) {
	var s Levels
	rng := rand.New(rand.NewPCG(1, 9))
	alternate(&s, rng, 20, 40, 40)
	_, mean := s.Stay()
	require.InDelta(t, 40, mean, 3)
	alternate(&s, rng, 30, 5, 5)
	_, mean = s.Stay()
	assert.InDelta(t, 5, mean, 5, "30 visits later the long ones hardly count")
	// Dips too.
	for range 30 {
		feed(&s, rng, 10, 0.02, 5)
		s.Next(2)
	}
	_, p := s.Suspect()
	require.Less(t, p, 0.1)
	for range 30 {
		feed(&s, rng, 10, 0.02, 5)
		feed(&s, rng, 2, 0.02, 5)
	}
	feed(&s, rng, 10, 0.02, 5)
	s.Next(2)
	_, p = s.Suspect()
	assert.Greater(t, p, 0.8, "now they stay")
}

func TestLevelsExpectsAVisitAsLongAsTheOthers(t *testing.T) {
	var s Levels
	rng := rand.New(rand.NewPCG(1, 10))
	alternate(&s, rng, 5, 30, 10)
	feed(&s, rng, 10, 0.02, 12)
	age, mean := s.Stay()
	assert.InDelta(t, 12, age, 1)
	assert.InDelta(t, 30, mean, 1.5)
	rate, stay := s.Elsewhere()
	assert.InDelta(t, 5, rate, 0.05)
	assert.InDelta(t, 10, stay, 1.5)
	assert.InDelta(t, 5, s.Visits(), 1)
	s.Next(5)
	assert.Equal(t, 1.0, s.SuspectAge())
}

// What was seen of the first visit may be its end.
func TestLevelsTrustsTheFirstVisitLeast(t *testing.T) {
	var s Levels
	rng := rand.New(rand.NewPCG(1, 16))
	feed(&s, rng, 5, 0.02, 4)
	feed(&s, rng, 10, 0.02, 2)
	_, mean := s.Stay()
	assert.InDelta(t, 4, mean, 1, "nothing else is known")
	_, stay := s.Elsewhere()
	assert.InDelta(t, 4, stay, 1)
	feed(&s, rng, 10, 0.02, 8)
	feed(&s, rng, 5, 0.02, 2)
	_, mean = s.Stay()
	assert.InDelta(t, 10, mean, 1, "as long as the only visit that was seen as a whole")
	_, stay = s.Elsewhere()
	assert.InDelta(t, 10, stay, 1)
	feed(&s, rng, 5, 0.02, 6)
	feed(&s, rng, 10, 0.02, 2)
	_, stay = s.Elsewhere()
	assert.InDelta(t, 8, stay, 1, "and it is forgotten when there is another one")
	assert.Equal(t, 2.0, s.Visits(), "but for that it ended")
}

func TestLevelsCountsTheTimeBetweenSamples(t *testing.T) {
	var s Levels
	for _, rate := range []float64{10, 5, 10, 5} {
		for range 6 {
			s.Observe(rate, 1, 2.5)
		}
	}
	_, mean := s.Stay()
	assert.InDelta(t, 15, mean, 1e-9)
	_, stay := s.Elsewhere()
	assert.InDelta(t, 15, stay, 2.6, "the first sample of all has no time before it that counts")
}

// What counts is what was done by the time that it took, at a level that stays, at one newly found, and at one come back to.
func TestLevelsWeighsSamplesByTheirTime(t *testing.T) {
	var s Levels
	at := func(scale float64) {
		for range 20 {
			s.Observe(10.5*scale, 0.1, 1)
			s.Observe(9.5*scale, 0.3, 1)
		}
		assert.InDelta(t, 9.75*scale, s.Level(), 0.05*scale)
	}
	at(1)
	at(0.2)
	at(1)
	assert.Equal(t, 2, s.Changes())
}

func TestLevelsRemembersAtMostSoMany(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Levels
		for range rapid.IntRange(1, 40).Draw(t, "visits") {
			rate := math.Exp(rapid.Float64Range(-8, 8).Draw(t, "log rate"))
			for range rapid.IntRange(1, 4).Draw(t, "length") {
				s.Next(rate)
			}
			require.LessOrEqual(t, len(s.others), mostLevels)
		}
	})
}

// What Levels says of the future stays usable whatever it is fed.
func TestLevelsNumbersStaySane(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Levels
		odd := rapid.SampledFrom([]float64{0, 1e-300, 1e100, -1, math.NaN(), math.Inf(1), 10, 10, 5})
		rate := rapid.OneOf(rapid.Float64Range(0, 100), odd)
		elapsed := rapid.OneOf(rapid.Float64Range(0, 10), rapid.SampledFrom([]float64{0, 1e9}))
		for range rapid.IntRange(1, 60).Draw(t, "samples") {
			s.Observe(rate.Draw(t, "rate"), elapsed.Draw(t, "computed"), elapsed.Draw(t, "elapsed"))
			suspect, p := s.Suspect()
			age, mean := s.Stay()
			other, stay := s.Elsewhere()
			for name, x := range map[string]float64{"level": s.Level(), "noise": s.Noise(), "suspect": suspect, "age": age,
				"mean": mean, "other": other, "stay": stay, "suspect age": s.SuspectAge()} {
				require.True(t, x >= 0 && !math.IsInf(x, 0), "%s = %v", name, x)
			}
			require.True(t, p >= 0 && p <= 1, "probability %v", p)
			require.GreaterOrEqual(t, s.Visits(), 1.0)
			require.True(t, s.Samples() >= 0 && s.Samples() <= stepMemory)
		}
	})
}
