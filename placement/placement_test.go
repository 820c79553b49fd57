package placement

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// costs are those of a machine on which a hook takes as long as 300 operations.
var costs = Costs{Hook: 60e-9, Operation: 0.2e-9}

func sor(n, m, sweeps float64) Nest {
	return Nest{
		Levels: []Level{{Name: "iter", Trips: sweeps, Operations: 2}, {Name: "i", Trips: m, Operations: 2},
			{Name: "j", Trips: n, Operations: 26}},
		Distributed: 2, Order: Pipelined, Ranks: 4,
	}
}

func mm(n float64) Nest {
	return Nest{
		Levels: []Level{{Name: "i", Trips: n, Operations: 2}, {Name: "j", Trips: n, Operations: 8}, {Name: "k",
			Trips: n, Operations: 11}},
		Distributed: 0, Order: Free, Ranks: 4,
	}
}

func choose(t require.TestingT, n Nest, c Costs) Choice {
	choice, err := Choose(n, c)
	require.NoError(t, err)
	return choice
}

func names(c Choice) (all []string) {
	for _, p := range c.Positions {
		all = append(all, p.Name)
	}
	return all
}

// Figures 15 and 16: the positions of the paper's nests.
func TestPositionsOfThePaper(t *testing.T) {
	assert.Equal(t, []string{"lbhook0", "lbhook1", "lbhook1a", "lbhook2", "lbhook3"}, names(choose(t, sor(1000, 1000,
		40), costs)))
	assert.Equal(t, []string{"", "", "lbhook0", "lbhook0a", "lbhook1"}, names(choose(t, mm(500), costs)))
}

// Claim 4.8, Fig. 15/16: SOR takes the hook at the strip level, MM takes lbhook0a, which strip mining adds.
func TestClaim4_8(t *testing.T) {
	for _, n := range []float64{100, 500, 1000, 2000} {
		p, ok := choose(t, sor(n, n, 40), costs).Position()
		require.True(t, ok)
		assert.Equal(t, "lbhook1a", p.Name)
		assert.Equal(t, math.Ceil(30000/(2+n/4*26)), float64(p.Strip), "n %g: the shortest strip of 30000 operations", n)
	}
	for n, strip := range map[float64]int{16: 0, 32: 3, 64: 1, 500: 1} {
		p, ok := choose(t, mm(n), costs).Position()
		require.Equal(t, strip > 0, ok, "16 rows for 4 ranks are not worth a hook")
		assert.Equal(t, strip, p.Strip, n)
	}
}

// Claim 4.7, section 5.1.2: a hook is accepted up to 1 % of the code between hooks, and not above.
func TestClaim4_7(t *testing.T) {
	n := Nest{Levels: []Level{{Name: "t", Trips: 10}, {Name: "i", Trips: 10, Operations: 1}}, Distributed: 1,
		Order: Synchronous}
	for seconds, verdict := range map[float64]Verdict{99e-6: TooCheap, 100e-6: Accepted, 101e-6: Accepted} {
		n.Levels[0].Seconds = seconds
		c := choose(t, n, Costs{Hook: 1e-6})
		assert.Equal(t, verdict, c.Positions[1].Verdict, seconds)
	}
}

func TestALoopThatIsTooLargeIsStripMined(t *testing.T) {
	n := Nest{
		Levels:      []Level{{Name: "run", Trips: 5}, {Name: "step", Trips: 1e9}, {Name: "i", Trips: 100, Operations: 4}},
		Distributed: 2, Order: Synchronous,
	}
	p, ok := choose(t, n, costs).Position()
	require.True(t, ok)
	assert.Equal(t, "lbhook1a", p.Name, "after a step a hook costs too much, after all steps it comes never")
	assert.Equal(t, 75, p.Strip)
	n.Levels[1].Trips = 1000
	p, _ = choose(t, n, costs).Position()
	assert.Equal(t, "lbhook2", p.Name, "80 us: no need")
	n.Levels = n.Levels[1:]
	n.Distributed = 1
	p, _ = choose(t, n, costs).Position()
	assert.Equal(t, "lbhook1a", p.Name, "the next position out is the end")
	n.Levels[0].Trips = 50
	_, ok = choose(t, n, costs).Position()
	assert.False(t, ok, "all of it is not worth a hook")
}

func TestTheGrainSetsTheStrip(t *testing.T) {
	n := sor(1000, 1000, 40)
	n.Levels[1].Strip = 50
	p, _ := choose(t, n, costs).Position()
	assert.Equal(t, "lbhook1a", p.Name)
	assert.Equal(t, 50, p.Strip)
	n.Levels[1].Strip = 2
	c := choose(t, n, costs)
	p, _ = c.Position()
	assert.Equal(t, "lbhook2", p.Name, "strips that are too short for a hook are not made longer for it")
	assert.Equal(t, TooCheap, c.Positions[2].Verdict)
}

// A measured level prices the operations of the others.
func TestMeasuredSeconds(t *testing.T) {
	n := sor(1000, 1000, 40)
	n.Levels[0].Seconds = 1 // a sweep of one rank
	c := choose(t, n, costs)
	perColumn := 1.0 / 1000
	assert.InEpsilon(t, perColumn, c.Positions[1].Seconds, 1e-3)
	assert.InEpsilon(t, 40, c.Positions[4].Seconds, 1e-9)
	n.Levels[0].Seconds, n.Levels[2].Seconds = 0, 1e-6
	c = choose(t, n, Costs{Hook: 60e-9})
	assert.InEpsilon(t, 250e-6, c.Positions[1].Seconds, 1e-3)
	assert.InEpsilon(t, 0.25, c.Positions[3].Seconds, 1e-3)
	n = Nest{Levels: []Level{{Name: "t", Trips: 10, Seconds: 1e-3}, {Name: "i", Trips: 100}}, Distributed: 1,
		Order: Synchronous}
	c = choose(t, n, Costs{Hook: 60e-9})
	assert.InEpsilon(t, 1e-5, c.Positions[0].Seconds, 1e-9,
		"without operations the loop's iterations share what was measured")
}

func TestUnknownTripsAreGuessed(t *testing.T) {
	n := sor(0, 0, 0)
	n.Levels[2].Guess = 2000
	c := choose(t, n, costs)
	p, _ := c.Position()
	assert.Equal(t, "lbhook1a", p.Name)
	assert.True(t, p.Guessed)
	assert.False(t, c.Positions[0].Guessed, "one iteration of j contains no loop")
	assert.Equal(t, 2+500*26.0, c.Positions[1].Operations)
	assert.Contains(t, p.Reason, "1000 are guessed")
	n = mm(0)
	p, _ = choose(t, n, costs).Position()
	assert.Equal(t, "lbhook0a", p.Name)
}

func TestWrongNests(t *testing.T) {
	good := mm(10)
	for _, change := range []func(n *Nest){
		func(n *Nest) { n.Levels = nil }, func(n *Nest) { n.Distributed = -1 }, func(n *Nest) { n.Distributed = 3 },
		func(n *Nest) { n.Order = 3 },
		func(n *Nest) { n.Order = Pipelined }, func(n *Nest) { n.Ranks = -1 },
		func(n *Nest) { n.Levels[0].Trips = math.NaN() },
		func(n *Nest) { n.Levels[1].Operations = -1 }, func(n *Nest) { n.Levels[1].Seconds = math.Inf(1) },
		func(n *Nest) { n.Levels[1].Guess = -1 }, func(n *Nest) { n.Levels[1].Strip = -1 },
	} {
		n := mm(10)
		change(&n)
		_, err := Choose(n, costs)
		assert.ErrorContains(t, err, "placement: ")
		assert.Error(t, n.Validate())
	}
	for _, c := range []Costs{{Hook: -1}, {Operation: math.NaN()}, {Longest: math.Inf(1)}} {
		_, err := Choose(good, c)
		assert.ErrorContains(t, err, "placement: costs of ")
	}
}

func TestWords(t *testing.T) {
	text, err := json.Marshal([]any{Free, Pipelined, Synchronous, Accepted, TooCheap, TooRare, Refused})
	require.NoError(t, err)
	assert.Equal(t, `["free","pipelined","synchronous","accepted","too cheap","too rare","refused"]`, string(text))
	assert.Equal(t, "Order(9) Verdict(9)", Order(9).String()+" "+Verdict(9).String())
}

// Strips that no counter reaches are none.
func TestEndlessStrips(t *testing.T) {
	n := mm(0)
	for _, seconds := range []float64{1e-300, 5e-324, 1e-30} {
		for i := range n.Levels {
			n.Levels[i].Seconds = seconds
		}
		_, ok := choose(t, n, costs).Position()
		assert.False(t, ok, seconds)
	}
}

var nests = rapid.Custom(func(t *rapid.T) Nest {
	n := Nest{Order: Order(rapid.IntRange(0, 2).Draw(t, "order")), Ranks: rapid.IntRange(0, 64).Draw(t, "ranks")}
	for range rapid.IntRange(1, 5).Draw(t, "levels") {
		n.Levels = append(n.Levels, Level{
			Name:       "x",
			Trips:      rapid.SampledFrom([]float64{0, 1, 2, 10, 100, 1e3, 1e5, 1e9, 7.5}).Draw(t, "trips"),
			Guess:      rapid.SampledFrom([]float64{0, 1, 50}).Draw(t, "guess"),
			Operations: rapid.SampledFrom([]float64{0, 1, 5, 30, 1000, 1e300}).Draw(t, "operations"),
			Seconds:    rapid.SampledFrom([]float64{0, 0, 0, 1e-9, 1e-6, 1e-3, 1}).Draw(t, "seconds"),
			Strip:      rapid.SampledFrom([]int{0, 0, 1, 20}).Draw(t, "strip"),
		})
	}
	n.Distributed = rapid.IntRange(0, len(n.Levels)-1).Draw(t, "distributed")
	if n.Order == Pipelined && n.Distributed == 0 {
		n.Order = Free
	}
	return n
})

// The rule of section 5.1.2: the chosen hook costs at most 1 %, every deeper position costs more or is refused.
func TestTheDeepestPositionThatFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := nests.Draw(t, "nest")
		c := costs
		c.Hook = rapid.SampledFrom([]float64{0, 1e-9, 60e-9, 1e-6, 1e-3}).Draw(t, "hook")
		choice := choose(t, n, c)
		p, ok := choice.Position()
		deeper := choice.Positions
		if ok {
			require.LessOrEqual(t, p.Share, MaxShare)
			require.NotEqual(t, Refused, p.Verdict)
			require.LessOrEqual(t, p.Level, n.Distributed)
			require.NotEqual(t, -1, p.Level)
			if p.Level == n.Distributed {
				require.Equal(t, Free, n.Order)
			}
			deeper = choice.Positions[:choice.Chosen]
			if strip := n.Levels[p.Level].Strip; p.Strip > 1 && !(strip > 0 && n.Order == Pipelined) {
				require.Greater(t, c.Hook/(p.Seconds/float64(p.Strip)*float64(p.Strip-1)), MaxShare*(1-1e-9),
					"a shorter strip would do")
			}
		}
		for _, d := range deeper {
			switch d.Verdict {
			case Refused:
			case TooCheap:
				require.Greater(t, d.Share, MaxShare*(1-1e-9))
			default:
				t.Fatalf("%s is %s and deeper than the choice", d.Name, d.Verdict)
			}
		}
		require.NotEmpty(t, choice.Reason)
		for _, p := range choice.Positions {
			require.NotEmpty(t, p.Reason)
			require.False(t, math.IsNaN(p.Share+p.Seconds+p.Operations) || math.IsInf(p.Share, 0) || math.IsInf(p.Seconds,
				0) || math.IsInf(p.Operations, 0))
		}
	})
}

// A dearer hook never comes more often.
func TestMonotoneInTheHooksCost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := nests.Draw(t, "nest")
		a := rapid.Float64Range(1e-10, 1e-2).Draw(t, "cheap")
		b := a * rapid.Float64Range(1, 1000).Draw(t, "times")
		cheap, anyCheap := choose(t, n, Costs{Hook: a, Operation: 1e-9}).Position()
		dear, anyDear := choose(t, n, Costs{Hook: b, Operation: 1e-9}).Position()
		if anyDear {
			require.True(t, anyCheap)
			require.GreaterOrEqual(t, dear.Seconds, cheap.Seconds*(1-1e-12))
		}
	})
}

func TestTheGrainSetsLongStripsToo(t *testing.T) {
	n := sor(1e6, 1000, 40)
	n.Levels[1].Strip = 1000 // 1.3 s
	c := choose(t, n, costs)
	p, _ := c.Position()
	assert.Equal(t, "lbhook1a", p.Name)
	assert.Equal(t, Accepted, p.Verdict)
	assert.Contains(t, p.Reason, "as the grain wants them")
}

func TestARankHasOneIterationAtLeast(t *testing.T) {
	c := choose(t, sor(2, 1000, 40), costs) // on four ranks
	assert.Equal(t, 2+26.0, c.Positions[1].Operations)
}
