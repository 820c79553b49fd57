package hooks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/comm/sim"
)

// A rank under a quota of 0.4 CPU that computes for 0.3 s of a second without being stopped has used up three quarters of what it gets:
// with the work of 0.75 s it would be busy for 1 s.
func TestAQuotaBoundsTheRate(t *testing.T) {
	q := quota{account: &books{}, share: 0.4, used: 300 * time.Millisecond}
	assert.InDelta(t, 0.75, q.computing(300*time.Millisecond), 1e-12)
	assert.InDelta(t, 0.9, q.computing(900*time.Millisecond), 1e-12, "it was stopped, or shares the quota with a load")
	assert.InDelta(t, 0.3, (&quota{used: time.Hour}).computing(300*time.Millisecond), 1e-12, "no quota")

	assert.Equal(t, 0.4, q.left(0.05), "too little to be a load")
	assert.InDelta(t, 0.2, q.left(0.3), 1e-12, "whoever waits leaves more to the load than half")
	assert.InDelta(t, 0.25, q.left(0.15), 1e-12, "a load that does not want half")

	b := &books{now: time.Hour, cpu: time.Minute, usedUp: 100}
	q = quota{account: b, share: 0.4}
	q.restart()
	q.begin()
	*b = books{now: time.Hour + time.Second, cpu: time.Minute + 100*time.Millisecond, usedUp: 100.4}
	q.end()
	assert.InDelta(t, 0.5, q.computing(0), 1e-9, "a load has used three quarters of the quota: half of it is left")
}

// books are an account as a test makes it up.
type books struct {
	now, cpu time.Duration
	usedUp   float64 // s
}

func (b *books) Now() time.Duration           { return b.now }
func (b *books) CPUTime() time.Duration       { return b.cpu }
func (b *books) QuotaUsedUp() float64         { return b.usedUp }
func (*books) Quota() (share, period float64) { return 0.4, 0.01 }

// The load takes all that this rank leaves, and more than half: with more work the rank would get half.
func TestAQuotaInVirtualTime(t *testing.T) {
	cfg := sim.Config{Ranks: 2, Quotas: []sim.Quota{1: {Share: 0.4, Period: 0.01, Loads: []sim.Span{{Until: 100}}}}}
	_, err := sim.Run(cfg, func(c *sim.Comm) error {
		q := newQuota(c)
		if c.Rank() == 0 {
			assert.Zero(t, q.period())
			q.begin()
			q.end()
			assert.Zero(t, q.computing(0), "no quota")
			return nil
		}
		assert.Equal(t, 0.01, q.period())
		q.restart()
		began := c.Now()
		for range 100 { // the load has used up all that there is when this rank comes
			c.Sleep(9 * time.Millisecond)
			q.begin()
			c.Work(5e-4)
			q.end()
		}
		assert.InDelta(t, 0.05, q.CPUTime().Seconds(), 1e-6)
		assert.InDelta(t, 0.25, q.computing(0), 1e-3, "0.05 s, of which a rank that never waits gets 0.2 in a second")
		assert.Greater(t, (c.Now() - began).Seconds(), 0.9)
		return nil
	})
	require.NoError(t, err)
}

// A quarter of a megabyte takes 21 ms over 100 Mbit/s. In memory it takes 0.1 ms, and 8 where its receiver has used its quota of 10 ms up.
func TestAQuotaIsNoSlowNetwork(t *testing.T) {
	const bytes = quotaTrials * trialBytes
	assert.InEpsilon(t, 8e-8, byteOf(timedTrial{}, timedTrial{bytes, 0.021}, 0.01), 0.01)
	assert.Zero(t, byteOf(timedTrial{}, timedTrial{bytes, 0.008}, 0.01))
	assert.InEpsilon(t, 8e-8, byteOf(timedTrial{}, timedTrial{trialBytes, 0.0105}, 0), 0.01, "no quota")
	// And 41 ms where a rank is kept from its messages for two periods, as it is with four times as many bytes.
	assert.InEpsilon(t, 8e-8, byteOf(timedTrial{bytes, 0.041}, timedTrial{4 * bytes, 0.104}, 0.01), 0.01)
	assert.Zero(t, byteOf(timedTrial{bytes, 0.041}, timedTrial{4 * bytes, 0.04}, 0.01), "by chance")
}
