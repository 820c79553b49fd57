package pipeline

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func simulate(t require.TestingT, l Loop) Run {
	run, err := Simulate(l)
	require.NoError(t, err)
	return run
}

// draw prints a time line, one character per tick: the last digit of the strip, = for shifting, . for waiting in the
// rank's own turn, and a blank for the turn of a competing process.
func draw(run Run, tick float64) string {
	var b strings.Builder
	b.WriteString("\n")
	for p, line := range run.Timeline {
		row := make([]byte, int(math.Round(run.Elapsed/tick)))
		for _, i := range line {
			for c := int(math.Round(i.From / tick)); c < int(math.Round(i.To/tick)); c++ {
				switch i.Activity {
				case Computing:
					row[c] = byte('0' + (i.Strip+1)%10)
				case Shifting:
					row[c] = '='
				case Waiting:
					row[c] = '.'
				case Competing:
					row[c] = ' '
				}
			}
		}
		fmt.Fprintf(&b, "%d |%s|\n", p, row)
	}
	return b.String()
}

func equal(ranks int, work float64) []Rank {
	return Uniform(Costs{Iteration: work}, 1, ranks, 1).Ranks
}

// The figures of S&S 1997, as time lines.
func TestFigures(t *testing.T) {
	for _, c := range []struct {
		name string
		loop Loop
		tick float64
		want string
	}{
		{"7: fill and drain, M = 4, t_block = 4, t_shift = 1",
			Loop{Ranks: equal(3, 2), Iterations: 8, Block: 2, Sync: Drain, Fixed: 0.5, Incr: 0.25}, 1, `
0 |1111=2222=3333=4444=.........|
1 |.....1111=2222=3333=4444=....|
2 |..........1111=2222=3333=4444|
`},
		{"7, twice: the pipeline drains between sweeps",
			Loop{Ranks: equal(3, 2), Iterations: 4, Block: 1, Sweeps: 2, Sync: Drain}, 1, `
0 |11223344....11223344....|
1 |..11223344....11223344..|
2 |....11223344....11223344|
`},
		{"the same sweeps, streaming: one fill and drain",
			Loop{Ranks: equal(3, 2), Iterations: 4, Block: 1, Sweeps: 2}, 1, `
0 |1122334411223344....|
1 |..1122334411223344..|
2 |....1122334411223344|
`},
		{"streaming with one strip: every other rank waits for its neighbour's round trip",
			Loop{Ranks: equal(3, 2), Iterations: 1, Block: 1, Sweeps: 3}, 1, `
0 |11..11..11....|
1 |..11..11..11..|
2 |....11..11..11|
`},
		{"10a: pipelined, a process competes with rank 0, whose strips are half as long: nobody waits once the pipe is full",
			Loop{Ranks: Balanced(14, 1, 0, 0, 0), Iterations: 6, Block: 1, Sync: Drain, Quantum: 4}, 1, `
0 |1122    3344    5566    ....    ..|
1 |..111122223333444455556666........|
2 |......111122223333444455556666....|
3 |..........111122223333444455556666|
`},
		{"10b: barriers in the same place: turns are wasted, waiting",
			Loop{Ranks: Balanced(7, 1, 0, 0, 0), Iterations: 6, Block: 1, Sync: Barrier, Quantum: 4}, 1, `
0 |1.2.    34.5    6|
1 |112233...445566..|
2 |112233...445566..|
3 |112233...445566..|
`},
		{"13: barriers once in a scheduling period: no turn is wasted",
			Loop{Ranks: Balanced(7, 1, 0, 0, 0), Iterations: 8, Block: 4, Sync: Barrier, Quantum: 4}, 1, `
0 |1111    2222    |
1 |1111111122222222|
2 |1111111122222222|
3 |1111111122222222|
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.loop.Trace = true
			assert.Equal(t, c.want, draw(simulate(t, c.loop), c.tick))
		})
	}
}

// Efficiencies of Fig. 11 (pipelined) and Fig. 13 (barriers): t_sequential = 200 quanta on 4 ranks, balanced. The
// paper's values are lost, these are ours. The bound of the pipelines is M/(M+3), that of the barriers 1.
func TestFigures11And13(t *testing.T) {
	for _, c := range []struct {
		competing []int
		blocks    int
		pipelined float64
		barriers  float64
	}{
		{[]int{0, 0, 0, 0}, 10, 0.769, 1},
		{[]int{0, 0, 0, 0}, 200, 0.985, 1},
		{[]int{1, 0, 0, 0}, 4, 0.572, 0.998},
		{[]int{1, 0, 0, 0}, 10, 0.771, 0.987},
		{[]int{1, 0, 0, 0}, 25, 0.895, 0.919}, // lower at the larger grain than
		{[]int{1, 0, 0, 0}, 30, 0.908, 0.984}, // here
		{[]int{1, 0, 0, 0}, 50, 0.945, 0.857},
		{[]int{1, 0, 0, 0}, 200, 0.987, 0.576},
		{[]int{1, 0, 0, 0}, 1000, 0.996, 0.517},
		{[]int{1, 0, 0, 1}, 50, 0.940, 0.890},
		{[]int{1, 0, 0, 1}, 200, 0.977, 0.665},
		{[]int{2, 0, 0, 0}, 50, 0.949, 0.795},
		{[]int{2, 0, 0, 0}, 200, 0.986, 0.405},
		{[]int{1, 1, 1, 1}, 200, 0.985, 1},
	} {
		for sync, want := range map[Sync]float64{Drain: c.pipelined, Barrier: c.barriers} {
			l, _ := grained(c.competing, c.blocks, sync)
			assert.InDelta(t, want, simulate(t, l).Efficiency, 0.0006, "loads %v, M = %d, sync %d", c.competing, c.blocks, sync)
		}
	}
}

// tick runs the loop tick by tick of 1 s, for loops whose times are whole numbers and whose strips cost something. It
// shares nothing with Simulate: each rank has a programme of waits and of work, and does one tick of work if it can.
func tick(l Loop) (elapsed int) {
	m, last := ceilDiv(l.Iterations, l.Block), len(l.Ranks)-1
	total := m * max(1, l.Sweeps)
	type state struct {
		begun, computed, sent int // strips
		left                  int // ticks of the work in hand
		busy                  bool
	}
	now := make([]state, len(l.Ranks))
	cpu := func(p, g int, shift bool) int {
		n := float64(min(l.Block, l.Iterations-g%m*l.Block))
		switch {
		case !shift:
			return int(n * l.Ranks[p].Work / l.Ranks[p].speed())
		case l.Sync == Barrier:
			return int(l.Fixed)
		case last == 0 || p == last && (g == total-1 || l.Sync == Drain && g%m == m-1):
			return 0
		}
		return int(l.Fixed + l.Incr*n)
	}
	all := func(done func(state) bool) bool {
		for _, s := range now {
			if !done(s) {
				return false
			}
		}
		return true
	}
	ready := func(p int) bool { // for what comes next
		s := now[p]
		if g := s.computed; g > s.sent { // shift strip g-1
			switch {
			case l.Sync == Barrier:
				return all(func(o state) bool { return o.computed >= g })
			case l.Buffer > 0 && p < last:
				return now[p+1].begun >= g-l.Buffer
			}
			return true
		}
		g := s.computed
		switch {
		case g == total:
			return false
		case l.Sync == Barrier:
			return true
		case p > 0 && now[p-1].sent <= g:
			return false
		case l.Sync == Drain:
			return all(func(o state) bool { return o.computed >= g/m*m })
		case p < last && g >= m && l.Sync != Ahead:
			return now[p+1].sent > g-m
		}
		return true
	}
	for t := 0; ; t++ {
		for again := true; again; { // what takes no time
			again = false
			for p := range now {
				s := &now[p]
				if !s.busy && ready(p) {
					again, s.busy = true, true
					if s.computed > s.sent {
						s.left = cpu(p, s.sent, true)
					} else {
						s.begun++
						s.left = cpu(p, s.computed, false)
					}
				}
				if s.busy && s.left == 0 {
					again, s.busy = true, false
					if s.computed > s.sent {
						s.sent++
					} else {
						s.computed++
					}
				}
			}
		}
		if all(func(s state) bool { return s.sent == total }) {
			return t
		}
		for p, r := range l.Ranks {
			period := (r.Competing + 1) * int(l.Quantum)
			mine := r.Competing == 0 || ((t-int(r.Phase))%period+period)%period < int(l.Quantum)
			if now[p].busy && mine {
				now[p].left--
			}
		}
	}
}

func drawLoop(t *rapid.T) Loop {
	l := Loop{
		Iterations: rapid.IntRange(1, 12).Draw(t, "m"), Sweeps: rapid.IntRange(0, 4).Draw(t, "sweeps"),
		Sync: Sync(rapid.IntRange(int(Stream), int(Barrier)).Draw(t, "sync")), Trace: true,
		Fixed: float64(rapid.IntRange(0, 3).Draw(t, "fixed")), Incr: float64(rapid.IntRange(0, 2).Draw(t, "incr")),
		Quantum: float64(rapid.IntRange(1, 7).Draw(t, "quantum")), Buffer: rapid.IntRange(0, 4).Draw(t, "buffer"),
	}
	l.Block = rapid.IntRange(1, l.Iterations).Draw(t, "block")
	for range rapid.IntRange(1, 5).Draw(t, "ranks") {
		speed := rapid.IntRange(1, 2).Draw(t, "speed")
		l.Ranks = append(l.Ranks, Rank{
			Work:  float64(speed * rapid.IntRange(1, 4).Draw(t, "work")),
			Speed: float64(speed), Competing: rapid.IntRange(0, 2).Draw(t, "competing"),
			Phase: float64(rapid.IntRange(-20, 20).Draw(t, "phase")),
		})
	}
	return l
}

func TestSimulateEqualsTicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLoop(t)
		run := simulate(t, l)
		if want := tick(l); math.Abs(run.Elapsed-float64(want)) > 1e-9*run.Elapsed {
			t.Fatalf("%v s, tick by tick %d s", run.Elapsed, want)
		}
	})
}

// Each rank's four times add up to the elapsed time, and its time line says the same.
func TestEverySecondIsAccountedFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLoop(t)
		run := simulate(t, l)
		tiny := 1e-9 * run.Elapsed
		for p := range l.Ranks {
			var line [Competing + 1]float64
			at := 0.0
			for _, i := range run.Timeline[p] {
				if i.From != at || i.To <= i.From {
					t.Fatalf("rank %d: %+v at %v", p, i, at)
				}
				at = i.To
				line[i.Activity] += i.To - i.From
			}
			if math.Abs(at-run.Elapsed) > tiny {
				t.Fatalf("rank %d: the time line ends at %v of %v", p, at, run.Elapsed)
			}
			times, sum := []float64{run.Compute[p], run.Shift[p], run.Wait[p], run.Compete[p]}, 0.0
			for a, want := range times {
				sum += want
				if math.Abs(line[a]-want) > tiny {
					t.Fatalf("rank %d: %v for %v s, on the time line %v", p, Activity(a), want, line[a])
				}
			}
			if math.Abs(sum-run.Elapsed) > tiny {
				t.Fatalf("rank %d: %v do not add up to %v", p, times, run.Elapsed)
			}
		}
		if !(run.Efficiency > 0 && run.Efficiency <= 1+1e-9) {
			t.Fatalf("efficiency %v", run.Efficiency)
		}
	})
}

// Seconds that are no binary fractions must not lose turns to rounding: 0.1 s ten times is one second.
func TestTurnsThatFitExactlyAreNotLost(t *testing.T) {
	for _, quantum := range []float64{0.1, 0.003, 1e-4} {
		for strips := 1; strips <= 50; strips++ {
			l := Loop{Ranks: []Rank{{Work: quantum / 3, Competing: 2, Phase: 7 * quantum}}, Iterations: 3 * strips, Block: 1,
				Quantum: quantum, Sweeps: 100}
			// The last turn ends two quanta before the last period does; the first begins one quantum late.
			assert.InEpsilon(t, (float64(300*strips)-1)*quantum, simulate(t, l).Elapsed, 1e-6, "%d strips", strips)
		}
	}
}

func TestTurnsAtTheirBorders(t *testing.T) {
	u := turnsOf(Rank{Competing: 1, Phase: 0.3}, 0.1)
	assert.InDelta(t, 0.5, u.finish(0.45, 1e-12), 1e-9, "the least bit of work waits for the turn")
	assert.Equal(t, 0.41, u.finish(0.41, 0), "and none at all does not")
	rapid.Check(t, func(t *rapid.T) {
		u := turns{quantum: 1, period: rapid.Float64Range(1, 5).Draw(t, "period")}
		u.phase = rapid.Float64Range(-9, 9).Draw(t, "phase")
		border := u.phase + float64(rapid.IntRange(-1000, 1000).Draw(t, "n"))*u.period
		for _, at := range []float64{math.Nextafter(border, -1e9), border, math.Nextafter(border, 1e9)} {
			if n, x := u.at(at); x < 0 || x >= u.period || math.Abs(u.phase+n*u.period+x-at) > 1e-9 {
				t.Fatalf("%v: %v periods and %v of %v", at, n, x, u.period)
			}
		}
	})
}

func TestSimulateRefuses(t *testing.T) {
	good := Loop{Ranks: equal(2, 1), Iterations: 4, Block: 2}
	require.NoError(t, good.Validate())
	for _, c := range []struct {
		change func(*Loop)
		want   string
	}{
		{func(l *Loop) { l.Ranks = nil }, "no ranks: at least 1"},
		{func(l *Loop) { l.Iterations, l.Block = 0, 1 }, "0 iterations: at least 1"},
		{func(l *Loop) { l.Block = 0 }, "block size 0: 1 to 4"},
		{func(l *Loop) { l.Block = 5 }, "block size 5: 1 to 4"},
		{func(l *Loop) { l.Sweeps = -1 }, "-1 sweeps: at least 0"},
		{func(l *Loop) { l.Sync = 4 }, "sync 4: Stream, Ahead, Drain or Barrier"},
		{func(l *Loop) { l.Buffer = -1 }, "buffer of -1 strips: at least 0"},
		{func(l *Loop) { l.Longest = -1 }, "longest strip -1: at least 0"},
		{func(l *Loop) { l.Fixed = math.NaN() }, "t_fixed NaN: a finite number of seconds, at least 0"},
		{func(l *Loop) { l.Incr = -1 }, "t_incr -1: a finite number of seconds, at least 0"},
		{func(l *Loop) { l.Quantum = math.Inf(1) }, "quantum +Inf: a finite number of seconds, at least 0"},
		{func(l *Loop) { l.Ranks[1].Work = -2 }, "rank 1: work -2: a finite number of seconds, at least 0"},
		{func(l *Loop) { l.Ranks[1].Speed = -2 }, "rank 1: speed -2: a finite number, at least 0"},
		{func(l *Loop) { l.Ranks[1].Competing = -1 }, "rank 1: -1 competing processes: at least 0"},
		{func(l *Loop) { l.Ranks[1].Competing = 1 }, "rank 1: competing processes need a quantum above 0"},
		{func(l *Loop) { l.Ranks[1].Phase = math.NaN() }, "rank 1: phase NaN: a finite number of seconds"},
		{func(l *Loop) { l.Block, l.Buffer = 0, -1 }, "block size 0: 1 to 4\nbuffer of -1 strips: at least 0"},
	} {
		l := good
		l.Ranks = equal(2, 1)
		c.change(&l)
		_, err := Simulate(l)
		assert.EqualError(t, err, c.want)
	}
}

// Nothing at all takes no time, has no efficiency, and is no error.
func TestSimulateNothing(t *testing.T) {
	run := simulate(t, Loop{Ranks: equal(3, 0), Iterations: 4, Block: 2, Trace: true})
	assert.Zero(t, run.Elapsed)
	assert.Zero(t, run.Efficiency)
}

func BenchmarkSimulate(b *testing.B) {
	for _, competing := range []int{0, 1} {
		b.Run(fmt.Sprintf("competing=%d", competing), func(b *testing.B) {
			l := Loop{Ranks: Balanced(1, competing, 0, 0, 0, 0, 0, 0, competing), Iterations: 64, Block: 1, Sweeps: 200,
				Quantum: 0.3, Fixed: 0.001}
			for b.Loop() {
				simulate(b, l)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*64*200*8), "ns/strip")
		})
	}
}
