package hooks

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestAHelperLooksUntilItIsStoppedOrDone(t *testing.T) {
	defer goleak.VerifyNone(t)
	var h helper
	require.NoError(t, h.stop(), "it has not been started")
	looks, twice := 0, make(chan struct{}) // looks needs no lock: nobody looks after stop
	h.start(func() (bool, error) {
		if looks++; looks == 2 {
			close(twice)
		}
		return false, nil
	})
	<-twice
	require.NoError(t, h.stop())
	seen := looks
	require.NoError(t, h.stop(), "it has been stopped")
	assert.GreaterOrEqual(t, seen, 2)

	looks = 0
	thrice := make(chan struct{})
	h.start(func() (bool, error) {
		if looks++; looks == 3 {
			close(thrice)
		}
		return looks == 3, nil
	})
	<-thrice
	require.NoError(t, h.stop())
	assert.Equal(t, 3, looks, "there was nothing left to do")

	failed := errors.New("the other rank is gone")
	h.start(func() (bool, error) { return false, failed })
	assert.ErrorIs(t, h.stop(), failed)
}
