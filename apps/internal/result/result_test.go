package result

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/apps/internal/checksum"
)

func truth(v bool) *bool { return &v }

func example() Line {
	return Line{
		App: "sor", N: 1000, M: 1000, Iterations: 40, Ranks: 8, Transport: "mpi", Balance: "on", Block: 36,
		Period: 120 * time.Millisecond, Time: 1842 * time.Millisecond, Rate: 2.2e7,
		Interactions: 15, Shifts: 4, Moved: 131, MoveTime: 21 * time.Millisecond, MasterCPU: 4 * time.Millisecond,
		Setup: 41 * time.Millisecond, Calibrate: 103 * time.Millisecond, Finish: 12 * time.Millisecond,
		Checksum: checksum.Sum(0x4f1c52b8aa0e91d3), Verified: truth(true),
	}
}

const exampleLine = "result: app=sor n=1000 m=1000 iterations=40 ranks=8 transport=mpi balance=on block=36 period_s=0.12 " +
	"time_s=1.842 rate_per_s=2.2e+07 interactions=15 shifts=4 iterations_moved=131 move_s=0.021 master_cpu_s=0.004 " +
	"setup_s=0.041 calibrate_s=0.103 finish_s=0.012 checksum=4f1c52b8aa0e91d3 verified=true"

func TestTheLineOfTheContract(t *testing.T) {
	assert.Equal(t, exampleLine, example().String())
	l := example()
	l.Verified = nil
	assert.Equal(t, strings.TrimSuffix(exampleLine, " verified=true"), l.String(), "verified is absent when nobody looked")
	l.Verified = truth(false)
	assert.True(t, strings.HasSuffix(l.String(), " verified=false"))
	l.Stopped = "time-limit"
	assert.True(t, strings.HasSuffix(l.String(), " stopped=time-limit verified=false"))
	back, err := Parse(l.String())
	require.NoError(t, err)
	assert.Equal(t, "time-limit", back.Stopped)
}

// JSON has the keys of the line, with the same values but for the rounding.
func TestJSONHasTheKeysOfTheLine(t *testing.T) {
	data, err := json.Marshal(example())
	require.NoError(t, err)
	values := map[string]any{}
	require.NoError(t, json.Unmarshal(data, &values))
	fields := strings.Fields(strings.TrimPrefix(exampleLine, Prefix))
	for _, field := range fields {
		key, want, _ := strings.Cut(field, "=")
		require.Contains(t, values, key)
		if number, err := strconv.ParseFloat(want, 64); err == nil && key != "checksum" {
			assert.Equal(t, number, values[key], key)
		} else {
			assert.Equal(t, want, fmt.Sprint(values[key]), key)
		}
	}
	assert.Len(t, values, len(fields))
	l := example()
	l.Verified = nil
	data, err = json.Marshal(l)
	require.NoError(t, err)
	assert.NotContains(t, string(data), "verified")
}

func TestParseReadsWhatStringWrites(t *testing.T) {
	for _, l := range []Line{example(), {App: "mm", Transport: "local", Balance: "off"}} {
		got, err := Parse(l.String() + "\n")
		require.NoError(t, err)
		assert.Equal(t, l, got)
	}
	_, err := Parse(exampleLine + " later=1")
	assert.NoError(t, err, "keys of later versions are skipped")
}

func TestParseRefuses(t *testing.T) {
	for line, says := range map[string]string{
		"":                        "does not start",
		"report: app=sor":         "does not start",
		exampleLine + " app=mm":   "key app is there twice",
		exampleLine + " nonsense": `"nonsense" is not key=value`,
		exampleLine + " x=":       "is not key=value",
		strings.Replace(exampleLine, " m=1000", "", 1):            "key m is missing",
		strings.Replace(exampleLine, "ranks=8", "ranks=eight", 1): "ranks=eight is not a count",
		strings.Replace(exampleLine, "0.12", "0.12s", 1):          "period_s=0.12s is not a number",
		strings.Replace(exampleLine, "4f1c", "4f1", 1):            "is not 16 hexadecimal digits",
		strings.Replace(exampleLine, "=true", "=maybe", 1):        "verified=maybe is not true or false",
	} {
		_, err := Parse(line)
		assert.ErrorContains(t, err, says, line)
	}
}

func TestFind(t *testing.T) {
	l, err := Find("some words\nmore\n" + exampleLine + "\r\n") // mpirun's pty may end lines so
	require.NoError(t, err)
	assert.Equal(t, example(), l)
	_, err = Find(exampleLine + "\nafter it\n")
	assert.ErrorContains(t, err, "not the last line")
	_, err = Find(exampleLine + "\n" + exampleLine + "\n")
	assert.ErrorContains(t, err, "not the last line")
	_, err = Find("nothing\n")
	assert.ErrorContains(t, err, "not a result line")
}
