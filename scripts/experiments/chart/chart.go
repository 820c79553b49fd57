package chart

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"os"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Colour is one of the palette.
type Colour int

// The palette.
const (
	Black Colour = iota
	Blue
	Orange
	Green
	Purple
	Sky
	Red
	Grey
)

var palette = []color.RGBA{
	{0, 0, 0, 255}, {0, 114, 178, 255}, {230, 159, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255}, {86, 180, 233, 255},
	{213, 94, 0, 255}, {150, 150, 150, 255},
}

func (c Colour) rgba() color.RGBA { return palette[int(c)%len(palette)] }

// Style is how a series is drawn.
type Style int

// Styles.
const (
	Line    Style = iota // a line with a dot at each value
	Plain                // a line alone
	Dashed               // a dashed line alone: a reference, such as a dedicated run or a prediction
	Dotted               // a dotted line alone
	Dots                 // dots alone
	Stepped              // a line that keeps a value until the next
)

// Series is values with a name. Low and High, where they are given, are drawn as whiskers.
type Series struct {
	Name      string
	X, Y      []float64
	Low, High []float64
	Style     Style
	Colour    Colour
}

// Mark is a line across the panel at a value.
type Mark struct {
	At     float64
	Name   string // in the legend; none if empty
	Colour Colour
}

// Span is a part of an axis.
type Span struct{ From, To float64 }

// Box is a filled rectangle.
type Box struct {
	X, Y   Span
	Colour Colour
}

// Bars are one bar for each category, side by side with those of other Bars. Low and High are whiskers; NaN leaves one out.
type Bars struct {
	Name              string
	Values, Low, High []float64
	Colour            Colour
}

// Panel is one diagram.
type Panel struct {
	Title, X, Y string
	Series      []Series
	Bars        []Bars
	Categories  []string // of Bars, or of whole numbers on the x axis from 0 on
	Rows        []string // names of 0, 1, ... on the y axis, from top to bottom
	Boxes       []Box
	Keys        []Key  // legend entries of boxes
	Bands       []Span // grey: a load is there
	Band        string // what the bands are, in the legend
	Level       []Mark // at a y
	At          []Mark // at an x
	LogX, LogY  bool
	XTicks      []float64
	YTicks      []float64
	YMin, YMax  float64 // both 0: as the values are
	XMin, XMax  float64
	Below       bool // legend in the lower part
	Left        bool // legend at the left
}

// Key is an entry of a legend.
type Key struct {
	Name   string
	Colour Colour
}

// Figure is panels in rows.
type Figure struct {
	Title string
	Note  string // below: what ideal is, where the values come from
	Rows  [][]Panel
	// Width and Height of a panel in cm; 0 is 9 and 6.5.
	Width, Height float64
}

const resolution = 110 // dots per inch of PNGs

// Save writes base.png and base.svg.
func (f Figure) Save(base string) error {
	columns := 0
	for _, row := range f.Rows {
		columns = max(columns, len(row))
	}
	if columns == 0 {
		return fmt.Errorf("figure %s has no panels", base)
	}
	w, h := f.Width, f.Height
	if w == 0 {
		w = 9
	}
	if h == 0 {
		h = 6.5
	}
	notes := wrap(f.Note, int(float64(columns)*w*7))
	width := vg.Length(float64(columns)*w) * vg.Centimeter
	height := vg.Length(float64(len(f.Rows))*h+0.9+0.42*float64(len(notes))) * vg.Centimeter

	image := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(resolution))
	if err := f.draw(draw.New(image), notes); err != nil {
		return fmt.Errorf("figure %s: %w", base, err)
	}
	var png, svg bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: image}).WriteTo(&png); err != nil {
		return err
	}
	vector := vgsvg.New(width, height)
	if err := f.draw(draw.New(vector), notes); err != nil {
		return fmt.Errorf("figure %s: %w", base, err)
	}
	if _, err := vector.WriteTo(&svg); err != nil {
		return err
	}
	if err := os.WriteFile(base+".png", png.Bytes(), 0o644); err != nil {
		return err
	}
	return os.WriteFile(base+".svg", svg.Bytes(), 0o644)
}

func wrap(note string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(note) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

func style(size float64, bold bool, x draw.XAlignment) text.Style {
	f := plot.DefaultFont
	f.Typeface, f.Variant = "Liberation", "Sans"
	f.Size = font.Length(size)
	if bold {
		f.Weight = 2 // bold, as golang.org/x/image/font has it
	}
	return text.Style{Color: color.Black, Font: f, Handler: plot.DefaultTextHandler, XAlign: x, YAlign: draw.YTop}
}

func (f Figure) draw(c draw.Canvas, notes []string) error {
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	c.FillText(style(11, false, draw.XCenter), vg.Point{X: (c.Min.X + c.Max.X) / 2, Y: c.Max.Y - 6}, f.Title)
	foot := vg.Length(0)
	for i, line := range notes {
		foot = vg.Length(float64(len(notes))*0.42) * vg.Centimeter
		c.FillText(style(8.5, false, draw.XLeft), vg.Point{X: c.Min.X + 8, Y: c.Min.Y + foot - vg.Length(float64(i)*0.42)*vg.Centimeter}, line)
	}
	area := draw.Crop(c, 4, -8, foot+4, -0.8*vg.Centimeter)
	columns := 0
	for _, row := range f.Rows {
		columns = max(columns, len(row))
	}
	plots := make([][]*plot.Plot, len(f.Rows))
	for j, row := range f.Rows {
		plots[j] = make([]*plot.Plot, columns)
		for i, panel := range row {
			p, err := panel.plot()
			if err != nil {
				return err
			}
			plots[j][i] = p
		}
	}
	tiles := draw.Tiles{Rows: len(f.Rows), Cols: columns, PadX: 10, PadY: 10}
	for j, row := range plot.Align(plots, tiles, area) {
		for i, tile := range row {
			if p := plots[j][i]; p != nil {
				legend := p.Legend
				p.Legend = plot.NewLegend()
				p.Draw(tile)
				drawLegend(&legend, p.DataCanvas(tile))
				p.Legend = legend
			}
		}
	}
	return nil
}

// drawLegend draws a legend over a patch of white, so that data below it do not make it illegible.
func drawLegend(l *plot.Legend, c draw.Canvas) {
	c.Min.X, c.Max.X, c.Max.Y = c.Min.X+4, c.Max.X-4, c.Max.Y-2
	r := l.Rectangle(c)
	if r.Max.X <= r.Min.X || r.Max.Y <= r.Min.Y {
		return
	}
	// Rectangle takes left for right (gonum/plot 0.16 and 0.17); Draw does not.
	if width := r.Max.X - r.Min.X; l.Left {
		r.Min.X, r.Max.X = c.Min.X, c.Min.X+width
	} else {
		r.Min.X, r.Max.X = c.Max.X-width, c.Max.X
	}
	r.Min.X, r.Min.Y, r.Max.X, r.Max.Y = r.Min.X-3, r.Min.Y-2, r.Max.X+3, r.Max.Y+2
	c.SetColor(color.NRGBA{255, 255, 255, 215})
	c.Fill(r.Path())
	l.Draw(c)
}

func (p Panel) plot() (*plot.Plot, error) {
	out := plot.New()
	out.Title.Text, out.X.Label.Text, out.Y.Label.Text = p.Title, p.X, p.Y
	for _, s := range []*text.Style{
		&out.Title.TextStyle, &out.X.Label.TextStyle, &out.Y.Label.TextStyle, &out.X.Tick.Label, &out.Y.Tick.Label, &out.Legend.TextStyle,
	} {
		s.Font.Typeface, s.Font.Variant, s.Font.Size = "Liberation", "Sans", 9
	}
	out.Title.TextStyle.Font.Size = 10
	out.X.Tick.Label.Font.Size, out.Y.Tick.Label.Font.Size, out.Legend.TextStyle.Font.Size = 8, 8, 8
	out.Title.Padding = 4
	out.Legend.Top, out.Legend.Left = !p.Below, p.Left
	out.Legend.Padding, out.Legend.ThumbnailWidth = 1, 18
	out.Legend.YPosition = draw.PosCenter

	p.addBands(out)
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{225}, color.Gray{225}
	out.Add(grid)
	if err := p.addBoxes(out); err != nil {
		return nil, err
	}
	if err := p.addBars(out); err != nil {
		return nil, err
	}
	for _, s := range p.Series {
		if err := s.add(out, p.LogX, p.LogY); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	p.scaleAxes(out)
	p.addMarks(out)
	return out, nil
}

func (p Panel) scaleAxes(out *plot.Plot) {
	if p.LogX {
		positive(&out.X)
		out.X.Scale, out.X.Tick.Marker = plot.LogScale{}, plot.TickerFunc(logTicks)
	}
	if p.LogY {
		positive(&out.Y)
		out.Y.Scale, out.Y.Tick.Marker = plot.LogScale{}, plot.TickerFunc(logTicks)
	}
	if len(p.XTicks) > 0 {
		out.X.Tick.Marker = ticks(p.XTicks)
	}
	if len(p.YTicks) > 0 {
		out.Y.Tick.Marker = ticks(p.YTicks)
	}
	if p.YMin != 0 || p.YMax != 0 {
		out.Y.Min, out.Y.Max = p.YMin, p.YMax
	}
	if p.XMin != 0 || p.XMax != 0 {
		out.X.Min, out.X.Max = p.XMin, p.XMax
	}
	if len(p.Categories) > 0 {
		out.NominalX(p.Categories...)
		out.X.Tick.Label.Font.Size = 8
		out.X.Min, out.X.Max = -0.6, float64(len(p.Categories))-0.4
	}
	if len(p.Rows) > 0 {
		names := make([]string, len(p.Rows))
		for i, n := range p.Rows {
			names[len(names)-1-i] = n
		}
		out.NominalY(names...)
		out.Y.Min, out.Y.Max = -0.6, float64(len(p.Rows))-0.4
	}
}

// positive gives an axis without data, or with a single value, a range that has a logarithm.
func positive(a *plot.Axis) {
	switch {
	case !(a.Min > 0) || math.IsInf(a.Min, 0):
		a.Min, a.Max = 1, 10
	case a.Min == a.Max:
		a.Min, a.Max = a.Min/2, a.Max*2
	}
}

// logTicks are the whole multiples of the powers of ten. All have numbers where they span less than a factor of five; 1, 2 and 5 do where there are few decades, and else ones.
func logTicks(low, high float64) (all []plot.Tick) {
	few, narrow := high/low < 300, high/low < 5
	for exponent := math.Floor(math.Log10(low)); exponent <= math.Ceil(math.Log10(high)); exponent++ {
		for _, digit := range []float64{1, 2, 3, 4, 5, 6, 7, 8, 9} {
			v := digit * math.Pow(10, exponent)
			if v < low*0.999 || v > high*1.001 {
				continue
			}
			t := plot.Tick{Value: v}
			if digit == 1 || few && (digit == 2 || digit == 5) || narrow {
				t.Label = strconv.FormatFloat(v, 'g', 4, 64)
			}
			all = append(all, t)
		}
	}
	return all
}

func ticks(values []float64) (all plot.ConstantTicks) {
	for _, v := range values {
		all = append(all, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', -1, 64)})
	}
	return all
}

func (p Panel) addBands(out *plot.Plot) {
	for i, b := range p.Bands {
		band := &band{b, color.Gray{226}}
		out.Add(band)
		if i == 0 && p.Band != "" {
			out.Legend.Add(p.Band, band)
		}
	}
}

func (p Panel) addMarks(out *plot.Plot) {
	for _, m := range p.Level {
		line := &rule{m, false}
		out.Add(line)
		if m.Name != "" {
			out.Legend.Add(m.Name, line)
		}
	}
	for _, m := range p.At {
		line := &rule{m, true}
		out.Add(line)
		if m.Name != "" {
			out.Legend.Add(m.Name, line)
		}
	}
}

func (p Panel) addBoxes(out *plot.Plot) error {
	for _, b := range p.Boxes {
		y := b.Y
		if n := float64(len(p.Rows)); n > 0 { // rows count from the top
			y = Span{n - 1 - y.To, n - 1 - y.From}
		}
		poly, err := plotter.NewPolygon(plotter.XYs{{X: b.X.From, Y: y.From}, {X: b.X.To, Y: y.From}, {X: b.X.To, Y: y.To}, {X: b.X.From, Y: y.To}})
		if err != nil {
			return err
		}
		poly.Color, poly.LineStyle.Width = b.Colour.rgba(), 0
		out.Add(poly)
	}
	for _, k := range p.Keys {
		out.Legend.Add(k.Name, swatch{k.Colour.rgba()})
	}
	return nil
}

// addBars draws bars side by side within each category, from zero.
func (p Panel) addBars(out *plot.Plot) error {
	group := 0.8 / float64(max(1, len(p.Bars)))
	for i, b := range p.Bars {
		middle := (float64(i) - float64(len(p.Bars)-1)/2) * group
		for k, v := range b.Values {
			if math.IsNaN(v) {
				continue
			}
			x := float64(k) + middle
			poly, err := plotter.NewPolygon(plotter.XYs{{X: x - 0.42*group, Y: 0}, {X: x + 0.42*group, Y: 0}, {X: x + 0.42*group, Y: v}, {X: x - 0.42*group, Y: v}})
			if err != nil {
				return err
			}
			poly.Color, poly.LineStyle.Width = b.Colour.rgba(), 0
			out.Add(poly)
			if len(b.Low) > k && !math.IsNaN(b.Low[k]) {
				s := Series{X: []float64{x}, Y: []float64{v}, Low: []float64{b.Low[k]}, High: []float64{b.High[k]}, Style: Dots, Colour: Black}
				if err := s.whiskers(out); err != nil {
					return err
				}
			}
		}
		if b.Name != "" {
			out.Legend.Add(b.Name, swatch{b.Colour.rgba()})
		}
	}
	return nil
}
