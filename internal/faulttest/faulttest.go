package faulttest

import (
	"errors"
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"shiftwork/comm"
	"shiftwork/comm/sim"
)

// Program is what is disturbed.
type Program struct {
	Name string
	// Start prepares a run: what each rank does, and what must hold if it went well.
	Start func(ranks int) (rank func(c *sim.Comm) error, check func(t *testing.T))
}

// Delays in s: one that changes who comes first, and one that is longer than all the rest.
const (
	shortDelay = 1e-3
	longDelay  = 100
)

// all returns each fault that there is in a run that was like this.
func all(clean sim.Result) []sim.Fault {
	var found []sim.Fault
	for r, k := range clean.Ranks {
		for at := range k.Messages {
			found = append(found,
				sim.Fault{Kind: sim.Delay, Rank: r, At: at, By: shortDelay},
				sim.Fault{Kind: sim.Delay, Rank: r, At: at, By: longDelay},
				sim.Fault{Kind: sim.Late, Rank: r, At: at},
				sim.Fault{Kind: sim.Refuse, Rank: r, At: at})
		}
		for at := range k.Ops {
			found = append(found,
				sim.Fault{Kind: sim.Stop, Rank: r, At: at, By: longDelay},
				sim.Fault{Kind: sim.Slow, Rank: r, At: at, By: 0.01},
				sim.Fault{Kind: sim.Die, Rank: r, At: at})
		}
	}
	return found
}

// clean runs the program without faults.
func (p Program) clean(t *testing.T, cfg sim.Config) sim.Result {
	t.Helper()
	cfg.Faults = nil
	rank, check := p.Start(cfg.Ranks)
	res, err := sim.Run(cfg, rank)
	require.NoError(t, err)
	require.Empty(t, res.Leaks)
	check(t)
	return res
}

var everything = flag.Bool("faults.all", false, "faulttest: try each fault at each point, also where that takes minutes")

// Each lets each thing go wrong at each point in turn, or at so many points if there are more, drawn once and for all: 0 is all of
// them, as is the flag -faults.all. It says what it has done in the log.
func Each(t *testing.T, cfg sim.Config, p Program, most int) {
	t.Helper()
	faults := all(p.clean(t, cfg))
	there := len(faults)
	if *everything || most == 0 {
		most = there
	}
	if most /= Stride; most < there {
		random := rand.New(rand.NewPCG(1, uint64(there)))
		random.Shuffle(there, func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
		faults = faults[:most]
	}
	for _, f := range faults {
		Disturb(t, cfg, p, f)
	}
	t.Logf("%d of %d faults, each in a run of its own", len(faults), there)
}

// Sample lets n random things go wrong, each in a run of its own, and does some runs in which all messages are late.
func Sample(t *testing.T, cfg sim.Config, p Program, n int, random *rand.Rand) {
	t.Helper()
	clean := p.clean(t, cfg)
	faults := all(clean)
	for range n {
		Disturb(t, cfg, p, faults[random.IntN(len(faults))])
	}
	for range n / 4 {
		var delays []sim.Fault
		mean := clean.Elapsed.Seconds() / 50
		for r, k := range clean.Ranks {
			for at := range k.Messages {
				delays = append(delays, sim.Fault{Kind: sim.Delay, Rank: r, At: at, By: mean * random.ExpFloat64()})
			}
		}
		Disturb(t, cfg, p, delays...)
	}
}

// Disturb runs the program with faults of which the first decides how it must end.
func Disturb(t *testing.T, cfg sim.Config, p Program, faults ...sim.Fault) {
	t.Helper()
	cfg.Faults = faults
	rank, check := p.Start(cfg.Ranks)
	res, err := sim.Run(cfg, rank)
	if len(faults) == 1 { // a run that is disturbed early may not come to the points of later faults
		require.Equal(t, 1, res.Struck, "%v: its point was not reached", faults)
	}
	if kind := faults[0].Kind; kind == sim.Refuse || kind == sim.Die {
		requireLost(t, cfg, res, err)
		return
	}
	require.NoError(t, err, "%v", faults)
	require.Empty(t, res.Leaks, "%v", faults)
	check(t)
}

// requireLost requires that everybody who had not finished before was told who is gone and where everybody was.
func requireLost(t *testing.T, cfg sim.Config, res sim.Result, err error) {
	t.Helper()
	f, why := cfg.Faults[0], sim.ErrDied
	if f.Kind == sim.Refuse {
		why = sim.ErrRefused
	}
	lost, ok := errors.AsType[*sim.LostError](err)
	require.True(t, ok, "%v: %v", f, err)
	require.ErrorIs(t, err, why, "%v", f)
	require.Equal(t, f.Rank, lost.Rank, "%v", f)
	require.Len(t, lost.Places, cfg.Ranks)
	for r, k := range res.Ranks {
		switch told, ok := errors.AsType[*sim.LostError](k.Err); {
		case r == f.Rank && f.Kind == sim.Die:
			require.NoError(t, k.Err, "%v: the dead say nothing", f)
		case r == f.Rank:
			op, ok := errors.AsType[*comm.Error](k.Err)
			require.True(t, ok && errors.Is(op, why), "%v: %v", f, k.Err)
		case k.Err == nil:
			// A send that began before may have been its last act.
			require.LessOrEqual(t, k.End.Seconds()-cfg.SendOverhead, lost.At.Seconds()+1e-9, "%v: rank %d was not told", f, r)
		default:
			require.True(t, ok, "%v: rank %d: %v", f, r, k.Err)
			require.Same(t, lost, told, "%v: rank %d", f, r)
		}
	}
}
