//go:build cgo && !nompi

package tutorial

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/internal/mpirun"
)

// How the steps are built in this run of the tests.
const (
	tags = ""
	cgo  = "CGO_ENABLED=1"
)

// As ranks of MPI the steps print what the sequential program prints.
func TestStepsUnderMPI(t *testing.T) {
	want := run(t, "step1")
	for _, c := range [][]string{
		{"step2"}, {"step3"}, {"step4", "--balance", "rotate"}, {"step5", "--balance", "random"}, {"step6"}, {"step6", "--balance", "random"},
	} {
		r, err := mpirun.Run(time.Minute, 3, nil, append([]string{filepath.Join(programs, c[0])}, c[1:]...)...)
		require.NoError(t, err)
		require.Zero(t, r.Code, r.Stderr)
		assert.Equal(t, want, r.Stdout, "%v", c)
	}
}
