package hooks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"shiftwork/internal/machine"
)

// A rank under a quota of 0.4 CPU that computes for 0.3 s of a second without being stopped has used up three quarters of what it gets:
// with the work of 0.75 s it would be busy for 1 s.
func TestAQuotaBoundsTheRate(t *testing.T) {
	q := quota{share: 0.4, used: 300 * time.Millisecond}
	assert.InDelta(t, 0.75, q.computing(300*time.Millisecond), 1e-12)
	assert.InDelta(t, 0.9, q.computing(900*time.Millisecond), 1e-12, "it was stopped, or shares the quota with a load")
	assert.InDelta(t, 0.3, (&quota{used: time.Hour}).computing(300*time.Millisecond), 1e-12, "no quota")

	assert.Equal(t, 0.4, q.left(0.05), "too little to be a load")
	assert.InDelta(t, 0.2, q.left(0.3), 1e-12, "whoever waits leaves more to the load than half")
	assert.InDelta(t, 0.25, q.left(0.15), 1e-12, "a load that does not want half")

	q = quota{share: 0.4}
	q.begin()
	for began, _ := machine.CPUTime(); ; {
		if now, err := machine.CPUTime(); err != nil || now-began > 20*time.Millisecond {
			break
		}
	}
	q.end()
	assert.Greater(t, q.computing(0), 0.02/0.4-1e-9)
	q = quota{}
	q.begin()
	q.end()
	assert.Zero(t, q.used)
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
