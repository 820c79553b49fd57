package comm_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"shiftwork/comm"
)

// lender is a rank whose neighbour never takes anything.
type lender struct{ comm.Comm }

func (lender) Rank() int                                    { return 0 }
func (lender) CanRead(int) bool                             { return true }
func (lender) Read(int, uint64, []byte) error               { return nil }
func (lender) Isend(int, int, []byte) (comm.Request, error) { return nil, nil }
func (lender) Irecv(int, int, []byte) (comm.Request, error) { return nil, nil }

// A program that forgets what it has lent, after an error, goes on: a pin that the garbage collector finds forgotten would end it.
func TestAForgottenLoanEndsNothing(t *testing.T) {
	func() {
		_, err := comm.Lend(lender{}, 1, 1, make([]byte, 1<<16))
		require.NoError(t, err)
	}()
	for range 3 {
		runtime.GC()
		time.Sleep(10 * time.Millisecond) // finalizers run on a goroutine of their own
	}
}
