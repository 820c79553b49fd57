package problem

import "math"

// Temperatures in degrees Celsius.
const (
	room    = 20.0
	scatter = 10.0 // of the interior at the start, up and down
)

// amplitude of the k-th hump of the heated edge is amplitude[k-1].
var amplitude = [...]float64{80, 20}

// Plate is the heated plate on a grid of Rows x Cols points, boundary included; at least 3 of each.
type Plate struct{ Rows, Cols int }

// Bundled is the plate of data/heat-plate.npy.
var Bundled = Plate{Rows: 201, Cols: 201}

// Initial is the temperature from which sor starts, at row j and column i: the boundary condition on the edges, the
// scattered room temperature inside.
func (p Plate) Initial(j, i int) float64 {
	if j == 0 || i == 0 || j == p.Rows-1 || i == p.Cols-1 {
		return rounded(p.Exact(j, i))
	}
	return room + float64(scatter*uniform(plateStream, uint64(j)*uint64(p.Cols)+uint64(i)))
}

// Exact is the temperature of the physical plate at row j and column i.
func (p Plate) Exact(j, i int) float64 {
	h := 1 / float64(p.Cols-1)
	return p.sum(j, i, func(k int) float64 { return float64(k) * math.Pi * h })
}

// Discrete is the solution of the five-point scheme at row j and column i: what sor converges to, up to the rounding of
// the boundary (1e-9 degrees).
func (p Plate) Discrete(j, i int) float64 {
	h := 1 / float64(p.Cols-1)
	// cosh(mu) = 2 - cos(x) is sinh(mu/2) = sin(x/2), which does not cancel for small x.
	return p.sum(j, i, func(k int) float64 { return 2 * math.Asinh(math.Sin(float64(k)*math.Pi*h/2)) })
}

// sum adds the harmonics, of which the k-th grows by sinh with growth(k) a row.
func (p Plate) sum(j, i int, growth func(k int) float64) float64 {
	t := room
	if i == 0 || i == p.Cols-1 {
		return t // sin(k pi) is not 0 in floating point
	}
	for k, a := range amplitude {
		mu := growth(k + 1)
		x := float64(i) / float64(p.Cols-1)
		t += a * math.Sin(float64(k+1)*math.Pi*x) * sinhRatio(mu*float64(j), mu*float64(p.Rows-1))
	}
	return t
}

// ErrorBound is the largest possible difference between Discrete and Exact, in degrees; see the package documentation.
func (p Plate) ErrorBound() float64 {
	h := 1 / float64(p.Cols-1)
	fourth := 0.0 // bound of |T_xxxx|, and of |T_yyyy|
	for k, a := range amplitude {
		fourth += a * math.Pow(float64(k+1)*math.Pi, 4)
	}
	return h * h / 48 * fourth
}

// sinhRatio is sinh(a)/sinh(b) for 0 <= a <= b, also where sinh itself would overflow.
func sinhRatio(a, b float64) float64 {
	return math.Exp(a-b) * math.Expm1(-2*a) / math.Expm1(-2*b)
}

// rounded rounds to 2^-30.
func rounded(t float64) float64 { return math.Round(t*(1<<30)) / (1 << 30) }
