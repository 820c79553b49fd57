// Package nests holds sequential loop nests whose distributed loops are marked.
package nests

// sor is successive over-relaxation as in Siegell & Steenkiste 1997, Figure 15(a): j is distributed, i is pipelined.
func sor(b [][]float64, n, m, iterations int) {
	for iter := 0; iter < iterations; iter++ {
		for i := 1; i < m-1; i++ {
			//shiftwork:distribute
			for j := 1; j < n-1; j++ {
				b[j][i] = float64(0.493*(b[j][i-1]+b[j-1][i]+b[j][i+1]+b[j+1][i])) - float64(0.972*b[j][i])
				// lbhook0: too deep
			}
			// lbhook1: too deep
		}
		// lbhook2
	}
	// lbhook3: too late
}

// sorRows is the same with the rows outside, as it is usually written in Go.
func sorRows(b [][]float64, n, m, iterations int) {
	for range iterations {
		//shiftwork:distribute n=1000 m=1000 iterations=40
		for j := 1; j < n-1; j++ {
			up, row, down := b[j-1], b[j], b[j+1]
			for i := 1; i < m-1; i++ {
				row[i] = float64(0.493*(row[i-1]+up[i]+row[i+1]+down[i])) - float64(0.972*row[i])
			}
		}
	}
}

// sorFlat is the same on a slice of rows one behind the other.
func sorFlat(u []float64, n, m, sweeps int) {
	for t := 0; t < sweeps; t++ {
		//shiftwork:distribute
		for j := 1; j <= n-2; j++ {
			for i := 1; i <= m-2; i++ {
				u[j*m+i] = float64(0.25 * (u[j*m+i-1] + u[(j-1)*m+i] + u[j*m+i+1] + u[(j+1)*m+i]))
			}
		}
	}
}
