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
	divided  bool    // some of it was given away
}

// within is the hook between two pieces of a chunk. Called earlier than a hook is worth it returns at once.
func (f *Free) within() error {
	if !present || !f.active {
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
	f.finishLap(now, f.piece)
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

// finishLap counts what was computed since the last hook; so many pieces of the chunk are done.
func (f *Free) finishLap(now time.Duration, pieces int) {
	units := f.loop.Weights.Units(f.chunk.Range) * float64(pieces-f.chunk.piece) / float64(f.loop.Pieces)
	f.chunk.piece = pieces
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
