package hooks

// grain finds out how many iterations the body wants at once. Some bodies do not care; a matrix product reads all of B for
// each call, so a call for one row takes as long as one for many. The first chunks try 1, 4, 16, ... iterations, as long as
// four times more make an iteration at least grainGain cheaper. Each length is tried twice and the faster one counts, so
// that being descheduled once is not taken for a property of the body.
type grain struct {
	size     int // iterations of the next chunk, or, once settled, of the shortest chunk that is as fast as any
	previous float64
	best     float64 // work units/s: at a quarter of size, at size; 0 none
	samples  int
	settled  bool
}

const (
	grainStep    = 4
	grainGain    = 1.05
	grainSamples = 2
	// grainShare bounds a trial: no chunk takes more than this part of what the rank still has to do, so that a wrong guess
	// cannot spoil the balance.
	grainShare = 1.0 / 16
)

// learn takes in the rate of a chunk of n iterations.
func (g *grain) learn(n int, rate float64) {
	if g.settled || n != g.size {
		return
	}
	g.best = max(g.best, rate)
	if g.samples++; g.samples < grainSamples {
		return
	}
	if g.previous > 0 && g.best < grainGain*g.previous {
		g.settle()
		return
	}
	g.previous, g.best, g.samples = g.best, 0, 0
	g.size *= grainStep
}

// settle stops trying: the length before the one that is being tried was good enough.
func (g *grain) settle() {
	g.settled = true
	g.size = max(1, g.size/grainStep)
}

// next is the length of the next chunk, in iterations, of a rank that would do `regular` of them between two hooks and
// has `left` to do, each repetition counted. As the end comes near, no chunk takes more than half of what is left.
func (g *grain) next(regular, left int) int {
	if g.size == 0 {
		g.size = 1
	}
	if !g.settled && g.size > 1 && float64(g.size) > grainShare*float64(left) {
		g.settle()
	}
	n := g.size
	if g.settled {
		n = max(n, regular)
	}
	return max(1, min(n, left/2))
}
