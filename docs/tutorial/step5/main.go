// Command step5 has on each rank only what belongs to its rows, and moves data of its own kind with them.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"shiftwork/comm"
	"shiftwork/dist"
	"shiftwork/docs/tutorial/plate"
	"shiftwork/hooks"
	"shiftwork/loops"
	"shiftwork/spmd"
)

func main() {
	plate.Parse()
	spmd.Main(plate.Ranks, run)
}

// history has the ranks that have computed each own row, one behind the other. It moves with the rows (hooks.Array).
type history map[int][]int

// Pack appends what belongs to the rows, which this rank gives away.
func (h history) Pack(rows loops.Range, buf []byte) []byte {
	var out [][]int
	for j := rows.Lo; j < rows.Hi; j++ {
		out = append(out, h[j])
		delete(h, j)
	}
	data, _ := json.Marshal(out) // numbers always can be
	return append(buf, data...)
}

// Unpack takes over what belongs to the rows.
func (h history) Unpack(rows loops.Range, data []byte) error {
	var in [][]int
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	for k, ranks := range in {
		h[rows.Lo+k] = ranks
	}
	return nil
}

func run(c comm.Comm) error {
	n, inner := plate.N, loops.Span(1, plate.N-1)
	weights, err := dist.NewWeights(inner, plate.Costs())
	if err != nil {
		return err
	}
	u, lamps, past := loops.NewMatrix(n, n), loops.NewMatrix(n, n), history{}
	begin := loops.Initial(c, inner, plate.Balance)
	for j := begin.Lo - 1; j <= begin.Hi; j++ { // rows that nobody touches take no memory
		plate.Start(j, u.Row(j))
	}
	for j := begin.Lo; j < begin.Hi; j++ {
		plate.Lamps(j, lamps.Row(j))
	}
	sweep := loops.DOACROSS{
		Outer: plate.Sweeps, Rows: inner, Strip: inner, Weights: weights,
		Arrays: []loops.Array{u},           // neighbours read each other's boundary rows of these
		Local:  []hooks.Array{lamps, past}, // these only move with their rows
		Body: func(rows, strip loops.Range) {
			for j := rows.Lo; j < rows.Hi; j++ {
				plate.Relax(j, u.Row(j-1), u.Row(j), u.Row(j+1), lamps.Row(j), strip.Lo, strip.Hi)
				if k := len(past[j]); k == 0 || past[j][k-1] != c.Rank() {
					past[j] = append(past[j], c.Rank())
				}
			}
		},
	}
	report, err := sweep.Run(c, plate.Balance)
	if err != nil {
		return err
	}
	own := report.Own[0]
	fmt.Fprintf(os.Stderr, "rank %d has rows %d to %d; the first was computed by ranks %v\n", c.Rank(), own.Lo, own.Hi-1, past[own.Lo])
	return plate.Gather(c, own.Lo, own.Hi, u.Row)
}
