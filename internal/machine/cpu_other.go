//go:build !unix

package machine

import "time"

// CPUTime returns the CPU time that this process has used; 0 where it is not known.
func CPUTime() time.Duration { return 0 }
