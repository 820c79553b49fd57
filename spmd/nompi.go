//go:build !cgo || nompi

package spmd

import "errors"

func startMPI() (transport, error) {
	return nil, errors.New("this program was built without MPI: build it with cgo and without the tag nompi, or start it without mpirun")
}

func linkedMPI() string { return "none" }
