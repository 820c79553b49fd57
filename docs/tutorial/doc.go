// Package tutorial is README.md beside it: from a sequential loop to balanced SPMD code in six steps, each a small program
// that its tests run. It has no code of its own.
package tutorial
