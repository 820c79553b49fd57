//go:build idlehooks && !nohooks

package hooks

// See usual.go.
const (
	present   = true
	reporting = false
)
