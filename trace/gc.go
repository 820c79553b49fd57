package trace

import (
	"runtime/debug"
	"time"
)

// pauses are those of Go's garbage collector in this process, as the runtime counts them: all that stood still in a
// collection, at the time when the last of it ended.
type pauses struct {
	wall  time.Time // the same moment on both clocks
	at    time.Duration
	stats debug.GCStats
	seen  int64 // collections
	list  []pause
	lost  int // more than the runtime remembers from one reading to the next, or than mostPauses
}

type pause struct{ end, took time.Duration }

const mostPauses = 10_000

func newPauses(at time.Duration) *pauses {
	p := &pauses{wall: time.Now(), at: at}
	debug.ReadGCStats(&p.stats)
	p.seen = p.stats.NumGC
	return p
}

// read takes in what has come since the last reading; it takes some µs.
func (p *pauses) read() {
	debug.ReadGCStats(&p.stats)
	news := int(p.stats.NumGC - p.seen)
	p.seen = p.stats.NumGC
	there := min(news, len(p.stats.Pause), mostPauses-len(p.list))
	p.lost += news - there
	for i := there - 1; i >= 0; i-- { // the runtime has the newest first
		p.list = append(p.list, pause{end: p.at + p.stats.PauseEnd[i].Sub(p.wall.Round(0)), took: p.stats.Pause[i]})
	}
}
