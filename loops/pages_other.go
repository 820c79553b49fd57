//go:build !linux

package loops

// hugePages is an optimisation of Linux's.
func hugePages([]float64) {}
