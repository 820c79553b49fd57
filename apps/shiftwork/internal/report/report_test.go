package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/png"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/hooks"
	"shiftwork/lb"
)

// What the columns hold together is what the report at the end says, rank by rank.
func TestColumnsAddUpToTheReport(t *testing.T) {
	recording, rep := recorded(t, lb.Auto())
	l := read(t, recording).Loops[0]
	assert.Equal(t, "heat", l.Name)
	assert.Equal(t, 3, l.Ranks)
	assert.Equal(t, rep.Interactions, l.Interactions)
	assert.Len(t, l.Columns, rep.Interactions+1, "one for each interaction, and the end")
	assert.Equal(t, rep.Shifts, l.Moves)
	sums := make([]Cell, 3)
	end := 0.0
	for _, c := range l.Columns {
		assert.InDelta(t, end, c.From, 1e-12, "no gaps")
		assert.Greater(t, c.Until, c.From)
		end = c.Until
		for r := range sums {
			sums[r].add(c.Cells[r])
		}
	}
	assert.InDelta(t, rep.Ranks[0].Elapsed, end, 1e-3)
	for r, rank := range rep.Ranks {
		assert.InDelta(t, rank.Units, sums[r].Units, 1e-6)
		assert.InDelta(t, rank.Compute, sums[r].Compute, 1e-6)
		assert.InDelta(t, rank.Move, sums[r].Move, 1e-6)
		assert.InDelta(t, rank.Wait(), sums[r].Wait, 1e-6)
	}
	// The slow rank is seen to be slow when it was.
	assert.InEpsilon(t, 1000, l.Columns[1].Cells[1].Rate(), 0.02)
	for _, c := range l.Columns {
		if c.From > 1.1 && c.Until < 2.9 {
			assert.InEpsilon(t, 300, c.Cells[1].Rate(), 0.02, c.From)
		}
	}
}

// Neighbouring columns that are taken together lose nothing, and rates keep their extremes.
func TestManyInteractionsBecomeFewColumns(t *testing.T) {
	for _, size := range [][2]int{{1, 5000}, {4, 9001}, {64, 3000}, {3000, 40}} {
		ranks, n := size[0], size[1]
		l := &Loop{}
		require.NoError(t, l.over(ranks))
		const low, high = 3, 7
		for k := range n {
			cells := make([]Cell, ranks)
			for r := range cells {
				rate := 5.0
				if k == n/3 {
					rate = low
				} else if k == n/2 {
					rate = high
				}
				cells[r] = Cell{Units: rate, Compute: 1, Wait: 2, Move: 3, Low: rate, High: rate}
			}
			l.column(Column{From: 6 * float64(k), Until: 6 * float64(k+1), Interactions: 1, Cells: cells, Imbalance: float64(k) / float64(n)})
		}
		assert.LessOrEqual(t, len(l.Columns), mostColumns)
		assert.LessOrEqual(t, len(l.Columns)*ranks, max(mostCells, 16*ranks))
		assert.GreaterOrEqual(t, len(l.Columns), min(n, l.width/2))
		sum, count, end, imbalance := Cell{}, 0, 0.0, 0.0
		for i, c := range l.Columns {
			assert.InDelta(t, end, c.From, 1e-9)
			end = c.Until
			if i < len(l.Columns)-2 {
				assert.Equal(t, l.Columns[0].Interactions, c.Interactions, "as fine at the end as at the beginning")
			}
			count += c.Interactions
			sum.add(c.Cells[ranks-1])
			imbalance = max(imbalance, c.Imbalance)
		}
		assert.Equal(t, n, count)
		assert.Equal(t, Cell{Units: float64(5*(n-2) + low + high), Compute: float64(n), Wait: float64(2 * n), Move: float64(3 * n), Low: low, High: high}, sum)
		assert.InDelta(t, float64(n-1)/float64(n), imbalance, 1e-12)
	}
}

func TestPageHoldsTheNumbersOfTheRun(t *testing.T) {
	recording, rep := recorded(t, lb.Auto())
	run := read(t, recording)
	page := pageOf(t, run)
	s := run.Loops[0].Summary
	for _, want := range []string{
		s.Sentence, fmt.Sprintf("<b>%.1f%%</b>parallel efficiency", 100*s.Parallel.Value), fmt.Sprintf("waiting %.3f s", s.Lost.Waiting),
		fmt.Sprintf("heat: 3 ranks, %d interactions, %d moves in", rep.Interactions, rep.Shifts), fmt.Sprintf("<td>%.3f</td>", rep.Ranks[1].Compute),
		"mean compute / longest compute", s.Gain.StartDefinition, rep.Build.Go, "<th class=\"left\">period</th>",
	} {
		assert.Contains(t, page, strings.NewReplacer("'", "&#39;", "+", "&#43;").Replace(want))
	}
	d := dataOf(t, page)
	assert.Len(t, d.Edges, rep.Interactions+2)
	assert.InEpsilon(t, run.Loops[0].Columns[5].Cells[1].Rate(), float64(d.Rate[1][5])*d.RateUnit, 1e-3)
	moves := 0
	for _, k := range d.Decisions {
		assert.NotEmpty(t, d.Reasons[k.Reason])
		if k.Transfers > 0 {
			moves++
			assert.NotEmpty(t, k.Between)
			assert.Positive(t, k.Moved)
		}
	}
	assert.Equal(t, rep.Shifts, moves)
	for i := range d.Compute[0] {
		shares := 0
		for r := range 3 {
			shares += d.Share[r][i]
			assert.LessOrEqual(t, d.Compute[r][i]+d.Move[r][i], 1001)
		}
		if d.Share[0][i] >= 0 {
			assert.InDelta(t, 10000, shares, 2)
		} else {
			assert.Equal(t, rep.Interactions, i, "only after the last interaction nothing may be known")
		}
	}
}

// A page needs nothing from anywhere, and the browser is told to fetch nothing.
func TestPageLoadsNothing(t *testing.T) {
	recording, _ := recorded(t, lb.Auto())
	page := pageOf(t, read(t, recording))
	assert.Contains(t, page, `content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"`)
	assert.NotRegexp(t, regexp.MustCompile(`(?i)https?://|src=|href=|@import|url\(|fetch\(|XMLHttpRequest`), page)
	assert.NotContains(t, page, "ZgotmplZ", "nothing was cut out for safety")
}

// Names come from files: they are words, not code.
func TestPageQuotesNames(t *testing.T) {
	const evil = `</script><script>alert("x")</script>`
	l := &Loop{Name: evil}
	straight{l}.Record(hooks.Event{Kind: "end", Report: &hooks.Report{Ranks: []hooks.RankReport{{Host: evil, Elapsed: 1}, {Rank: 1, Host: "b", Elapsed: 1}}}})
	var b strings.Builder
	require.NoError(t, Page(&b, &Run{Loops: []*Loop{l}}, evil))
	assert.NotContains(t, b.String(), "<script>alert")
	assert.Equal(t, []string{evil, "b"}, dataOf(t, b.String()).Hosts)
}

// 64 ranks and 10 000 interactions are a page of some megabytes, in which every move stands with its reason.
func TestALongRunIsASmallPage(t *testing.T) {
	run := long(t, 64, 10000)
	l := run.Loops[0]
	page := pageOf(t, run)
	d := dataOf(t, page)
	t.Logf("%d bytes, %d columns, %d moves, %d decisions, %d reasons", len(page), len(l.Columns), l.Moves, len(l.Decisions), len(d.Reasons))
	assert.Less(t, len(page), 3<<20)
	assert.Equal(t, 10000, l.Interactions)
	assert.Equal(t, 10000, len(l.Decisions)+l.Left)
	assert.GreaterOrEqual(t, len(l.Columns), 600)
	moves := 0
	for _, k := range l.Decisions {
		if k.Transfers > 0 {
			moves++
		}
	}
	assert.Equal(t, min(l.Moves, mostMoves), moves)
	require.Positive(t, moves)
	assert.Empty(t, d.Low, "rows of colour have no band")
	assert.Len(t, d.Hosts, 64)
}

// What was not balanced has its times all the same; what was cut off has no summary.
func TestRunsWithoutMuch(t *testing.T) {
	recording, rep := recorded(t, lb.Config{Policy: lb.Off})
	run := read(t, recording)
	l := run.Loops[0]
	require.Len(t, l.Columns, 1)
	assert.Zero(t, l.Interactions)
	assert.InDelta(t, rep.Ranks[1].Compute, l.Columns[0].Cells[1].Compute, 1e-9)
	page := pageOf(t, run)
	assert.Contains(t, page, "Balancing was off")
	assert.NotContains(t, page, "NaN")
	for _, format := range []string{"png", "svg"} {
		assert.NoError(t, Figure(io.Discard, run, format))
	}

	recording, _ = recorded(t, lb.Auto())
	lines := bytes.SplitAfter(recording, []byte("\n"))
	cut := read(t, append(bytes.Join(lines[:8], nil), lines[8][:40]...))
	assert.True(t, cut.Truncated)
	assert.Equal(t, 6, cut.Loops[0].Interactions)
	page = pageOf(t, cut)
	assert.Contains(t, page, "cut off")
	assert.Contains(t, page, "there is no summary")
}

// Loops of one recording follow each other, also under one name.
func TestSeveralLoops(t *testing.T) {
	a, _ := recorded(t, lb.Auto())
	_, events, _ := bytes.Cut(a, []byte("\n"))
	run := read(t, append(a, events...))
	require.Len(t, run.Loops, 2)
	assert.Equal(t, run.Loops[0].Interactions, run.Loops[1].Interactions)
	assert.Equal(t, 2, strings.Count(pageOf(t, run), `<section class="loop"`))
}

func TestNoRecordings(t *testing.T) {
	const head = `{"schema":"shiftwork","version":2}` + "\n"
	for text, says := range map[string]string{
		"":                                   "the file is empty",
		"result: a=b":                        "no recording",
		head:                                 "the recording holds no loop",
		head + "{}\n":                        `line 2: loop "": an event of kind ""`,
		head + head:                          "line 2: another recording begins here",
		head + "oh\n1":                       "line 2: ",
		head + `{"kind":"start","loop":"a"}`: "a start without a loop over ranks",
		head + `{"kind":"start","loop":"a","setup":{"Ranks":2000000}}`:                                             "at most 1048576 are shown",
		head + `{"kind":"decision","loop":"a","statuses":[{}],"decision":{}}`:                                      "a decision with 1 statuses of 0 ranks",
		head + `{"kind":"end","loop":"a"}`:                                                                         "an end without a report",
		head + `{"kind":"start","loop":"a","t":3,"setup":{"Ranks":1}}` + "\n" + `{"kind":"end","loop":"a","t":-1}`: "an event at -1 s after one at 0 s",
	} {
		_, err := Read(strings.NewReader(text))
		require.ErrorContains(t, err, says, text)
		assert.NotContains(t, err.Error(), "\n")
	}
}

func FuzzRead(f *testing.F) {
	recording, _ := recorded(f, lb.Auto())
	f.Add(recording)
	f.Add([]byte(`{"schema":"shiftwork","version":2}` + "\n" + `{"kind":"end","t":9,"report":{"balance":"on","elapsed_s":9,"ranks":[{"host":"a"},{"host":"b"}],"gain":{"start_s":9,"even_s":1}}}`))
	f.Add([]byte(`{"schema":"shiftwork","version":2}` + "\n" + `{"kind":"start","setup":{"Ranks":2}}` + "\n" + `{"kind":"decision","t":1,"statuses":[{"Units":-1,"Compute":1e300},{}],"decision":{"Imbalance":5}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		run, err := Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		require.NoError(t, Page(io.Discard, run, "fuzz"))
	})
}

func TestFigures(t *testing.T) {
	recording, _ := recorded(t, lb.Auto())
	for name, run := range map[string]*Run{"few": read(t, recording), "many": long(t, 40, 300)} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			require.NoError(t, Figure(&b, run, "png"))
			picture, err := png.Decode(&b)
			require.NoError(t, err)
			colours := map[uint32]int{}
			for y := range picture.Bounds().Dy() {
				for x := range picture.Bounds().Dx() {
					r, g, b, _ := picture.At(x, y).RGBA()
					colours[r>>8<<16|g>>8<<8|b>>8]++
				}
			}
			assert.Greater(t, colours[0x0072b2], 20000, "computing")
			assert.Greater(t, colours[0xc9c9c9], 500, "waiting")
			assert.Greater(t, colours[0xd55e00], 100, "moving")
			assert.Greater(t, colours[0xffffff], 500000, "paper")

			b.Reset()
			require.NoError(t, Figure(&b, run, "svg"))
			text := b.String()
			for _, words := range []string{"how each rank spent its time", "time since the loop began, s", "imbalance", "units/s"} {
				assert.Contains(t, text, words)
			}
			for d := xml.NewDecoder(&b); ; {
				if _, err = d.Token(); err != nil {
					break
				}
			}
			assert.ErrorIs(t, err, io.EOF, "it is XML")
		})
	}
	assert.ErrorContains(t, Figure(io.Discard, long(t, 2, 3), "gif"), "accepted are png and svg")
	assert.Error(t, Figure(broken{}, long(t, 2, 3), "svg"))
	assert.Error(t, Page(broken{}, long(t, 2, 3), "x"))
}
