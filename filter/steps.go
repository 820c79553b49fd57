package filter

import "math"

// The constants of Steps. Deviations are counted in standard deviations of the measured noise.
const (
	// stepSlack and stepAlarm are k and h of the cumulative sum test (Page 1954): noise alone raises about one alarm in
	// 100,000 samples, a change of twice the noise is found after about five samples, one of four times after two.
	stepSlack = 1.0
	stepAlarm = 5.0
	// stepCap bounds what one sample counts, so that no single sample, however far off, is taken for a change.
	stepCap = 4.0
	// stepWinsor bounds what a sample may pull at the level while no change is found.
	stepWinsor = 2.0
	// stepMemory is the number of samples over which level and noise are averaged: longer is quieter, slower on drifts.
	stepMemory = 64
	// noisePrior is the relative noise assumed before anything is measured, noisePriorWeight its weight in samples.
	noisePrior       = 0.05
	noisePriorWeight = 4
	// noiseFloor keeps noise-free measurements from making every tremor a change.
	noiseFloor = 0.005
)

// Steps is a change-point filter: it holds a level, the mean of the raw rates since the rate last changed, and tells a
// change from noise and from a one-sample spike by a two-sided cumulative sum test on the logarithms of the rates. It also
// measures the noise and counts the changes. The zero value is ready.
//
//	raw  ------.  .---- x ----.                     x: a spike is one sample: ignored
//	            `'             `------------        a step needs two samples, or more when the noise is high
//	level -----------------------.
//	                              `---------
type Steps struct {
	level    float64
	samples  int     // samples behind level, from 1
	previous float64 // previous raw rate
	variance float64 // of the relative noise
	measured int     // differences behind variance
	changes  int
	up, down cusum
}

// cusum is one side of the test: how much evidence has piled up, and the samples that speak for the new rate.
type cusum struct {
	evidence float64
	sum      float64 // of rates times seconds
	seconds  float64 // of computing, or 1 for each sample
	count    int
	far      bool // one of them was as far off as counts
}

func (c *cusum) add(deviation, raw, computed float64) {
	c.evidence += deviation - stepSlack
	if c.evidence <= 0 {
		*c = cusum{}
		return
	}
	if deviation >= stepCap && !c.far {
		// Plainly a new rate: what was odd about the samples before it was noise.
		c.sum, c.seconds, c.count, c.far = 0, 0, 0, true
	}
	c.sum += raw * computed
	c.seconds += computed
	c.count++
}

// mean is the rate that the samples speak for.
func (c *cusum) mean() float64 { return c.sum / c.seconds }

// Next implements Filter; it returns the level.
func (s *Steps) Next(raw float64) float64 {
	if !isRate(raw) {
		return s.level
	}
	if s.samples == 0 || s.level == 0 {
		s.level, s.previous, s.samples = raw, raw, 1
		return s.level
	}
	s.measureNoise(raw)
	sigma := s.Noise()
	expected := sigma * math.Sqrt(1+1/float64(min(s.samples, stepMemory))) // the level has an error too
	z := clamp(logRatio(raw, s.level)/expected, stepCap)
	s.up.add(z, raw, 1)
	s.down.add(-z, raw, 1)
	for _, side := range []*cusum{&s.up, &s.down} {
		if side.evidence >= stepAlarm {
			// One sample less: an alarm selects samples that are far off, and their mean is biased by it.
			s.level, s.samples = side.mean(), max(1, side.count-1)
			s.up, s.down = cusum{}, cusum{}
			s.changes++
			return s.level
		}
	}
	s.samples = min(s.samples+1, stepMemory)
	pulled := s.level * math.Exp(clamp(z, stepWinsor)*expected)
	if math.Abs(z) < stepWinsor {
		pulled = raw
	}
	s.level += (pulled - s.level) / float64(s.samples)
	return s.level
}

// measureNoise updates the variance from the difference of successive samples, which a slow drift does not touch; a step
// counts once and at most as a deviation of three.
func (s *Steps) measureNoise(raw float64) {
	if s.measured == 0 {
		s.variance = noisePrior * noisePrior
	}
	d := logRatio(raw, s.previous)
	s.measured = min(s.measured+1, stepMemory-noisePriorWeight)
	s.variance += (min(d*d/2, 9*s.variance) - s.variance) / float64(s.measured+noisePriorWeight)
	s.previous = raw
}

// Level returns the mean rate since the last change, 0 before the first sample.
func (s *Steps) Level() float64 { return s.level }

// Noise returns the standard deviation of one raw rate relative to the level.
func (s *Steps) Noise() float64 {
	if s.measured == 0 {
		return noisePrior
	}
	return max(noiseFloor, math.Sqrt(s.variance))
}

// Samples returns how many samples the level rests on, at most some tens: the relative standard error of the level is
// the noise divided by the root of their number. 0 before the first sample.
func (s *Steps) Samples() int { return s.samples }

// Changes returns how many changes of the rate have been found.
func (s *Steps) Changes() int { return s.changes }

// logRatio is ln(a/b), finite for a = 0 or b = 0, and 0 when both are.
func logRatio(a, b float64) float64 {
	if a == b {
		return 0
	}
	const far = 50.0
	return clamp(math.Log(a)-math.Log(b), far)
}

func clamp(x, bound float64) float64 { return min(max(x, -bound), bound) }
