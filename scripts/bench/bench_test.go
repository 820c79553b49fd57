package main

import (
	"context"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"shiftwork/scripts/internal/arguments"
)

// Every way comes once a round, in an order that turns, and times are kept by way and round.
func TestWaysTakeTurns(t *testing.T) {
	order := ""
	ways := make([]way, 3)
	for k, name := range []string{"a", "b", "c"} {
		ways[k] = way{name, func(context.Context) (float64, error) {
			order += name
			return float64(len(order)), nil
		}}
	}
	var said strings.Builder
	b := &bench{rounds: 3, progress: &said}
	times, err := b.measure(t.Context(), "it", ways)
	require.NoError(t, err)
	assert.Equal(t, "abcbcacab", order)
	assert.Equal(t, [][]float64{{1, 6, 8}, {2, 4, 9}, {3, 5, 7}}, times)
	assert.Equal(t, 9, strings.Count(said.String(), "\n"))
	assert.Contains(t, said.String(), "it, round 2 of 3, b: 4.000 s\n")
}

// No round begins that would end too late, but the first.
func TestThereMayBeNoTimeForMoreRounds(t *testing.T) {
	slow := []way{{"slow", func(context.Context) (float64, error) { time.Sleep(2 * time.Millisecond); return 1, nil }}}
	b := &bench{rounds: 4, progress: io.Discard}
	for most, rounds := range map[time.Duration]int{0: 1, time.Hour: 4} {
		times, err := b.measureWithin(t.Context(), "it", slow, most)
		require.NoError(t, err)
		assert.Len(t, times[0], rounds)
	}
}

// Where time is in proportion to the count, beside what a start takes, the run has about the length that was asked for, or the most
// iterations that there may be; and trying takes no longer than that.
func TestRunsAreSized(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		each := rapid.Float64Range(1e-5, 1).Draw(t, "each")
		seconds := rapid.Float64Range(0.05, 30).Draw(t, "seconds")
		most := rapid.IntRange(1, 1e6).Draw(t, "most")
		tried := 0.0
		count, err := sized(seconds, most, func(count int) (float64, error) {
			assert.LessOrEqual(t, count, most)
			tried += each * float64(count)
			return each * float64(count), nil
		})
		require.NoError(t, err)
		assert.GreaterOrEqual(t, count, 1)
		assert.LessOrEqual(t, count, most)
		if count > 1 && count < most {
			assert.InDelta(t, seconds, each*float64(count), each+1e-9)
		}
		if count < most {
			assert.Less(t, tried, seconds+1+each)
		}
	})
}

// Bad usage is refused in one line that says what is accepted, before anything runs.
func TestBadUsageIsRefused(t *testing.T) {
	for args, says := range map[string]string{
		"hook":                             "unexpected argument hook",
		"--rounds 0 waits":                 "--rounds=0",
		"c --bin " + t.TempDir():           "make build",
		"waits --bin . --place nowhere":    "make build", // programs come first
		"hooks --length nothing":           "--length",
		"--bin /nonexistent scaling":       "make build",
		"waits --ways auto --bin /missing": "make build",
	} {
		err := command(t.Context(), strings.Fields(args), io.Discard, io.Discard)
		if assert.ErrorIs(t, err, arguments.ErrRefused, args) {
			assert.ErrorContains(t, err, says)
			assert.NotContains(t, err.Error(), "\n")
		}
	}
	b := &bench{bin: t.TempDir(), rounds: 1, out: io.Discard, progress: io.Discard}
	for _, err := range []error{
		b.waits(t.Context(), waitFlags{Ways: []string{"auto", "hope"}, Most: 1}),
		b.waits(t.Context(), waitFlags{Ways: []string{"auto", "block@" + t.TempDir()}, Most: 1}),
		b.waits(t.Context(), waitFlags{Ways: []string{"auto"}, Most: 1}),
		b.waits(t.Context(), waitFlags{Ways: []string{"auto", "block"}}),
		b.waits(t.Context(), waitFlags{Ways: []string{"auto", "block"}, Most: 1, Place: []string{"nowhere"}}),
		b.againstC(t.Context(), cFlags{Blas: []string{"mkl"}}),
		b.againstC(t.Context(), cFlags{Blas: []string{"openblas"}}),
		b.hooks(t.Context(), hookFlags{Length: -1}),
	} {
		assert.ErrorIs(t, err, arguments.ErrRefused)
	}
	if runtime.GOOS == "linux" {
		for _, ranks := range []int{-1, 1, 1 << 20} {
			assert.ErrorIs(t, b.scaling(t.Context(), scalingFlags{Ranks: ranks}), arguments.ErrRefused)
		}
		assert.ErrorContains(t, b.scaling(t.Context(), scalingFlags{Ranks: 2, Kernel: "/nonexistent"}), "--kernel=/nonexistent")
	}
}
