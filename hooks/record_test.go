package hooks

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/dist"
	"shiftwork/lb"
)

// A recording holds what JSON cannot: tools find a number in each place, and who reads the event has it as it was.
func TestJSONLHoldsWhatJSONCannot(t *testing.T) {
	inf := math.Inf(1)
	d := lb.Decision{
		Benefit: inf, Cost: math.NaN(), Imbalance: 0.25, Raw: []float64{1, -inf}, Targets: []float64{inf, 3},
		Transfers: []dist.Transfer{{From: 1, To: 0, Iterations: 2, Units: inf}}, Reason: "a rank has stopped",
		Plans: []lb.Plan{{Name: "none", Then: "stay", Loss: inf}, {Name: "full", Then: "follow", Cost: 1, Loss: math.NaN()}}, Plan: 1,
		Outlook: lb.Outlook{Stay: inf, Rank: -1},
	}
	e := Event{Kind: "decision", Time: 1.5, Decision: &d, Statuses: []lb.Status{{Units: 1}, {Rank: 1, Units: inf, Compute: math.NaN()}}}
	before := fmt.Sprintf("%+v %+v", e.Statuses, d)
	var out strings.Builder
	j := NewJSONL(&out)
	j.Record(e)
	j.Record(Event{Kind: "end", Report: &Report{Interactions: 1}})
	require.NoError(t, j.Err())
	assert.Equal(t, before, fmt.Sprintf("%+v %+v", e.Statuses, d), "they belong to the master and the balancer")

	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 3)
	assert.JSONEq(t, `{"schema":"shiftwork","version":2}`, lines[0])
	var plain struct {
		Statuses []struct{ Units float64 }
		Decision struct {
			Benefit, Cost float64
			Raw           []float64
			Plans         []struct{ Loss float64 }
		}
		Nonfinite map[string]string
	}
	require.NoError(t, json.Unmarshal([]byte(lines[1]), &plain))
	assert.Equal(t, math.MaxFloat64, plain.Decision.Benefit)
	assert.Zero(t, plain.Decision.Cost)
	assert.Equal(t, []float64{1, -math.MaxFloat64}, plain.Decision.Raw)
	assert.Equal(t, math.MaxFloat64, plain.Decision.Plans[0].Loss)
	assert.Equal(t, math.MaxFloat64, plain.Statuses[1].Units)
	assert.Equal(t, map[string]string{
		"decision.Benefit": "+Inf", "decision.Cost": "NaN", "decision.Raw[1]": "-Inf", "decision.Targets[0]": "+Inf",
		"decision.Transfers[0].Units": "+Inf", "decision.Plans[0].Loss": "+Inf", "decision.Plans[1].Loss": "NaN",
		"decision.Outlook.Stay": "+Inf", "statuses[1].Units": "+Inf", "statuses[1].Compute": "NaN",
	}, plain.Nonfinite)

	var read Event
	require.NoError(t, json.Unmarshal([]byte(lines[1]), &read))
	assert.Empty(t, cmp.Diff(e, read, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()))
}

// Weights travel with the loop.
func TestJSONLHoldsWeights(t *testing.T) {
	w, err := dist.NewWeights(dist.Span(1, 5), []float64{0.1, 0.2, 0.2, 7})
	require.NoError(t, err)
	e := Event{Kind: "start", Loop: "mandelbrot", Config: &lb.Config{Policy: lb.Random, Seed: math.MaxUint64}, Setup: &lb.Loop{Ranks: 2, Weights: w}}
	var out strings.Builder
	NewJSONL(&out).Record(e)
	var read Event
	require.NoError(t, json.Unmarshal([]byte(strings.Split(out.String(), "\n")[1]), &read))
	assert.Equal(t, e, read)
}

func TestAnEventWithNonfiniteNumbersThatAreNone(t *testing.T) {
	for _, text := range []string{
		`{"decision":{},"nonfinite":{"decision.Benefits":"NaN"}}`,
		`{"decision":{},"nonfinite":{"decision.Benefit":"many"}}`,
		`{"nonfinite":{"decision.Benefit":"NaN"}}`,
	} {
		assert.ErrorContains(t, json.Unmarshal([]byte(text), new(Event)), "nonfinite", text)
	}
}

// full is a disk without room after some lines.
type full struct{ left int }

func (f *full) Write(b []byte) (int, error) {
	if f.left == 0 {
		return 0, errors.New("no space left")
	}
	f.left--
	return len(b), nil
}

func TestJSONLKeepsTheFirstError(t *testing.T) {
	j := NewJSONL(&full{left: 2})
	j.Record(Event{Kind: "start"})
	require.NoError(t, j.Err())
	j.Record(Event{Kind: "decision"})
	require.ErrorContains(t, j.Err(), "no space left")
	j.Record(Event{Kind: "end", Time: math.NaN()}) // would be another error
	require.ErrorContains(t, j.Err(), "no space left")
}

func TestTee(t *testing.T) {
	var a, b strings.Builder
	Tee(NewJSONL(&a), NewJSONL(&b)).Record(Event{Kind: "start", Loop: "sor"})
	assert.Contains(t, a.String(), `"loop":"sor"`)
	assert.Equal(t, a.String(), b.String())
}
