package loops_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/stretchr/testify/assert"

	"shiftwork/comm/sim"
	"shiftwork/lb"
	"shiftwork/loops"
)

// Four ranks with 4 ms of every 10, whose periods begin at different times, and a load that shares rank 1's quota by turns of 3 ms. A load in the way costs up to three
// quarters of the time; most of that goes, and without a load nothing does.
func TestLeansUnderQuotas(t *testing.T) {
	const phases = 4
	for _, rows := range []int{4000, 8000} {
		for _, want := range []struct {
			cycle         float64 // s; 0: no load, infinite: one that stays
			least, shifts float64
		}{{0, 0, 0}, {math.Inf(1), 0.9, 3}, {6, 0.7, 4}, {2, 0.6, 6}} {
			t.Run(fmt.Sprint(rows, " ", want.cycle), func(t *testing.T) {
				t.Parallel()
				off := lb.Config{Policy: lb.Off}
				var still, moving, ideal, shifts float64
				for phase := range phases {
					load := swinging{cycle: want.cycle}
					if !math.IsInf(want.cycle, 1) {
						load.began = want.cycle * float64(phase) / phases
					}
					machine := rationed(load.quotas(0.01, 0.002*float64(phase)))
					alone, on := sweeping(t, machine, rows, rows, off), sweeping(t, machine, rows, rows, lb.Auto())
					assert.GreaterOrEqual(t, on.Block, 4096/8, "a strip has a page of each row")
					still, moving, shifts = still+alone.Time, moving+on.Time, shifts+float64(on.Shifts)/phases
					ideal += load.ideal(rationedTime)
				}
				t.Logf("%.2f s, balanced %.2f s, ideally %.2f s; %.1f movements", still/phases, moving/phases, ideal/phases, shifts)
				assert.LessOrEqual(t, shifts, want.shifts)
				if want.cycle == 0 {
					assert.Less(t, moving, 1.01*still)
					return
				}
				assert.Greater(t, (still-moving)/(still-ideal), want.least)
			})
		}
	}
}

// Where quota periods are as long as the paper's quantum, too, work leaves a load that stays, and stays away: no more changes its owner than has to, in one movement or two.
func TestAConstantLoadMovesWorkOnce(t *testing.T) {
	for _, rows := range []int{4000, 8000} {
		for _, phase := range []float64{0, 0.025, 0.05, 0.075} {
			t.Run(fmt.Sprint(rows, " ", phase), func(t *testing.T) {
				t.Parallel()
				load := swinging{cycle: math.Inf(1)}
				r := sweepingFor(t, rationed(load.quotas(0.1, phase)), rows, rows, 5*rationedWork, lb.Auto())
				ideal := float64(rows) / 7 // rank 1 keeps a seventh of the rows, and half of what it gives passes through rank 2
				t.Logf("%.2f s, %d movements of %d rows, ideally of %.0f", r.Time, r.Shifts, r.IterationsMoved, ideal)
				assert.InDelta(t, ideal, r.IterationsMoved, 0.1*ideal)
				assert.LessOrEqual(t, r.Shifts, 2)
			})
		}
	}
}

// Others on the host come and go: whichever ranks share a processor are a fifth slower for a while, then a quarter faster, as on a virtual machine that was watched for five minutes. Balancing answers that, too, and
// must not lose by it; of what a load costs it still removes most. Ideal is where work lies right at every moment.
func TestLeansOnABusyHost(t *testing.T) {
	const hosts = 6
	for _, rows := range []int{4000, 8000} {
		for _, want := range []struct{ cycle, least float64 }{{0, 0.15}, {math.Inf(1), 0.8}, {6, 0.55}} {
			t.Run(fmt.Sprint(rows, " ", want.cycle), func(t *testing.T) {
				t.Parallel()
				var still, moving, ideal float64
				for host := range uint64(hosts) {
					load := swinging{cycle: want.cycle}
					machine := rationed(load.quotas(0.01, 0.002))
					machine.Speed = busyHost(host)
					still += sweeping(t, machine, rows, rows, lb.Config{Policy: lb.Off}).Time / hosts
					moving += sweeping(t, machine, rows, rows, lb.Auto()).Time / hosts
					ideal += load.idealOn(machine) / hosts
				}
				removed := (still - moving) / (still - ideal)
				t.Logf("%.2f s, balanced %.2f s, ideally %.2f s: %.2f of the difference", still, moving, ideal, removed)
				assert.Greater(t, removed, want.least)
			})
		}
	}
}

// busyHost is how fast four ranks are on two processors whose neighbours come and go.
func busyHost(seed uint64) [][]sim.Step {
	random := rand.New(rand.NewPCG(seed, 1))
	var processors [2][]sim.Step
	for i := range processors {
		slow := random.IntN(2)
		for at := 0.0; at < 30; at += 0.3 + random.ExpFloat64() {
			processors[i] = append(processors[i], sim.Step{From: at, Speed: []float64{1.25, 0.8}[slow]})
			slow = 1 - slow
		}
	}
	return [][]sim.Step{processors[0], processors[1], processors[0], processors[1]}
}

// idealOn is how long, in s, the loops take on a rationed machine whose speeds vary, beside the load, if work lies right at every moment.
func (l swinging) idealOn(machine sim.Config) (at float64) {
	const tick = 0.002 // s
	for left := rationedWork; left > 0; at += tick {
		for r, steps := range machine.Speed {
			next := sort.Search(len(steps), func(i int) bool { return steps[i].From > at })
			share := machine.Quotas[r].Share
			if r == 1 && l.busy(at) {
				share /= 2
			}
			left -= share * steps[next-1].Speed * tick
		}
	}
	return at
}

// rationedTime is how long, in s, the loops take under quotas without a load, if ranks never wait.
const rationedTime = 4.0

// rationedWork is what four ranks with such quotas do in it, in s of CPU.
const rationedWork = 4 * 0.4 * rationedTime

// quotas are those of four ranks in periods of so many s, of which the first begins its own so many s after the loop.
func (l swinging) quotas(period, first float64) (quotas []sim.Quota) {
	for r := range 4 {
		quotas = append(quotas, sim.Quota{Share: 0.4, Period: period, Phase: math.Mod(first+0.23*period*float64(r), period), Slice: 0.003})
	}
	const end = 100 // s
	for at := -l.began; l.cycle > 0 && at < end; at += l.cycle {
		if until := min(at+l.cycle/2, end); until > 0 {
			quotas[1].Loads = append(quotas[1].Loads, sim.Span{From: max(0, at), Until: until})
		}
	}
	return quotas
}

// rationed is a machine of four ranks with such quotas.
func rationed(quotas []sim.Quota) sim.Config {
	return sim.Config{Ranks: 4, Alpha: 2e-5, Beta: 1e-10, SendOverhead: 5e-6, Quotas: quotas}
}

// narrow is a matrix of which neighbours send each other wide rows: 8000 x 8000 points on each of four ranks that compute nothing with them would take gigabytes of memory.
type narrow struct {
	*loops.Matrix
	row []byte
}

func (n narrow) Part(_ int, columns loops.Range) []byte { return n.row[8*columns.Lo : 8*columns.Hi] }

// sweeping is a loop over so many rows and columns that four ranks have on a rationed machine, for rationedTime: a sweep takes the longer the more rows there are.
func sweeping(t *testing.T, machine sim.Config, rows, columns int, cfg lb.Config) *loops.Report {
	return sweepingFor(t, machine, rows, columns, rationedWork, cfg)
}

// sweepingFor is the same for some work, in s of CPU.
func sweepingFor(t *testing.T, machine sim.Config, rows, columns int, work float64, cfg lb.Config) *loops.Report {
	sweep := 6.4e-3 * float64(rows) * float64(rows) / 4000 / 4000 // s of CPU
	return reportIn(t, machine, func(c *sim.Comm) (*loops.Report, error) {
		return loops.DOACROSS{
			Outer: int(work / sweep), Rows: loops.Span(0, rows), Strip: loops.Span(0, columns), Quantum: machine.Quotas[0].Period, Reach: 1,
			Arrays: []loops.Array{narrow{loops.NewMatrix(rows, 512), make([]byte, 8*columns)}},
			Body: func(block, strip loops.Range) {
				c.Work(sweep / float64(columns) / float64(rows) * float64(block.Len()*strip.Len()))
			},
		}.Run(c, cfg)
	})
}
