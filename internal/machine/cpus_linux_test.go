package machine

import (
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCPUs(t *testing.T) {
	cpus, err := CPUs()
	require.NoError(t, err)
	assert.Len(t, cpus, runtime.NumCPU())
	assert.True(t, slices.IsSorted(cpus))
}
