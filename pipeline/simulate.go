package pipeline

import (
	"errors"
	"fmt"
	"math"
)

// Loop describes a loop on P ranks, in which each synchronises with its neighbours, or with all, after every strip.
// Simulate runs it; Predict, Choose and Curve are the model of it in closed form.
type Loop struct {
	Ranks      []Rank  // from left to right; at least 1
	Iterations int     // m of the pipelined loop, in one sweep; at least 1
	Block      int     // b, iterations per strip, 1..m; the last strip of a sweep may be shorter. Choose ignores it
	Sweeps     int     // at least 0; 0 means 1
	Sync       Sync    // what a strip waits for
	Fixed      float64 // t_fixed in s of CPU time, >= 0: cost of a strip besides computing; of Barrier: t_barrier
	Incr       float64 // t_incr in s of CPU time per iteration of the strip, >= 0; Barrier has none
	Delay      float64 // s, >= 0: how long a boundary is under way after it was handed over, at no cost of CPU; not Barrier
	DelayIncr  float64 // s per iteration of the strip, >= 0: the same
	Quantum    float64 // s, the length of a turn; > 0 where a process competes
	Buffer     int     // most strips sent that the right neighbour has not begun, >= 0; 0: no limit. Only in Simulate
	Longest    int     // most iterations of a strip that the receiver can buffer, >= 0; 0: no limit. Only in Choose
	Trace      bool    // Simulate records the Timeline
}

// Rank is one rank and the CPU that it runs on.
type Rank struct {
	Work      float64 // s on a CPU of speed 1 for the rank's part of the distributed loop, per pipelined iteration; >= 0
	Speed     float64 // of the CPU, >= 0; 0 means 1
	Competing int     // processes, >= 0, that always want the same CPU, which goes round in turns of a Quantum
	Phase     float64 // s, when one of the rank's turns begins; the period is (Competing+1) Quantum, before it and after
}

// Sync is what a strip waits for.
type Sync int

const (
	// Stream: the strip of the left neighbour in this sweep, and of the right neighbour in the sweep before.
	Stream Sync = iota
	// Ahead: the strip of the left neighbour in this sweep. A rank may be any number of sweeps ahead of its right neighbour.
	Ahead
	// Drain: the strip of the left neighbour, and at the begin of each sweep everybody's end of the sweep before: the
	// model of S&S 1997, Fig. 7.
	Drain
	// Barrier: everybody's strip before: the model of S&S 1997, Fig. 12.
	Barrier
)

// Validate joins all faults of l.
func (l Loop) Validate() error {
	var faults []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	time := func(name string, t float64) {
		check(t >= 0 && !math.IsInf(t, 1), "%s %v: a finite number of seconds, at least 0", name, t)
	}
	check(len(l.Ranks) > 0, "no ranks: at least 1")
	check(l.Iterations >= 1, "%d iterations: at least 1", l.Iterations)
	check(1 <= l.Block && l.Block <= max(1, l.Iterations), "block size %d: 1 to %d", l.Block, max(1, l.Iterations))
	check(l.Sweeps >= 0, "%d sweeps: at least 0", l.Sweeps)
	check(Stream <= l.Sync && l.Sync <= Barrier, "sync %d: Stream, Ahead, Drain or Barrier", l.Sync)
	check(l.Buffer >= 0, "buffer of %d strips: at least 0", l.Buffer)
	check(l.Longest >= 0, "longest strip %d: at least 0", l.Longest)
	time("t_fixed", l.Fixed)
	time("t_incr", l.Incr)
	time("delay", l.Delay)
	time("delay per iteration", l.DelayIncr)
	time("quantum", l.Quantum)
	for i, r := range l.Ranks {
		time(fmt.Sprintf("rank %d: work", i), r.Work)
		check(r.Speed >= 0 && !math.IsInf(r.Speed, 1), "rank %d: speed %v: a finite number, at least 0", i, r.Speed)
		check(r.Competing >= 0, "rank %d: %d competing processes: at least 0", i, r.Competing)
		check(r.Competing <= 0 || l.Quantum > 0, "rank %d: competing processes need a quantum above 0", i)
		check(!math.IsNaN(r.Phase) && !math.IsInf(r.Phase, 0), "rank %d: phase %v: a finite number of seconds", i, r.Phase)
	}
	return errors.Join(faults...)
}

// Balanced returns ranks of speed 1, one for each number of competing processes, whose work fits the part of the CPU
// that round robin leaves them. Together they have the given seconds of work per iteration of the pipelined loop.
func Balanced(work float64, competing ...int) []Rank {
	total := 0.0
	for _, k := range competing {
		total += 1 / float64(k+1)
	}
	ranks := make([]Rank, len(competing))
	for i, k := range competing {
		ranks[i] = Rank{Work: work / (float64(k+1) * total), Competing: k}
	}
	return ranks
}

// Run is the outcome of Simulate. Elapsed is the sum of the four times of each rank.
type Run struct {
	Elapsed    float64   // s, until the last strip is done
	Compute    []float64 // s per rank
	Shift      []float64 // s per rank: handing over boundaries, or in barriers
	Compete    []float64 // s per rank: turns of competing processes
	Wait       []float64 // s per rank: the rest of the rank's turns, wasted
	Efficiency float64   // equation (2), with speeds (2'): work / sum of speed (Elapsed - Compete); 0 when no time passes

	// Timeline has what each rank's CPU does from 0 to Elapsed, without gaps. Only with Loop.Trace.
	Timeline [][]Interval
}

// Activity is what a CPU does.
type Activity int

const (
	Computing Activity = iota
	Shifting
	Waiting   // in the rank's turn, with nothing to do
	Competing // a competing process has its turn
)

func (a Activity) String() string {
	return [...]string{"computing", "shifting", "waiting", "competing"}[a]
}

// Interval is a part of a time line.
type Interval struct {
	Activity     Activity
	From, To     float64 // s
	Sweep, Strip int     // of Computing and Shifting
}

// Simulate runs the loop strip by strip, in virtual time; its cost is O(P S M), however long the strips are. After each
// strip a rank spends t_shift (8) of CPU time on sending its boundary, unless nobody will wait for it: one rank alone,
// and the last rank at the end of the run or before a drain. The error is Validate's.
func Simulate(l Loop) (Run, error) {
	if err := l.Validate(); err != nil {
		return Run{}, err
	}
	s := newSimulation(l)
	if l.Sync == Barrier {
		s.barriers()
	} else {
		s.pipeline()
	}
	return s.result(), nil
}

type simulation struct {
	Loop
	strips   int
	turns    []turns
	perIter  []float64   // s of CPU time
	free     []float64   // when each rank has done with its last strip
	sent     [][]float64 // per rank and strip of a sweep: when its boundary was last on both sides
	begun    [][]float64 // per rank and strip modulo Buffer: when it was begun
	run      Run
	recorded []float64 // per rank: how far its time line is
}

func newSimulation(l Loop) *simulation {
	l.Sweeps = max(1, l.Sweeps)
	p := len(l.Ranks)
	s := &simulation{Loop: l, strips: ceilDiv(l.Iterations, l.Block), turns: make([]turns, p), perIter: make([]float64, p),
		free: make([]float64, p), sent: make([][]float64, p), begun: make([][]float64, p), recorded: make([]float64, p),
		run: Run{
			Compute: make([]float64, p), Shift: make([]float64, p), Compete: make([]float64, p), Wait: make([]float64, p),
		}}
	for i, r := range l.Ranks {
		s.turns[i], s.perIter[i] = turnsOf(r, l.Quantum), r.Work/r.speed()
		s.sent[i], s.begun[i] = make([]float64, s.strips), make([]float64, l.Buffer)
	}
	if l.Trace {
		s.run.Timeline = make([][]Interval, p)
	}
	return s
}

func (r Rank) speed() float64 {
	if r.Speed == 0 {
		return 1
	}
	return r.Speed
}

// length of a strip in iterations: all but the last of a sweep are of the block size.
func (s *simulation) length(strip int) float64 {
	return float64(min(s.Block, s.Iterations-strip*s.Block))
}

func (s *simulation) pipeline() {
	last := len(s.Ranks) - 1
	for sweep := range s.Sweeps {
		drained := s.Sync == Drain || sweep == s.Sweeps-1
		for strip := range s.strips {
			n, slot := s.length(strip), 0
			if s.Buffer > 0 {
				slot = (sweep*s.strips + strip) % s.Buffer
			}
			for p := range s.Ranks {
				start := s.free[p]
				if p > 0 {
					start = max(start, s.sent[p-1][strip])
				}
				if p < last && sweep > 0 && s.Sync == Stream {
					start = max(start, s.sent[p+1][strip]) // of the sweep before: p+1 comes after p
				}
				if s.Buffer > 0 {
					s.begun[p][slot] = start
				}
				end := s.compute(p, sweep, strip, start, n)
				s.free[p], s.sent[p][strip] = end, end
				// One rank has no neighbours, and nobody waits for what the last rank sends after its last strip.
				if last == 0 || p == last && drained && strip == s.strips-1 {
					continue
				}
				if s.Buffer > 0 && p < last {
					end = max(end, s.begun[p+1][slot]) // the strip that has this one's place, Buffer strips ago
				}
				s.free[p] = s.shift(p, sweep, strip, end, s.Fixed+s.Incr*n)
				s.sent[p][strip] = s.free[p] + s.delay(n)
			}
		}
		if s.Sync == Drain {
			for p := range s.Ranks {
				s.free[p] = s.free[last] // the end of the last rank's last strip, which needs all others'
			}
		}
	}
	s.run.Elapsed = s.free[last]
}

func (s *simulation) barriers() {
	for sweep := range s.Sweeps {
		for strip := range s.strips {
			n, all := s.length(strip), 0.0
			for p := range s.Ranks {
				all = max(all, s.compute(p, sweep, strip, s.free[p], n))
			}
			for p := range s.Ranks {
				s.free[p] = s.shift(p, sweep, strip, all, s.Fixed)
				s.run.Elapsed = max(s.run.Elapsed, s.free[p])
			}
		}
	}
}

// compute lets rank p compute n iterations, not before start, and returns when they are done.
func (s *simulation) compute(p, sweep, strip int, start, n float64) (end float64) {
	cpu := n * s.perIter[p]
	end = s.turns[p].finish(start, cpu)
	s.run.Compute[p] += cpu
	s.record(p, Interval{Computing, start, end, sweep, strip})
	return end
}

func (s *simulation) shift(p, sweep, strip int, start, cpu float64) (end float64) {
	end = s.turns[p].finish(start, cpu)
	s.run.Shift[p] += cpu
	s.record(p, Interval{Shifting, start, end, sweep, strip})
	return end
}

// record adds an interval to the time line of rank p, after what fills the gap before it, and cut at turns.
func (s *simulation) record(p int, i Interval) {
	if !s.Trace {
		return
	}
	s.cut(p, Interval{Activity: Waiting, From: s.recorded[p], To: i.From})
	s.cut(p, i)
}

func (s *simulation) cut(p int, i Interval) {
	for from := i.From; from < i.To; {
		mine, until := s.turns[p].next(from)
		part := i
		part.From, part.To = from, min(i.To, until)
		if !mine {
			part.Activity, part.Sweep, part.Strip = Competing, 0, 0
		}
		from = part.To
		if line := s.run.Timeline[p]; len(line) > 0 {
			if before := &line[len(line)-1]; before.To == part.From && before.Activity == part.Activity &&
				before.Sweep == part.Sweep && before.Strip == part.Strip {
				before.To = part.To
				continue
			}
		}
		s.run.Timeline[p] = append(s.run.Timeline[p], part)
	}
	s.recorded[p] = max(s.recorded[p], i.To)
}

func (s *simulation) result() Run {
	work, available := 0.0, 0.0
	for p, r := range s.Ranks {
		own := s.turns[p].own(s.run.Elapsed)
		s.run.Compete[p] = s.run.Elapsed - own
		s.run.Wait[p] = max(0, own-s.run.Compute[p]-s.run.Shift[p])
		work += r.speed() * s.run.Compute[p]
		available += r.speed() * own
		s.record(p, Interval{Activity: Waiting, From: s.run.Elapsed, To: s.run.Elapsed})
	}
	if available > 0 {
		s.run.Efficiency = work / available
	}
	return s.run
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
