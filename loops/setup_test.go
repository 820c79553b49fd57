package loops_test

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"shiftwork/comm"
	"shiftwork/comm/local"
	"shiftwork/comm/sim"
	"shiftwork/dist"
	"shiftwork/internal/faulttest"
	"shiftwork/lb"
	"shiftwork/loops"
)

// 600 loops for each property, unless the command line says otherwise: they take a second or two. Under the race detector 120.
func TestMain(m *testing.M) {
	checks := "600"
	if faulttest.Race {
		checks = "120"
	}
	if err := flag.Set("rapid.checks", checks); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// networks are machines on which the same program must come to the same result: a usual one, one on which every send waits
// for its receive, one on which messages cost nothing, and one whose messages set the pace.
var networks = []sim.Config{
	{Alpha: 2e-5, Beta: 1e-9, SendOverhead: 2e-6},
	{Alpha: 1e-4, Beta: 1e-8, Rendezvous: sim.AlwaysRendezvous},
	{},
	{Alpha: 2e-5, Beta: 1e-6, SendOverhead: 2e-6},
}

// machine is one of the networks with this many ranks, whose clocks have nothing to do with each other.
func machine(network, ranks int) sim.Config {
	cfg := networks[network%len(networks)]
	cfg.Ranks = ranks
	cfg.MaxOps = 3e6 // several times what any of these runs needs: ranks that talk for ever are found in a second
	for r := range ranks {
		cfg.ClockOffset = append(cfg.ClockOffset, time.Duration((r*r*7)%5-2)*1000*time.Hour)
	}
	return cfg
}

// everywhere runs f on one of the networks of comm/sim or, if network is negative, on comm/local, with buffers or without.
func everywhere(network, ranks int, f func(c comm.Comm) error) error {
	if network < 0 {
		return local.Run(ranks, f, local.Rendezvous([]int{-1, 64, local.DefaultRendezvous}[-network%3]))
	}
	res, err := sim.Run(machine(network, ranks), func(c *sim.Comm) error { return f(c) })
	if err == nil && len(res.Leaks) > 0 {
		err = fmt.Errorf("left over: %v", res.Leaks)
	}
	return err
}

// reportIn runs f in virtual time, requires that it succeeds and returns rank 0's report.
func reportIn(t require.TestingT, cfg sim.Config, f func(c *sim.Comm) (*loops.Report, error)) (rep *loops.Report) {
	_, err := sim.Run(cfg, func(c *sim.Comm) error {
		r, err := f(c)
		if c.Rank() == 0 {
			rep = r
		}
		return err
	})
	require.NoError(t, err)
	return rep
}

// reportOf runs f everywhere, requires that it succeeds and returns rank 0's report.
func reportOf(t require.TestingT, network, ranks int, f func(c comm.Comm) (*loops.Report, error)) (rep *loops.Report) {
	require.NoError(t, everywhere(network, ranks, func(c comm.Comm) error {
		r, err := f(c)
		if c.Rank() == 0 {
			rep = r
		}
		return err
	}))
	return rep
}

// work advances virtual time; real time passes by itself.
func work(c comm.Comm, units float64) {
	if w, ok := c.(comm.Worker); ok {
		w.Work(units)
	}
}

// jitter is each rank's own factor for how long its computing takes.
type jitter struct{ random *rand.Rand }

func newJitter(c comm.Comm) jitter {
	return jitter{rand.New(rand.NewPCG(3, uint64(c.Rank())))}
}

func (j jitter) factor() float64 { return 0.3 + j.random.Float64() }

// drawConfig draws everything of a configuration that changes how work moves. Half of the time it moves without reason.
func drawConfig(t *rapid.T, ranks int, movements ...lb.Movement) lb.Config {
	return lb.Config{
		Policy:          rapid.SampledFrom([]lb.Policy{lb.Rotate, lb.Random, lb.On, lb.Off}).Draw(t, "policy"),
		Interaction:     rapid.SampledFrom([]lb.Interaction{lb.Pipelined, lb.Synchronous}).Draw(t, "interaction"),
		Movement:        rapid.SampledFrom(append(movements, lb.MovementAuto)).Draw(t, "movement"),
		DedicatedMaster: ranks > 1 && rapid.Bool().Draw(t, "dedicated"),
		Period:          rapid.SampledFrom([]float64{1e-9, 1e-3, 0}).Draw(t, "period"),
		Seed:            rapid.Uint64Range(0, 3).Draw(t, "seed"),
	}
}

// drawWeights draws weights for half of the loops.
func drawWeights(t *rapid.T, span loops.Range) dist.Weights {
	if span.Empty() || rapid.Bool().Draw(t, "uniform") {
		return dist.Weights{}
	}
	units := rapid.SliceOfN(rapid.Float64Range(0.25, 4), span.Len(), span.Len()).Draw(t, "weights")
	w, err := dist.NewWeights(span, units)
	require.NoError(t, err)
	return w
}

// start is element (i, j) of the array numbered k before a loop.
func start(k, i, j int) float64 { return math.Sin(float64(1 + 31*i + 7*j + 1000*k)) }

// newMatrix has the given rows at their start and NaN elsewhere, which would show in every result that it gets into.
func newMatrix(k, rows, cols int, present ...loops.Range) *loops.Matrix {
	u := loops.NewMatrix(rows, cols)
	for i := range u.Data() {
		u.Data()[i] = math.NaN()
	}
	for _, r := range present {
		for i := r.Lo; i < r.Hi; i++ {
			for j := range cols {
				u.Row(i)[j] = start(k, i, j)
			}
		}
	}
	return u
}

// sameRows returns an error unless rows r of u and v have the same bits.
func sameRows(u, v *loops.Matrix, r loops.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		for j, x := range u.Row(i) {
			if math.Float64bits(x) != math.Float64bits(v.Row(i)[j]) {
				return fmt.Errorf("element (%d, %d) is %v, a serial run gives %v", i, j, x, v.Row(i)[j])
			}
		}
	}
	return nil
}

// checkOwners returns an error unless each of the rows is owned by exactly one rank; all ranks call it.
func checkOwners(c comm.Comm, rows loops.Range, own []loops.Range) error {
	var e comm.Encoder
	for _, r := range own {
		e.Int(r.Lo)
		e.Int(r.Hi)
	}
	all, err := comm.AllGather(c, e.Message())
	if err != nil {
		return err
	}
	var set dist.Intervals
	n := 0
	for _, b := range all {
		for d := comm.NewDecoder(b); len(b) > 0; b = b[16:] {
			r := loops.Span(d.Int(), d.Int())
			if d.Err() != nil {
				return d.Err()
			}
			set.Add(r)
			n += r.Len()
		}
	}
	if n != rows.Len() || set.Len() != n || !rows.Empty() && set.Ranges()[0] != rows {
		return fmt.Errorf("of the rows %v, %v are owned, %d in all", rows, set.Ranges(), n)
	}
	return nil
}

// counters is an Array that is packed: how often each iteration was done, with a tail whose length differs.
type counters struct{ rows map[int][]byte }

func newCounters(present loops.Range) *counters {
	k := &counters{rows: map[int][]byte{}}
	for i := present.Lo; i < present.Hi; i++ {
		k.rows[i] = make([]byte, 8+i%5)
	}
	return k
}

// more counts one more for the rows, all of which must be here.
func (k *counters) more(r loops.Range) {
	for i := r.Lo; i < r.Hi; i++ {
		row, here := k.rows[i]
		if !here {
			panic(fmt.Sprintf("row %d is done where it is not", i))
		}
		binary.LittleEndian.PutUint64(row, binary.LittleEndian.Uint64(row)+1)
	}
}

func (k *counters) Pack(r loops.Range, buf []byte) []byte {
	for i := r.Lo; i < r.Hi; i++ {
		row, here := k.rows[i]
		if !here {
			panic(fmt.Sprintf("row %d is given away where it is not", i))
		}
		buf = append(append(buf, byte(len(row))), row...)
		delete(k.rows, i)
	}
	return buf
}

func (k *counters) Unpack(r loops.Range, data []byte) error {
	for i := r.Lo; i < r.Hi; i++ {
		n := int(data[0])
		if n != 8+i%5 {
			return fmt.Errorf("row %d of %d bytes", i, n)
		}
		k.rows[i] = append([]byte(nil), data[1:1+n]...)
		data = data[1+n:]
	}
	if len(data) > 0 {
		return errors.New("bytes left over")
	}
	return nil
}

// check returns an error unless the rows, and no others, are here and were done so many times.
func (k *counters) check(own []loops.Range, times int) error {
	n := 0
	for _, r := range own {
		for i := r.Lo; i < r.Hi; i++ {
			row, here := k.rows[i]
			if !here || binary.LittleEndian.Uint64(row) != uint64(times) {
				return fmt.Errorf("row %d (here: %v) is %v, should have been done %d times", i, here, row, times)
			}
			n++
		}
	}
	if n != len(k.rows) {
		return fmt.Errorf("%d rows are here, %d are owned", len(k.rows), n)
	}
	return nil
}

func requireSums(t require.TestingT, rep *loops.Report, units float64) {
	sum, taken := 0.0, 0
	for _, r := range rep.Ranks {
		sum += r.Units
		taken += r.Taken
		require.LessOrEqual(t, r.Compute+r.Move, r.Elapsed*(1+1e-9)+1e-6, "rank %d", r.Rank)
	}
	require.InDelta(t, units, sum, 1e-9*(1+units), "work units done")
	require.Equal(t, rep.IterationsMoved, taken)
}
