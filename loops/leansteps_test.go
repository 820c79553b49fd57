package loops

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// upright reports whether blocks stand where they belong, on their way down or because ranks meet.
func (l *lean) upright() bool { return l.now == 0 && l.after <= 0 }

// A step is one row down or any number up; blocks stand upright where ranks meet and never lean farther than they may, also
// where that changes; and a long stretch lets rows change their owner again and again.
func TestLeanSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l lean
		sweep, upright, most := 0, 0, 0
		for range rapid.IntRange(1, 4).Draw(t, "stretches") {
			for stop := sweep + rapid.IntRange(1, 80).Draw(t, "sweeps"); sweep < stop; sweep++ {
				if rapid.IntRange(0, 20).Draw(t, "change") == 0 {
					l.most = rapid.IntRange(0, 12).Draw(t, "most")
				}
				l.step(sweep, stop)
				most = max(most, l.most)
				require.LessOrEqual(t, max(l.now, -l.now), most)
				require.GreaterOrEqual(t, l.after, l.now-1)
				require.LessOrEqual(t, l.after-l.now+1, 2*most+1, "rows that come from the right")
				if l.upright() {
					upright = sweep
				}
				require.LessOrEqual(t, sweep-upright, 4*most+4)
				if sweep == stop-1 {
					require.Zero(t, l.now)
					require.True(t, l.upright())
				}
			}
		}
	})
}

// A lean is divided into few batches of equal length, also the last one, of which not all sweeps are left to do: each batch reads all rows anew.
func TestALeanHasFewBatches(t *testing.T) {
	for _, c := range []struct {
		most, sweeps, longest int
		batches               []int
	}{
		{24, 25 + 2*49 + 13, 32, []int{25, 24, 25, 24, 25, 6, 7}},
		{24, 25 + 49 + 2, 32, []int{25, 24, 25, 1, 1}},
		{12, 13 + 25 + 1, 16, []int{13, 12, 13, 1}},
		{40, 41 + 81, 32, []int{20, 21, 26, 27, 27, 1}},
		{31, 32 + 63 + 13, wireBatch, []int{32, 63, 13}},
		{12, 16, 16, []int{13, 1, 2}},
	} {
		l, got := lean{most: c.most}, []int(nil)
		for sweep := 0; sweep < c.sweeps; {
			l.step(sweep, c.sweeps)
			n := l.length(sweep, c.sweeps, c.longest)
			for range n - 1 {
				sweep++
				l.step(sweep, c.sweeps)
			}
			sweep++
			got = append(got, n)
		}
		require.Equal(t, c.batches, got, c)
	}
}

// Ranks may agree at any time to meet: so many sweeps later as notice says, blocks stand upright, however far they lean meanwhile.
func TestLeanNotice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l lean
		ever := rapid.IntRange(1, 12).Draw(t, "ever")
		end := rapid.IntRange(1, 300).Draw(t, "sweeps")
		less := rapid.IntRange(0, end).Draw(t, "less from sweep") // when it is found how far blocks ever may lean
		stop, known := end, false
		for sweep := range end {
			if sweep == less {
				ever = rapid.IntRange(0, ever).Draw(t, "ever from then on")
				l.most = min(l.most, ever)
			}
			at := sweep + l.notice(ever)
			if !known && rapid.IntRange(0, 10).Draw(t, "meet") == 0 && at < end {
				stop, known = at, true
			}
			if stop == sweep {
				require.Zero(t, l.now, "at once")
				stop, known = end, false
			}
			if rapid.IntRange(0, 20).Draw(t, "change") == 0 {
				l.most = rapid.IntRange(0, ever).Draw(t, "most")
			}
			l.step(sweep, stop)
			if sweep == stop-1 {
				require.Zero(t, l.now)
				require.True(t, l.upright())
				stop, known = end, false
			}
		}
	})
}

// A row's column takes 1 us, a strip besides 40 us the first time that it is swept and 4 us again: that is what is told, after single sweeps and after batches.
func TestAColumnTakesAsLongInABatch(t *testing.T) {
	const column, cold, again, long, short, rows = 1e-6, 40e-6, 4e-6, 100, 25, 50
	tuner := tuner{shortBlock: short}
	for range 2 {
		tuner.timed(long, long, rows, rows*(long*column+cold))
		tuner.timed(short, long, rows, rows*(short*column+cold))
	}
	tuner.learnPerStrip(long)
	require.InEpsilon(t, cold, tuner.perStrip, 1e-9)
	require.InEpsilon(t, column, tuner.column(long, false), 1e-9)
	tuner.full = smallest{}
	tuner.timed(long, long, 10*rows, 10*rows*(long*column+again))
	require.InEpsilon(t, column, tuner.column(long, true), 1e-9)
}
