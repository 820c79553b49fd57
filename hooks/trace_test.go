package hooks_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/comm"
	"shiftwork/comm/sim"
	"shiftwork/dist"
	"shiftwork/hooks"
	"shiftwork/lb"
)

// told is a Tracer and a Watcher that keeps what it is told.
type told struct {
	memory
	loop       string
	began, end time.Duration
	spans      []hooks.Span
	pulses     []hooks.Pulse
}

func (o *told) Begin(loop string, at time.Duration) { o.loop, o.began = loop, at }
func (o *told) Span(s hooks.Span)                   { o.spans = append(o.spans, s) }
func (o *told) End(at time.Duration)                { o.end = at }
func (o *told) Pulse(p hooks.Pulse)                 { o.pulses = append(o.pulses, p) }

// A loop that begins later is not told of, and its time does not run, while its ranks prepare what they need.
func TestALoopBeginsWhenItSays(t *testing.T) {
	for name, policy := range map[string]lb.Policy{"off": lb.Off, "rotate": lb.Rotate} {
		t.Run(name, func(t *testing.T) {
			var all [2]told
			var ready [2]time.Duration
			var rep *hooks.Report
			simulate(t, machine(0, 2), func(c *sim.Comm) error {
				o := &all[c.Rank()]
				loop := hooks.Loop{Name: "told", Iterations: dist.Span(0, 40), Adjacent: true, Quantum: 0.004, Record: hooks.Tee(&memory{}, o), Later: true}
				h, err := hooks.New(c, loop, lb.Config{Policy: policy, Period: 0.05})
				if err != nil {
					return err
				}
				c.Work(2)
				ready[c.Rank()] = c.Now()
				assert.Empty(t, o.loop, "nothing is told before it begins")
				assert.Empty(t, o.pulses)
				h.BeginLoop()
				for range 100 {
					h.Compute(func() { c.Work(5e-3) })
					if _, err := h.Hook(); err != nil {
						return err
					}
				}
				own, err := h.Finish()
				if own != nil {
					rep = own
				}
				return err
			})
			for r := range all {
				assert.GreaterOrEqual(t, all[r].began, ready[r], "rank %d", r)
				assert.Less(t, all[r].end-all[r].began, time.Second, "rank %d", r)
				assert.Less(t, rep.Ranks[r].Compute, 1.0, "rank %d", r)
			}
			require.NotEmpty(t, all[0].pulses)
			assert.Less(t, all[0].pulses[0].Time, 0.1)
		})
	}
}

// What is told of a loop that is balanced or not, with ranks that meet or do not: spans in order without overlap on every
// rank, which add up to the report; and on rank 0 how far it has come, five times a second at most.
func TestALoopTellsWhatItDoes(t *testing.T) {
	const ranks, n, steps = 3, 60, 120
	for name, policy := range map[string]lb.Policy{"off": lb.Off, "rotate": lb.Rotate} {
		for _, free := range []bool{false, true} {
			t.Run(name+map[bool]string{true: " free"}[free], func(t *testing.T) {
				var all [ranks]told
				var rep *hooks.Report
				cfg := machine(0, ranks)
				cfg.Speed = [][]sim.Step{sim.Constant(1), sim.Constant(2), sim.Constant(1)}
				balance := lb.Config{Policy: policy, Period: 0.05}
				simulate(t, cfg, func(c *sim.Comm) error {
					to := hooks.Tee(&memory{}, &all[c.Rank()])
					d := newRows(dist.Span(0, n), dist.Even(dist.Span(0, n), ranks, 0).Range(c.Rank()))
					own, err := tellSteps(c, to, d, balance, n, steps, free)
					if own != nil {
						rep = own
					}
					return err
				})
				for r := range all {
					o := &all[r]
					assert.Equal(t, "told", o.loop)
					sums := map[hooks.Kind]time.Duration{}
					at := o.began
					for _, s := range o.spans {
						require.GreaterOrEqual(t, s.Start, at, "rank %d: %+v", r, s)
						require.GreaterOrEqual(t, s.End, s.Start)
						at = s.End
						sums[s.Kind] += s.End - s.Start
					}
					assert.GreaterOrEqual(t, o.end, at)
					assert.InDelta(t, rep.Ranks[r].Compute, sums[hooks.Computing].Seconds(), 1e-9)
					assert.Equal(t, policy != lb.Off, sums[hooks.Interacting] > 0, "rank %d", r)
					if r > 0 {
						assert.Empty(t, o.pulses)
					}
				}
				require.NotEmpty(t, all[0].pulses)
				for i, p := range all[0].pulses {
					assert.LessOrEqual(t, p.Steps, float64(steps)+1e-9)
					if i > 0 {
						assert.GreaterOrEqual(t, p.Time, all[0].pulses[i-1].Time+0.2-1e-9)
					}
				}
				last := all[0].pulses[len(all[0].pulses)-1]
				assert.InDelta(t, steps, last.Steps, 0.3*steps, "the last one comes near the end: %+v", last)
			})
		}
	}
}

// tellSteps runs a loop of ranks that meet, or of ranks that do not.
func tellSteps(c *sim.Comm, to hooks.Recorder, d rows, cfg lb.Config, n, steps int, free bool) (*hooks.Report, error) {
	const unit = 1e-3
	if free {
		f, err := hooks.NewFree(c, hooks.FreeLoop{Name: "told", Iterations: dist.Span(0, n), Repeat: steps, Quantum: 0.004, Arrays: d.arrays(), Record: to}, cfg)
		if err != nil {
			return nil, err
		}
		return doChunks(c, f, unit)
	}
	h, err := hooks.New(c, hooks.Loop{Name: "told", Iterations: dist.Span(0, n), Adjacent: true, Quantum: 0.004, Arrays: d.arrays(), Record: to}, cfg)
	if err != nil {
		return nil, err
	}
	for range steps {
		h.Begin()
		c.Work(unit / 2 * float64(h.Range().Len()))
		h.EndPart(0.5)
		h.Begin()
		c.Work(unit / 2 * float64(h.Range().Len()))
		h.EndPart(0.5)
		if err := comm.Barrier(c); err != nil {
			return nil, err
		}
		if _, err := h.Hook(); err != nil {
			return nil, err
		}
	}
	return h.Finish()
}
