package report

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// data is a loop as the page's script reads it. Cells are by rank, then by column; -1 stands for what is not known.
type data struct {
	Name      string     `json:"name"`
	Ranks     int        `json:"ranks"`
	Edges     []float64  `json:"edges"` // s: the columns' beginnings, and the end of the last
	Count     []int      `json:"count"` // interactions in each column
	Merged    bool       `json:"merged"`
	RateUnit  float64    `json:"rateUnit"` // units/s for each step of Rate, Low and High
	Rate      [][]int    `json:"rate"`
	Low       [][]int    `json:"low,omitempty"` // of up to eight ranks, if columns are made of several interactions
	High      [][]int    `json:"high,omitempty"`
	Share     [][]int    `json:"share"`     // of the work done, 1/10000
	Compute   [][]int    `json:"compute"`   // of the time, 1/1000; the rest, but for moving, is waiting
	Move      [][]int    `json:"move"`      // of the time, 1/1000
	Imbalance []int      `json:"imbalance"` // 1/10000
	Threshold []int      `json:"threshold"` // 1/10000
	Decisions []decision `json:"decisions"`
	Reasons   []string   `json:"reasons"`
	Limits    []string   `json:"limits"`
	Left      int        `json:"left"`
	Hosts     []string   `json:"hosts"` // by rank, if there are several
}

// decision is one decision, short.
type decision struct {
	Time      float64 `json:"t"`
	At        int     `json:"k"`
	Moved     float64 `json:"moved"` // part of the work
	Transfers int     `json:"n"`
	Between   string  `json:"between,omitempty"`
	Imbalance float64 `json:"i"`
	Threshold float64 `json:"th"`
	Cost      float64 `json:"c"`
	Benefit   float64 `json:"b"`
	Period    float64 `json:"p"`
	Limit     int     `json:"l"` // in Limits
	Reason    int     `json:"r"` // in Reasons
}

// steps is how many steps a scale has at most.
const steps = 10000

// lines is up to how many ranks there is a line for each.
const lines = 8

func (l *Loop) data() data {
	d := data{
		Name: l.Name, Ranks: l.Ranks, Merged: l.merged, Left: l.Left, Decisions: []decision{}, Reasons: []string{}, Limits: []string{},
		Edges: []float64{}, Count: []int{}, Imbalance: []int{}, Threshold: []int{},
	}
	d.RateUnit = l.fastest() / steps
	if d.RateUnit == 0 {
		d.RateUnit = 1
	}
	grid := func() [][]int {
		g := make([][]int, l.Ranks)
		for r := range g {
			g[r] = make([]int, len(l.Columns))
		}
		return g
	}
	d.Rate, d.Share, d.Compute, d.Move = grid(), grid(), grid(), grid()
	if l.merged && l.Ranks <= lines {
		d.Low, d.High = grid(), grid()
	}
	for i, c := range l.Columns {
		d.Edges = append(d.Edges, places(c.From, 6))
		d.Count = append(d.Count, c.Interactions)
		d.Imbalance = append(d.Imbalance, scaled(c.Imbalance, 1e-4))
		d.Threshold = append(d.Threshold, scaled(c.Threshold, 1e-4))
		units := c.units()
		for r, cell := range c.Cells {
			whole := cell.Compute + cell.Wait + cell.Move
			d.Rate[r][i] = scaled(cell.Rate(), d.RateUnit)
			d.Share[r][i] = scaled(cell.Units/units, 1e-4)
			d.Compute[r][i] = scaled(cell.Compute/whole, 1e-3)
			d.Move[r][i] = scaled(cell.Move/whole, 1e-3)
			if d.Low != nil {
				d.Low[r][i], d.High[r][i] = scaled(cell.Low, d.RateUnit), scaled(cell.High, d.RateUnit)
			}
		}
	}
	if n := len(l.Columns); n > 0 {
		d.Edges = append(d.Edges, places(l.Columns[n-1].Until, 6))
	}
	d.decisions(l)
	if s := l.Summary; s != nil && len(s.Hosts) > 1 {
		for _, r := range s.Ranks {
			d.Hosts = append(d.Hosts, r.Host)
		}
	}
	return d
}

func (d *data) decisions(l *Loop) {
	reasons, limits := map[string]int{}, map[string]int{}
	index := func(list *[]string, known map[string]int, s string) int {
		i, ok := known[s]
		if !ok {
			i = len(*list)
			known[s] = i
			*list = append(*list, s)
		}
		return i
	}
	for _, k := range l.Decisions {
		d.Decisions = append(d.Decisions, decision{
			Time: places(k.Time, 6), At: k.Interaction, Moved: places(k.Moved, 6), Transfers: k.Transfers, Between: k.Between,
			Imbalance: places(k.Imbalance, 5), Threshold: places(k.Threshold, 5), Cost: places(k.Cost, 6), Benefit: places(k.Benefit, 6),
			Period: places(k.Period, 6), Limit: index(&d.Limits, limits, k.Limit), Reason: index(&d.Reasons, reasons, k.Reason),
		})
	}
}

// fastest is the largest rate that is drawn. A period of very little computing can have a rate that says nothing; what is
// more than three times the rate below which 98 of 100 cells lie is cut off.
func (l *Loop) fastest() float64 {
	var all []float64
	for _, c := range l.Columns {
		for _, cell := range c.Cells {
			if rate := cell.Rate(); rate > 0 && !math.IsInf(rate, 0) {
				all = append(all, rate)
			}
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return min(all[len(all)-1], 3*stat.Quantile(0.98, stat.Empirical, all, nil))
}

// scaled is x in steps; -1 for what is no finite number.
func scaled(x, step float64) int {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return -1
	}
	return int(math.Round(min(max(0, x/step), steps)))
}

// places rounds to so many places, so that JSON stays short; what JSON cannot hold becomes 0.
func places(x float64, n int) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) || math.Abs(x) > 1e15 {
		return 0
	}
	scale := math.Pow10(n)
	return math.Round(x*scale) / scale
}
