package nests

// recurrence needs the element before, and has no loop to pipeline.
func recurrence(x []float64) {
	//shiftwork:distribute
	for i := 1; i < len(x); i++ {
		x[i] += x[i-1]
	}
}

// search may end early.
func search(x []float64) int {
	//shiftwork:distribute
	for i, v := range x {
		if v < 0 {
			return i
		}
	}
	return -1
}

// forever does not count.
func forever(x []float64) {
	//shiftwork:distribute
	for x[0] > 0 {
		x[0]--
	}
}

// skewed reads to the right in the row before: its strips cannot be moved around the rows.
func skewed(b [][]float64, n, m int) {
	for range 10 {
		//shiftwork:distribute
		for j := 1; j < n; j++ {
			for i := 0; i < m-1; i++ {
				b[j][i] += b[j-1][i+1]
			}
		}
	}
}

// tiny is not worth a hook anywhere.
func tiny(x []float64) {
	//shiftwork:distribute
	for i := 0; i < 10; i++ {
		x[i]++
	}
}

// anywhere reads the rows of others in a single loop.
func anywhere(x []float64, p []int) {
	//shiftwork:distribute
	for i := range x {
		x[i] += x[p[i]]
	}
}
