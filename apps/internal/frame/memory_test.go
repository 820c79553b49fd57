package frame

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/apps/internal/cli"
	"shiftwork/comm"
	"shiftwork/comm/local"
	"shiftwork/spmd"
)

// checked is what four ranks in this process say of their grids.
func checked(grids func(rank int) []Grid) error {
	return local.Run(4, func(c comm.Comm) error { return CheckMemory(c, &cli.Shared{}, grids(c.Rank())...) })
}

func TestCheckMemory(t *testing.T) {
	all := func(g ...Grid) func(int) []Grid { return func(int) []Grid { return g } }
	assert.NoError(t, checked(all(Grid{10, 10, 3})))
	assert.NoError(t, checked(all(Grid{4000, 4000, 1000}, Grid{0, 5, 0}, Grid{5, 0, 5})))
	for _, g := range []Grid{{1e8, 1e8, 1}, {3, 1e18, 1}, {1e18, 1e18, 1}} {
		err := checked(all(Grid{10, 10, 10}, g))
		require.ErrorContains(t, err, "more than can be addressed; accepted are fewer rows or columns")
		var usage *spmd.UsageError
		require.ErrorAs(t, err, &usage)
	}
	err := checked(func(rank int) []Grid { return []Grid{{10, 10, 10}, {1e8, 1e8 * rank / 3, 1}} })
	assert.ErrorContains(t, err, "more than can be addressed", "some ranks alone would not have known")
}

// Of what the ranks of a machine have in their addresses together, only what they write needs memory.
func TestCheckMemoryCountsWhatIsWritten(t *testing.T) {
	total := totalMemory()
	if total == 0 {
		t.Skip("how much memory there is is not known here")
	}
	if limit, _ := addressLimit(); limit > 0 {
		t.Skip("addresses are limited here")
	}
	rows := int(total / 8 / 1000 / 2) // half of the memory each
	err := checked(func(int) []Grid { return []Grid{{rows, 1000, rows / 4}} })
	if err != nil { // the system does not let programs take more than there is
		assert.ErrorContains(t, err, "in this process, and ")
	}
	err = checked(func(int) []Grid { return []Grid{{rows, 1000, rows * 3 / 4}} })
	require.Error(t, err)
	assert.Regexp(t, `(?m)^rank \d: a grid of \d+ x 1000 numbers takes \S+ GB on each rank, (`+
		`the ranks of this machine together write \S+ GB, and it has \S+ GB|.*in this process, and .*); accepted are fewer rows or columns$`, err.Error())
	err = checked(func(int) []Grid { return []Grid{{rows * 3, 1000, 1}} })
	if err != nil { // otherwise the system lets them have it, and so it may be
		assert.ErrorContains(t, err, "in this process, and ")
	}
}

func TestAmount(t *testing.T) {
	for bytes, want := range map[float64]string{8e5: "0.8 MB", 28.8e9: "28.8 GB", 8e16: "80.0 PB", 8e22: "80000.0 EB"} {
		assert.Equal(t, want, amount(bytes))
	}
}
