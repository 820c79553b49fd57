package jobs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMemoryThatIsKeptHasNoPagesOfFiles(t *testing.T) {
	m, err := memoryOf("Name:\tsor: 9\nVmRSS:\t   28288 kB\nRssAnon:\t    8564 kB\nRssFile:\t   16752 kB\nRssShmem:\t    2972 kB\nVmSwap:\t      10 kB\nThreads:\t5\n")
	require.NoError(t, err)
	assert.Equal(t, Memory{Resident: 28288 << 10, Kept: (8564 + 2972 + 10) << 10}, m)
	_, err = memoryOf("Name:\tsor\nState:\tZ (zombie)\n")
	assert.ErrorContains(t, err, "VmRSS")
}
