//go:build unix

package spmd

import (
	"os"
	"syscall"
)

// warnings are the signals with which batch systems say that the time will soon be up; mpirun passes them on.
var warnings = []os.Signal{syscall.SIGUSR1}
