package sim_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"shiftwork/comm"
	"shiftwork/comm/sim"
)

const (
	ms = time.Millisecond
	us = time.Microsecond
)

// network has round numbers: 1 ms + 1 µs per byte, and sends of up to 1000 bytes are buffered.
func network(ranks int) sim.Config {
	return sim.Config{Ranks: ranks, Alpha: 1e-3, Beta: 1e-6, Rendezvous: 1000}
}

// clocks runs f and returns what it recorded, in order of recording.
func clocks(t *testing.T, cfg sim.Config, f func(c *sim.Comm, at func(event string)) error) []string {
	t.Helper()
	var log []string
	_, err := sim.Run(cfg, func(c *sim.Comm) error {
		return f(c, func(event string) { log = append(log, fmt.Sprintf("rank %d %v %s", c.Rank(), c.Now(), event)) })
	})
	require.NoError(t, err)
	return log
}

func ends(res sim.Result) []time.Duration {
	var all []time.Duration
	for _, r := range res.Ranks {
		all = append(all, r.End)
	}
	return all
}

// Two ranks, one message; every row is computed by hand from the formulas in the package's documentation.
func TestTimeOfOneMessage(t *testing.T) {
	for name, k := range map[string]struct {
		bytes                       int
		sendAt, receiveAt           time.Duration
		overhead                    float64
		sendEnd, receiveEnd, waited time.Duration // waited: both ranks together
	}{
		"buffered, receive first":                         {500, 10 * ms, 2 * ms, 0, 10 * ms, 11*ms + 500*us, 9*ms + 500*us},
		"buffered, message first":                         {500, 10 * ms, 50 * ms, 0, 10 * ms, 50 * ms, 0},
		"buffered, receive while it flies":                {500, 10 * ms, 11 * ms, 0, 10 * ms, 11*ms + 500*us, 500 * us},
		"buffered, just as long as allowed":               {1000, 0, 0, 0, 0, 2 * ms, 2 * ms},
		"buffered, overhead":                              {500, 10 * ms, 0, 3e-3, 13 * ms, 14*ms + 500*us, 14*ms + 500*us},
		"empty":                                           {0, 10 * ms, 0, 0, 10 * ms, 11 * ms, 11 * ms},
		"rendezvous, receive first":                       {2000, 10 * ms, 2 * ms, 0, 13 * ms, 13 * ms, 14 * ms},
		"rendezvous, send first":                          {2000, 10 * ms, 50 * ms, 0, 53 * ms, 53 * ms, 46 * ms},
		"rendezvous, receive while it is being announced": {2000, 10 * ms, 10*ms + 500*us, 0, 13*ms + 500*us, 13*ms + 500*us, 6*ms + 500*us},
		"rendezvous, one byte too long":                   {1001, 0, 0, 0, 2*ms + us, 2*ms + us, 4*ms + 2*us},
		"rendezvous, overhead":                            {2000, 10 * ms, 20 * ms, 3e-3, 23 * ms, 23 * ms, 13 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := network(2)
			cfg.SendOverhead = k.overhead
			res, err := sim.Run(cfg, func(c *sim.Comm) error {
				if c.Rank() == 0 {
					c.Sleep(k.sendAt)
					return c.Send(1, 7, make([]byte, k.bytes))
				}
				c.Sleep(k.receiveAt)
				_, err := c.Recv(0, 7, make([]byte, k.bytes))
				return err
			})
			require.NoError(t, err)
			assert.Equal(t, []time.Duration{k.sendEnd, k.receiveEnd}, ends(res))
			assert.Equal(t, max(k.sendEnd, k.receiveEnd), res.Elapsed)
			assert.Equal(t, k.waited, res.Ranks[0].Waited+res.Ranks[1].Waited)
			assert.Equal(t, k.sendAt, res.Ranks[0].Worked)
			assert.Equal(t, 1, res.Ranks[0].Messages)
			assert.Equal(t, k.bytes, res.Ranks[0].Bytes)
			assert.Zero(t, res.Ranks[1].Messages)
			assert.Equal(t, 2, res.Ops)
			assert.Empty(t, res.Leaks)
		})
	}
}

func TestIsendOverlapsAndIrecvLetsTheTransferBegin(t *testing.T) {
	log := clocks(t, network(2), func(c *sim.Comm, at func(string)) error {
		b := make([]byte, 9000) // 10 ms
		var r comm.Request
		var err error
		if c.Rank() == 0 {
			r, err = c.Isend(1, 1, b)
		} else {
			r, err = c.Irecv(0, 1, b)
		}
		if err != nil {
			return err
		}
		at("started")
		c.Work(0.004)
		_, err = r.Wait()
		at("done")
		return err
	})
	require.Equal(t, []string{"rank 0 0s started", "rank 1 0s started", "rank 0 10ms done", "rank 1 10ms done"}, log)
}

func TestAShortMessageDoesNotOvertakeALongOneWithTheSameTag(t *testing.T) {
	log := clocks(t, network(2), func(c *sim.Comm, at func(string)) error {
		if c.Rank() == 0 {
			for _, m := range []struct{ tag, n int }{{1, 1000}, {1, 0}, {2, 0}} { // at 2 ms, then, 1 ms
				if err := c.Send(1, m.tag, make([]byte, m.n)); err != nil {
					return err
				}
			}
			return nil
		}
		for _, tag := range []int{2, 1, 1} {
			st, err := c.Recv(0, tag, make([]byte, 1000))
			if err != nil {
				return err
			}
			at(fmt.Sprint(st.Len))
		}
		return nil
	})
	require.Equal(t, []string{"rank 1 1ms 0", "rank 1 2ms 1000", "rank 1 2ms 0"}, log)
}

// Rank 1 runs first and sends a long message, which rank 2's later, short one overtakes; ties go to the lower source.
func TestAnySourceGetsTheEarliestArrival(t *testing.T) {
	for name, early := range map[string]bool{"receive posted before": true, "receive posted after": false} {
		t.Run(name, func(t *testing.T) {
			log := clocks(t, network(5), func(c *sim.Comm, at func(string)) error {
				switch c.Rank() {
				case 0:
					if !early {
						c.Sleep(time.Second)
					}
					for range 4 {
						st, err := c.Recv(comm.Any, 1, make([]byte, 1000))
						if err != nil {
							return err
						}
						at(fmt.Sprintf("from %d", st.Source))
					}
					return nil
				case 1:
					return c.Send(0, 1, make([]byte, 1000)) // arrives at 2 ms
				case 2:
					c.Sleep(500 * us)
					return c.Send(0, 1, nil) // 1.5 ms
				default:
					c.Sleep(time.Duration(5-c.Rank()) * 100 * us)
					return c.Send(0, 1, make([]byte, 100*(c.Rank()-2))) // 3: 200 + 100 µs, 4: 100 + 200 µs, both 1.3 ms
				}
			})
			want := []string{"rank 0 1.3ms from 3", "rank 0 1.3ms from 4", "rank 0 1.5ms from 2", "rank 0 2ms from 1"}
			if !early {
				for i := range want {
					want[i] = "rank 0 1s" + want[i][strings.Index(want[i], " from"):]
				}
			}
			require.Equal(t, want, log)
		})
	}
}

func TestProbesSeeMessagesWhenTheyArrive(t *testing.T) {
	for n, want := range map[int]string{
		1000: "rank 1 2ms probed", // buffered: all of it
		5000: "rank 1 1ms probed", // rendezvous: the announcement
	} {
		log := clocks(t, network(2), func(c *sim.Comm, at func(string)) error {
			if c.Rank() == 0 {
				return c.Send(1, 1, make([]byte, n))
			}
			st, err := c.Probe(comm.Any, 1)
			if err != nil {
				return err
			}
			at("probed")
			_, err = c.Recv(st.Source, 1, make([]byte, st.Len))
			return err
		})
		require.Equal(t, want, log[0])
	}
}

func TestPollingCostsTimeOnlyWhenItFindsNothing(t *testing.T) {
	cfg := network(2)
	cfg.PollCost = 300e-6
	res, err := sim.Run(cfg, func(c *sim.Comm) error {
		if c.Rank() == 0 {
			return c.Send(1, 1, nil) // arrives at 1 ms
		}
		polls := 0
		for {
			polls++
			_, found, err := c.Iprobe(0, 1)
			if err != nil {
				return err
			}
			if found {
				break
			}
		}
		if polls != 5 { // at 0, 300, 600, 900 and 1200 µs
			return fmt.Errorf("%d polls, want 5", polls)
		}
		r, err := c.Irecv(0, 1, nil)
		if err != nil {
			return err
		}
		if _, done, err := r.Test(); !done || err != nil {
			return fmt.Errorf("done %v, error %w", done, err)
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 1200*us, res.Ranks[1].End)
	require.Zero(t, res.Ranks[1].Waited)
}

func TestWorkIntegratesTheSpeed(t *testing.T) {
	// 2 units/s for 3 s (6 units), stopped for 2 s, 0.5 units/s for 4 s (2 units), then 10 units/s.
	steps := []sim.Step{{From: 0, Speed: 2}, {From: 3, Speed: 0}, {From: 5, Speed: 0.5}, {From: 9, Speed: 10}}
	for _, k := range []struct {
		sleep time.Duration
		units float64
		end   time.Duration
	}{
		{0, 0, 0},
		{0, 1, 500 * ms},
		{0, 6, 3 * time.Second},
		{0, 6.5, 6 * time.Second},
		{0, 8, 9 * time.Second},
		{0, 18, 10 * time.Second},
		{time.Second, 5, 7 * time.Second},
		{3 * time.Second, 0, 3 * time.Second},
		{4 * time.Second, 1, 7 * time.Second},
		{4 * time.Second, 2.5, 9*time.Second + 50*ms},
		{20 * time.Second, 1, 20*time.Second + 100*ms},
	} {
		res, err := sim.Run(sim.Config{Ranks: 2, Speed: [][]sim.Step{nil, steps}}, func(c *sim.Comm) error {
			c.Sleep(k.sleep)
			c.Work(k.units)
			return nil
		})
		require.NoError(t, err)
		assert.Equal(t, k.end, res.Ranks[1].End, "%v units from %v on", k.units, k.sleep)
		assert.Equal(t, k.end, res.Ranks[1].Worked)
		assert.Equal(t, k.sleep+time.Duration(k.units*1e9), res.Ranks[0].End, "a rank without steps has speed 1")
	}
}

// Work in pieces takes as long as all at once, up to the rounding of each piece to half a picosecond.
func TestWorkInPiecesTakesAsLong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var steps []sim.Step
		from := 0.0
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			steps = append(steps, sim.Step{From: from, Speed: rapid.Float64Range(0, 100).Draw(t, "speed")})
			from += rapid.Float64Range(0.001, 3).Draw(t, "length")
		}
		steps = append(steps, sim.Step{From: from, Speed: 5}) // so that it ends
		pieces := rapid.SliceOfN(rapid.Float64Range(0, 20), 1, 40).Draw(t, "pieces")
		total := 0.0
		for _, p := range pieces {
			total += p
		}
		res, err := sim.Run(sim.Config{Ranks: 2, Speed: [][]sim.Step{steps, steps}}, func(c *sim.Comm) error {
			if c.Rank() == 0 {
				c.Work(total)
				return nil
			}
			for _, p := range pieces {
				c.Work(p)
			}
			return nil
		})
		require.NoError(t, err)
		require.InDelta(t, res.Ranks[0].End.Seconds(), res.Ranks[1].End.Seconds(), 2e-9)

		// The definition: the integral of the speed up to the end is the work done.
		done, end := 0.0, res.Ranks[0].End.Seconds()
		for i, s := range steps {
			until := end
			if i+1 < len(steps) {
				until = min(end, steps[i+1].From)
			}
			done += s.Speed * max(0, until-s.From)
		}
		require.InDelta(t, total, done, 100*1e-9+1e-9*total) // the end is rounded to 1 ns, the speed up to 100 units/s
	})
}

func TestClocksOfDifferentRanksHaveDifferentOrigins(t *testing.T) {
	cfg := network(3)
	cfg.ClockOffset = []time.Duration{time.Hour, -time.Minute}
	log := clocks(t, cfg, func(c *sim.Comm, at func(string)) error {
		c.Sleep(ms)
		at("")
		return nil
	})
	require.Equal(t, []string{"rank 0 1h0m0.001s ", "rank 1 -59.999s ", "rank 2 1ms "}, log)
}

// A program that uses every operation, with loads from a seed. What it does depends on the order of arrivals.
func busy(c *sim.Comm, log *strings.Builder) error {
	random := rand.New(rand.NewPCG(1, uint64(c.Rank())))
	var sends []comm.Request
	for range 30 {
		c.Work(random.Float64() / 10)
		for to := range c.Size() {
			if to != c.Rank() {
				r, err := c.Isend(to, 1, make([]byte, random.IntN(3000)))
				if err != nil {
					return err
				}
				sends = append(sends, r)
			}
		}
		if random.IntN(2) == 0 {
			_, _, _ = c.Iprobe(comm.Any, 1)
		}
		for range c.Size() - 1 {
			st, err := c.Probe(comm.Any, 1)
			if err != nil {
				return err
			}
			if _, err = c.Recv(st.Source, 1, make([]byte, st.Len)); err != nil {
				return err
			}
			fmt.Fprintf(log, "%d<-%d %d at %v\n", c.Rank(), st.Source, st.Len, c.Now())
		}
		i, _, err := c.WaitAny(sends)
		if err != nil {
			return err
		}
		sends[i] = nil
	}
	for i := 0; i >= 0; {
		var err error
		if i, _, err = c.WaitAny(sends); err != nil {
			return err
		}
		if i >= 0 {
			sends[i] = nil
		}
	}
	return comm.Barrier(c)
}

func TestTwoRunsAreEqual(t *testing.T) {
	cfg := network(5)
	cfg.Speed = [][]sim.Step{sim.Constant(2), nil, {{From: 0, Speed: 1}, {From: 0.3, Speed: 0.2}}}
	var first string
	var firstResult sim.Result
	for i := range 5 {
		var log strings.Builder
		res, err := sim.Run(cfg, func(c *sim.Comm) error { return busy(c, &log) })
		require.NoError(t, err)
		require.Empty(t, res.Leaks)
		if i == 0 {
			first, firstResult = log.String(), res
			require.Equal(t, 5*30*4, strings.Count(first, "\n"))
			continue
		}
		require.Equal(t, first, log.String())
		require.Equal(t, firstResult, res)
	}
}

// End = Worked + Waited + the costs of sends and polls: nothing else passes time.
func TestTimesAddUp(t *testing.T) {
	cfg := network(4)
	cfg.SendOverhead = 1e-4
	res, err := sim.Run(cfg, func(c *sim.Comm) error {
		c.Work(float64(c.Rank()))
		for range 5 {
			if _, err := comm.AllGather(c, make([]byte, 600*c.Rank())); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, err)
	for _, r := range res.Ranks {
		require.Equal(t, r.End, r.Worked+r.Waited+time.Duration(r.Messages)*100*us)
	}
}

func TestWorkerIsWhatProgramsAskFor(t *testing.T) {
	res, err := sim.Run(sim.Config{Ranks: 1, Speed: [][]sim.Step{sim.Constant(4)}}, func(c *sim.Comm) error {
		if c.Transport() != "sim" || c.Size() != 1 {
			return fmt.Errorf("transport %q, %d ranks", c.Transport(), c.Size())
		}
		comm.Comm(c).(comm.Worker).Work(2)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 500*ms, res.Elapsed)
}
