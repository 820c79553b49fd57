//go:build !unix

package machine

import (
	"errors"
	"time"
)

// CPUTime is not known on this system: it is an error.
func CPUTime() (time.Duration, error) { return 0, errors.ErrUnsupported }
