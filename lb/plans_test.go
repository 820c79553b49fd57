package lb

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"shiftwork/dist"
)

// drawAmounts draws n positive amounts, some of them far from the others.
func drawAmounts(t *rapid.T, n int, label string) []float64 {
	amount := rapid.OneOf(rapid.Float64Range(1, 100), rapid.Float64Range(0.01, 10_000))
	return rapid.SliceOfN(amount, n, n).Draw(t, label)
}

func TestLossesAreTheShareOfTimeThatIsWasted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "ranks")
		b := bareOf(t, n)
		plan, rates := drawAmounts(t, n, "plan"), drawAmounts(t, n, "rates")
		o := Outlook{Rank: rapid.IntRange(-1, n-1).Draw(t, "rank")}
		o.Rate = rapid.Float64Range(0.01, 1000).Draw(t, "rate")
		// By hand: the ranks work side by side until the slowest is done; what they could have done in that time, and
		// did.
		wasted := func(rates []float64) float64 {
			until, could, did := 0.0, 0.0, 0.0
			for r := range rates {
				until = max(until, plan[r]/rates[r])
			}
			for r := range rates {
				could += rates[r] * until
				did += plan[r]
			}
			return 1 - did/could
		}
		here, there := b.losses(plan, rates, o)
		require.InDelta(t, wasted(rates), here, 1e-9)
		if o.Rank < 0 {
			require.Zero(t, there)
			return
		}
		after := slices.Clone(rates)
		after[o.Rank] = o.Rate
		require.InDelta(t, wasted(after), there, 1e-9)
	})
}

// A rank that is slower than the others at one of its levels and faster than they are at the other falls behind by no more than the slack: then they wait for it. In the long run
// each visit to the slower level is outlasted for as long as is said, in sweeps by hand.
func TestSlackOutlastsVisits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 6).Draw(t, "ranks")
		b := bareOf(t, n)
		b.slack = rapid.Float64Range(0.1, 100).Draw(t, "slack")
		plan, rates := drawAmounts(t, n, "plan"), drawAmounts(t, n, "rates")
		o := Outlook{Rank: rapid.IntRange(0, n-1).Draw(t, "rank"), Here: rapid.Float64Range(0.1, 100).Draw(t, "here"), There: rapid.Float64Range(0.1, 100).Draw(t, "there")}
		o.Rate = rates[o.Rank] * rapid.Float64Range(0.2, 5).Draw(t, "rate")
		slow, fast, slowFor, fastFor := rates[o.Rank], o.Rate, o.Here, o.There
		if slow > fast {
			slow, fast, slowFor, fastFor = fast, slow, fastFor, slowFor
		}
		others, could := 0.0, slow // s a sweep, units/s
		for r := range n {
			if r != o.Rank {
				others, could = max(others, plan[r]/rates[r]), could+rates[r]
			}
		}
		time, lost := b.outlast(plan, rates, o)
		if plan[o.Rank]/slow <= others || plan[o.Rank]/fast >= others {
			require.Zero(t, time, "it never is behind, or never catches up")
			return
		}
		behind, outlasted := b.slack, 0.0 // sweeps, as it comes to be where a rank catches up with less than it loses; s
		for range 3 {
			outlasted = min(slowFor, (b.slack-behind)/(1/others-slow/plan[o.Rank]))
			behind += outlasted * (1/others - slow/plan[o.Rank])
			behind = max(0, behind-fastFor*(fast/plan[o.Rank]-1/others))
		}
		require.InDelta(t, outlasted, min(slowFor, time), 1e-3*slowFor)
		work := 0.0
		for _, units := range plan {
			work += units
		}
		require.InDelta(t, 1-work/others/could, lost, 1e-9, "what is done in a second, of what all could do")
	})
}

// bareOf is bare for a property.
func bareOf(t require.TestingT, ranks int) *Balancer {
	b, err := New(Config{}, Loop{Ranks: ranks, Movement: Direct})
	require.NoError(t, err)
	return b
}

// knowing returns a balancer that owns work at given rates, one of whose ranks changes between two rates as often as it
// has visited them.
func knowing(t *rapid.T) (b *Balancer, rates []float64) {
	n := rapid.IntRange(2, 6).Draw(t, "ranks")
	cfg := Config{Period: 1, Interaction: Interaction(rapid.IntRange(0, 1).Draw(t, "interaction"))}
	b, err := New(cfg, Loop{Ranks: n, Movement: Direct})
	require.NoError(t, err)
	rates = drawAmounts(t, n, "rates")
	copy(b.work, drawAmounts(t, n, "work"))
	b.now = rapid.Float64Range(1, 1000).Draw(t, "now")
	b.heard.phasesLeft = rapid.SampledFrom([]int{-1, 0, 3, 100}).Draw(t, "phases left")
	b.period.phase = 1
	changing, other := rapid.IntRange(0, n-1).Draw(t, "changing"), rapid.Float64Range(0.2, 3).Draw(t, "other")
	stay := rapid.IntRange(2, 20).Draw(t, "stay")
	for r := range n {
		levels := &b.ranks[r].levels
		for range rapid.IntRange(0, 4).Draw(t, "visits") {
			for range stay {
				levels.Observe(rates[r], 1, 1)
			}
			for range stay {
				if r == changing {
					levels.Observe(rates[r]*other, 1, 1)
				}
			}
		}
		for range 3 {
			levels.Observe(rates[r], 1, 1)
		}
		b.filtered[r], b.level[r] = levels.Level(), levels.Level()
		rates[r] = levels.Level()
	}
	if rapid.Bool().Draw(t, "moved before") {
		b.cost.learn(2, 30, rapid.Float64Range(0, 5).Draw(t, "cost"))
		b.cost.learn(4, 40, rapid.Float64Range(0, 5).Draw(t, "cost"))
	}
	return b, rates
}

// Doing nothing is always one of the choices, and what is chosen costs and loses least of all that save more than
// prudence asks.
func TestThePlanChosenIsTheBest(t *testing.T) {
	moved := 0
	rapid.Check(t, func(t *rapid.T) {
		b, rates := knowing(t)
		before := slices.Clone(rates)
		chosen := b.choose(rates, 1)
		require.Equal(t, before, rates, "the rates are only looked at")
		none := b.plans[0]
		require.Equal(t, "none", none.Name)
		require.Zero(t, none.Cost)
		require.Equal(t, "full", b.plans[1].Name)
		for i, p := range b.plans {
			require.True(t, p.Cost >= 0 && p.Loss >= -1e-9 && !math.IsInf(p.Total(), 0), "%+v", p)
			require.LessOrEqual(t, b.plans[chosen].Total(), none.Total())
			pays := p.Total()+prudence*p.Cost < none.Total()
			if b.tolerated == 0 && i > 0 && pays && p.Total() < b.plans[chosen].Total()-1e-9 {
				// Only a plan that is no better at any one time than none may be passed over.
				require.Fail(t, "a better plan was passed over", "%+v, chosen %+v", p, b.plans[chosen])
			}
		}
		if chosen > 0 {
			moved++
			best := b.plans[chosen]
			require.Less(t, best.Total()+prudence*best.Cost, none.Total())
			sum, want := 0.0, 0.0
			for r := range b.work {
				require.GreaterOrEqual(t, b.want[r], -1e-9)
				sum, want = sum+b.work[r], want+b.want[r]
			}
			require.InEpsilon(t, sum, want, 1e-9, "work is conserved")
		}
		if b.foreseen.Horizon == 0 {
			require.Zero(t, chosen, "no time is left to gain anything")
		}
	})
	assert.Positive(t, moved)
}

// Of a Direct loop the order of the ranks does not matter, whatever they have been through.
func TestNamesOfRanksDecideNothing(t *testing.T) {
	perm := []int{2, 0, 3, 1}
	for seed := range uint64(5) {
		s := newSim(t, Config{Period: 1}, Loop{Ranks: 4, Movement: Direct}, 4000)
		s.noise, s.moveFixed, s.moveAll = 0.03, 0.1, 1
		s.rng = rand.New(rand.NewPCG(seed, 3))
		s.speed = func(r int, t float64) float64 {
			if r == 1 && math.Mod(t, 40) > 20 || r == 2 && math.Mod(t, 70) > 60 {
				return 400 + 17*float64(r)
			}
			return 1000 + 13*float64(r)
		}
		other, err := New(Config{Period: 1}, Loop{Ranks: 4, Movement: Direct})
		require.NoError(t, err)
		moves := 0
		for range 200 {
			s.step()
			st := make([]Status, 4)
			for r := range st {
				st[r] = s.seen[perm[r]]
				st[r].Rank = r
			}
			d := other.Decide(st)
			net, relabelled := make([]float64, 4), make([]float64, 4)
			for _, x := range s.decided.Transfers {
				net[x.From] -= x.Units
				net[x.To] += x.Units
			}
			for _, x := range d.Transfers {
				relabelled[perm[x.From]] -= x.Units
				relabelled[perm[x.To]] += x.Units
			}
			require.InDeltaSlice(t, net, relabelled, 1.001, "%d: %s | %s", d.Interaction, s.decided.Reason, d.Reason)
			require.InDelta(t, s.decided.Imbalance, d.Imbalance, 1e-3, "which of equally fast ranks has one of 1000 iterations more is all that depends on the order")
			if d.Moved() {
				moves++
			}
		}
		assert.Greater(t, moves, 5)
	}
}

// The cost of a movement is known from the work alone: as that of the transfers which it takes.
func TestCostOfAChainIsThatOfItsShifts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 7).Draw(t, "ranks")
		from, to := dist.Even(dist.Span(0, 20*n), n, 0), dist.Even(dist.Span(0, 20*n), n, 0)
		for _, bounds := range [][]int{from.Bounds, to.Bounds} {
			for k := 1; k < n; k++ {
				bounds[k] = rapid.IntRange(0, 20*n).Draw(t, "bound")
			}
			slices.Sort(bounds)
		}
		b, err := New(Config{}, Loop{Ranks: n, Movement: Adjacent, Start: from})
		require.NoError(t, err)
		b.cost.learn(1, 10, 0.3)
		b.cost.learn(2, 50, 0.8)
		work, want := make([]float64, n), make([]float64, n)
		for r := range n {
			work[r], want[r] = float64(from.Range(r).Len()), float64(to.Range(r).Len())
		}
		shifts := dist.Adjacent(from, to, dist.Weights{})
		require.InDelta(t, b.cost.predict(shifts, n, b.message()), b.moveCost(work, want), 1e-9)
	})
}

func TestCostOfAChainCountsWhatPassesThrough(t *testing.T) {
	b, err := New(Config{}, Loop{Ranks: 4, Movement: Adjacent, Start: dist.Even(dist.Span(0, 80), 4, 0)})
	require.NoError(t, err)
	b.cost.learn(1, 0, 0.5) // s per transfer
	b.cost.learn(0, 10, 1)  // 0.1 s per unit
	// 10 units from rank 0 to rank 3: ranks 1 and 2 receive and send them.
	assert.InDelta(t, 2*0.5+20*0.1, b.moveCost([]float64{20, 20, 20, 20}, []float64{10, 20, 20, 30}), 1e-9)
	assert.InDelta(t, 0.5+10*0.1, b.moveCost([]float64{20, 20, 20, 20}, []float64{10, 30, 20, 20}), 1e-9)
	assert.Zero(t, b.moveCost([]float64{20, 20, 20, 20}, []float64{20, 20, 20, 20}))
}

func TestCostOfDirectMovement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 7).Draw(t, "ranks")
		b := bareOf(t, n)
		b.cost.learn(1, 0, 0.5)
		b.cost.learn(0, 10, 1)
		work, want := drawAmounts(t, n, "work"), make([]float64, n)
		b.work = work
		b.divide(want, drawAmounts(t, n, "rates"))
		exact := b.cost.predict(dist.Direct(work, want), n, b.message())
		most := 0.0
		for r := range n {
			most = max(most, math.Abs(work[r]-want[r]))
		}
		cost := b.moveCost(work, want)
		if most <= movedPart {
			return
		}
		require.GreaterOrEqual(t, cost, 0.1*most+0.5-1e-9, "at least what its largest part costs")
		require.LessOrEqual(t, cost, 0.1*most+0.5*float64(n-1)+1e-9, "at most with a transfer to each")
		require.InDelta(t, exact, cost, 0.5*float64(n)+1e-9, "only the number of transfers is an estimate")
	})
}

// Before a first movement one is taken to cost a period; where all movements were alike half of it goes to either part.
func TestCostThatIsNotKnown(t *testing.T) {
	b := bare(t, 2)
	b.period.target = 3
	assert.Equal(t, 3.0, b.moveCost([]float64{10, 10}, []float64{5, 15}))
	assert.Zero(t, b.moveCost([]float64{10, 10}, []float64{10.4, 9.6}), "less than half a unit is none")
	for range 3 {
		b.cost.learn(1, 40, 2)
	}
	whole, half := b.moveCost([]float64{50, 0}, []float64{10, 40}), b.moveCost([]float64{50, 0}, []float64{30, 20})
	assert.InDelta(t, 2, whole, 1e-9)
	assert.InDelta(t, 1.5, half, 1e-9, "not free, and not as dear")
	twice := b.moveCost([]float64{90, 0}, []float64{10, 80})
	assert.InDelta(t, 3, twice, 1e-9)
}

func TestOutcome(t *testing.T) {
	// move lets a movement be made that promises a rise, with an efficiency of 0.5 before and another afterwards.
	move := func(o *outcome, k int, rise, after float64) {
		o.observe(0.5, k-1, false)
		o.promise(k, rise)
		o.observe(0.5, k-1, false) // not obeyed yet
		o.observe(0.1, k, false)   // with the movement in it
		for range outcomePeriods {
			o.observe(after, k+1, false)
		}
	}
	t.Run("trusts at first", func(t *testing.T) {
		var o outcome
		assert.Equal(t, 1.0, o.trust())
	})
	t.Run("and as long as promises are kept", func(t *testing.T) {
		var o outcome
		for k := range 10 {
			move(&o, 3*k, 0.3, 0.8)
		}
		assert.Equal(t, 1.0, o.trust())
		for k := range 10 {
			move(&o, 30+3*k, 0.3, 0.5+0.3*outcomeFull)
		}
		assert.InDelta(t, 1, o.trust(), 1e-3, "most of them is as good as all")
	})
	t.Run("no more where nothing comes", func(t *testing.T) {
		var o outcome
		last := 1.1
		for k := range 5 {
			move(&o, 3*k, 0.4, 0.5)
			assert.Less(t, o.trust(), last)
			last = o.trust()
		}
		assert.Less(t, last, distrust)
		for range 1000 {
			o.observe(0.5, 99, false)
		}
		assert.Greater(t, o.trust(), 0.9, "after some hundreds of interactions it is tried again")
	})
	t.Run("a loss counts as nothing brought", func(t *testing.T) {
		var loss, nothing outcome
		for k := range 5 {
			move(&loss, 3*k, 0.4, 0.1)
			move(&nothing, 3*k, 0.4, 0.5)
		}
		assert.Equal(t, nothing.trust(), loss.trust(), "or a few would silence the balancer for ever")
		assert.Less(t, loss.trust(), distrust)
	})
	t.Run("luck is no credit", func(t *testing.T) {
		var o, lucky outcome
		move(&o, 0, 0.2, 0.7)
		move(&lucky, 0, 0.2, 0.99)
		for k := 1; k < 4; k++ {
			move(&o, 3*k, 0.4, 0.5)
			move(&lucky, 3*k, 0.4, 0.5)
		}
		assert.Less(t, o.trust(), 1.0)
		assert.Equal(t, o.trust(), lucky.trust())
	})
	t.Run("rates that change cannot judge", func(t *testing.T) {
		var o outcome
		o.observe(0.5, 0, false)
		o.promise(1, 0.4)
		o.observe(0.5, 0, true)
		for k := range 4 {
			o.observe(0.1, 1+k, false)
		}
		assert.Zero(t, o.promised)
		assert.Equal(t, 1.0, o.trust())
	})
	t.Run("the period of the movement does not count", func(t *testing.T) {
		var o outcome
		o.observe(0.5, 0, false)
		o.promise(1, 0.4)
		o.observe(0.1, 1, false)
		assert.Zero(t, o.promised)
		o.observe(0.9, 1, false)
		assert.InDelta(t, 0.4, o.promised, 1e-12)
		assert.InDelta(t, 0.4, o.brought, 1e-12)
	})
	t.Run("a pipeline may fill first", func(t *testing.T) {
		var o outcome
		move(&o, 0, 0.4, 0.5)
		assert.Less(t, o.trust(), 1.0)
		o = outcome{}
		o.observe(0.5, 0, false)
		o.promise(1, 0.4)
		for _, efficiency := range []float64{0.3, 0.5, 0.9, 0.9} {
			o.observe(efficiency, 1, false)
		}
		assert.Equal(t, 1.0, o.trust())
	})
	t.Run("the next movement ends the judgement", func(t *testing.T) {
		var o outcome
		o.promise(1, 0.4)
		o.observe(0.5, 1, false)
		o.observe(0.5, 1, false)
		o.promise(2, 0.4)
		assert.InDelta(t, 0.4, o.promised, 1e-12)
	})
	t.Run("no rise promised, nothing to judge", func(t *testing.T) {
		var o outcome
		o.promise(1, 0)
		assert.False(t, o.pending)
	})
}

// believe <=> p gain period > (1-p) (2 move + loss period), here with the distributions made and timed.
func TestBelieve(t *testing.T) {
	believed, waited := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 5).Draw(t, "ranks")
		b := bareOf(t, n)
		rates := drawAmounts(t, n, "rates")
		levels := &b.ranks[0].levels
		low := rates[0] * rapid.Float64Range(0.1, 0.7).Draw(t, "low")
		stays, dips := rapid.IntRange(0, 5).Draw(t, "stays"), rapid.IntRange(0, 5).Draw(t, "dips")
		observe := func(rate float64, samples int) {
			for range samples {
				levels.Next(rate)
			}
		}
		observe(rates[0], 5)
		for range dips {
			observe(low, 1)
			observe(rates[0], 5)
		}
		for range stays {
			observe(low, 5)
			observe(rates[0], 5)
		}
		observe(low, 1)
		rate, p := levels.Suspect()
		require.Positive(t, p)
		rates[0] = levels.Level() // dips count in it
		sumWork, sumRates := 0.0, 0.0
		for r := range n {
			sumRates += rates[r]
		}
		for r := range n { // balanced for the old rates, or nearly so
			b.work[r] = 1000 * rates[r] / sumRates * rapid.Float64Range(0.9, 1.1).Draw(t, "balance")
			sumWork += b.work[r]
			b.filtered[r], b.level[r] = rates[r], rates[r]
		}
		b.filtered[0], b.level[0] = levels.Level(), levels.Level()
		b.suspects = []int{0}
		target := rapid.Float64Range(0.1, 10).Draw(t, "period")
		b.cost.learn(1, 10, 10*rapid.Float64Range(0, 0.1).Draw(t, "s per unit"))
		perTransfer, perUnit := b.cost.fit()

		longest := func(work, rates []float64) (t float64) {
			for r := range work {
				t = max(t, work[r]/rates[r])
			}
			return t
		}
		fallen := slices.Clone(rates)
		fallen[0] = rate
		answer := make([]float64, n)
		for r := range n {
			answer[r] = sumWork * fallen[r] / (sumRates - rates[0] + rate)
		}
		gain := 1 - longest(answer, fallen)/longest(b.work, fallen)
		perfect := sumWork / sumRates
		loss := max(0, perfect/longest(b.work, rates)-perfect/longest(answer, rates))
		move := max(perTransfer, b.message()) + perUnit*math.Abs(b.work[0]-answer[0])
		yes, no := p*gain*target, (1-p)*(2*move+loss*target)
		if math.Abs(yes-no) < 1e-6*(yes+no) {
			return // a tie, but for rounding
		}
		b.believe(target)
		require.Equal(t, yes > no, b.filtered[0] == rate, "p %v gain %v loss %v move %v", p, gain, loss, move)
		require.Equal(t, b.filtered[0], b.level[0])
		require.Equal(t, yes > no, b.believed(0))
		if yes > no {
			believed++
		} else {
			waited++
		}
	})
	assert.Positive(t, believed)
	assert.Positive(t, waited)
}

// Whatever speeds do, work is conserved, every rank keeps an iteration, every number is finite, and when all has been
// equal and quiet for long the work is equal again.
func TestWorkComesBackWhateverTheSpeedsDid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 5).Draw(t, "ranks")
		loop := Loop{Ranks: n, Movement: Movement(rapid.IntRange(int(Adjacent), int(Direct)).Draw(t, "movement"))}
		loop.Start = dist.Even(dist.Span(0, 100*n), n, 0)
		s := newSimOf(t, Config{Period: 1}, loop)
		s.moveAll = rapid.Float64Range(0, 0.5).Draw(t, "move")
		speeds := rapid.SliceOfN(rapid.SampledFrom([]float64{1, 10, 50, 100, 100, 100}), n, n)
		steps := rapid.SliceOfN(speeds, 1, 5).Draw(t, "speeds")
		length := rapid.Float64Range(1, 40).Draw(t, "length")
		end := length * float64(len(steps))
		s.speed = func(r int, t float64) float64 {
			if t >= end {
				return 100
			}
			return steps[int(t/length)][r]
		}
		for s.t < end+400 {
			d := s.step()
			total := 0
			for r := range n {
				require.GreaterOrEqual(t, s.iterations[r], 1)
				require.False(t, math.IsNaN(d.Filtered[r]) || math.IsInf(d.Filtered[r], 0))
				total += s.iterations[r]
			}
			require.Equal(t, 100*n, total)
			for _, p := range d.Plans {
				require.False(t, math.IsNaN(p.Total()) || math.IsInf(p.Total(), 0), "%+v", p)
			}
		}
		require.Greater(t, s.rate(), 0.85, fmt.Sprint(s.iterations))
	})
}

// newSimOf is newSim for a property.
func newSimOf(t *rapid.T, cfg Config, loop Loop) *sim { return newSim(&testing.T{}, cfg, loop, 0) }

// Short of time, that the slowest rank gives its surplus to its neighbours can pay where dividing all work anew does not:
// the dearer a unit is to move, the less is moved.
func TestTheSlowestRankAlonePaysWhereAFullDivisionDoesNot(t *testing.T) {
	var chosen []string
	for perUnit := 1e-4; perUnit < 1e-2; perUnit *= 1.01 {
		b, err := New(Config{Period: 1}, Loop{Ranks: 9, Movement: Adjacent, Start: dist.Even(dist.Span(0, 9000), 9, 0)})
		require.NoError(t, err)
		copy(b.work, []float64{1040, 1000, 1000, 1000, 1100, 1000, 1000, 1000, 960})
		for r := range b.level {
			b.level[r] = 1000
		}
		b.now, b.heard.phasesLeft, b.period.phase = 100, 11, 1 // the first of which is over before the instruction is obeyed
		b.cost.learn(1, 1000, 1000*perUnit)
		b.cost.learn(2, 1000, 1000*perUnit) // so that transfers cost nothing
		best := b.choose(b.level, 1)
		name := b.plans[best].Name
		if len(chosen) == 0 || chosen[len(chosen)-1] != name {
			chosen = append(chosen, name)
		}
	}
	assert.Equal(t, []string{"full", "worst", "none"}, chosen)
}

// A load that comes and goes as fast as neighbours can drift apart is answered once, by the rank's mean rate. The less they can, the more each of its changes is worth a movement, as before.
func TestMeanRateWhereSlackOutlastsALoad(t *testing.T) {
	var chosen []string
	for slack := 0.0; slack < 10; slack += 0.25 {
		b, err := New(Config{Period: 1}, Loop{Ranks: 4, Movement: Adjacent, OneByOne: true, Start: dist.Even(dist.Span(0, 4000), 4, 0)})
		require.NoError(t, err)
		for r := range 4 {
			b.work[r] = 1000
			levels := &b.ranks[r].levels
			for i := range 85 {
				rate := 1000.0
				if r == 1 && i/10%2 == 0 {
					rate = 500
				}
				levels.Observe(rate, 1, 1)
			}
			b.filtered[r], b.level[r] = levels.Level(), levels.Level()
		}
		require.InDelta(t, 500, b.level[1], 1e-9)
		b.now, b.heard.phasesLeft, b.period.phase, b.slack = 85, 200, 1, slack
		b.divide(b.targets, b.filtered)
		b.cost.learn(1, 1000, 0.5)
		plan := b.choose(b.filtered, 1)
		best := b.plans[plan].Name
		if len(chosen) == 0 || chosen[len(chosen)-1] != best {
			chosen = append(chosen, best)
		}
		if best == "mean" {
			assert.InDeltaSlice(t, []float64{1066.7, 800, 1066.7, 1066.7}, b.want, 5)
		}
	}
	assert.Equal(t, []string{"full", "mean"}, chosen)
}

// A load that comes for 10 s each time is seen to come and go up to 1 s late.
func TestStillToStay(t *testing.T) {
	const mean, often, blur = 10, 8, 2
	for age, left := range map[float64]float64{0: 10, 4: 6, 8: 2, 9: 1.5, 10: 1, 11.5: 0.25, 12: 12, 30: 30} {
		assert.InDelta(t, left, stillToStay(age, mean, often, blur), 1e-12, "after %g s", age)
	}
	assert.InDelta(t, 9.0, stillToStay(9, mean, 1, blur), 1e-12, "what has come once need not be a habit")
	assert.InDelta(t, 1.0, stillToStay(10, mean, 1, blur), 1e-12, "unless it lasts as long again")
}
