//go:build upright

package main

// With tag upright blocks stand still, and ranks wait for each other in every sweep: a build that measures waiting
// (docs/performance.md).
const reach = 0
