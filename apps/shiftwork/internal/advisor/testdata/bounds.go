package nests

import (
	"math"

	"example.org/elsewhere"
)

type grid struct {
	u, v []float64
	n, m int
}

// unknown has bounds that are known nowhere.
func unknown(rows [][]float64) {
	//shiftwork:distribute
	for j := 0; j < elsewhere.Rows(); j++ {
		for i := range rows[j] {
			rows[j][i] = math.Sqrt(rows[j][i])
		}
	}
}

// hinted has them on the mark.
func hinted(rows [][]float64) {
	//shiftwork:distribute len(rows)=2000 len(rows[j])=10
	for j := range rows {
		for i := range rows[j] {
			rows[j][i] = math.Sqrt(rows[j][i])
		}
	}
}

// triangle does half of a matrix: the inner loop counts with its mean length.
func triangle(a [][]float64) {
	const n = 100
	//shiftwork:distribute
	for i := 0; i < n; i++ {
		for j := 0; j <= i; j++ {
			a[i][j] *= 2
		}
	}
}

// while cannot be counted inside.
func while(x []float64) {
	//shiftwork:distribute
	for i := range len(x) {
		for x[i] > 1 {
			x[i] = math.Log(x[i])
		}
	}
}

// jacobi reads the neighbours' rows of the sweep before: the ranks exchange them.
func jacobi(old, new [][]float64) {
	const n, m, sweeps = 600, 400, 100
	for t := 0; t < sweeps; t++ {
		//shiftwork:distribute
		for j := 1; j < n-1; j++ {
			for i := 1; i < m-1; i++ {
				new[j][i] = 0.25 * (old[j][i-1] + old[j-1][i] + old[j][i+1] + old[j+1][i])
			}
		}
		old, new = new, old
	}
}

// converge is an imperfect nest: something is done between the sweeps.
func (g *grid) converge(tolerance float64) int {
	sweeps := 0
	for change := math.Inf(1); change > tolerance; sweeps++ {
		change = 0
		//shiftwork:distribute g.n=50 g.m=20
		for j := 0; j < g.n; j++ {
			for i := 0; i < g.m; i++ {
				new := smooth(g.u[j*g.m+i])
				change = max(change, math.Abs(new-g.u[j*g.m+i]))
				g.u[j*g.m+i] = new
			}
		}
	}
	return sweeps
}

// smooth is counted through.
func smooth(x float64) float64 {
	for range 10 {
		x = x - (x*x*x-x)/(3*x*x+1)
	}
	return x
}

// short has so little to do in a sweep that only strip mining the sweeps helps, and then again too much in all of them.
func short(x, y []float64, steps int) {
	const n = 64
	for step := 0; step < steps; step++ {
		//shiftwork:distribute steps=1e12
		for i := 0; i < n; i++ {
			x[i] += y[i]
		}
		y[0] = x[0]
	}
}

// two marked loops in one nest.
func two(x, y [][]float64, n int) {
	for t := range 10 {
		//shiftwork:distribute
		for i := range n {
			for k := range x[i] {
				x[i][k] += float64(t)
			}
		}
		//shiftwork:distribute
		for i := range n {
			for k := range y[i] {
				y[i][k] *= x[i][k]
			}
		}
	}
}

// elimination reads the pivot's row, which one rank has.
func elimination(a [][]float64, n int) {
	for k := 0; k < n; k++ {
		//shiftwork:distribute n=800
		for i := k + 1; i < n; i++ {
			f := a[i][k] / a[k][k]
			for j := k; j < n; j++ {
				a[i][j] -= f * a[k][j]
			}
		}
	}
}

// down counts down, in steps of two.
func down(x [][]float32) {
	//shiftwork:distribute
	for i := 999; i >= 0; i -= 2 {
		for j, v := range x[i] {
			x[i][j] = v * v
		}
	}
}

// upwards sweeps from the last row to the first: an iteration needs the one with the higher index, which comes before it.
func upwards(u [][]float64) {
	for t := 0; t < 100; t++ {
		//shiftwork:distribute
		for j := 998; j >= 1; j-- {
			for i := 1; i < 999; i++ {
				u[j][i] = 0.25 * (u[j][i-1] + u[j-1][i] + u[j][i+1] + u[j+1][i])
			}
		}
	}
}

// crossed cannot be strip mined: the strip to the right of the row before, in the order of iterations, comes too late.
func crossed(u [][]float64) {
	//shiftwork:distribute
	for j := 998; j >= 1; j-- {
		for i := 1; i < 999; i++ {
			u[j][i] += u[j+1][i+1]
		}
	}
}

// other is not []float64, and its loop variable no int.
func other(x *[640][10000]int32) {
	//shiftwork:distribute
	for i := int64(0); i < 640; i++ {
		for j := range x[i] {
			x[i][j]++
		}
	}
}

// histogram writes where the data says.
func histogram(counts []int, keys []int) {
	//shiftwork:distribute len(keys)=1000000
	for _, k := range keys {
		counts[k]++
	}
}

// said is what the mark says, because a call hides it.
func said(rows [][]float64, n int) {
	for t := 0; t < 100; t++ {
		for i := 0; i < n; i++ {
			//shiftwork:distribute pipelined
			for j := 0; j < n; j++ {
				elsewhere.Relax(rows, j, i)
			}
		}
	}
}
