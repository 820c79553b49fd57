package filter

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestTable1Rows(t *testing.T) {
	want := []Row{
		{"U2", Increase, 0.6, "U2"}, {"U2", Decrease, 1.0, "D1"},
		{"U1", Increase, 0.8, "U2"}, {"U1", Decrease, 0.8, "D1"},
		{"D1", Increase, 1.0, "U1"}, {"D1", Decrease, 0.2, "D2"},
		{"D2", Increase, 1.0, "U1"}, {"D2", Decrease, 0.1, "D2"},
	}
	require.Equal(t, want, T1().Rows())
	allHistory := 0
	for _, row := range T1().Rows() {
		if row.History == 1 {
			allHistory++
		}
	}
	assert.Equal(t, 3, allHistory, "the paper has exactly three rows of 1.0 (all history)")
}

// inState returns a T1 filter at rate 1 in the given state.
func inState(t testing.TB, state string) *recursive {
	table := T1()
	number := slices.Index(table.names, state)
	require.GreaterOrEqual(t, number, 0, "state %s", state)
	return &recursive{table: &table, state: number, filtered: 1, started: true}
}

func stepResponse(f Filter, to float64, samples int) []float64 {
	taken := make([]float64, samples)
	for k := range taken {
		taken[k] = (f.Next(to) - 1) / (to - 1)
	}
	return taken
}

func TestTable1StepResponse(t *testing.T) {
	for _, c := range []struct {
		state    string
		down, up []float64
	}{
		{"U2", []float64{0, .80, .98}, []float64{.40, .64, .78, .87, .92, .95}},
		{"U1", []float64{.20, .84, .98}, []float64{.20, .52, .71, .83, .90, .94}},
		{"D1", []float64{.80, .98, 1}, []float64{0, .20, .52, .71, .83, .90}},
		{"D2", []float64{.90, .99, 1}, []float64{0, .20, .52, .71, .83, .90}},
	} {
		// 0.0051: two digits are given, and .945 may have been rounded either way
		assert.InDeltaSlice(t, c.down, stepResponse(inState(t, c.state), 0.5, 3), 0.0051, "down from %s", c.state)
		assert.InDeltaSlice(t, c.up, stepResponse(inState(t, c.state), 2, 6), 0.0051, "up from %s", c.state)
	}
}

func TestTable1FallsAreTrustedSooner(t *testing.T) {
	for _, state := range []string{"U2", "U1", "D1", "D2"} {
		down, up := stepResponse(inState(t, state), 0.5, 12), stepResponse(inState(t, state), 1.5, 12)
		for k := 1; k < 12; k++ {
			assert.GreaterOrEqual(t, down[k], up[k], "state %s, sample %d", state, k+1)
		}
	}
}

func TestTable1TieIsAnIncrease(t *testing.T) {
	f := inState(t, "D2") // an increase in D2 leads to U1, where a decrease is believed to 0.2 and not to 0.9
	f.Next(1)
	assert.InDelta(t, 0.9, f.Next(0.5), 1e-12)
}

func TestFirstSampleIsTakenAndTheStateIsU1(t *testing.T) {
	for name, next := range map[string][2]float64{"rise": {2, 1.2}, "fall": {0.5, 0.9}} {
		spec, err := Parse("state")
		require.NoError(t, err)
		f := spec.New()
		assert.Equal(t, 1.0, f.Next(1), name)
		assert.InDelta(t, next[1], f.Next(next[0]), 1e-12, name) // h = 0.8 in U1, whichever way
	}
}

func TestEquation16(t *testing.T) {
	f, err := Parse("fixed:0.8")
	require.NoError(t, err)
	filter := f.New()
	filter.Next(10)
	assert.InDelta(t, 0.2*20+0.8*10, filter.Next(20), 1e-12)
	assert.InDelta(t, 0.2*0+0.8*12, filter.Next(0), 1e-12)
}

func TestRawAndTheEndsOfFixed(t *testing.T) {
	for spec, want := range map[string]float64{"raw": 3, "fixed:0": 3, "fixed:1": 7} {
		s, err := Parse(spec)
		require.NoError(t, err)
		f := s.New()
		f.Next(7)
		assert.Equal(t, want, f.Next(3), spec)
	}
}

func TestParse(t *testing.T) {
	for _, ok := range []string{"auto", "levels", "state", "fixed:0.5", "fixed:0", "fixed:1", "raw", "step", "median:3+state", "state:start A;A increase 0 A;A decrease 1 A"} {
		s, err := Parse(ok)
		require.NoError(t, err, ok)
		assert.Equal(t, ok, s.String())
	}
	for _, bad := range []string{"fixed", "fixed:", "fixed:1.1", "fixed:-0.1", "fixed:NaN", "State", "kalman", " raw", "median:2", "median:33", "raw+", "raw+auto", "raw:1", "state:start A"} {
		_, err := Parse(bad)
		require.Error(t, err, bad)
		assert.Contains(t, err.Error(), Accepted)
		assert.NotContains(t, err.Error(), "\n")
	}
	s, err := Parse("")
	require.NoError(t, err)
	assert.Equal(t, "auto", s.String())
}

func TestParseTable(t *testing.T) {
	text := "start A # comment\n\nA increase 0.5 A\nA decrease 0.25 A\n"
	_, err := ParseTable(text)
	require.NoError(t, err)
	spec, err := Parse("state:" + strings.ReplaceAll(text, "\n", ";"))
	require.NoError(t, err)
	f := spec.New()
	f.Next(4)
	assert.Equal(t, 6.0, f.Next(8))
	assert.Equal(t, 3.0, f.Next(2))

	for name, bad := range map[string]string{
		"no start":     "A increase 0.5 A\nA decrease 0.5 A",
		"missing row":  "start A\nA increase 0.5 A",
		"unknown next": "start A\nA increase 0.5 B\nA decrease 0.5 A",
		"twice":        "start A\nA increase 0.5 A\nA increase 0.5 A",
		"history":      "start A\nA increase 1.5 A\nA decrease 0.5 A",
		"input":        "start A\nA rise 0.5 A\nA decrease 0.5 A",
		"fields":       "start A\nA increase 0.5",
	} {
		_, err := ParseTable(bad)
		assert.Error(t, err, name)
	}
}

func specs(t require.TestingT) []Spec {
	var out []Spec
	for _, s := range []string{"state", "fixed:0.3", "raw", "step", "levels", "median:5", "median:3+state"} {
		spec, err := Parse(s)
		require.NoError(t, err)
		out = append(out, spec)
	}
	return out
}

func TestOutputStaysInsideTheInputs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := rapid.SliceOfN(rapid.Float64Range(0, 1e6), 1, 60).Draw(t, "samples")
		for _, spec := range specs(t) {
			f := spec.New()
			lo, hi := math.Inf(1), 0.0
			for _, x := range samples {
				lo, hi = min(lo, x), max(hi, x)
				y := f.Next(x)
				if y < lo*(1-1e-12) || y > hi*(1+1e-12) {
					t.Fatalf("%v: %v outside [%v, %v]", spec, y, lo, hi)
				}
			}
		}
	})
}

func TestScalingTheRatesScalesTheOutput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := rapid.SliceOfN(rapid.Float64Range(0.1, 100), 1, 60).Draw(t, "samples")
		const scale = 1024 // a power of two: exact in every operation but the logarithm's
		for _, spec := range specs(t) {
			f, g := spec.New(), spec.New()
			for _, x := range samples {
				y, z := f.Next(x), g.Next(scale*x)
				if math.Abs(z-scale*y) > 1e-9*z {
					t.Fatalf("%v: %v and %v", spec, y, z)
				}
			}
		}
	})
}

func TestWhatIsNoRateIsIgnored(t *testing.T) {
	for _, spec := range specs(t) {
		f := spec.New()
		assert.Equal(t, 0.0, f.Next(math.NaN()), spec)
		f.Next(5)
		for _, bad := range []float64{-1, math.NaN(), math.Inf(1), math.Inf(-1)} {
			assert.Equal(t, 5.0, f.Next(bad), "%v after %v", spec, bad)
		}
	}
}

// noisy returns a rate with relative Gaussian noise.
func noisy(rng *rand.Rand, rate, noise float64) float64 {
	return max(0, rate*(1+noise*rng.NormFloat64()))
}

func TestStepsTellsAStepFromNoiseAndFromASpike(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var s Steps
	for range 50_000 {
		s.Next(noisy(rng, 10, 0.05))
	}
	// The test's constants promise about one false alarm in 100,000 samples a side; the logarithm and the estimated
	// noise cost some of it.
	assert.LessOrEqual(t, s.Changes(), 5, "noise is no change")
	assert.InDelta(t, 0.05, s.Noise(), 0.02)
	assert.InDelta(t, 10, s.Level(), 0.5)

	before := s.Changes()
	s.Next(5)
	for range 5 {
		s.Next(noisy(rng, 10, 0.05))
	}
	assert.Equal(t, before, s.Changes(), "a one-sample dip is no change")
	assert.InDelta(t, 10, s.Level(), 0.6)

	s.Next(5)
	assert.InDelta(t, 10, s.Level(), 0.8, "not after one sample")
	s.Next(5)
	assert.Equal(t, before+1, s.Changes(), "a halved rate is believed at the second sample")
	assert.InDelta(t, 5, s.Level(), 1e-9)
	s.Next(10)
	s.Next(10)
	assert.InDelta(t, 10, s.Level(), 1e-9, "and so is the recovery")
}

func TestStepsCountsTheSamplesBehindTheLevel(t *testing.T) {
	var s Steps
	assert.Equal(t, 0, s.Samples())
	assert.Equal(t, noisePrior, s.Noise())
	s.Next(1)
	assert.Equal(t, 1, s.Samples())
	rng := rand.New(rand.NewPCG(3, 4))
	for range stepMemory {
		s.Next(noisy(rng, 1, 0.05))
	}
	assert.Equal(t, stepMemory, s.Samples())
	s.Next(0.3)
	s.Next(0.3)
	assert.Equal(t, 1, s.Samples(), "after a change, one less than seen of it")
}

func TestStepsFollowsAFactorOfAThousand(t *testing.T) {
	var s Steps
	for range 10 {
		s.Next(1000)
	}
	s.Next(1)
	s.Next(1)
	assert.InDelta(t, 1, s.Level(), 1e-9)
	s.Next(1000)
	s.Next(1000)
	assert.InDelta(t, 1000, s.Level(), 1e-9)
}

func ExampleParse() {
	spec, _ := Parse("fixed:0.5")
	f := spec.New()
	for _, raw := range []float64{8, 4, 4} {
		fmt.Println(f.Next(raw))
	}
	_, err := Parse("median")
	fmt.Println(err)
	// Output:
	// 8
	// 6
	// 5
	// filter: "median": median of "" samples; accepted: auto, levels, state, state:TABLE, fixed:H with 0 <= H <= 1, median:N with N = 3, 5, ... 31, step, raw, or A+B: A, then B
}

func TestAStackFeedsEachFilterWithTheOneBefore(t *testing.T) {
	spec, err := Parse("median:3+fixed:0.5")
	require.NoError(t, err)
	f := spec.New()
	var got []float64
	for _, raw := range []float64{8, 8, 100, 8, 4, 4} { // median: 8 8 8 8 8 4
		got = append(got, f.Next(raw))
	}
	assert.Equal(t, []float64{8, 8, 8, 8, 8, 6}, got)
}
