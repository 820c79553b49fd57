//go:build cgo && !nompi

package mpi

// Implementation names the MPI below this world, for reports: see Library.
func (c *Comm) Implementation() string { return Library() }
