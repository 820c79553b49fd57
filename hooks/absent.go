//go:build nohooks

package hooks

// See usual.go.
const (
	present   = false
	reporting = false
)
