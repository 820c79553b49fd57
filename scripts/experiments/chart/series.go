package chart

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// add draws a series; values that are not finite, or that a logarithm has no place for, are left out.
func (s Series) add(out *plot.Plot, logX, logY bool) error {
	kept := s
	kept.X, kept.Y, kept.Low, kept.High = nil, nil, nil, nil
	for i := range s.X {
		bad := func(v float64, log bool) bool { return math.IsNaN(v) || math.IsInf(v, 0) || log && v <= 0 }
		if bad(s.X[i], logX) || bad(s.Y[i], logY) {
			continue
		}
		kept.X, kept.Y = append(kept.X, s.X[i]), append(kept.Y, s.Y[i])
		if len(s.Low) > i {
			kept.Low, kept.High = append(kept.Low, s.Low[i]), append(kept.High, s.High[i])
		}
	}
	if len(kept.X) == 0 {
		return nil
	}
	points := make(plotter.XYs, len(kept.X))
	for i := range points {
		points[i].X, points[i].Y = kept.X[i], kept.Y[i]
	}
	var shown []plot.Thumbnailer
	if s.Style != Dots {
		line, err := plotter.NewLine(points)
		if err != nil {
			return err
		}
		line.Color, line.Width = s.Colour.rgba(), 1.3
		switch s.Style {
		case Dashed:
			line.Dashes = []vg.Length{5, 3}
		case Dotted:
			line.Dashes = []vg.Length{1.5, 2}
		case Stepped:
			line.StepStyle = plotter.PostStep
		}
		out.Add(line)
		shown = append(shown, line)
	}
	if s.Style == Line || s.Style == Dots {
		dots, err := plotter.NewScatter(points)
		if err != nil {
			return err
		}
		dots.Color, dots.Shape, dots.Radius = s.Colour.rgba(), draw.CircleGlyph{}, 2.2
		out.Add(dots)
		shown = append(shown, dots)
	}
	if len(kept.Low) > 0 {
		if err := kept.whiskers(out); err != nil {
			return err
		}
	}
	if s.Name != "" {
		out.Legend.Add(s.Name, shown...)
	}
	return nil
}

type ranged struct {
	plotter.XYs
	plotter.YErrors
}

func (s Series) whiskers(out *plot.Plot) error {
	var r ranged
	for i := range s.X {
		r.XYs = append(r.XYs, plotter.XY{X: s.X[i], Y: s.Y[i]})
		r.YErrors = append(r.YErrors, struct{ Low, High float64 }{s.Y[i] - s.Low[i], s.High[i] - s.Y[i]})
	}
	bars, err := plotter.NewYErrorBars(r)
	if err != nil {
		return err
	}
	bars.Color, bars.Width, bars.CapWidth = s.Colour.rgba(), 0.9, 5
	out.Add(bars)
	return nil
}

// band is a part of the x axis in grey.
type band struct {
	span   Span
	colour color.Color
}

func (b *band) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	from, to := max(c.Min.X, x(max(b.span.From, p.X.Min))), min(c.Max.X, x(min(b.span.To, p.X.Max)))
	if from < to {
		c.FillPolygon(b.colour, []vg.Point{{X: from, Y: c.Min.Y}, {X: to, Y: c.Min.Y}, {X: to, Y: c.Max.Y}, {X: from, Y: c.Max.Y}})
	}
}

func (b *band) Thumbnail(c *draw.Canvas) { swatch{b.colour}.Thumbnail(c) }

// rule is a line across the panel.
type rule struct {
	mark     Mark
	vertical bool
}

func (r *rule) line() draw.LineStyle {
	return draw.LineStyle{Color: r.mark.Colour.rgba(), Width: 1, Dashes: []vg.Length{2, 2}}
}

func (r *rule) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	if r.vertical {
		if at := x(r.mark.At); at >= c.Min.X && at <= c.Max.X {
			c.StrokeLine2(r.line(), at, c.Min.Y, at, c.Max.Y)
		}
		return
	}
	if at := y(r.mark.At); at >= c.Min.Y && at <= c.Max.Y {
		c.StrokeLine2(r.line(), c.Min.X, at, c.Max.X, at)
	}
}

// DataRange makes room for the line.
func (r *rule) DataRange() (xmin, xmax, ymin, ymax float64) {
	none, inf := math.Inf(1), math.Inf(-1)
	if r.vertical {
		return none, inf, none, inf
	}
	return none, inf, r.mark.At, r.mark.At
}

func (r *rule) Thumbnail(c *draw.Canvas) {
	y := (c.Min.Y + c.Max.Y) / 2
	c.StrokeLine2(r.line(), c.Min.X, y, c.Max.X, y)
}

// swatch is the legend of an area.
type swatch struct{ colour color.Color }

func (s swatch) Thumbnail(c *draw.Canvas) {
	corners := []vg.Point{{X: c.Min.X, Y: c.Min.Y + 1}, {X: c.Max.X, Y: c.Min.Y + 1}, {X: c.Max.X, Y: c.Max.Y - 1}, {X: c.Min.X, Y: c.Max.Y - 1}}
	c.FillPolygon(s.colour, corners)
	c.StrokeLines(draw.LineStyle{Color: color.Gray{120}, Width: 0.4}, append(corners, corners[0]))
}
