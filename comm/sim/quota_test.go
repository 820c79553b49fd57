package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/comm/sim"
)

// A rank with 4 ms of every 10; each end is computed by hand.
func TestTimeOfWorkUnderAQuota(t *testing.T) {
	always := []sim.Span{{Until: 10}}
	for name, k := range map[string]struct {
		phase  float64
		slice  float64
		loads  []sim.Span
		speed  []sim.Step
		sleep  time.Duration
		units  float64
		end    time.Duration
		used   time.Duration
		usedUp float64
	}{
		"less than the quota":                {units: 0.003, end: 3 * ms, used: 3 * ms},
		"all of it":                          {units: 0.004, end: 4 * ms, used: 4 * ms, usedUp: 0.004},
		"three periods":                      {units: 0.010, end: 22 * ms, used: 10 * ms, usedUp: 0.008},
		"periods that do not begin at 0":     {phase: 0.003, units: 0.010, end: 16 * ms, used: 10 * ms, usedUp: 0.004},
		"what was not used is lost":          {sleep: 18 * ms, units: 0.007, end: 31 * ms, used: 7 * ms, usedUp: 0.004},
		"a fast processor":                   {speed: sim.Constant(2), units: 0.016, end: 14 * ms, used: 8 * ms, usedUp: 0.008},
		"a processor that becomes fast":      {speed: []sim.Step{{0, 1}, {0.002, 3}}, units: 0.011, end: 11 * ms, used: 5 * ms, usedUp: 0.004},
		"half beside a load":                 {loads: always, units: 0.004, end: 14 * ms, used: 4 * ms, usedUp: 0.008},
		"a load takes what a rank leaves":    {loads: always, sleep: 3 * ms, units: 0.001, end: 11 * ms, used: 1 * ms, usedUp: 0.004},
		"a load has used everything up":      {loads: always, sleep: 5 * ms, units: 0.001, end: 12 * ms, used: 1 * ms, usedUp: 0.004},
		"a load that comes and goes":         {loads: []sim.Span{{0.002, 0.012}}, units: 0.006, end: 14 * ms, used: 6 * ms, usedUp: 0.008},
		"one that went while the rank slept": {loads: []sim.Span{{0, 0.003}}, sleep: 5 * ms, units: 0.002, end: 11 * ms, used: 2 * ms, usedUp: 0.004},
		"turns":                              {slice: 0.003, loads: always, units: 0.006, end: 21 * ms, used: 6 * ms, usedUp: 0.008},
		"a turn that comes at once":          {slice: 0.003, loads: always, sleep: 1 * ms, units: 0.001, end: 2 * ms, used: 1 * ms},
		"turns without a load":               {slice: 0.003, units: 0.006, end: 12 * ms, used: 6 * ms, usedUp: 0.004},
	} {
		t.Run(name, func(t *testing.T) {
			q := sim.Quota{Share: 0.4, Period: 0.01, Phase: k.phase, Slice: k.slice, Loads: k.loads}
			res, err := sim.Run(sim.Config{Ranks: 1, Quotas: []sim.Quota{q}, Speed: [][]sim.Step{k.speed}}, func(c *sim.Comm) error {
				c.Sleep(k.sleep)
				c.Work(k.units)
				share, period := c.Quota()
				assert.Equal(t, []float64{0.4, 0.01}, []float64{share, period})
				assert.Equal(t, k.used, c.CPUTime())
				assert.InDelta(t, k.usedUp, c.QuotaUsedUp(), 1e-12)
				return nil
			})
			require.NoError(t, err)
			assert.Equal(t, []time.Duration{k.end}, ends(res))
		})
	}
}

// A rank that has had 2 ms more than the load waits for the end of its turn: 2.5 to 4 ms, and 10 to 11.
func TestTurnsAreWaitedFor(t *testing.T) {
	q := sim.Quota{Share: 0.4, Period: 0.01, Slice: 0.003, Loads: []sim.Span{{Until: 10}}}
	res, err := sim.Run(sim.Config{Ranks: 1, Quotas: []sim.Quota{q}}, func(c *sim.Comm) error {
		c.Work(0.002)
		c.Sleep(500 * us)
		c.Work(0.001)
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, []time.Duration{12 * ms}, ends(res))
}

func TestARankWithoutAQuota(t *testing.T) {
	_, err := sim.Run(sim.Config{Ranks: 2, Quotas: []sim.Quota{1: {Share: 0.5, Period: 1}}}, func(c *sim.Comm) error {
		if c.Rank() == 0 {
			c.Work(0.25)
			share, period := c.Quota()
			assert.Zero(t, share+period+c.QuotaUsedUp())
			assert.Equal(t, 250*ms, c.CPUTime())
		}
		return nil
	})
	require.NoError(t, err)
}

func TestAStoppedRankUnderAQuotaEndsTheRun(t *testing.T) {
	cfg := sim.Config{Ranks: 1, Quotas: []sim.Quota{{Share: 0.5, Period: 1}}, Speed: [][]sim.Step{sim.Constant(0)}, MaxTime: 100}
	_, err := sim.Run(cfg, func(c *sim.Comm) error { c.Work(1); return nil })
	assert.ErrorContains(t, err, "MaxTime")
}

func TestQuotasAreValidated(t *testing.T) {
	good := sim.Quota{Share: 0.4, Period: 0.01, Phase: 0.005, Loads: []sim.Span{{0, 1}, {1, 2}}}
	require.NoError(t, sim.Config{Ranks: 2, Quotas: []sim.Quota{good, {}}}.Validate())
	for wrong, change := range map[string]func(q *sim.Quota){
		"share":   func(q *sim.Quota) { q.Share = 1 },
		"period":  func(q *sim.Quota) { q.Period = 0 },
		"phase":   func(q *sim.Quota) { q.Phase = q.Period },
		"loads":   func(q *sim.Quota) { q.Loads[1].From = 0.5 },
		"a share": func(q *sim.Quota) { *q = sim.Quota{Loads: q.Loads} },
	} {
		bad := good
		bad.Loads = append([]sim.Span{}, good.Loads...)
		change(&bad)
		assert.Error(t, sim.Config{Ranks: 1, Quotas: []sim.Quota{bad}}.Validate(), wrong)
	}
	assert.ErrorContains(t, sim.Config{Ranks: 1, Quotas: []sim.Quota{{}, {}}}.Validate(), "Quotas has 2 entries for 1 ranks")
}
