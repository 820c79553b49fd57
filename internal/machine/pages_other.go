//go:build !linux

package machine

// Populate is an optimisation of Linux's.
func Populate([]byte) {}

// HugePages is another.
func HugePages([]byte) {}
