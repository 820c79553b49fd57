package dist

import (
	"fmt"
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

// Direct returns transfers between any two ranks that turn have into want: see AppendDirect.
func Direct[N int | float64](have, want []N) []Transfer { return AppendDirect(nil, have, want) }

// AppendDirect appends to dst the transfers between any two ranks that turn have into want: surpluses meet deficits in the
// order of the ranks, so there are at most P-1, no rank gives and takes, and partners are as near as may be. Integers give
// Iterations and Units, exact if the sums agree; floats give Units only, and differences below 1e-12 of the sum count as
// zero. If the sums differ, only the smaller of all surplus and all deficit moves. O(P).
func AppendDirect[N int | float64](dst []Transfer, have, want []N) []Transfer {
	if len(have) != len(want) {
		panic(fmt.Sprintf("dist: %d ranks have work, %d shall have", len(have), len(want)))
	}
	var sum N
	for _, h := range have {
		sum += h
	}
	tiny := N(float64(sum) * 1e-12) // 0 for integers of any real size
	_, isInt := any(sum).(int)
	from, to := 0, 0       // the next ranks that may give and take
	var surplus, deficit N // what is left of theirs
	for {
		for ; !(surplus > tiny) && from < len(have); from++ { // what is NaN gives and takes nothing
			surplus = have[from] - want[from]
		}
		for ; !(deficit > tiny) && to < len(have); to++ {
			deficit = want[to] - have[to]
		}
		if !(surplus > tiny) || !(deficit > tiny) {
			return dst
		}
		n := min(surplus, deficit)
		t := Transfer{From: from - 1, To: to - 1, Units: float64(n)}
		if isInt {
			t.Iterations = int(n)
		}
		dst = append(dst, t)
		surplus -= n
		deficit -= n
	}
}
