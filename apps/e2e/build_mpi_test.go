//go:build cgo && !nompi

package e2e

// How the programs are built in this run of the tests.
const (
	withMPI = true
	tags    = ""
)
