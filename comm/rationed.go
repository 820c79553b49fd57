package comm

import "time"

// Rationed is implemented by a Comm whose time is virtual and whose ranks may have CPU quotas there. Elsewhere the system tells of them.
type Rationed interface {
	// Quota is the share of a processor that this rank gets, with the loads that share its quota, and the quota's period in s; 0, 0 without a quota.
	Quota() (share, period float64)
	// CPUTime is what this rank has used.
	CPUTime() time.Duration
	// QuotaUsedUp is what the rank and its loads have used together, in s, in all periods in which the quota ran out.
	QuotaUsedUp() float64
}
