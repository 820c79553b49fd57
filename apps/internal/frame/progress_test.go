package frame

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"shiftwork/dist"
	"shiftwork/hooks"
	"shiftwork/lb"
)

func sweeps() Work {
	return Work{App: "sor", Step: "sweep", Steps: 100, Points: 1e6, Unit: "points"}
}

func lines(b *strings.Builder) []string {
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// statuses of two ranks that have done so many units since the last, and own or still have so many.
func statuses(done, first, second float64) []lb.Status {
	return []lb.Status{{Units: done / 2, Owned: first, OwnedIterations: int(first)}, {Rank: 1, Units: done / 2, Owned: second, OwnedIterations: int(second)}}
}

// Without balancing nothing is decided, and the line says how far the sweeps are.
func TestProgressWithoutDecisions(t *testing.T) {
	var b strings.Builder
	p := &progress{w: &b, work: sweeps()}
	for i := range 12 {
		p.Pulse(hooks.Pulse{Time: 0.2 * float64(i+1), Steps: 2 * float64(i+1)})
	}
	assert.Equal(t, []string{
		"sor:   0.2 s  sweep 3 of 100  1e+07 points/s  10s left",
		"sor:   1.2 s  sweep 13 of 100  1e+07 points/s  9s left",
		"sor:   2.2 s  sweep 23 of 100  1e+07 points/s  8s left",
	}, lines(&b))
}

// A time limit that comes before the last step is what is left, and all that is known where the number of steps is not.
func TestProgressUntilTheTimeLimit(t *testing.T) {
	for _, c := range []struct {
		steps int
		left  time.Duration
		want  string
	}{
		{100, 4 * time.Second, "  4s left (time limit)"},
		{100, time.Hour, "  10s left"},
		{100, -time.Second, "  0s left (time limit)"},
		{0, 4 * time.Second, "  4s left (time limit)"},
	} {
		var b strings.Builder
		p := &progress{w: &b, work: sweeps()}
		p.work.Steps, p.limit = c.steps, func() time.Duration { return c.left }
		p.Pulse(hooks.Pulse{Time: 0.2, Steps: 2})
		assert.True(t, strings.HasSuffix(lines(&b)[0], "points/s"+c.want), "%v: %s", c, &b)
	}
}

func TestProgressSaysWhatWasDecidedLast(t *testing.T) {
	var b strings.Builder
	p := &progress{w: &b, work: sweeps()}
	p.work.Early = true
	for i, at := range []float64{0.3, 0.6, 0.9} {
		p.Pulse(hooks.Pulse{Time: at, Steps: 10 * at})
		p.Record(hooks.Event{Time: at, Statuses: statuses(1, 30, 10), Decision: &lb.Decision{
			Imbalance: 0.25, Reason: "because", Transfers: make([]dist.Transfer, i),
		}})
	}
	first := lines(&b)
	assert.Equal(t, []string{"sor:   0.3 s  sweep 4 of 100  1e+07 points/s  at most 10s left"}, first, "and no more for a second")
	p.Pulse(hooks.Pulse{Time: 2, Steps: 25})
	p.Record(hooks.Event{Time: 4, Statuses: statuses(1, 20, 20), Decision: &lb.Decision{Reason: "balanced"}})
	assert.Equal(t, append(first,
		"sor:   2.0 s  sweep 26 of 100  1.29e+07 points/s  imbalance 25.0%  at most 6s left  2 shifts  last decision: shift (because)  share of work 75.0% 25.0%",
		"sor:   4.0 s  sweep 26 of 100  0 points/s  imbalance 0.0%  at most 12s left  last decision: stay (balanced)  share of work 50.0% 50.0%",
	), lines(&b))
}

// A rank 0 that only balances has no steps of its own: those of the others count.
func TestProgressOfADedicatedMaster(t *testing.T) {
	var b strings.Builder
	p := &progress{w: &b, work: sweeps()}
	for i := range 5 {
		p.Record(hooks.Event{Time: float64(i + 1), Statuses: statuses(80, 0, 20), Decision: &lb.Decision{Reason: "balanced"}})
	}
	assert.Contains(t, lines(&b)[4], "sor:   5.0 s  sweep 21 of 100  4e+06 points/s")
}

// Where ranks never wait for each other, what is left on all of them counts.
func TestProgressOfAFreeLoop(t *testing.T) {
	var b strings.Builder
	p := &progress{w: &b, work: Work{App: "mm", Step: "repetition", Steps: 1, Points: 1e6, Unit: "points"}}
	p.Record(hooks.Event{Setup: &lb.Loop{Free: true, Start: dist.Even(dist.Span(0, 100), 2, 0)}})
	p.Record(hooks.Event{Time: 2, Statuses: statuses(10, 40, 35), Decision: &lb.Decision{Reason: "balanced"}})
	p.Pulse(hooks.Pulse{Time: 4, Steps: 0.9})
	assert.Equal(t, []string{
		"mm:   2.0 s  25.0% done  1.25e+05 points/s  imbalance 0.0%  6s left  last decision: stay (balanced)  share of remaining work 53.3% 46.7%",
		"mm:   4.0 s  25.0% done  0 points/s  imbalance 0.0%  12s left  last decision: stay (balanced)  share of remaining work 53.3% 46.7%",
	}, lines(&b))
}

// A run that goes on from a checkpoint does not know how many steps it has before it.
func TestProgressAfterARestart(t *testing.T) {
	var b strings.Builder
	p := &progress{w: &b, work: sweeps()}
	p.work.Steps = 0
	p.Pulse(hooks.Pulse{Time: 1, Steps: 3})
	assert.Equal(t, []string{"sor:   1.0 s  sweep 4 of this run  3e+06 points/s"}, lines(&b))
}
