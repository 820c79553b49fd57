package hooks

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/dist"
	"shiftwork/lb"
)

func TestJSONLHoldsWhatJSONCannot(t *testing.T) {
	inf := math.Inf(1)
	d := lb.Decision{
		Benefit: inf, Cost: math.NaN(), Imbalance: 0.25, Raw: []float64{1, -inf}, Targets: []float64{inf, 3},
		Transfers: []dist.Transfer{{From: 1, To: 0, Iterations: 2, Units: inf}}, Reason: "a rank has stopped",
	}
	var out strings.Builder
	j := NewJSONL(&out)
	j.Record(Event{Kind: "decision", Time: 1.5, Decision: &d})
	j.Record(Event{Kind: "end", Report: &Report{Interactions: 1}})
	require.NoError(t, j.Err())

	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 3)
	assert.JSONEq(t, `{"schema":"shiftwork","version":1}`, lines[0])
	var e Event
	require.NoError(t, json.Unmarshal([]byte(lines[1]), &e))
	assert.Equal(t, math.MaxFloat64, e.Decision.Benefit)
	assert.Zero(t, e.Decision.Cost)
	assert.Equal(t, 0.25, e.Decision.Imbalance)
	assert.Equal(t, []float64{1, -math.MaxFloat64}, e.Decision.Raw)
	assert.Equal(t, []float64{math.MaxFloat64, 3}, e.Decision.Targets)
	assert.Equal(t, math.MaxFloat64, e.Decision.Transfers[0].Units)
	assert.Equal(t, d.Reason, e.Decision.Reason)

	// The decision belongs to the balancer.
	assert.Equal(t, inf, d.Benefit)
	assert.Equal(t, []float64{1, -inf}, d.Raw)
	assert.Equal(t, []float64{inf, 3}, d.Targets)
	assert.Equal(t, inf, d.Transfers[0].Units)
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
