//go:build cgo && !nompi && !linux

package mpi

// wakeEarly is for Linux's scheduler.
func wakeEarly() {}
