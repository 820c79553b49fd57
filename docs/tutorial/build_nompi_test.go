//go:build !cgo || nompi

package tutorial

// How the steps are built in this run of the tests.
const (
	tags = "nompi"
	cgo  = "CGO_ENABLED=0"
)
