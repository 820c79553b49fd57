package dist

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// reread writes weights as JSON and reads them again.
func reread(t require.TestingT, w Weights) (read Weights, text string) {
	b, err := json.Marshal(w)
	require.NoError(t, err)
	read, err = NewWeights(Span(3, 4), []float64{7}) // something to be replaced
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &read), "%s", b)
	return read, string(b)
}

func TestWeightsAsJSON(t *testing.T) {
	repeated := func(n int, units float64) []float64 {
		all := make([]float64, n)
		for i := range all {
			all[i] = units
		}
		return all
	}
	for _, c := range []struct {
		span  Range
		units []float64
		text  string
	}{
		{Span(0, 9), nil, "null"},
		{Span(4, 4), []float64{}, `{"lo":4,"units":[]}`},
		{Span(-2, 1), []float64{1, 2.5, 1e30}, `{"lo":-2,"units":[1,2.5,1e+30]}`},
		{Span(5, 209), append(append([]float64{0.5}, repeated(200, 1.5)...), 2, 2, 0.1), `{"lo":5,"units":[0.5,[200,1.5],[2,2],0.1]}`},
		{Span(0, 100000), append(repeated(50000, 0.3), repeated(50000, 0.7)...), `{"lo":0,"units":[[50000,0.3],[50000,0.7]]}`},
	} {
		w, err := NewWeights(c.span, c.units)
		require.NoError(t, err)
		read, text := reread(t, w)
		assert.Equal(t, c.text, text)
		assert.Equal(t, w, read)
	}
}

// Weights of very different sizes keep their sums to the last bit; those that would be lost in the sum are refused.
func TestWeightsAsJSONKeepEveryBit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.OneOf(
			rapid.Float64Range(0.1, 10),
			rapid.SampledFrom([]float64{0.1, 0.3, 1, 1e16, 0x1p53, 0x1p53 + 2, math.SmallestNonzeroFloat64}),
			rapid.Custom(func(t *rapid.T) float64 {
				return math.Ldexp(1+rapid.Float64Range(0, 1).Draw(t, "mantissa"), rapid.IntRange(-1074, 1000).Draw(t, "exponent"))
			}),
		).Filter(func(u float64) bool { return u > 0 && u < 1e300 })
		units := rapid.SliceOfN(unit, 0, 40).Draw(t, "units")
		lo := rapid.IntRange(-5, 5).Draw(t, "lo")
		w, err := NewWeights(Span(lo, lo+len(units)), units)
		if err != nil {
			require.ErrorContains(t, err, "too little beside")
			return
		}
		read, _ := reread(t, w)
		if len(units) == 0 { // nil units are uniform
			require.Equal(t, w.Uniform(), read.Uniform())
			return
		}
		require.Equal(t, w, read)
	})
}

func TestWeightsThatAreNone(t *testing.T) {
	kept, err := NewWeights(Span(0, 2), []float64{1, 2})
	require.NoError(t, err)
	for _, text := range []string{
		`[1,2]`, `{"lo":0.5,"units":[1]}`, `{"units":[0]}`, `{"units":[-1]}`, `{"units":[null]}`, `{"units":["1"]}`, `{"units":[[2,0]]}`,
		`{"units":[[0,1]]}`, `{"units":[[-1,1]]}`, `{"units":[[2]]}`, `{"units":[[2,1,1]]}`, `{"units":[[2.5,1]]}`, `{"units":[1e999]}`,
		`{"units":[1e308,1e308]}`, `{"units":[[67108865,1]]}`, `{"units":[[67108864,1],1]}`, `{"units":[[9223372036854775807,1],[9223372036854775807,1]]}`,
	} {
		w := kept
		assert.Error(t, json.Unmarshal([]byte(text), &w), text)
		assert.Equal(t, kept, w, "it stays as it was")
	}
	_, err = NewWeights(Span(0, 2), []float64{1e308, 1e308})
	assert.ErrorContains(t, err, "add up")
}

func BenchmarkWeightsAsJSON(b *testing.B) {
	units := make([]float64, 1e5)
	for i := range units {
		units[i] = 0.3 * float64(i+1)
	}
	w, err := NewWeights(Span(0, len(units)), units)
	require.NoError(b, err)
	for b.Loop() {
		_, err := json.Marshal(w)
		require.NoError(b, err)
	}
}
