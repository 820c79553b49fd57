package advisor

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// poly is a polynomial in named quantities, such as n*m - 2: a map from the product's names, in order, to its factor.
// A nil poly is an unknown value.
type poly map[string]float64

const one = "" // the product of no names

// maxTerms and maxDegree keep polynomials from generated code small; nothing that people write comes near them.
const (
	maxTerms  = 24
	maxDegree = 6
)

func constant(c float64) poly { return poly{one: c} }

func symbol(name string) poly { return poly{name: 1} }

// plus is p + factor q, nil if either is unknown.
func (p poly) plus(q poly, factor float64) poly {
	if p == nil || q == nil {
		return nil
	}
	sum := poly{}
	for k, c := range p {
		sum[k] = c
	}
	for k, c := range q {
		sum[k] += factor * c
	}
	return sum.clean()
}

func (p poly) times(q poly) poly {
	if p == nil || q == nil {
		return nil
	}
	product := poly{}
	for a, x := range p {
		for b, y := range q {
			names := append(names(a), names(b)...)
			slices.Sort(names)
			if len(names) > maxDegree {
				return nil
			}
			product[strings.Join(names, separator)] += x * y
		}
	}
	return product.clean()
}

// separator stands in no name of Go code.
const separator = "\x00"

func names(product string) []string {
	if product == one {
		return nil
	}
	return strings.Split(product, separator)
}

// clean drops terms that are 0; a poly that has become too large or not a number is unknown.
func (p poly) clean() poly {
	for k, c := range p {
		if math.IsNaN(c) || math.IsInf(c, 0) {
			return nil
		}
		if c == 0 {
			delete(p, k)
		}
	}
	if len(p) > maxTerms {
		return nil
	}
	return p
}

// constant is the value of a poly without names.
func (p poly) constant() (float64, bool) {
	if p == nil || len(p) > 1 || len(p) == 1 && p[one] == 0 {
		return 0, false
	}
	return p[one], true
}

// substitute puts a value in place of a name.
func (p poly) substitute(name string, value poly) poly {
	sum := poly{}
	for _, k := range p.products() {
		term := poly{one: p[k]}
		for _, n := range names(k) {
			if n == name {
				term = term.times(value)
			} else {
				term = term.times(symbol(n))
			}
		}
		sum = sum.plus(term, 1)
	}
	if p == nil {
		return nil
	}
	return sum
}

// products are the keys in the order in which they are written: the longest first, then by name, the constant last.
func (p poly) products() []string {
	keys := make([]string, 0, len(p))
	for k := range p {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if d := len(names(b)) - len(names(a)); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return keys
}

// symbols are the names in it, in order, each once.
func (p poly) symbols() []string {
	var all []string
	for k := range p {
		all = append(all, names(k)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (p poly) contains(name string) bool { return slices.Contains(p.symbols(), name) }

// split is p as name*stride + rest; ok is false where name occurs in a square.
func (p poly) split(name string) (stride, rest poly, ok bool) {
	stride, rest = poly{}, poly{}
	for k, c := range p {
		all := names(k)
		at := slices.Index(all, name)
		if at < 0 {
			rest[k] = c
			continue
		}
		others := slices.Delete(slices.Clone(all), at, at+1)
		if slices.Contains(others, name) {
			return nil, nil, false
		}
		stride[strings.Join(others, separator)] = c
	}
	return stride, rest, p != nil
}

// steps is c and r of p = c stride + r, where r has none of stride's products: how many rows apart two places are.
func (p poly) steps(stride poly) (c float64, rest poly, ok bool) {
	if p == nil || len(stride) == 0 {
		return 0, nil, false
	}
	if s, fixed := stride.constant(); fixed {
		d, fixed := p.constant()
		if !fixed {
			return 0, nil, false
		}
		c = math.Round(d / s)
		return c, constant(d - c*s).clean(), true
	}
	lead := stride.products()[0]
	c = p[lead] / stride[lead]
	rest = p.plus(stride, -c)
	return c, rest, c == math.Round(c) && rest != nil
}

// value is the polynomial with a number for each name; guessed says whether it had to use the guess.
func (p poly) value(hints map[string]float64, guess float64) (v float64, guessed bool) {
	if p == nil {
		return guess, true
	}
	for _, k := range p.products() {
		term := p[k]
		for _, n := range names(k) {
			plain, _, _ := strings.Cut(n, "#") // without the number that tells it from others of its name
			h, ok := hints[plain]
			if !ok {
				h, guessed = guess, true
			}
			term *= h
		}
		v += term
	}
	return v, guessed
}

func (p poly) String() string {
	if p == nil {
		return "unknown"
	}
	var b strings.Builder
	for _, k := range p.products() {
		c := p[k]
		switch {
		case c < 0 && b.Len() > 0:
			b.WriteString(" - ")
			c = -c
		case b.Len() > 0:
			b.WriteString(" + ")
		}
		product := strings.Join(names(k), "*")
		switch {
		case k == one:
			fmt.Fprintf(&b, "%.15g", c)
		case c == 1:
			b.WriteString(product)
		case c == 0.5:
			b.WriteString(product + "/2")
		default:
			fmt.Fprintf(&b, "%.15g*%s", c, product)
		}
	}
	if b.Len() == 0 {
		return "0"
	}
	return b.String()
}
