package hooks_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"shiftwork/comm/sim"
	"shiftwork/dist"
	"shiftwork/hooks"
	"shiftwork/lb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// networks are machines on which the same protocol must work: a usual one, one on which every send waits for its
// receive, and one on which messages cost nothing.
var networks = []sim.Config{
	{Alpha: 2e-5, Beta: 1e-9, SendOverhead: 2e-6},
	{Alpha: 1e-4, Beta: 1e-8, Rendezvous: sim.AlwaysRendezvous},
	{},
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

// simulate runs f and requires a clean end.
func simulate(t *testing.T, cfg sim.Config, f func(c *sim.Comm) error) sim.Result {
	t.Helper()
	res, err := sim.Run(cfg, f)
	require.NoError(t, err)
	require.Empty(t, res.Leaks)
	return res
}

// mechanism are the ways in which work can be made to move for no reason.
type mechanism struct {
	policy      lb.Policy
	interaction lb.Interaction
	dedicated   bool
}

func (m mechanism) config() lb.Config {
	return lb.Config{Policy: m.policy, Interaction: m.interaction, DedicatedMaster: m.dedicated, Period: 1e-9, Seed: 5}
}

func (m mechanism) String() string {
	return fmt.Sprintf("%v,%v,dedicated=%v", m.policy, m.interaction, m.dedicated)
}

func mechanisms() []mechanism {
	var all []mechanism
	for _, p := range []lb.Policy{lb.Rotate, lb.Random} {
		for _, i := range []lb.Interaction{lb.Pipelined, lb.Synchronous} {
			for _, d := range []bool{false, true} {
				all = append(all, mechanism{p, i, d})
			}
		}
	}
	return all
}

// plain is an InPlace array of `width` integers for each iteration.
type plain struct {
	lo, width int
	data      []byte
}

func newPlain(span dist.Range, width int) *plain {
	p := &plain{lo: span.Lo, width: width, data: make([]byte, 8*width*span.Len())}
	for i := range p.data {
		p.data[i] = 0xff // -1: not here
	}
	return p
}

func (p *plain) Bytes(r dist.Range) []byte {
	return p.data[8*p.width*(r.Lo-p.lo) : 8*p.width*(r.Hi-p.lo)]
}

func (p *plain) Pack(dist.Range, []byte) []byte { panic("an InPlace array was packed") }

func (p *plain) Unpack(dist.Range, []byte) error { panic("an InPlace array was unpacked") }

func (p *plain) set(i, value int) {
	for b := p.Bytes(dist.Span(i, i+1)); len(b) > 0; b = b[8:] {
		binary.LittleEndian.PutUint64(b, uint64(value))
	}
}

// check returns an error unless all of row i is value.
func (p *plain) check(i, value int) error {
	for b := p.Bytes(dist.Span(i, i+1)); len(b) > 0; b = b[8:] {
		if got := int(int64(binary.LittleEndian.Uint64(b))); got != value {
			return fmt.Errorf("in place: iteration %d has %d where %d belongs", i, got, value)
		}
	}
	return nil
}

// ragged is an Array whose rows have different lengths, some none, and are nowhere once they have been handed over.
type ragged struct{ rows map[int][]byte }

func newRagged() *ragged { return &ragged{rows: map[int][]byte{}} }

func raggedRow(i, value int) []byte {
	row := make([]byte, (i*i+3*i)%11)
	for k := range row {
		row[k] = byte(i + 31*k + value)
	}
	return row
}

func (g *ragged) Pack(r dist.Range, buf []byte) []byte {
	for i := r.Lo; i < r.Hi; i++ {
		row, here := g.rows[i]
		if !here {
			panic(fmt.Sprintf("iteration %d is given away by a rank that has not got it", i))
		}
		buf = append(binary.LittleEndian.AppendUint32(buf, uint32(len(row))), row...)
		delete(g.rows, i)
	}
	return buf
}

func (g *ragged) Unpack(r dist.Range, data []byte) error {
	for i := r.Lo; i < r.Hi; i++ {
		n := int(binary.LittleEndian.Uint32(data))
		if _, here := g.rows[i]; here {
			return fmt.Errorf("iteration %d was here already", i)
		}
		g.rows[i] = append([]byte(nil), data[4:4+n]...)
		data = data[4+n:]
	}
	if len(data) > 0 {
		return fmt.Errorf("%d bytes left over behind iterations %v", len(data), r)
	}
	return nil
}

func (g *ragged) set(i, value int) { g.rows[i] = raggedRow(i, value) }

func (g *ragged) check(i, value int) error {
	row, here := g.rows[i]
	if want := raggedRow(i, value); !here || string(row) != string(want) {
		return fmt.Errorf("packed: iteration %d has %v (here: %v) where %v belongs", i, row, here, want)
	}
	return nil
}

// rows is one array of each kind; the value of a row is the number of times that it has been computed.
type rows struct {
	p *plain
	g *ragged
}

func newRows(span dist.Range, own ...dist.Range) rows {
	d := rows{newPlain(span, 3), newRagged()}
	for _, r := range own {
		for i := r.Lo; i < r.Hi; i++ {
			d.set(i, 0)
		}
	}
	return d
}

func (d rows) arrays() []hooks.Array { return []hooks.Array{d.p, d.g} }

func (d rows) set(i, value int) {
	d.p.set(i, value)
	d.g.set(i, value)
}

func (d rows) check(i, value int) error {
	if err := d.p.check(i, value); err != nil {
		return err
	}
	return d.g.check(i, value)
}

// weights of 0.3 to 4.2 work units in no order.
func weights(t *testing.T, span dist.Range) dist.Weights {
	t.Helper()
	random := rand.New(rand.NewPCG(1, uint64(span.Len())))
	units := make([]float64, span.Len())
	for i := range units {
		units[i] = 0.3 * float64(1+random.IntN(14))
	}
	w, err := dist.NewWeights(span, units)
	require.NoError(t, err)
	return w
}

// memory keeps copies of all events.
type memory struct{ events []hooks.Event }

func (m *memory) Record(e hooks.Event) {
	e.Statuses = append([]lb.Status(nil), e.Statuses...)
	if e.Decision != nil {
		d := *e.Decision
		d.To = d.To.Clone()
		d.Transfers = append([]dist.Transfer(nil), d.Transfers...)
		e.Decision = &d
	}
	m.events = append(m.events, e)
}

// owned is the number of iterations that a rank reported, by interaction.
func (m *memory) owned(rank int) []int {
	var all []int
	for _, e := range m.events {
		if e.Kind == "decision" {
			all = append(all, e.Statuses[rank].OwnedIterations)
		}
	}
	return all
}

// doChunks does all chunks of a free loop whose iterations take so many work units each.
func doChunks(c *sim.Comm, f *hooks.Free, each float64) (*hooks.Report, error) {
	for {
		_, r, ok, err := f.Next()
		if err != nil {
			return nil, err
		}
		if !ok {
			return f.Finish()
		}
		c.Work(each * float64(r.Len()))
	}
}
