package dist

import (
	"cmp"
	"fmt"
	"slices"
)

// Transfer is work moved from one rank to another. Iterations > 0 is the exact count. Iterations == 0 with Units > 0
// leaves the count to the sender: whole iterations that come nearest to Units.
type Transfer struct {
	From, To   int
	Iterations int
	Units      float64 // work units
}

// String returns "from>to:iterations(units)", the notation of logs and golden files.
func (t Transfer) String() string {
	return fmt.Sprintf("%d>%d:%d(%.4g)", t.From, t.To, t.Iterations, t.Units)
}

// Adjacent returns the flows that turn one block distribution into another when work moves between neighbours only:
// F_i = sum_{k<=i} (w_k - w'_k) over the boundary between ranks i and i+1, rightwards when positive. At most one
// transfer per boundary, in boundary order; work for a distant rank appears in every boundary that it crosses. The
// order in which one rank executes its two is given by Moves. The blocks must have equal spans and ranks. O(P).
func Adjacent(from, to Block, w Weights) []Transfer { return AppendAdjacent(nil, from, to, w) }

// AppendAdjacent is Adjacent into a slice that the caller reuses.
func AppendAdjacent(dst []Transfer, from, to Block, w Weights) []Transfer {
	mustMatch(from, to)
	for i := 0; i+1 < from.Ranks(); i++ {
		switch old, new := from.Bounds[i+1], to.Bounds[i+1]; {
		case new < old:
			dst = append(dst, Transfer{From: i, To: i + 1, Iterations: old - new, Units: w.Units(Span(new, old))})
		case new > old:
			dst = append(dst, Transfer{From: i + 1, To: i, Iterations: new - old, Units: w.Units(Span(old, new))})
		}
	}
	return dst
}

func mustMatch(from, to Block) {
	if from.Ranks() != to.Ranks() || from.Span() != to.Span() {
		panic(fmt.Sprintf("dist: blocks do not match: %d ranks over %v, %d ranks over %v",
			from.Ranks(), from.Span(), to.Ranks(), to.Span()))
	}
}

// Direct returns transfers between any two ranks that turn have into want: the largest surplus goes to the largest
// deficit until one side is used up, then the next, so at most P-1 transfers. Integers give Iterations and Units, exact
// if the sums agree; floats give Units only, and differences below 1e-12 of the sum count as zero. If the sums differ,
// only the smaller of all surplus and all deficit moves. Ties go to the lowest rank. O(P log P).
func Direct[N int | float64](have, want []N) []Transfer {
	if len(have) != len(want) {
		panic(fmt.Sprintf("dist: %d ranks have work, %d shall have", len(have), len(want)))
	}
	type excess struct {
		rank   int
		amount N
	}
	var sum N
	for _, h := range have {
		sum += h
	}
	tiny := N(float64(sum) * 1e-12) // 0 for integers of any real size
	var surplus, deficit []excess
	for r := range have {
		switch d := have[r] - want[r]; {
		case d > tiny:
			surplus = append(surplus, excess{r, d})
		case -d > tiny:
			deficit = append(deficit, excess{r, -d})
		}
	}
	order := func(a, b excess) int { return cmp.Or(cmp.Compare(b.amount, a.amount), cmp.Compare(a.rank, b.rank)) }
	slices.SortFunc(surplus, order)
	slices.SortFunc(deficit, order)

	var out []Transfer
	_, isInt := any(sum).(int)
	for s, d := 0, 0; s < len(surplus) && d < len(deficit); {
		n := min(surplus[s].amount, deficit[d].amount)
		t := Transfer{From: surplus[s].rank, To: deficit[d].rank, Units: float64(n)}
		if isInt {
			t.Iterations = int(n)
		}
		out = append(out, t)
		surplus[s].amount -= n
		deficit[d].amount -= n
		if surplus[s].amount <= tiny {
			s++
		}
		// Both sides may be used up at once; a deficit that is left at zero must not start a transfer of nothing.
		if deficit[d].amount <= tiny {
			d++
		}
	}
	return out
}
