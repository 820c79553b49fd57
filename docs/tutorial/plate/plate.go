// Package plate is the problem that the six steps of the tutorial solve: the temperatures of a square plate.
//
// Row 0 is held at 100 degrees, the other edges at 0. Lamps warm a band of rows in the middle. The last quarter of the rows
// is painted black and radiates: its points take some seven times as long to compute.
//
// A sweep gives every inner point its new temperature from its four neighbours, two of which have theirs already
// (Gauss-Seidel). Every step of the tutorial calls Relax for the same points in an order that gives the same bits.
package plate

import (
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"os"

	"shiftwork/comm"
	"shiftwork/lb"
)

// What Parse reads.
var (
	N, Sweeps int       // rows and columns, edges included; how often the plate is swept
	Ranks     int       // how many ranks a program has that no launcher has started; 0: one a core
	Balance   lb.Config // lb.Auto(), unless --balance says otherwise
)

// Parse reads the flags of a step.
func Parse() {
	flag.IntVar(&N, "n", 402, "rows and columns, from 10 on")
	flag.IntVar(&Sweeps, "sweeps", 50, "sweeps over the plate, from 1 on")
	flag.IntVar(&Ranks, "ranks", 0, "ranks, where no launcher has started them; 0: one a core")
	policy := flag.String("balance", "on", "on, off, or rotate or random, which move rows all the time and for no reason")
	flag.Parse()
	var err error
	Balance.Policy, err = lb.ParsePolicy(*policy)
	if N < 10 || Sweeps < 1 || Ranks < 0 || err != nil || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "accepted: --n from 10 on, --sweeps from 1 on, --ranks from 0 on, --balance on, off, rotate or random")
		os.Exit(2)
	}
	if Balance.Policy == lb.Rotate || Balance.Policy == lb.Random {
		Balance.Period = 1e-6 // s: at every hook
	}
}

// Start fills a row with its temperatures before the first sweep.
func Start(j int, row []float64) {
	for i := range row {
		row[i] = 0
		if j == 0 {
			row[i] = 100
		}
	}
}

// Lamps fills a row with what the lamps add to its points in each sweep.
func Lamps(j int, row []float64) {
	for i := range row {
		row[i] = 0
		if j > N/3 && j < N/2 {
			row[i] = 1e-3 * float64(1+i%7)
		}
	}
}

// Black says whether a row is painted black.
func Black(j int) bool { return j >= N-N/4 }

// Costs are what the inner rows cost, in work units: a plain one 1, a black one what was measured (BenchmarkRelax).
func Costs() []float64 {
	costs := make([]float64, N-2)
	for k := range costs {
		costs[k] = 1
		if Black(1 + k) {
			costs[k] = 7
		}
	}
	return costs
}

// Relax gives points lo to hi-1 of row j their new temperatures.
func Relax(j int, above, row, below, lamps []float64, lo, hi int) {
	black := Black(j)
	for i := lo; i < hi; i++ {
		t := float64(0.25*(row[i-1]+above[i]+row[i+1]+below[i])) + lamps[i]
		if black {
			t = radiate(t)
		}
		row[i] = t
	}
}

// radiate solves x + c x^4 = t by Newton's method: what is left of a temperature t.
func radiate(t float64) float64 {
	const c = 1e-9
	x := t
	for range 4 {
		cube := float64(float64(c*x) * float64(x*x))
		x -= (x + float64(cube*x) - t) / (1 + float64(4*cube))
	}
	return x
}

// Hash is the checksum of one row's bits.
func Hash(row []float64) uint64 {
	h := sha256.New()
	for _, t := range row {
		_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(t))) // a hash never fails
	}
	return binary.LittleEndian.Uint64(h.Sum(nil))
}

// Print prints the result line of a plate, given the checksums of its inner rows.
func Print(hashes []uint64) {
	h := sha256.New()
	for _, row := range hashes[1 : N-1] {
		_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, row))
	}
	fmt.Printf("n=%d sweeps=%d checksum=%x\n", N, Sweeps, h.Sum(nil)[:8])
}

// Gather brings the checksums of all ranks' rows lo to hi-1 to rank 0, which prints the result line.
func Gather(c comm.Comm, lo, hi int, row func(j int) []float64) error {
	var e comm.Encoder
	e.Int(lo)
	e.Int(hi)
	for j := lo; j < hi; j++ {
		e.Uint64(Hash(row(j)))
	}
	all, err := comm.Gather(c, 0, e.Message())
	if err != nil || c.Rank() != 0 {
		return err
	}
	hashes := make([]uint64, N)
	for _, message := range all {
		d := comm.NewDecoder(message)
		for j, hi := d.Int(), d.Int(); j < hi; j++ {
			hashes[j] = d.Uint64()
		}
		if err := d.Finish(); err != nil {
			return err
		}
	}
	Print(hashes)
	return nil
}
