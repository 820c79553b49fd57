package cluster

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"shiftwork/scripts/internal/arguments"
)

func TestValidate(t *testing.T) {
	four := []float64{0.4, 0.4, 0.4, 0.4}
	for _, c := range []struct {
		cfg  Config
		says string // nothing: accepted
	}{
		{Config{CPU: four}, ""},
		{Config{CPU: []float64{1, 1}}, ""},
		{Config{CPU: []float64{0.7, 0.2, 0.1, 1}, Period: time.Second, Slice: time.Millisecond}, ""},
		{Config{CPU: four, Pin: true, Master: true, Network: true, Bandwidth: 1e8}, ""},
		{Config{}, "0 workstations"},
		{Config{CPU: make([]float64, 1001)}, "1001 workstations"},
		{Config{CPU: []float64{0.4, 0}}, "workstation 1 has 0 CPUs"},
		{Config{CPU: []float64{-1}}, "has -1 CPUs"},
		{Config{CPU: []float64{1.5}}, "has 1.5 CPUs"},
		{Config{CPU: []float64{math.NaN()}}, "has NaN CPUs"},
		{Config{CPU: []float64{0.9, 0.9, 0.9}}, "need 2.7 CPUs together, and this machine has 2"},
		{Config{CPU: []float64{0.6, 0.6, 0.6}, Pin: true}, "do not fit on 2 CPUs"},
		{Config{CPU: []float64{0.05}}, "less than 1ms"},
		{Config{CPU: []float64{0.05}, Period: 100 * time.Millisecond}, ""},
		{Config{CPU: four, Period: 100 * time.Microsecond}, "quota period 100µs"},
		{Config{CPU: four, Period: 2 * time.Second}, "quota period 2s"},
		{Config{CPU: four, Period: -time.Second}, "quota period -1s"},
		{Config{CPU: four, Slice: time.Microsecond}, "slice 1µs"},
		{Config{CPU: four, Slice: time.Second}, "slice 1s"},
		{Config{CPU: four, Bandwidth: 1e8}, "needs a network"},
		{Config{CPU: four, Network: true, Bandwidth: 1}, "bandwidth 1 bit/s"},
		{Config{CPU: four, Network: true, Bandwidth: math.NaN()}, "bandwidth NaN"},
	} {
		err := c.cfg.Validate(2)
		if c.says == "" {
			assert.NoError(t, err)
			continue
		}
		assert.ErrorIs(t, err, arguments.ErrRefused)
		assert.ErrorContains(t, err, c.says)
		assert.NotContains(t, err.Error(), "\n")
	}
}

func TestParseLoad(t *testing.T) {
	for script, want := range map[string]Load{
		"ws=0":                               {},
		"  ws=3   from=0 to=end ":            {Workstation: 3},
		"ws=1 from=2s to=1m":                 {Workstation: 1, From: 2 * time.Second, To: time.Minute},
		"ws=0 from=0 to=end on=2s off=500ms": {On: 2 * time.Second, Off: 500 * time.Millisecond},
		"on=1s ws=2 off=0":                   {Workstation: 2, On: time.Second},
		"ws=0 from=loop":                     {FromLoop: true},
		"ws=0 from=loop+2s to=3s":            {FromLoop: true, From: 2 * time.Second, To: 3 * time.Second},
	} {
		got, err := ParseLoad(script)
		require.NoError(t, err, script)
		assert.Equal(t, want, got, script)
	}
	for script, says := range map[string]string{
		"":                            "ws, the number of the workstation, is missing",
		"from=0":                      "ws, the number",
		"ws=-1":                       "ws=-1 is not a workstation",
		"ws=first":                    "ws=first is not a workstation",
		"ws":                          `"ws" is not key=value`,
		"ws=0 ws=1":                   "ws is there twice",
		"ws=0 when=2s":                "unknown key when: ws, from, to, on and off",
		"ws=0 from=2":                 "from=2 is not a duration",
		"ws=0 from=":                  "from= is not a duration",
		"ws=0 from=loop2s":            "from=loop2s is not a duration",
		"ws=0 from=loop+-2s":          "from -2s is before",
		"ws=0 from=-1s":               "from -1s is before the start",
		"ws=0 from=2s to=1s":          "to 1s is not after from 2s",
		"ws=0 from=2s to=2s":          "not after",
		"ws=0 to=0":                   "to=0 is not after the start",
		"ws=0 to=-1s":                 "to=-1s",
		"ws=0 to=never":               "to=never is not a duration",
		"ws=0 on=2s":                  "on and off go together",
		"ws=0 off=2s":                 "on and off go together",
		"ws=0 on=0 off=2s":            "on=0s",
		"ws=0 on=1us off=2s":          "on=1µs: 1ms or more",
		"ws=0 on=1s off=1us":          "off 1µs: 0 or 1ms or more",
		"ws=0 on=-1s off=1s":          "on=-1s",
		"ws=0 on=1s off=-1s":          "off -1s",
		"ws=99999999999999999999":     "not a workstation",
		"ws=0 from=99999999999999h":   "not a duration",
		"ws=0\nfrom=bad\nto=whatever": "from=bad",
	} {
		_, err := ParseLoad(script)
		assert.ErrorIs(t, err, arguments.ErrRefused, script)
		assert.ErrorContains(t, err, says, script)
		if err != nil {
			assert.NotContains(t, err.Error(), "\n")
		}
	}
}

// drawLoad is any load.
func drawLoad(t *rapid.T) Load {
	ms := func(lo, hi int, name string) time.Duration {
		return time.Duration(rapid.IntRange(lo, hi).Draw(t, name)) * time.Millisecond
	}
	l := Load{Workstation: rapid.IntRange(0, 20).Draw(t, "ws"), FromLoop: rapid.Bool().Draw(t, "from loop"), From: ms(0, 5000, "from")}
	if rapid.Bool().Draw(t, "ends") {
		l.To = l.From + ms(1, 5000, "for")
	}
	if rapid.Bool().Draw(t, "turns") {
		l.On, l.Off = ms(1, 3000, "on"), ms(1, 3000, "off")
	}
	return l
}

func TestLoadScriptRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLoad(t)
		got, err := ParseLoad(l.String())
		require.NoError(t, err)
		assert.Equal(t, l, got)
	})
}

// Whoever goes from change to change sees what someone sees who looks every millisecond.
func TestBusyChangesWhereItSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLoad(t)
		const step, end = time.Millisecond, 12 * time.Second
		began := time.Duration(rapid.IntRange(0, 3000).Draw(t, "began")) * time.Millisecond
		want, next := l.Busy(0, began)
		for at := step; at < end; at += step {
			busy, change := l.Busy(at, began)
			if next != 0 && at >= next {
				want, next = busy, change
			}
			if busy != want || change != next || change != 0 && change <= at {
				t.Fatalf("%v at %v: busy %t, next %v; from the change before: busy %t, next %v", l, at, busy, change, want, next)
			}
			own := at
			if l.FromLoop {
				own -= began
			}
			expect := own >= l.From && (l.To == 0 || own < l.To) && (l.Off == 0 || (own-l.From)%(l.On+l.Off) < l.On)
			if busy != expect {
				t.Fatalf("%v at %v: busy %t", l, at, busy)
			}
		}
	})
}

// No CPU is promised more than once, and what surely fits is placed.
func TestPack(t *testing.T) {
	cpu, ok := pack([]float64{0.4, 0.6, 0.6, 0.4}, 2)
	require.True(t, ok)
	assert.NotEqual(t, cpu[1], cpu[2])
	assert.NotEqual(t, cpu[0], cpu[3])
	rapid.Check(t, func(t *rapid.T) {
		cpus := rapid.IntRange(1, 4).Draw(t, "cpus")
		shares := rapid.SliceOfN(rapid.Float64Range(0.05, 1), 1, 8).Draw(t, "shares")
		cpu, ok := pack(shares, cpus)
		if !ok {
			if len(shares) <= cpus {
				t.Fatalf("%v do not fit on a CPU each", shares)
			}
			return
		}
		used := make([]float64, cpus)
		for k, share := range shares {
			used[cpu[k]] += share
		}
		for _, u := range used {
			assert.LessOrEqual(t, u, 1+1e-6)
		}
	})
}

func TestCompeteIsLinearBetweenSamples(t *testing.T) {
	s := time.Second
	samples := []Sample{
		{At: 0, Load: []time.Duration{0, 0}},
		{At: 2 * s, Load: []time.Duration{0, s}},
		{At: 4 * s, Load: []time.Duration{2 * s, s}},
	}
	assert.Equal(t, []time.Duration{s, s / 2}, compete(samples, s, 3*s, 2))
	assert.Equal(t, []time.Duration{2 * s, s}, compete(samples, 0, 9*s, 2), "beyond the last")
	assert.Equal(t, []time.Duration{0, 0}, compete(nil, 0, s, 2))
}

// What comes between the end of a loop and its result line is no part of it.
func TestFinishIsNotTheLoop(t *testing.T) {
	for line, want := range map[string]time.Duration{"0.25": 250 * time.Millisecond, "": 0, "-1": 0, "NaN": 0} {
		assert.Equal(t, want, (&Result{Line: map[string]string{"finish_s": line}}).finish(), line)
	}
}

// The first line of --progress is found however the output is cut, and everything is passed on.
func TestLoopFinder(t *testing.T) {
	output := "mpirun: 1.0 s of nothing\nsor: slow\nsor:   0.0 s  sweep 0 of 9\nsor:   1.0 s  sweep 5 of 9\n"
	rapid.Check(t, func(t *rapid.T) {
		var out bytes.Buffer
		f := newLoopFinder(&out)
		for rest := output; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			_, err := f.Write([]byte(rest[:n]))
			require.NoError(t, err)
			rest = rest[n:]
			told := len(output)-len(rest) > strings.Index(output, "\nsor:   1.0 s")
			assert.Equal(t, told, !f.at.IsZero())
		}
		<-f.begun
		assert.Equal(t, output, out.String())
	})
}

// The result line is found however the output is cut, and everything is passed on.
func TestResultFinder(t *testing.T) {
	output := "summary\nresult: app=sor time_s=1.5 checksum=ab\r\nnot result: time_s=9\n"
	rapid.Check(t, func(t *rapid.T) {
		var out bytes.Buffer
		f := newResultFinder(&out, time.Now())
		for rest := output; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			_, err := f.Write([]byte(rest[:n]))
			require.NoError(t, err)
			rest = rest[n:]
		}
		assert.Equal(t, output, out.String())
		r := Result{Line: f.line}
		seconds, ok := r.TimeSeconds()
		assert.True(t, ok)
		assert.Equal(t, 1.5, seconds)
		assert.Equal(t, "ab", f.line["checksum"])
	})
	f := newResultFinder(nil, time.Now())
	_, err := f.Write([]byte(strings.Repeat("x", 10*maxLine) + "\nresult: time_s=2\n"))
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"time_s": "2"}, f.line)
	_, ok := (&Result{}).TimeSeconds()
	assert.False(t, ok)
}

func TestWithout(t *testing.T) {
	var out bytes.Buffer
	w := without{&out, "noise"}
	for _, text := range []string{"a\n", "some noise\n", "b\nnoise\nc", "\n", "d"} {
		n, err := w.Write([]byte(text))
		require.NoError(t, err)
		assert.Equal(t, len(text), n)
	}
	assert.Equal(t, "a\nb\nc\nd", out.String())
}
