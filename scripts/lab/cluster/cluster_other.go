//go:build !linux

package cluster

import (
	"context"
	"runtime"

	"shiftwork/scripts/internal/arguments"
)

// Cluster is a set of workstations, which only Linux can make.
type Cluster struct{}

// New refuses.
func New(Config) (*Cluster, error) {
	return nil, arguments.Refuse("workstations are made of Linux's cgroups, and this is %s", runtime.GOOS)
}

// Config is empty.
func (c *Cluster) Config() Config { return Config{} }

// Name is empty.
func (c *Cluster) Name() string { return "" }

// Run refuses.
func (c *Cluster) Run(context.Context, Job) (*Result, error) { return nil, arguments.ErrRefused }

// Close does nothing.
func (c *Cluster) Close() error { return nil }
