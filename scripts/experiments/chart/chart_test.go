package chart

import (
	"bytes"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Panels without data, with a single value, or with values that have no logarithm are drawn, not a panic.
func TestOddData(t *testing.T) {
	for name, p := range map[string]Panel{
		"empty":        {Title: "x"},
		"empty log":    {LogX: true, LogY: true, Level: []Mark{{At: 1, Name: "ideal"}}},
		"single value": {LogX: true, LogY: true, Series: []Series{{Name: "a", X: []float64{3}, Y: []float64{2}}}},
		"no logarithm": {LogX: true, LogY: true, Series: []Series{{Name: "a", X: []float64{0, 1, -1, 2}, Y: []float64{1, 0, 1, math.NaN()}}}},
		"not finite": {Categories: []string{"a", "b"}, Bars: []Bars{{Name: "x", Values: []float64{math.NaN(), 2}, Low: []float64{math.NaN(), 1},
			High: []float64{math.NaN(), 3}}}},
		"boxes": {Rows: []string{"a", "b"}, Boxes: []Box{{X: Span{0, 1}, Y: Span{0, 0.5}, Colour: Blue}}, Keys: []Key{{"x", Blue}}, Bands: []Span{{-1, 5}}, Band: "load"},
	} {
		t.Run(name, func(t *testing.T) {
			base := filepath.Join(t.TempDir(), "figure")
			require.NoError(t, Figure{Title: name, Note: "note", Rows: [][]Panel{{p, p}, {p}}}.Save(base))
			text, err := os.ReadFile(base + ".png")
			require.NoError(t, err)
			image, err := png.Decode(bytes.NewReader(text))
			require.NoError(t, err)
			assert.Greater(t, image.Bounds().Dx(), 300)
		})
	}
	assert.ErrorContains(t, Figure{}.Save(filepath.Join(t.TempDir(), "none")), "no panels")
}

func TestLogTicks(t *testing.T) {
	labels := func(low, high float64) (all []string) {
		for _, tick := range logTicks(low, high) {
			if tick.Label != "" {
				all = append(all, tick.Label)
			}
		}
		return all
	}
	assert.Equal(t, []string{"0.5", "1", "2", "5", "10", "20"}, labels(0.4, 25))
	assert.Equal(t, []string{"1", "10", "100", "1000"}, labels(1, 2000))
	assert.Equal(t, []string{"2", "3"}, labels(2, 3))
	assert.Equal(t, []string{"4", "5", "6", "7", "8"}, labels(3.3, 8.6), "one number would not tell the scale")
}

func TestWrap(t *testing.T) {
	assert.Equal(t, []string{"one two", "three"}, wrap("one two three", 8))
	assert.Empty(t, wrap("", 8))
}
