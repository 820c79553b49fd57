package lb

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"shiftwork/dist"
)

// scaled returns a balancer of many ranks with 100 iterations each, and two sets of statuses: of equal rates, and of rates
// that differ by up to a factor of two.
func scaled(t testing.TB, ranks int, movement Movement) (b *Balancer, equal, different []Status) {
	loop := Loop{Ranks: ranks, Movement: movement, Start: dist.Even(dist.Span(0, 100*ranks), ranks, 0)}
	b, err := New(Config{}, loop)
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(1, 1))
	for r := range ranks {
		st := Status{Rank: r, Units: 100, Compute: 1 + 0.001*float64(r%10), Elapsed: 1, Phases: 1, PhasesLeft: -1, Owned: 100, OwnedIterations: 100}
		equal = append(equal, st)
		st.Compute = 1 + rng.Float64()
		different = append(different, st)
	}
	return b, equal, different
}

// BenchmarkDecide is the time of one decision: where nothing has to move, and where every rank gets another share. The
// yardstick is sorting P random numbers. Statuses of a moving system are answered by a fresh balancer each time, for
// else the second answer would be that all is balanced; its construction is not timed.
func BenchmarkDecide(b *testing.B) {
	for _, ranks := range []int{8, 1000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("sort/P=%d", ranks), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 1))
			values, scratch := make([]float64, ranks), make([]float64, ranks)
			for i := range values {
				values[i] = rng.Float64()
			}
			for b.Loop() {
				copy(scratch, values)
				slices.Sort(scratch)
			}
		})
		for _, movement := range []Movement{Adjacent, Direct} {
			b.Run(fmt.Sprintf("quiet-%v/P=%d", movement, ranks), func(b *testing.B) {
				balancer, equal, _ := scaled(b, ranks, movement)
				balancer.Decide(equal)
				b.ReportAllocs()
				for b.Loop() {
					balancer.Decide(equal)
				}
			})
			b.Run(fmt.Sprintf("moving-%v/P=%d", movement, ranks), func(b *testing.B) {
				balancer, equal, different := scaled(b, ranks, movement)
				balancer.cfg.Threshold = 0.1
				for k := range 20 { // long enough for a first move
					for r := range equal {
						equal[r].Interaction = k
					}
					balancer.Decide(equal)
				}
				balancer.cfg.Filter = "raw"
				for r := range balancer.ranks {
					balancer.ranks[r].filter = raw{}
				}
				b.ReportAllocs()
				k := 20
				for b.Loop() {
					set := different
					if movement == Adjacent && k%2 == 1 { // the blocks have changed; of a Direct loop the statuses say who owns what
						set = equal
					}
					b.StopTimer()
					for r := range set { // all orders are obeyed at once, and undone
						set[r].Interaction, set[r].Obeyed = k, k-1
					}
					k++
					b.StartTimer()
					if d := balancer.Decide(set); len(d.Transfers) == 0 && ranks > 8 {
						b.Fatal(d.Reason)
					}
				}
			})
		}
	}
}

type raw struct{}

func (raw) Next(rate float64) float64 { return rate }
