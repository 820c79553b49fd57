//go:build cgo && !nompi

package spmd

import "shiftwork/comm/mpi"

func startMPI() (transport, error) { return mpi.Start() }

func linkedMPI() string { return mpi.Library() }
