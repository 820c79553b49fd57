// Command step1 is the sequential program.
package main

import "shiftwork/docs/tutorial/plate"

func main() {
	plate.Parse()
	n := plate.N
	u, lamps := make([][]float64, n), make([][]float64, n)
	for j := range n {
		u[j], lamps[j] = make([]float64, n), make([]float64, n)
		plate.Start(j, u[j])
		plate.Lamps(j, lamps[j])
	}

	for range plate.Sweeps {
		for j := 1; j < n-1; j++ {
			plate.Relax(j, u[j-1], u[j], u[j+1], lamps[j], 1, n-1)
		}
	}

	hashes := make([]uint64, n)
	for j := range n {
		hashes[j] = plate.Hash(u[j])
	}
	plate.Print(hashes)
}
