//go:build !nohooks && !idlehooks

package hooks

// What hooks do in this build: doc.go, "Builds for measuring". As constants they cost the usual build nothing.
const (
	present   = true // hooks count, and time the computing between them
	reporting = true // and interact when it is time to
)
