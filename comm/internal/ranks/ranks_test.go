package ranks_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"shiftwork/comm"
	"shiftwork/comm/internal/ranks"
)

func TestCheck(t *testing.T) {
	for _, k := range []struct {
		peer, tag int
		wild      bool
		want      string
	}{
		{0, 0, false, ""},
		{3, 32767, false, ""}, // the greatest that every MPI offers
		{comm.Any, 5, true, ""},
		{comm.Any, 5, false, "rank 2: send, any rank, tag 5: there is no rank -1: ranks are 0 to 3"},
		{4, 5, true, "rank 2: send, rank 4, tag 5: there is no rank 4: ranks are 0 to 3"},
		{-2, 5, true, "rank 2: send, rank -2, tag 5: there is no rank -2: ranks are 0 to 3"},
		{0, -1, true, "rank 2: send, rank 0, tag -1: tags are 0 to 32767"},
		{0, 32768, true, "rank 2: send, rank 0, tag 32768: tags are 0 to 32767"},
	} {
		err := ranks.Check("send", 2, 4, k.peer, k.tag, k.wild)
		if k.want == "" {
			require.NoError(t, err, "%+v", k)
		} else {
			require.EqualError(t, err, k.want)
		}
	}
}

// guarded returns what Guard says ended body, in a goroutine that body may end.
func guarded(body func() error) error {
	ended := make(chan error)
	go ranks.Guard(body, func(err error) { ended <- err })
	return <-ended
}

func TestGuard(t *testing.T) {
	broken := errors.New("broken")
	require.NoError(t, guarded(func() error { return nil }))
	require.Equal(t, broken, guarded(func() error { return broken }))
	require.Equal(t, ranks.ErrExited, guarded(func() error { runtime.Goexit(); return nil }))

	var p *comm.PanicError
	require.ErrorAs(t, guarded(func() error { panic(broken) }), &p)
	require.Equal(t, broken, p.Value)
	require.Contains(t, string(p.Stack), "TestGuard")

	var isNil *runtime.PanicNilError
	require.ErrorAs(t, guarded(func() error { panic(nil) }), &isNil)
}
