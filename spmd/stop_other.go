//go:build !unix

package spmd

import "os"

// warnings: this system has no signals that processes could agree on.
var warnings []os.Signal
