package trace

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/comm"
	"shiftwork/comm/sim"
)

// drifting is a Comm whose clock runs at another rate.
type drifting struct {
	comm.Comm
	rate float64
}

func (d drifting) Now() time.Duration { return time.Duration(d.rate * float64(d.Comm.Now())) }

// Two readings of a clock that is hours away and drifts by some parts in 10000 give the same time on all ranks, to
// within the error that they state.
func TestClocksAreAligned(t *testing.T) {
	for _, alpha := range []float64{0, 1e-4} {
		cfg := sim.Config{Ranks: 4, Alpha: alpha, Beta: 1e-9, ClockOffset: []time.Duration{time.Hour, -time.Minute, 0, 30 * time.Hour}}
		_, err := sim.Run(cfg, func(c *sim.Comm) error {
			d := drifting{c, 1 + 1e-4*float64(c.Rank())}
			var k clock
			var err error
			if k.first, err = measureClock(d); err != nil {
				return err
			}
			there := make([]time.Duration, 4)
			here := make([]time.Duration, 4)
			for i := range there { // the same moments on all ranks
				c.Sleep(time.Duration(i+1)*10*time.Second + time.Duration(c.Rank())*time.Second - (c.Now() - cfg.ClockOffset[c.Rank()]))
				c.Sleep(time.Duration(3-c.Rank()) * time.Second)
				here[i] = d.Now()
				there[i] = c.Now() - cfg.ClockOffset[c.Rank()] + cfg.ClockOffset[0] // rank 0's clock does not drift
			}
			if k.last, err = measureClock(d); err != nil {
				return err
			}
			assert.LessOrEqual(t, k.first.error, time.Duration(3*alpha*1e9)+10)
			for i := range there {
				assert.InDelta(t, there[i], k.time(here[i]), float64(max(k.first.error, k.last.error))+100, "rank %d", c.Rank())
			}
			assert.InDelta(t, 1e-4*float64(c.Rank()), k.drift(), 1e-6)
			return nil
		})
		require.NoError(t, err)
	}
}
