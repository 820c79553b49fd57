//go:build !linux

package machine

import "errors"

// CPUs are not known on this system: it is an error.
func CPUs() ([]int, error) { return nil, errors.ErrUnsupported }
