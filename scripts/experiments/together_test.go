package main

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// names are those of the variants of a round, by crowd.
func names(crowds [][]variant) (all [][]string) {
	for _, crowd := range crowds {
		var one []string
		for _, v := range crowd {
			one = append(one, v.name)
		}
		all = append(all, one)
	}
	return all
}

// What is compared runs at the same time, computes as much as by itself, and has the same quota of all CPUs together.
func TestAtOnce(t *testing.T) {
	c := compared("x", four, sor4000, 4, 5, constant(1), 1.9, 1.2)
	assert.Equal(t, [][]string{{"on"}, {"dedicated"}, {"off"}}, names(c.crowds(1)))
	d := c.atOnce()
	assert.Equal(t, [][]string{{"off", "on", "dedicated"}}, names(d.crowds(1)))
	assert.InDelta(t, c.place.total(), 3*d.place.total(), 1e-9)
	assert.InDelta(t, c.seconds*c.place.total(), d.seconds*d.place.total(), 1e-9)
	assert.Equal(t, four.period, d.place.period)
	assert.InDelta(t, 0.4/3*float64(four.period)/2, float64(d.place.slice), 1, "the quota is less than a slice of the kernel")
	assert.Zero(t, four.slice)
	assert.InDelta(t, 0.4, four.cpu[0], 0)
	assert.Equal(t, 5, d.roundsOf(d.variants[2], scale{1, 1}), "each round has its dedicated run")
	assert.Equal(t, 3, c.roundsOf(c.variants[2], scale{1, 1}))
	assert.InDelta(t, c.planned(scale{1, 1}), d.planned(scale{1, 1}), 0.25*c.planned(scale{1, 1}), "two more dedicated runs")

	paper := harmless()[1].atOnce()
	assert.Equal(t, [][]string{{"off-fast", "on-fast"}, {"off", "on"}, {"dedicated"}}, names(paper.crowds(3)))
	coarse := coarse()[0].atOnce()
	assert.Zero(t, coarse.place.slice, "its quota is long enough")
	for _, p := range []string{"sequential", "eight", "block", "master"} {
		for _, whole := range parts(10000) {
			if whole.name == p {
				assert.Equal(t, whole.cells[0], whole.cells[0].atOnce(), "nothing to compare, or no quota to divide")
			}
		}
	}
}

// The runs of a crowd are there at the same time, and all of them count or none.
func TestACrowdRunsAtTheSameTime(t *testing.T) {
	st, err := load(t.TempDir())
	require.NoError(t, err)
	st.sizes["sor-4000"] = size{"sor-4000", 1}
	s := newSession(st, "", "", io.Discard)
	s.scale = scale{1, 1}
	var lock sync.Mutex
	ran, broken, all := 0, 0, make(chan struct{})
	s.once = func(_ context.Context, number int, c cell, v variant, round int, _ size) taken {
		lock.Lock()
		others := all
		if ran++; ran%3 == 0 {
			close(all)
			all = make(chan struct{})
		}
		fails := v.name == "on" && broken > 0
		if fails {
			broken--
		}
		lock.Unlock()
		select {
		case <-others:
		case <-time.After(10 * time.Second):
			return taken{failure: errors.New("it is alone")}
		}
		if fails {
			return taken{failure: errors.New("it broke")}
		}
		return taken{run: someRun(c.part, c.name, v.name, round, float64(1+number))}
	}
	c := compared("x", four, sor4000, 1, 1, nil, 1, 1).atOnce()
	c.part = "idle"

	broken = 2
	require.NoError(t, s.measure(t.Context(), c))
	assert.Equal(t, 6, ran)
	assert.Empty(t, st.order)
	assert.Equal(t, []string{"idle x on, round 1: it broke"}, s.failures)

	broken = 1
	require.NoError(t, s.measure(t.Context(), c))
	assert.Equal(t, 12, ran)
	assert.Len(t, st.order, 3)
	assert.InDelta(t, 2, st.runs[key{"idle", "x", "on", 0}].Time, 0, "each has workstations of its own")

	require.NoError(t, s.measure(t.Context(), c))
	assert.Equal(t, 12, ran, "they are there")
}

// Of runs at the same time those of a round are compared, and the median is that of the rounds.
func TestFiguresOfRunsAtTheSameTime(t *testing.T) {
	st, err := load(t.TempDir())
	require.NoError(t, err)
	for round, host := range []float64{1, 3, 1, 1, 1} { // how slow it was
		for name, seconds := range map[string]float64{"off": 19, "on": 12 + 0.1*float64(round), "dedicated": 10} {
			r := someRun("constant", "x", name, round, host*seconds)
			r.Loads, r.Began = constant(1)[0].String(), 0
			st.note(r)
		}
	}
	require.NoError(t, st.set(together, "yes"))
	assert.InDelta(t, 12.2/19, st.ratio("constant", "x", "on", "off").median, 1e-9)
	assert.InDelta(t, 12.4/19, st.ratio("constant", "x", "on", "off").high, 1e-9)
	ideal := 10 * 4 / 3.5
	x := st.removed("constant", "x", "on", "off", "dedicated")
	assert.InDelta(t, (19-12.2)/(19-ideal), x.median, 1e-9)
	assert.InDelta(t, (19-12.4)/(19-ideal), x.low, 1e-9)
	assert.Equal(t, 5, x.count)
}

// A data set is of one kind.
func TestTogetherStays(t *testing.T) {
	st, err := load(t.TempDir())
	require.NoError(t, err)
	o := options{Data: st.folder, Together: true}
	require.NoError(t, o.settings(st))
	assert.True(t, st.together())
	assert.Equal(t, 3, options{}.parts(st, 10000)[2].cells[0].crowd, "also when it is gone on with")

	alone, err := load(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, options{Data: alone.folder}.settings(alone))
	assert.ErrorContains(t, o.settings(alone), "--together: "+st.folder+" was measured without it")
	assert.Zero(t, options{}.parts(alone, 10000)[2].cells[0].crowd)
}
