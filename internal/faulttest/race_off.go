//go:build !race

package faulttest

// Stride is one in how many points Each tries.
const Stride = 1
