// Package problem holds what the programs compute when nobody gives them a file: a heated plate for sor and two matrices
// for mm. Everything is a pure function of global indices, so every rank makes its own rows and the problem does not
// depend on who makes them.
//
// # The plate
//
// A thin plate, 1 m wide, in steady state: Laplace's equation for its temperature in degrees Celsius. Three edges are
// held at the temperature of the room, 20; the fourth, at the last row, is heated with two humps:
//
//	               y = H   20 + 80 sin(pi x) + 20 sin(2 pi x)
//	          (last row) ____________
//	                    |            |
//	x = 0, T = 20       |            |   x = 1, T = 20
//	                    |____________|
//	               y = 0 (row 0), T = 20
//
//	T(x, y) = 20 + sum over k = 1, 2 of  A_k sin(k pi x) sinh(k pi y) / sinh(k pi H),    A_1 = 80, A_2 = 20
//
// solves it ([Plate.Exact]). Points lie h = 1/(cols-1) m apart in both directions, and H = (rows-1) h. The five-point
// scheme that sor iterates has a solution in closed form as well ([Plate.Discrete]), because its eigenvectors are the
// same sines: replace sinh(k pi y) by sinh(mu_k y/h), where
//
//	cosh(mu_k) = 2 - cos(k pi h)      from   2 cos(k pi h) + 2 cosh(mu_k) - 4 = 0
//
// The two differ by at most
//
//	h^2/96 (max |T_xxxx| + max |T_yyyy|)  <=  h^2/48 pi^4 (1 A_1 + 16 A_2)
//
// ([Plate.ErrorBound]): the truncation error of the scheme is at most h^2/12 times the sum of these maxima, and the
// comparison function (x-1/2)^2/2, whose Laplacian is 1 and which is at most 1/8 on the plate, turns it into an error
// by the discrete maximum principle (Isaacson & Keller, Analysis of Numerical Methods, section 9.1).
//
// The interior starts near the temperature of the room, scattered by up to 10 degrees: a smooth start would hide a value
// taken from the wrong place. Temperatures on the boundary are rounded to 2^-30 degrees, so that they do not show the last
// bits of a machine's sine.
//
// data/heat-plate.npy in the repository is Plate{201, 201}.Initial; go generate makes it, and a test compares.
//
// # The matrices
//
// Entries of A and B are uniform in [-1, 1): SplitMix64 (Steele, Lea & Flood 2014) of the entry's global index.
//
// # What it does not do
//
// It solves nothing.
package problem

//go:generate go run ./gen ../../../data/heat-plate.npy
