package lb

import "shiftwork/dist"

// The policies Rotate and Random test the mechanism: at every interaction work really moves, if any can.

const (
	// rotateStep is how many iterations Rotate moves over a boundary at most, rotateTurns for how many interactions it
	// moves in one direction.
	rotateStep  = 3
	rotateTurns = 4
)

// rotate plans a small shift to the next ranks for some interactions, then back.
func (b *Balancer) rotate(statuses []Status) {
	if b.immovable() != "" {
		return
	}
	for range 2 { // where everything stands at one end already, turn round early
		right := b.turn/rotateTurns%2 == 0
		if b.loop.blocks() {
			b.rotateBlocks(right)
		} else {
			b.rotatePairs(statuses, right)
		}
		if len(b.transfers) > 0 {
			b.turn++
			return
		}
		b.turn = (b.turn/rotateTurns + 1) * rotateTurns
	}
}

// rotateBlocks moves every boundary by up to rotateStep; each worker keeps what it must.
func (b *Balancer) rotateBlocks(right bool) {
	first, n := b.loop.FirstWorker, b.loop.Ranks
	least := max(1, b.divider.Least)
	copy(b.spare.Bounds, b.block.Bounds)
	// Moving work to the right lowers the boundary between two ranks.
	if right {
		for k := first + 1; k < n; k++ {
			b.spare.Bounds[k] = min(b.spare.Bounds[k], max(b.spare.Bounds[k]-rotateStep, b.spare.Bounds[k-1]+least))
		}
	} else {
		for k := n - 1; k > first; k-- {
			b.spare.Bounds[k] = max(b.spare.Bounds[k], min(b.spare.Bounds[k]+rotateStep, b.spare.Bounds[k+1]-least))
		}
	}
	b.planBlocks()
}

// rotatePairs moves work within pairs of neighbours, so that no rank gives and takes in one instruction; the pairs
// alternate.
func (b *Balancer) rotatePairs(statuses []Status, right bool) {
	first, n := b.loop.FirstWorker, b.loop.Ranks
	for try := range 2 {
		for k := first + (b.turn+try)%2; k+1 < n; k += 2 {
			from, to := k, k+1
			if !right {
				from, to = to, from
			}
			b.give(statuses, from, to, rotateStep)
		}
		if len(b.transfers) > 0 {
			return
		}
	}
}

// give plans a transfer of count iterations, or of as many as the sender can spare.
func (b *Balancer) give(statuses []Status, from, to, count int) {
	spare := b.iterations[from]
	if !b.loop.Free {
		spare-- // a rank keeps an iteration
	}
	count = min(count, spare)
	units := float64(count) * unitsPerIteration(&statuses[from])
	if count < 1 || units > b.work[from] {
		return
	}
	t := dist.Transfer{From: from, To: to, Units: units}
	if b.loop.Weights.Uniform() && !b.loop.Free {
		t.Iterations = count
	}
	b.transfers = append(b.transfers, t)
}

// randomise plans a random distribution.
func (b *Balancer) randomise(statuses []Status) {
	if b.immovable() != "" {
		return
	}
	first, n := b.loop.FirstWorker, b.loop.Ranks
	// Two draws in a row may come to the same whole iterations; not for ever.
	for range 16 {
		for r := first; r < n; r++ {
			b.want[r] = b.random.ExpFloat64()
		}
		if b.loop.blocks() {
			b.spare = b.divider.Cut(b.spare, b.block.Span(), first, b.want, b.loop.Weights)
			b.planBlocks()
		} else {
			b.randomPair(statuses)
		}
		if len(b.transfers) > 0 {
			return
		}
	}
	// Few iterations: any move will do.
	b.rotate(statuses)
}

// randomPair plans transfers of random size within random pairs.
func (b *Balancer) randomPair(statuses []Status) {
	first := b.loop.FirstWorker
	order := b.random.Perm(b.loop.Ranks - first)
	for k := 0; k+1 < len(order); k += 2 {
		from, to := first+order[k], first+order[k+1]
		if most := b.iterations[from]; most > 0 {
			b.give(statuses, from, to, 1+b.random.IntN(most))
		}
	}
}
