package report

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The colours of the page: those of Okabe and Ito, which can be told apart with any colour vision.
var (
	blue   = color.RGBA{0x00, 0x72, 0xb2, 0xff}
	orange = color.RGBA{0xd5, 0x5e, 0x00, 0xff}
	grey   = color.RGBA{0xc9, 0xc9, 0xc9, 0xff}
	dark   = color.RGBA{0x5a, 0x5a, 0x5a, 0xff}
	black  = color.RGBA{0x1b, 0x1b, 0x1b, 0xff}
	hues   = []color.RGBA{
		blue, orange, {0x00, 0x9e, 0x73, 0xff}, {0xcc, 0x79, 0xa7, 0xff}, {0xe6, 0x9f, 0x00, 0xff}, {0x56, 0xb4, 0xe9, 0xff}, black, {0x8a, 0x8a, 0x8a, 0xff},
	}
)

// Size of a figure: that of a page's width, and a quarter of it for each chart.
const (
	figureWidth = 26 * vg.Centimeter
	chartHeight = 6 * vg.Centimeter
	resolution  = 150 // dots an inch, of PNG
)

// Figure draws the charts of a run's loops, one below the other: format is "png" or "svg".
func Figure(w io.Writer, run *Run, format string) error {
	var charts []*chart
	var plots [][]*plot.Plot
	for _, l := range run.Loops {
		for _, c := range l.charts() {
			charts, plots = append(charts, c), append(plots, []*plot.Plot{c.Plot})
		}
	}
	height := chartHeight * vg.Length(len(charts))
	var canvas interface {
		vg.CanvasWriterTo
		vg.CanvasSizer
	}
	switch format {
	case "svg":
		canvas = vgsvg.New(figureWidth, height)
	case "png":
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(figureWidth, height), vgimg.UseDPI(resolution))}
	default:
		return fmt.Errorf("a figure as %q: accepted are png and svg", format)
	}
	whole := draw.New(canvas)
	fill(whole, color.White, whole.Min.X, whole.Min.Y, whole.Max.X, whole.Max.Y)
	tiles := draw.Tiles{Rows: len(charts), Cols: 1, PadY: 4 * vg.Millimeter, PadTop: 2 * vg.Millimeter, PadBottom: 2 * vg.Millimeter, PadLeft: 2 * vg.Millimeter, PadRight: legendWidth}
	for i, c := range plot.Align(plots, tiles, whole) {
		charts[i].Draw(c[0])
		beside := c[0]
		beside.Max.X, beside.Min.X = whole.Max.X-2*vg.Millimeter, c[0].Max.X+2*vg.Millimeter
		charts[i].key.Draw(beside)
	}
	_, err := canvas.WriteTo(w)
	return err
}

// legendWidth is the room at the right of the charts.
const legendWidth = 36 * vg.Millimeter

// chart is a plot with a legend beside it, where it hides nothing.
type chart struct {
	*plot.Plot
	key plot.Legend
}

// charts are those of one loop.
func (l *Loop) charts() []*chart {
	rate := l.chart(l.Name+": rate of each rank", "units/s")
	share := l.chart("share of the work done", "share")
	rates := func(c Column, r int) float64 { return c.Cells[r].Rate() }
	shares := func(c Column, r int) float64 { return c.Cells[r].Units / c.units() }
	if l.Ranks <= lines {
		l.lines(rate, rates)
		l.lines(share, shares)
		rate.Y.Min, share.Y.Min = 0, 0
		rate.Y.Max = math.Max(1, 1.05*l.fastest())
		share.Y.Tick.Marker = percentTicks{}
	} else {
		l.heat(rate, rates, l.fastest(), "%s units/s")
		l.heat(share, shares, 2/float64(l.Ranks), "%s of the work,\ntwice an even share")
	}
	time := l.chart("how each rank spent its time", "rank")
	time.Add(gantt{l})
	l.rows(time)
	time.key.Add("compute", swatch{blue})
	time.key.Add("wait", swatch{grey})
	time.key.Add("move", swatch{orange})
	return []*chart{rate, share, time, l.decisions()}
}

// sans is the font of all words.
var sans = font.Font{Typeface: "Liberation", Variant: "Sans"}

func (l *Loop) chart(title, y string) *chart {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, "time since the loop began, s", y
	p.X.Min, p.X.Max = 0, math.Max(l.Elapsed, 1e-9)
	p.X.Tick.Marker, p.Y.Tick.Marker = shortTicks{}, shortTicks{}
	c := &chart{Plot: p, key: plot.NewLegend()}
	c.key.Top, c.key.Left, c.key.Padding = true, true, vg.Millimeter
	for style, size := range map[*text.Style]vg.Length{
		&p.Title.TextStyle: 12, &p.X.Label.TextStyle: 10, &p.Y.Label.TextStyle: 10, &p.X.Tick.Label: 9, &p.Y.Tick.Label: 9, &c.key.TextStyle: 9,
	} {
		style.Font, style.Color = sans, black
		style.Font.Size = size
	}
	return c
}

// shortTicks are the usual ones with k, M, G and T for powers of a thousand.
type shortTicks struct{}

func (shortTicks) Ticks(low, high float64) []plot.Tick {
	return relabelled(low, high, func(x float64) string {
		for _, u := range []struct {
			size float64
			name string
		}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
			if x >= u.size {
				return strconv.FormatFloat(x/u.size, 'g', 4, 64) + u.name
			}
		}
		return strconv.FormatFloat(x, 'g', 4, 64)
	})
}

// percentTicks are the usual ones in percent.
type percentTicks struct{}

func (percentTicks) Ticks(low, high float64) []plot.Tick {
	return relabelled(low, high, func(x float64) string { return strconv.FormatFloat(100*x, 'g', 4, 64) + "%" })
}

func relabelled(low, high float64, word func(float64) string) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for i := range ticks {
		if ticks[i].Label != "" {
			ticks[i].Label = word(ticks[i].Value)
		}
	}
	return ticks
}

// rows makes the axis of values one of ranks, the first on top.
func (l *Loop) rows(p *chart) {
	p.Y.Label.Text, p.Y.Min, p.Y.Max = "rank", -0.5, float64(l.Ranks)-0.5
	var ticks []plot.Tick
	every := (l.Ranks + 15) / 16
	for r := 0; r < l.Ranks; r += every {
		ticks = append(ticks, plot.Tick{Value: float64(l.Ranks - 1 - r), Label: fmt.Sprint(r)})
	}
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
}

// steps are the corners of a line that is level over each column; where nothing is known it is broken.
func (l *Loop) steps(value func(c Column) float64) []plotter.XYs {
	var all []plotter.XYs
	var xys plotter.XYs
	for _, c := range l.Columns {
		v := value(c)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			if len(xys) > 0 {
				all, xys = append(all, xys), nil
			}
			continue
		}
		xys = append(xys, plotter.XY{X: c.From, Y: v}, plotter.XY{X: c.Until, Y: v})
	}
	if len(xys) > 0 {
		all = append(all, xys)
	}
	return all
}

// line adds a line of steps, and its name to the legend.
func (l *Loop) line(p *chart, name string, style draw.LineStyle, value func(c Column) float64) {
	for i, xys := range l.steps(value) {
		line := &plotter.Line{XYs: xys, LineStyle: style}
		p.Add(line)
		if i == 0 {
			p.key.Add(name, line)
		}
	}
}

func (l *Loop) lines(p *chart, value func(c Column, r int) float64) {
	for r := range l.Ranks {
		l.line(p, fmt.Sprintf("rank %d", r), draw.LineStyle{Color: hues[r], Width: vg.Points(1.4)}, func(c Column) float64 { return value(c, r) })
	}
}

// heat adds a row of colour for each rank; from the scale's end on, the colour stays.
func (l *Loop) heat(p *chart, value func(c Column, r int) float64, most float64, words string) {
	scale := moreland.ExtendedBlackBody()
	scale.SetMin(0)
	scale.SetMax(math.Max(most, 1e-300))
	p.Add(heat{l, value, func(v float64) color.Color {
		c, err := scale.At(math.Min(v, most))
		if err != nil {
			return grey
		}
		return c
	}})
	l.rows(p)
	top, _ := scale.At(most)
	bottom, _ := scale.At(0)
	middle, _ := scale.At(most / 2)
	p.key.Add(fmt.Sprintf(words, strconv.FormatFloat(most, 'g', 3, 64)), swatch{top})
	p.key.Add("half of that", swatch{middle})
	p.key.Add("0", swatch{bottom})
}

func (l *Loop) decisions() *chart {
	p := l.chart("imbalance, and work moved", "part")
	p.Y.Tick.Marker = percentTicks{}
	p.Y.Min = 0
	moves := marks{}
	for _, d := range l.Decisions {
		if d.Transfers > 0 {
			moves = append(moves, plotter.XY{X: d.Time, Y: d.Moved})
		}
	}
	p.Add(moves)
	p.key.Add("work moved", swatch{orange})
	l.line(p, "threshold", draw.LineStyle{Color: dark, Width: vg.Points(1), Dashes: []vg.Length{vg.Points(4), vg.Points(3)}}, func(c Column) float64 { return c.Threshold })
	l.line(p, "imbalance", draw.LineStyle{Color: black, Width: vg.Points(1.2)}, func(c Column) float64 { return c.Imbalance })
	p.Y.Max = math.Max(p.Y.Max, 0.05)
	return p
}

// swatch is a patch of colour in a legend.
type swatch struct{ color.Color }

func (s swatch) Thumbnail(c *draw.Canvas) { fill(*c, s.Color, c.Min.X, c.Min.Y, c.Max.X, c.Max.Y) }

func fill(c draw.Canvas, with color.Color, left, bottom, right, top vg.Length) {
	if right <= left || top <= bottom {
		return
	}
	c.FillPolygon(with, []vg.Point{{X: left, Y: bottom}, {X: right, Y: bottom}, {X: right, Y: top}, {X: left, Y: top}})
}

// marks are upright bars, as high as the part of the work that moves.
type marks plotter.XYs

func (m marks) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, k := range m {
		fill(c, orange, x(k.X)-vg.Points(1), c.Min.Y, x(k.X)+vg.Points(1), min(c.Max.Y, max(y(k.Y), c.Min.Y+vg.Points(4))))
	}
}

func (m marks) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, xmax = math.Inf(1), math.Inf(-1)
	for _, k := range m {
		xmin, xmax, ymax = min(xmin, k.X), max(xmax, k.X), max(ymax, min(1, k.Y))
	}
	return xmin, xmax, 0, ymax
}

// heat is a row of colour for each rank.
type heat struct {
	l      *Loop
	value  func(c Column, r int) float64
	colour func(float64) color.Color
}

func (h heat) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for r := range h.l.Ranks {
		row := float64(h.l.Ranks - 1 - r)
		for _, col := range h.l.Columns {
			if v := h.value(col, r); v >= 0 && !math.IsInf(v, 0) {
				fill(c, h.colour(v), x(col.From), y(row-0.5), x(col.Until), y(row+0.5))
			}
		}
	}
}

// gantt is for each rank and column computing, waiting and moving, one behind the other; columns that are too narrow to tell
// are taken together.
type gantt struct{ l *Loop }

func (g gantt) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	thin := vg.Points(2.5)
	for r := range g.l.Ranks {
		row := float64(g.l.Ranks - 1 - r)
		bottom, top := y(row-0.42), y(row+0.42)
		var sum Cell
		from := 0.0
		for i, col := range g.l.Columns {
			if sum == (Cell{}) {
				from = col.From
			}
			sum.add(col.Cells[r])
			left, right := x(from), x(col.Until)
			whole := sum.Compute + sum.Wait + sum.Move
			if whole == 0 || right-left < thin && i+1 < len(g.l.Columns) {
				continue
			}
			computed := left + (right-left)*vg.Length(sum.Compute/whole)
			moved := right - (right-left)*vg.Length(sum.Move/whole)
			fill(c, blue, left, bottom, computed, top)
			fill(c, grey, computed, bottom, moved, top)
			fill(c, orange, moved, bottom, right, top)
			sum = Cell{}
		}
	}
}
