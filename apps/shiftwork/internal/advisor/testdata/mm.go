// Package nests holds sequential loop nests whose distributed loops are marked.
package nests

// mm is matrix multiplication as in Siegell & Steenkiste 1997, Figure 16(a): i is distributed.
func mm(c, a, b [][]float64, n int) {
	//shiftwork:distribute n=500
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			c[i][j] = 0
			for k := 0; k < n; k++ {
				c[i][j] += float64(a[i][k] * b[k][j])
			}
		}
		// lbhook0
	}
	// lbhook1
}

// mmSmall has rows that are not worth a hook each.
func mmSmall(c, a, b [][]float64) {
	const n = 8
	//shiftwork:distribute
	for i := range c {
		for j := 0; j < n; j++ {
			c[i][j] = 0
			for k := 0; k < n; k++ {
				c[i][j] += float64(a[i][k] * b[k][j])
			}
		}
	}
}

// mmRepeated does it again and again.
func mmRepeated(c, a, b []float64, n, times int) {
	for t := 0; t < times; t++ {
		//shiftwork:distribute
		for i := 0; i < n; i++ {
			for j := 0; j < n; j++ {
				s := float64(t)
				for k := 0; k < n; k++ {
					s += float64(a[i*n+k] * b[k*n+j])
				}
				c[i*n+j] = s
			}
		}
	}
}
