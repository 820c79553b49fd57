package cluster

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"shiftwork/scripts/internal/arguments"
)

// DefaultPeriod is the quota period of a Config that names none: a tenth of the kernel's default, so that sweeps of 100
// ms last ten of them.
const DefaultPeriod = 10 * time.Millisecond

const (
	minPeriod, maxPeriod = time.Millisecond, time.Second // the kernel's limits
	minQuota             = time.Millisecond
	minSlice, maxSlice   = 100 * time.Microsecond, 100 * time.Millisecond
	maxWorkstations      = 1000
	minBandwidth         = 1e4 // bit/s; a start of Open MPI would take minutes below
)

// Config says what the workstations are like.
type Config struct {
	// CPU is the share of one CPU of each workstation, above 0 to 1: a workstation is a machine with one processor.
	// Together they must fit in the machine's CPUs.
	CPU []float64
	// Period is the quota's period, from 1 ms to 1 s; 0 is DefaultPeriod. CPU x Period must not be below 1 ms.
	Period time.Duration
	// Slice is the base slice that the scheduler grants to every process of the cluster (Linux 6.12 on), from 0.1 ms to
	// 100 ms; 0 is the kernel's default.
	Slice time.Duration
	// Unlimited leaves the quotas out: workstations share the machine's CPUs as the scheduler divides them, and CPU says only
	// where Pin puts them and how they count against each other in the figures.
	Unlimited bool
	// Pin binds each workstation to one CPU, so that application and load take turns as on one processor, and do not
	// run at the same time at the cost of a longer wait for the next period.
	Pin bool
	// Master adds a place without quota for rank 0, which then belongs to no workstation.
	Master bool
	// Network gives each workstation a network namespace of its own.
	Network bool
	// Bandwidth, in bit/s, limits each direction of each workstation's link; 0 is no limit. It needs Network.
	Bandwidth float64
}

func (c Config) period() time.Duration { return cmp.Or(c.Period, DefaultPeriod) }

// Ranks is how many ranks run on the cluster.
func (c Config) Ranks() int {
	if c.Master {
		return len(c.CPU) + 1
	}
	return len(c.CPU)
}

// Validate says what a machine with so many CPUs cannot do; the error is an arguments.ErrRefused and names the first fault.
func (c Config) Validate(cpus int) error {
	if len(c.CPU) < 1 || len(c.CPU) > maxWorkstations {
		return arguments.Refuse("%d workstations: 1 to %d are accepted", len(c.CPU), maxWorkstations)
	}
	period := c.period()
	if period < minPeriod || period > maxPeriod {
		return arguments.Refuse("quota period %v: %v to %v are accepted", period, minPeriod, maxPeriod)
	}
	sum := 0.0
	for k, share := range c.CPU {
		if !(share > 0 && share <= 1) {
			return arguments.Refuse("workstation %d has %g CPUs: a share above 0 up to 1 is accepted", k, share)
		}
		if !c.Unlimited && quota(share, period) < minQuota {
			return arguments.Refuse("workstation %d: %.4g CPUs in a period of %v are less than %v, the least quota: "+
				"a longer period or a larger share is needed", k, share, period, minQuota)
		}
		sum += share
	}
	if sum > float64(cpus)+1e-9 {
		return arguments.Refuse("the workstations need %.4g CPUs together, and this machine has %d", sum, cpus)
	}
	if c.Pin {
		if _, ok := pack(c.CPU, cpus); !ok {
			return arguments.Refuse("workstations of %v CPUs do not fit on %d CPUs without dividing one of them: "+
				"use smaller shares or do not pin", c.CPU, cpus)
		}
	}
	switch {
	case c.Slice != 0 && (c.Slice < minSlice || c.Slice > maxSlice):
		return arguments.Refuse("slice %v: %v to %v are accepted, or 0 for the kernel's default", c.Slice, minSlice, maxSlice)
	case c.Bandwidth != 0 && !c.Network:
		return arguments.Refuse("a bandwidth needs a network")
	case c.Bandwidth != 0 && !(c.Bandwidth >= minBandwidth && c.Bandwidth <= 1e12):
		return arguments.Refuse("bandwidth %g bit/s: %g to 1e12 are accepted", c.Bandwidth, float64(minBandwidth))
	}
	return nil
}

// quota is the CPU time that a share is in each period, in whole microseconds as the kernel wants it.
func quota(share float64, period time.Duration) time.Duration {
	return time.Duration(math.Round(share*float64(period.Microseconds()))) * time.Microsecond
}

// pack gives each workstation a CPU, none of which is promised more than once: largest share first, on the CPU with the
// most left. It can miss a packing that exists, which no sensible set of speeds meets.
func pack(shares []float64, cpus int) (cpu []int, ok bool) {
	order := make([]int, len(shares))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(shares[b], shares[a]) })
	left, cpu := make([]float64, cpus), make([]int, len(shares))
	for i := range left {
		left[i] = 1 + 1e-9
	}
	for _, k := range order {
		best := 0
		for i := range left {
			if left[i] > left[best] {
				best = i
			}
		}
		if left[best] < shares[k] {
			return nil, false
		}
		left[best] -= shares[k]
		cpu[k] = best
	}
	return cpu, true
}

// Load is a program that competes on one workstation.
type Load struct {
	Workstation int
	FromLoop    bool // From and To count from when the program's loop begins, by its --progress; or else from the start of mpirun
	From        time.Duration
	To          time.Duration // 0 is the end of the run
	On, Off     time.Duration // busy and idle by turns, busy first; Off 0 is busy all the time
}

// minTurn keeps loads from looking at the clock more than they compute.
const minTurn = time.Millisecond

// loopBegins is where times of a load begin that do not begin with mpirun.
const loopBegins = "loop"

// ParseLoad parses a script such as "ws=0 from=2s to=end on=2s off=2s". Only ws must be there; from is 0 and to is end
// if not given, and on and off go together. Times are durations, or a plain 0; they count from the start of mpirun, or with
// from=loop, or from=loop+2s, from when the program prints the first line of --progress.
func ParseLoad(script string) (Load, error) {
	l := Load{Workstation: -1}
	seen := map[string]bool{}
	for _, field := range strings.Fields(script) {
		key, value, ok := strings.Cut(field, "=")
		if !ok {
			return Load{}, arguments.Refuse("load %q: %q is not key=value", script, field)
		}
		if seen[key] {
			return Load{}, arguments.Refuse("load %q: %s is there twice", script, key)
		}
		seen[key] = true
		var err error
		switch key {
		case "ws":
			l.Workstation, err = strconv.Atoi(value)
			if err != nil || l.Workstation < 0 {
				return Load{}, arguments.Refuse("load %q: ws=%s is not a workstation: a number from 0 on is accepted", script, value)
			}
		case "from":
			after, later := strings.CutPrefix(value, loopBegins+"+")
			if l.FromLoop = later || value == loopBegins; value != loopBegins {
				l.From, err = time.ParseDuration(after)
			}
		case "to":
			if value != "end" {
				l.To, err = time.ParseDuration(value)
				if err == nil && l.To <= 0 {
					return Load{}, arguments.Refuse("load %q: to=%s is not after the start: a duration above 0 or end is accepted",
						script, value)
				}
			}
		case "on":
			l.On, err = time.ParseDuration(value)
		case "off":
			l.Off, err = time.ParseDuration(value)
		default:
			return Load{}, arguments.Refuse("load %q: unknown key %s: ws, from, to, on and off are accepted", script, key)
		}
		if err != nil {
			return Load{}, arguments.Refuse("load %q: %s=%s is not a duration such as 2s or 500ms", script, key, value)
		}
	}
	switch {
	case !seen["ws"]:
		return Load{}, arguments.Refuse("load %q: ws, the number of the workstation, is missing", script)
	case seen["on"] != seen["off"]:
		return Load{}, arguments.Refuse("load %q: on and off go together; without them the load is busy all the time", script)
	case seen["on"] && l.On < minTurn:
		return Load{}, arguments.Refuse("load %q: on=%v: %v or more is accepted", script, l.On, minTurn)
	}
	if err := l.check(math.MaxInt); err != nil {
		return Load{}, arguments.Refuse("load %q: %v", script, err)
	}
	return l, nil
}

// check says what is wrong with a load among so many workstations.
func (l Load) check(workstations int) error {
	switch {
	case l.Workstation < 0 || l.Workstation >= workstations:
		return arguments.Refuse("there is no workstation %d: 0 to %d are accepted", l.Workstation, workstations-1)
	case l.From < 0:
		return arguments.Refuse("from %v is before the start: 0 or more is accepted", l.From)
	case l.To < 0 || l.To != 0 && l.To <= l.From:
		return arguments.Refuse("to %v is not after from %v", l.To, l.From)
	case l.On < 0 || l.On == 0 && l.Off != 0 || l.On != 0 && l.On < minTurn:
		return arguments.Refuse("on %v: %v or more is accepted", l.On, minTurn)
	case l.Off < 0 || l.Off != 0 && l.Off < minTurn:
		return arguments.Refuse("off %v: 0 or %v or more is accepted", l.Off, minTurn)
	}
	return nil
}

// Busy says whether the load wants the CPU at a time, and when that changes next; the change is 0 when it never does. Times count from the
// start of mpirun, and began is when the program's loop began.
func (l Load) Busy(at, began time.Duration) (busy bool, change time.Duration) {
	switch {
	case !l.FromLoop:
		return l.busy(at)
	case at < began:
		return false, began + l.From
	}
	if busy, change = l.busy(at - began); change != 0 {
		change += began
	}
	return busy, change
}

// busy is Busy on the load's own clock.
func (l Load) busy(at time.Duration) (busy bool, change time.Duration) {
	switch {
	case at < l.From:
		return false, l.From
	case l.To != 0 && at >= l.To:
		return false, 0
	case l.Off == 0:
		return true, l.To
	}
	cycle := l.On + l.Off
	start := at - (at-l.From)%cycle
	change = start + l.On
	busy = at < change
	if !busy {
		change = start + cycle
	}
	if l.To != 0 {
		change = min(change, l.To)
	}
	return busy, change
}

// String is the script that ParseLoad reads.
func (l Load) String() string {
	to := "end"
	if l.To != 0 {
		to = l.To.String()
	}
	from := l.From.String()
	switch {
	case l.FromLoop && l.From == 0:
		from = loopBegins
	case l.FromLoop:
		from = loopBegins + "+" + from
	}
	s := fmt.Sprintf("ws=%d from=%s to=%s", l.Workstation, from, to)
	if l.Off != 0 {
		s += fmt.Sprintf(" on=%v off=%v", l.On, l.Off)
	}
	return s
}
