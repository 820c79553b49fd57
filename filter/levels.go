package filter

import (
	"cmp"
	"math"
)

// The constants of Levels.
const (
	// farOff is how many standard deviations a sample must be off the level to be suspected of a new one at once:
	// Gaussian noise alone gets there once in 16,000 samples.
	farOff = 4.0
	// near is how close to a level, in standard deviations of the difference, a mean is taken for one of it.
	near = 3.0
	// alike is how far apart, in standard deviations of a sample, two levels must be not to be the same one.
	alike = 2.0
	// mostLevels is how many levels besides the present one are remembered; the least visited makes room.
	mostLevels = 6
	// doubtPrior is the weight, in visits, of what holds for all levels in what is expected of one of them.
	doubtPrior = 1.0
	// leastCount is the least that a sample counts that is shorter than the mean.
	leastCount = 0.1
	// dipMemory is the number of samples over which passing ones are counted.
	dipMemory = 32.0
	// longMemory is the number of visits over which a level's habits are averaged.
	longMemory = 12.0
)

// Levels is a filter that learns the levels between which the rate of a rank moves: free, beside one competitor, beside
// two. A competing load comes and goes, and each time the rate falls to where it was the last time. So a level is
// remembered: its mean, its noise, how long the rate stayed there, and how often a sample there was a mere dip or spike.
// The filtered rate is the mean over all visits to the present level: what was done by the time that it took. Where the few samples
// since a change would give a noisy one, and a low-pass filter a late one, that is exact at once.
//
// A sample far off the level is suspected of being the first of another one. Suspect tells with which probability, learned
// from how such suspicions ended before, so that the balancer can weigh what it costs to act in error against what it
// costs to wait. Small changes are found by the two-sided cumulative sum test (Page 1954). The zero value is ready for use.
type Levels struct {
	present level
	others  []level // remembered, without the present one; in no order
	age     float64 // s that the present visit has lasted
	left    bool    // the level at which all began has been left
	changes int
	up, low cusum

	previous        float64 // the previous raw rate at the present level
	previousSamples float64 // as how many samples it counts

	dips, dip float64 // which part of the samples are passing ones, of late, and their mean

	suspects        int     // samples in a row far off the level
	suspect         float64 // the latest of them
	suspectLevel    int     // the remembered level that it belongs to, -1: none
	suspectWay      int     // the one to which it may have been on the way, where it belongs to none; -1: none
	suspectAge      float64 // s since the first of them
	suspectSeconds  float64 // of computing behind the latest
	lasting, passed float64 // how suspicions ended, at all levels: in a visit, or in a return after one sample

	pair pair // with which the present level began
}

// pair is two samples far off the level before and not like each other: both are of a level whose rate varies, or else the first was taken on the way to
// that of the second. The next sample tells.
type pair struct {
	second, seconds float64 // its rate and s of computing; 0: none
	variance        float64 // without what the difference says
}

// level is a rate that a rank has had for a while, or once for one sample.
type level struct {
	mean     float64 // units/s
	variance float64 // of the relative noise
	weight   float64 // samples behind mean and variance, up to stepMemory
	seconds  float64 // of computing behind the mean: samples count in it as long as they are
	lasting  float64 // visits of at least two samples
	passed   float64 // visits of one
	stayed   float64 // s, sum over the lasting visits that have ended
	ended    float64 // their number
	partial  float64 // s, what was seen of the visit with which all began
}

// visit is how long a visit lasts in s, by those that were seen from beginning to end; 0: none was.
func (l *level) visit() float64 {
	if l.ended == 0 {
		return 0
	}
	return l.stayed / l.ended
}

// count is how many visits have ended.
func (l *level) count() float64 {
	if l.partial > 0 {
		return l.ended + 1
	}
	return l.ended
}

func (l *level) noise() float64 { return max(noiseFloor, math.Sqrt(l.variance)) }

// deviation is how far a mean of count samples is off, in standard deviations of the difference.
func (l *level) deviation(mean, count float64) float64 {
	if l.mean == 0 {
		return math.Inf(1)
	}
	return (mean/l.mean - 1) / (l.noise() * math.Sqrt(1/count+1/l.weight))
}

// counts is as what part of a sample one counts in which the rank computed for so many s: it is the noisier the shorter it is.
func (l *level) counts(computed float64) float64 {
	return min(max(computed*l.weight/l.seconds, leastCount), 1)
}

// learnNoise takes in the variance that two samples, or one and the mean, tell of; a wild one counts as three standard deviations.
func (l *level) learnNoise(variance float64) {
	l.variance += (min(variance, 9*l.variance) - l.variance) / (min(l.weight, stepMemory-noisePriorWeight) + noisePriorWeight)
}

// forget keeps the habits of a level to about the latest longMemory visits.
func (l *level) forget() {
	if l.lasting+l.passed > longMemory {
		l.lasting, l.passed = l.lasting*(1-1/longMemory), l.passed*(1-1/longMemory)
	}
	if l.ended > longMemory {
		l.stayed, l.ended = l.stayed*(1-1/longMemory), l.ended*(1-1/longMemory)
	}
}

// Next takes the raw rate of a phase of one second: see Observe.
func (s *Levels) Next(raw float64) float64 { return s.Observe(raw, 1, 1) }

// Observe takes the raw rate of a phase in units/s, the time in s in which the rank computed in it, and the time in s since the
// previous one. A rank beside a load that waits for its neighbours computes fast for a short time, then slowly for a long one: a
// mean in which all samples count alike would be a third above what it does. A phase without computing time counts as one of a second.
// It returns the mean of the present level or, if a sample far off it is more likely than not the first of another one, the rate of that.
func (s *Levels) Observe(raw, computed, elapsed float64) float64 {
	if !(computed > 0) || math.IsInf(computed, 1) {
		computed = 1
	}
	switch {
	case !isRate(raw):
	case s.present.weight == 0 || s.present.mean == 0:
		s.present = level{mean: raw, variance: noisePrior * noisePrior, weight: 1, seconds: computed, lasting: 1}
		s.previous, s.previousSamples, s.dip = raw, 1, raw
	default:
		s.observe(raw, computed, elapsed)
	}
	if rate, probability := s.Suspect(); probability > 0.5 {
		return rate
	}
	return s.Level()
}

func (s *Levels) observe(raw, computed, elapsed float64) {
	s.judgePair(raw)
	counts := s.present.counts(computed)
	z := s.present.deviation(raw, counts)
	if math.Abs(z) < farOff {
		if s.suspects > 0 {
			s.dismiss()
		}
		s.age += elapsed
		s.dips -= s.dips / dipMemory
		s.settle(raw, computed, counts, z)
		return
	}
	before, beforeLevel, beforeSeconds := s.suspect, s.suspectLevel, s.suspectSeconds
	both := computed + beforeSeconds
	mean := raw + (before-raw)*(beforeSeconds/both)
	sameSide := (before > s.present.mean) == (raw > s.present.mean)
	s.suspects++
	s.suspectAge += elapsed
	s.suspect, s.suspectLevel, s.suspectSeconds = raw, s.find(raw, counts), computed
	if s.suspectWay = -1; s.suspectLevel < 0 {
		s.suspectWay = s.beyond(raw)
	}
	if s.suspects == 1 {
		return
	}
	same := s.suspectLevel >= 0 && s.suspectLevel == beforeLevel
	alike := math.Abs(raw-before) < near*math.Sqrt2*s.present.noise()*math.Min(raw, before)
	switch {
	case same:
		s.visit(s.suspectLevel)
	case s.suspectLevel >= 0 && s.others[s.suspectLevel].lasting > 0: // the first was taken on the way there
		s.visit(s.suspectLevel)
	case alike:
		s.discover(mean, 2, both)
	case sameSide && mean > 0: // plainly another one, where the rate varies more than it did here
		variance := s.present.variance
		s.discover(mean, 2, both)
		d := (raw - before) / mean
		s.present.learnNoise(d * d / 2)
		s.pair = pair{raw, computed, variance}
	case s.suspects > 2:
		s.discover(raw, 1, computed)
	}
}

// judgePair forgets the first sample of a new level if the third is more like the second than like the mean of both.
func (s *Levels) judgePair(third float64) {
	p := s.pair
	if p.second > 0 && math.Abs(third-p.second) < math.Abs(third-s.present.mean) {
		s.present.mean, s.present.seconds, s.present.weight, s.present.variance = p.second, p.seconds, 1, p.variance
	}
	s.pair = pair{}
}

// settle takes in a sample of the present level, z standard deviations off it.
func (s *Levels) settle(raw, computed, counts, z float64) {
	p := &s.present
	if s.previous > 0 {
		// From differences of consecutive samples, so that a drifting level is not taken for noise; a wild one counts
		// as three standard deviations at most.
		d := (raw - s.previous) / p.mean * math.Sqrt(2/(1/counts+1/s.previousSamples))
		p.learnNoise(d * d / 2)
	}
	s.previous, s.previousSamples = raw, counts
	s.up.add(z, raw, computed)
	s.low.add(-z, raw, computed)
	for _, side := range [2]*cusum{&s.up, &s.low} {
		if side.evidence < stepAlarm {
			continue
		}
		mean, count := side.mean(), float64(side.count)
		if i := s.find(mean, count); i >= 0 {
			s.visit(i)
		} else {
			// One sample less: an alarm selects samples that are far off, and their mean is biased by it.
			less := max(1, count-1)
			s.drift(mean, less, side.seconds*(less/count))
		}
		return
	}
	if p.weight < stepMemory {
		p.weight = min(p.weight+1, stepMemory)
	} else {
		p.seconds -= p.seconds / stepMemory
	}
	p.add(raw, computed)
}

// add takes into the mean what was done in so many s of computing.
func (l *level) add(raw, computed float64) {
	l.seconds += computed
	l.mean += (raw - l.mean) * (computed / l.seconds)
}

// find returns the remembered level nearest to a mean of count samples, -1 if none is near.
func (s *Levels) find(mean, count float64) int {
	best, at := near, -1
	for i := range s.others {
		if d := math.Abs(s.others[i].deviation(mean, count)); d < best {
			best, at = d, i
		}
	}
	return at
}

// beyond returns the nearest remembered level behind a mean, as seen from the present one, -1 if there is none: a load that comes or goes in the midst of a
// sample makes one in between.
func (s *Levels) beyond(mean float64) int {
	best, at := math.Inf(1), -1
	for i := range s.others {
		l := &s.others[i]
		if way := (l.mean - mean) * math.Copysign(1, mean-s.present.mean); l.lasting > 0 && way > 0 && way < best {
			best, at = way, i
		}
	}
	return at
}

// suspected is the remembered level of which the suspect may be the first, -1: none.
func (s *Levels) suspected() int { return max(s.suspectLevel, s.suspectWay) }

// visit makes a remembered level the present one.
func (s *Levels) visit(i int) {
	s.leave()
	was := s.present
	s.present = s.others[i]
	s.others = append(s.others[:i], s.others[i+1:]...)
	s.remember(was)
	s.enter()
}

// discover makes a new level the present one.
func (s *Levels) discover(mean, count, seconds float64) {
	s.leave()
	s.remember(s.present)
	s.present = level{mean: mean, variance: s.present.variance, weight: count, seconds: seconds}
	s.enter()
}

// drift makes a new level the present one to which the rate has come in small steps. The visit goes on there, and the level before
// leaves it its habits: rates that change for other reasons than a load would otherwise look like one that comes and goes.
func (s *Levels) drift(mean, count, seconds float64) {
	was, age := s.present, s.age
	s.present = level{
		mean: mean, variance: was.variance, weight: count, seconds: seconds,
		lasting: was.lasting - 1, // enter counts it
		passed:  was.passed, stayed: was.stayed, ended: was.ended, partial: was.partial,
	}
	was.lasting, was.passed, was.stayed, was.ended, was.partial = 0, 0, 0, 0, 0
	s.remember(was)
	s.enter()
	s.age = age
}

func (s *Levels) leave() {
	if s.left {
		s.present.stayed += s.age
		s.present.ended++
	} else {
		s.present.partial, s.left = s.age, true
	}
	s.present.forget()
}

func (s *Levels) enter() {
	s.present.lasting++
	s.present.forget()
	s.lasting++
	s.changes++
	s.age, s.suspectAge, s.suspects = s.suspectAge, 0, 0
	s.dips, s.dip = 0, s.present.mean
	s.previous = 0
	s.up, s.low = cusum{}, cusum{}
}

// dismiss takes the suspects for a dip or a spike.
func (s *Levels) dismiss() {
	s.dips += float64(s.suspects) * (1 - s.dips) / dipMemory
	s.dip += (s.suspect - s.dip) * float64(s.suspects) / dipMemory
	if s.suspects == 1 {
		s.passed++
		if at := s.suspected(); at < 0 {
			s.present.learnNoise(math.Inf(1)) // one that never was before may have been noise
			s.remember(level{mean: s.suspect, variance: s.present.variance, weight: 1, seconds: s.suspectSeconds, passed: 1})
		} else {
			l := &s.others[at]
			l.passed++
			if l.lasting == 0 {
				l.weight = min(l.weight+1, stepMemory)
				l.add(s.suspect, s.suspectSeconds)
			}
			l.forget()
		}
	}
	s.age += s.suspectAge
	s.suspects, s.suspectAge = 0, 0
}

// remember keeps a level: as one with another that no sample could tell it from, or, where there are too many, in place of
// the one visited least.
func (s *Levels) remember(l level) {
	for i := range s.others {
		o := &s.others[i]
		if math.Abs(o.mean/l.mean-1) < alike*max(o.noise(), l.noise()) {
			o.merge(l)
			return
		}
	}
	if len(s.others) < mostLevels {
		s.others = append(s.others, l)
		return
	}
	least := 0
	for i := range s.others {
		if s.others[i].lasting+s.others[i].passed/2 < s.others[least].lasting+s.others[least].passed/2 {
			least = i
		}
	}
	s.others[least] = l
}

// merge takes in another level that turned out to be the same.
func (l *level) merge(m level) {
	all := l.weight + m.weight
	l.add(m.mean, m.seconds)
	l.variance += (m.variance - l.variance) * m.weight / all
	l.weight = min(all, stepMemory)
	l.seconds *= l.weight / all
	l.lasting += m.lasting
	l.passed += m.passed
	l.stayed += m.stayed
	l.ended += m.ended
	l.partial = max(l.partial, m.partial)
	l.forget()
}

// Level returns the rate at the present level in units/s, 0 before the first sample. A suspect does not count. Dips and
// spikes count by how common they are: a load that comes and goes faster than the samples is nothing but dips.
func (s *Levels) Level() float64 { return s.present.mean + s.dips*(s.dip-s.present.mean) }

// Suspect returns the rate in units/s that the rank has if the latest sample, far off the level, was the first of another one, and
// the probability of that; 0 if the latest sample was as expected.
func (s *Levels) Suspect() (rate, probability float64) {
	if s.suspects == 0 {
		return s.Level(), 0
	}
	all := (s.lasting + 1) / (s.lasting + s.passed + 2)
	rate, lasting, visits := s.suspect, 0.0, 0.0
	if at := s.suspected(); at >= 0 {
		l := &s.others[at]
		rate, lasting, visits = l.mean, l.lasting, l.lasting+l.passed
	}
	return rate, (lasting + doubtPrior*all) / (visits + doubtPrior)
}

// Noise returns the relative standard deviation of a sample at the present level.
func (s *Levels) Noise() float64 {
	if s.present.weight == 0 {
		return noisePrior
	}
	return s.present.noise()
}

// Samples returns the number of samples behind the level, of all visits together, up to 64.
func (s *Levels) Samples() int { return int(s.present.weight) }

// Seconds returns how many s of computing stand behind the level, the latest 64 samples' at most.
func (s *Levels) Seconds() float64 { return s.present.seconds }

// Changes returns how often the level has changed.
func (s *Levels) Changes() int { return s.changes }

// Stay returns for how many s the rate has been at the present level, and how long a visit to it lasts on average; 0 if none
// has ended yet, here or at the level of Elsewhere.
func (s *Levels) Stay() (age, mean float64) {
	mean, _ = s.visits(s.elsewhere())
	return s.age + s.suspectAge, mean
}

// SuspectAge returns the time in s since the first suspect.
func (s *Levels) SuspectAge() float64 { return s.suspectAge }

// Elsewhere returns the mean in units/s of the level that the rank most likely goes to from here, and how long a visit to it lasts
// on average, in s; 0 where nothing is known.
func (s *Levels) Elsewhere() (rate, stay float64) {
	if l := s.elsewhere(); l != nil {
		rate = l.mean
		_, stay = s.visits(l)
	}
	return rate, stay
}

// elsewhere is that level; nil if there is none.
func (s *Levels) elsewhere() *level {
	var best *level
	for i := range s.others {
		l := &s.others[i]
		if l.lasting > 0 && (best == nil || l.lasting > best.lasting) && math.Abs(l.mean/s.present.mean-1) >= alike*s.present.noise() {
			best = l
		}
	}
	return best
}

// visits is how long a visit lasts in s, here and at another level, if there is one: by those seen from beginning to end, where there was none
// as long as at the other level, and where there was none at all, as long as what was seen of the first.
func (s *Levels) visits(l *level) (here, there float64) {
	here = s.present.visit()
	partial := s.present.partial
	if l != nil {
		there, partial = l.visit(), max(partial, l.partial)
	}
	return cmp.Or(here, there, partial), cmp.Or(there, here, partial)
}

// Visits returns how many visits to levels have ended, at least 1: how often the rate is known to have come and gone.
func (s *Levels) Visits() float64 {
	visits := s.present.count()
	for i := range s.others {
		visits = max(visits, s.others[i].count())
	}
	return max(1, visits)
}
