package hooks

import (
	"time"

	"shiftwork/lb"
)

// lap is what has been counted of the chunk under way.
type lap struct {
	began    time.Duration // when computing went on after the last hook
	computed time.Duration
	units    float64 // work units done
	hooks    int     // within it
}

// Within is the hook within a chunk, for iterations so long, or best done so many at once, that news and work should not wait for the
// end of a chunk. The loop calls it when a part of the chunk that Next returned, above 0 and below 1, is done. The rank reports and
// obeys as in Next, but gives away nothing of the chunk before its end. Called earlier than a hook is worth it returns at once.
func (f *Free) Within(part float64) error {
	if !present || !f.active || f.chunk.Empty() {
		return nil
	}
	now := f.c.Now()
	if now-f.lap.began < worthHook {
		return nil
	}
	if err := f.helper.stop(); err != nil {
		return err
	}
	cpu := f.cpuTime()
	f.finishLap(now, part)
	f.lap.hooks++
	f.hooks++
	if err := f.hookWithin(); err != nil {
		return err
	}
	f.startCPU += f.cpuTime() - cpu
	f.help()
	f.lap.began = f.c.Now()
	return nil
}

// finishLap counts what was computed since the last hook; part is how much of the chunk is done.
func (f *Free) finishLap(now time.Duration, part float64) {
	units := part*f.loop.Weights.Units(f.chunk.Range) - f.lap.units
	f.compute += now - f.lap.began
	f.units += units
	if f.trace != nil {
		f.trace.Span(Span{Computing, f.lap.began, now, f.total.chunks + f.chunks, f.chunk.Range, units})
	}
	f.lap.computed += now - f.lap.began
	f.lap.units += units
}

// hookWithin reports once at most, and never waits.
func (f *Free) hookWithin() error {
	if err := f.receive(); err != nil {
		return err
	}
	if f.cfg.Interaction == lb.Synchronous || !f.mayReport() || !f.due() {
		return nil
	}
	if err := f.report(); err != nil {
		return err
	}
	return f.receive()
}
