//go:build cgo && !nompi

package mpi_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"shiftwork/comm"
	"shiftwork/comm/mpi"
	"shiftwork/internal/mpirun"
)

const fileEnv = "SHIFTWORK_TEST_FILE"

// A rank that is a lean ahead of its neighbour has hundreds of strips on their way. All of them arrive while it computes and does not call
// MPI: here until its neighbour has written a file.
func TestManyMessagesArriveWithoutHelp(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	all := filepath.Join(t.TempDir(), "all")
	r, err := mpirun.Run(time.Minute, 2, []string{rankEnv + "=ahead", fileEnv + "=" + all}, exe)
	require.NoError(t, err)
	require.Equal(t, 0, r.Code, r.Stderr)
	require.FileExists(t, all)
}

func ahead(c *mpi.Comm) error {
	const messages, bytes = 400, 31 << 10
	b := make([]byte, bytes)
	if err := comm.Barrier(c); err != nil {
		return err
	}
	if c.Rank() == 1 {
		time.Sleep(100 * time.Millisecond) // the neighbour gets ahead
		for range messages {
			if _, err := c.Recv(0, 1, b); err != nil {
				return err
			}
		}
		return os.WriteFile(os.Getenv(fileEnv), nil, 0o600)
	}
	reqs := make([]comm.Request, messages)
	for i := range reqs {
		q, err := c.Isend(1, 1, b)
		if err != nil {
			return err
		}
		reqs[i] = q
	}
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		switch _, err := os.Stat(os.Getenv(fileEnv)); {
		case err == nil:
			for _, q := range reqs {
				if _, err := q.Wait(); err != nil {
					return err
				}
			}
			return nil
		case !errors.Is(err, os.ErrNotExist):
			return err
		case time.Since(began) > 20*time.Second:
			return fmt.Errorf("%d messages have not arrived in 20 s without a call of MPI here", messages)
		}
	}
}
