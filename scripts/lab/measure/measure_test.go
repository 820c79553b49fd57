package measure

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"shiftwork/scripts/lab/cluster"
)

// Equation (2): four workstations, one of which a load has for half of the time.
func TestEfficiencyEquation2(t *testing.T) {
	speeds, none := []float64{1, 1, 1, 1}, make([]float64, 4)
	assert.InDelta(t, 1, Efficiency(40, 10, speeds, none), 1e-12, "perfect, alone")
	assert.InDelta(t, 0.8, Efficiency(40, 12.5, speeds, none), 1e-12)
	assert.InDelta(t, 1, Efficiency(35, 10, speeds, []float64{5, 0, 0, 0}), 1e-12, "less to use")
	assert.InDelta(t, 40/70.0, Efficiency(40, 20, speeds, []float64{10, 0, 0, 0}), 1e-12, "without balancing")
	assert.Zero(t, Efficiency(40, 10, speeds, []float64{10, 10, 10, 10}), "nothing left over")
}

// Equation (2'): (2) where all speeds are 1, and independent of which workstation is the reference.
func TestEfficiencyEquation2Heterogeneous(t *testing.T) {
	assert.InDelta(t, 1, Efficiency(70, 10, []float64{1, 2, 4}, []float64{0, 0, 0}), 1e-12)
	assert.InDelta(t, 1, Efficiency(50, 10, []float64{1, 2, 4}, []float64{0, 0, 5}), 1e-12, "half of 4 is 2")
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.IntRange(1, 8).Draw(t, "P")
		elapsed := rapid.Float64Range(0.1, 100).Draw(t, "elapsed")
		sequential := rapid.Float64Range(0.1, 100).Draw(t, "sequential")
		scale := rapid.Float64Range(0.1, 10).Draw(t, "scale")
		speeds, compete, scaled, sum := make([]float64, p), make([]float64, p), make([]float64, p), 0.0
		for i := range p {
			speeds[i] = rapid.Float64Range(0.1, 10).Draw(t, "speed")
			compete[i] = elapsed * rapid.Float64Range(0, 0.9).Draw(t, "compete")
			scaled[i] = scale * speeds[i]
			sum += compete[i]
		}
		assert.InEpsilon(t, Efficiency(sequential, elapsed, speeds, compete),
			Efficiency(scale*sequential, elapsed, scaled, compete), 1e-9, "another reference")
		assert.InEpsilon(t, sequential/(float64(p)*elapsed-sum),
			Efficiency(sequential, elapsed, slices.Repeat([]float64{1}, p), compete), 1e-9, "(2)")
	})
}

// A constant load on one of four leaves 3.5 workstations. The times are those of spec/quantum-and-slack.md, whose last
// column this gives.
func TestPenaltyRemovedOfAConstantLoad(t *testing.T) {
	constant := []cluster.Load{{Workstation: 0}}
	for _, c := range []struct{ dedicated, equal, shares, removed float64 }{
		{8.0, 26, 21, 0.3}, {10.2, 23.7, 12.6, 0.92}, {9.9, 20.9, 12.1, 0.92},
	} {
		ideal := Ideal(c.dedicated, []float64{1, 1, 1, 1}, constant, 0)
		assert.InDelta(t, c.dedicated*4/3.5, ideal, 1e-9)
		removed, ok := PenaltyRemoved(c.equal, c.shares, ideal)
		assert.True(t, ok)
		assert.InDelta(t, c.removed, removed, 0.005)
	}
	_, ok := PenaltyRemoved(10, 9, 10)
	assert.False(t, ok, "no penalty")
}

func TestIdealByHand(t *testing.T) {
	four := []float64{1, 1, 1, 1}
	for name, c := range map[string]struct {
		speeds []float64
		loads  []cluster.Load
		began  time.Duration
		want   float64 // for a dedicated run of 10 s
	}{
		"no load":                {four, nil, 0, 10},
		"three loads":            {four, []cluster.Load{{Workstation: 1}, {Workstation: 1}, {Workstation: 1}}, 0, 40 / 3.25},
		"two workstations":       {four, []cluster.Load{{Workstation: 1}, {Workstation: 2}}, 0, 40 / 3.0},
		"for 2 s":                {four, []cluster.Load{{From: 3 * time.Second, To: 5 * time.Second}}, 0, 10.25},
		"over when it begins":    {four, []cluster.Load{{To: 5 * time.Second}}, 6 * time.Second, 10},
		"partly over":            {four, []cluster.Load{{To: 5 * time.Second}}, 3 * time.Second, 10.25},
		"one turn":               {four, []cluster.Load{{On: 2 * time.Second, Off: time.Minute}}, 0, 10.25},
		"equal shares, 1:2:4":    {[]float64{1, 2, 4}, nil, 0, 30 / 7.0},
		"load on the fastest":    {[]float64{1, 2, 4}, []cluster.Load{{Workstation: 2}}, 0, 30 / 5.0},
		"one workstation loaded": {[]float64{1}, []cluster.Load{{}}, 0, 20},
	} {
		assert.InDelta(t, c.want, Ideal(10, c.speeds, c.loads, c.began), 1e-9, name)
	}
}

// The ideal time against a sum over small steps, which knows only when loads are busy.
func TestIdealAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		speeds := rapid.SliceOfN(rapid.Float64Range(0.5, 4), 1, 4).Draw(t, "speeds")
		ms := func(lo, hi int, name string) time.Duration {
			return time.Duration(rapid.IntRange(lo, hi).Draw(t, name)) * time.Millisecond
		}
		loads := make([]cluster.Load, rapid.IntRange(0, 4).Draw(t, "loads"))
		for i := range loads {
			l := cluster.Load{Workstation: rapid.IntRange(0, len(speeds)-1).Draw(t, "ws"), FromLoop: rapid.Bool().Draw(t, "from loop"), From: ms(0, 2000, "from")}
			if rapid.Bool().Draw(t, "ends") {
				l.To = l.From + ms(1, 2000, "for")
			}
			if rapid.Bool().Draw(t, "turns") {
				l.On, l.Off = ms(1, 700, "on"), ms(1, 700, "off")
			}
			loads[i] = l
		}
		began := ms(0, 1000, "began")
		dedicated := rapid.Float64Range(0.1, 2).Draw(t, "dedicated")
		work := dedicated * float64(len(speeds)) * slices.Min(speeds)
		at := began
		const step = time.Millisecond // every change is at a whole one
		for work > 0 {
			for i, s := range speeds {
				busy := 0
				for _, l := range loads {
					if on, _ := l.Busy(at, began); on && l.Workstation == i {
						busy++
					}
				}
				work -= s * step.Seconds() / float64(1+busy)
			}
			at += step
		}
		assert.InDelta(t, (at - began).Seconds(), Ideal(dedicated, speeds, loads, began), 2*step.Seconds())
	})
}

func TestMedian(t *testing.T) {
	x := []float64{3, 1, 2}
	assert.Equal(t, 2.0, Median(x))
	assert.Equal(t, []float64{3, 1, 2}, x, "left as it was")
	assert.Equal(t, 2.5, Median([]float64{4, 1, 2, 3}))
	assert.Equal(t, 7.0, Median([]float64{7}))
}

// imitation is a cluster whose program takes known times.
type imitation struct {
	cfg   cluster.Config
	calls []string
	lines func(call int, loads bool, balance string) string // of the result
	code  int
}

func (i *imitation) Config() cluster.Config { return i.cfg }

func (i *imitation) Run(_ context.Context, job cluster.Job) (*cluster.Result, error) {
	balance := ""
	for k, arg := range job.Command {
		if arg == "--balance" {
			balance = job.Command[k+1]
		}
	}
	call := balance
	if len(job.Loads) == 0 {
		call += " dedicated"
	}
	if slices.Contains(job.Command, "--master") {
		call += " master"
	}
	i.calls = append(i.calls, call)
	line := map[string]string{}
	for _, f := range strings.Fields(i.lines(len(i.calls), len(job.Loads) > 0, balance)) {
		key, value, _ := strings.Cut(f, "=")
		line[key] = value
	}
	r := &cluster.Result{Line: line, Code: i.code, Workstations: make([]cluster.Usage, len(i.cfg.CPU))}
	if t, ok := r.TimeSeconds(); ok && len(job.Loads) > 0 {
		r.Workstations[0].Compete = time.Duration(t * i.cfg.CPU[0] / 2 * float64(time.Second))
	}
	return r, nil
}

func times(off, on, dedicated float64) func(int, bool, string) string {
	return func(call int, loads bool, balance string) string {
		t := off
		switch {
		case !loads:
			t = dedicated
		case balance == "on":
			t = on
		}
		return "checksum=abc time_s=" + strconv.FormatFloat(t+float64(call%2)/1e6, 'f', -1, 64)
	}
}

func TestCompareInterleavesAndConcludes(t *testing.T) {
	i := &imitation{cfg: cluster.Config{CPU: []float64{0.4, 0.4, 0.4, 0.4}, Master: true}, lines: times(23.7, 12.6, 10.2)}
	s := Setting{Cluster: i, Reference: 0.4, Sequential: 40, Job: cluster.Job{
		Command: []string{"./sor", "--n", "9"}, Loads: []cluster.Load{{Workstation: 0}},
	}}
	var progress bytes.Buffer
	c, err := Compare(t.Context(), s, 2, &progress)
	require.NoError(t, err)
	assert.Equal(t, []string{"off master", "on master", "off dedicated master",
		"on master", "off dedicated master", "off master"}, i.calls)
	assert.Equal(t, []string{"./sor", "--n", "9"}, s.Job.Command)
	assert.Equal(t, 2, strings.Count(progress.String(), "\n"))
	assert.Contains(t, progress.String(), "round 2: off 23.700 s, on 12.600 s, dedicated 10.200 s")
	assert.True(t, c.Penalty)
	assert.InDelta(t, 0.92, c.Removed, 0.005)
	assert.InDelta(t, 40/(4*12.6-6.3), c.Efficiency[On], 1e-4)
	assert.InDelta(t, 40/(4*23.7-11.85), c.Efficiency[Off], 1e-4)
	assert.InDelta(t, 40/40.8, c.Efficiency[Dedicated], 1e-4)
	assert.Equal(t, "abc", c.Checksum)
}

func TestCompareWithoutASequentialTime(t *testing.T) {
	i := &imitation{cfg: cluster.Config{CPU: []float64{0.5}}, lines: times(2, 2, 2)}
	c, err := Compare(t.Context(), Setting{Cluster: i, Reference: 0.5}, 1, nil)
	require.NoError(t, err)
	assert.Empty(t, c.Efficiency)
}

func TestCompareFails(t *testing.T) {
	fresh := func() (*imitation, Setting) {
		i := &imitation{cfg: cluster.Config{CPU: []float64{0.5}}, lines: times(2, 1, 1)}
		return i, Setting{Cluster: i, Reference: 0.5, Job: cluster.Job{Command: []string{"./sor"}, Loads: []cluster.Load{{}}}}
	}
	fails := func(s Setting, rounds int, says string) {
		t.Helper()
		_, err := Compare(t.Context(), s, rounds, nil)
		assert.ErrorContains(t, err, says)
	}
	i, s := fresh()
	i.code = 3
	fails(s, 1, "round 1, off: ./sor ended with exit code 3")
	i, s = fresh()
	i.lines = func(int, bool, string) string { return "app=sor" }
	fails(s, 1, "no result line")
	i, s = fresh()
	i.lines = func(call int, _ bool, _ string) string { return "time_s=1 checksum=" + strconv.Itoa(call/4) }
	fails(s, 2, "round 2, on: the result has checksum 1, and that of an earlier run 0")
	for _, flag := range []string{"--balance", "--balance=on"} {
		_, s = fresh()
		s.Job.Command = append(s.Job.Command, flag)
		fails(s, 1, "--balance")
	}
	_, s = fresh()
	fails(s, 0, "at least one round")
	s.Cluster = broken{}
	fails(s, 1, "out of order")
}

type broken struct{}

func (broken) Config() cluster.Config { return cluster.Config{} }
func (broken) Run(context.Context, cluster.Job) (*cluster.Result, error) {
	return nil, errors.New("out of order")
}
