package hooks

import (
	"time"

	"shiftwork/comm"
	"shiftwork/internal/machine"
)

// quota measures the CPU time of computing where the system limits this rank's. Under a quota of 0.4 CPU a rank that waits half of the time
// computes the other half without being stopped once, and looks more than twice as fast as it is: work that is moved to it
// takes the time that it was idle, and no other. Without a quota it does nothing.
type quota struct {
	share       float64       // of a processor; 0: no quota
	start, used time.Duration // CPU time when the phase under way began, and of computing since the last status
}

// newQuota is the quota of this rank, if it has one to itself that is less than a processor.
func newQuota(c comm.Comm) quota {
	if share := machine.QuotaShare(); share < 1 && ownProcess(c) {
		return quota{share: share}
	}
	return quota{}
}

func (q *quota) begin() {
	if q.share > 0 {
		q.start = cpuTime()
	}
}

func (q *quota) end() {
	if q.share > 0 {
		q.used += cpuTime() - q.start
	}
}

// computing is for how long, in s, a rank has computed that measured so much: or what the same CPU time takes one that never waits, if that is longer.
func (q *quota) computing(measured time.Duration) float64 {
	if q.share > 0 {
		return max(measured.Seconds(), q.used.Seconds()/q.share)
	}
	return measured.Seconds()
}
