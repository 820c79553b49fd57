//go:build !race

package faulttest

// Stride is one in how many points Each tries.
const Stride = 1

// Race is whether the race detector watches, which makes everything several times slower.
const Race = false
