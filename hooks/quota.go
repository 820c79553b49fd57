package hooks

import (
	"time"

	"shiftwork/comm"
	"shiftwork/internal/machine"
)

// quota measures the CPU time of computing where the system limits this rank's. Under a quota of 0.4 CPU a rank that waits half of the time
// computes the other half without being stopped once, and looks more than twice as fast as it is: work that is moved to it
// takes the time that it was idle, and no other. Where a load shares the quota, the rank would get half of it if it never waited; or all that the
// load leaves, if that is more. Without a quota it does nothing.
type quota struct {
	account                   // of what is used
	share       float64       // of a processor; 0: no quota
	start, used time.Duration // CPU time when the phase under way began, and of computing since the last status

	// When the last status was: the time, the CPU time of this process, and that of all that share the quota in periods in which it ran out.
	counted     bool // there has been one
	since       time.Duration
	all, usedUp float64 // s
}

// account tells of the quota of this rank, and of what has been used: the system, or a Comm of virtual time.
type account interface {
	comm.Rationed
	Now() time.Duration
}

// system is the account where this rank is a process.
type system struct{ comm.Comm }

func (system) Quota() (share, period float64) { return machine.QuotaShare(), machine.QuotaPeriod() }
func (system) CPUTime() time.Duration         { return cpuTime() }
func (system) QuotaUsedUp() float64           { return machine.QuotaUsedUp() }

// aLoad is the part of the quota from which on what others use is taken for a load: a period more or less is none.
const aLoad = 0.25

// newQuota is the quota of this rank, if it has one to itself that is less than a processor.
func newQuota(c comm.Comm) quota {
	a, virtual := c.(account)
	if !virtual {
		a = system{c}
	}
	share, _ := a.Quota()
	if !(share > 0 && share < 1) || !virtual && !ownProcess(c) {
		return quota{}
	}
	return quota{account: a, share: share}
}

// period is that of the quota, in s, 0 without one.
func (q *quota) period() float64 {
	if !(q.share > 0) {
		return 0
	}
	_, period := q.Quota()
	return period
}

func (q *quota) begin() {
	if q.share > 0 {
		q.start = q.CPUTime()
	}
}

func (q *quota) end() {
	if q.share > 0 {
		q.used += q.CPUTime() - q.start
	}
}

// restart begins to count again, for the next status.
func (q *quota) restart() {
	if q.share > 0 {
		q.used, q.counted, q.since, q.all, q.usedUp = 0, true, q.Now(), q.CPUTime().Seconds(), q.QuotaUsedUp()
	}
}

// computing is for how long, in s, a rank has computed that measured so much: or what the same CPU time takes one that never waits, if that is longer.
func (q *quota) computing(measured time.Duration) float64 {
	if !(q.share > 0) {
		return measured.Seconds()
	}
	others := 0.0
	if elapsed := (q.Now() - q.since).Seconds(); q.counted && elapsed > 0 {
		others = (q.QuotaUsedUp() - q.usedUp - (q.CPUTime().Seconds() - q.all)) / elapsed
	}
	return max(measured.Seconds(), q.used.Seconds()/q.left(others))
}

// left is the share of a processor that a rank has that never waits, beside others that use so much of one.
func (q *quota) left(others float64) float64 {
	if others < aLoad*q.share {
		return q.share
	}
	return max(q.share/2, q.share-others)
}
