//go:build !upright

package main

// reach is how many columns of old values around a strip a point needs (loops.DOACROSS.Reach). It lets blocks lean.
const reach = 1
