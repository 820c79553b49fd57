package comm_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"shiftwork/comm"
	"shiftwork/comm/local"
	"shiftwork/comm/sim"
)

// Every set of ranks that fail, with and without a text: all ranks return the error of the lowest of them.
func TestAgree(t *testing.T) {
	for ranks := 1; ranks <= 5; ranks++ {
		for failing := range 1 << ranks {
			for _, silent := range []bool{false, true} {
				errs := make([]error, ranks)
				lowest := -1
				for r := range errs {
					if failing&(1<<r) == 0 {
						continue
					}
					if lowest < 0 {
						lowest = r
					}
					errs[r] = fmt.Errorf("trouble on %d", r)
					if silent {
						errs[r] = errors.New("")
					}
				}
				body := func(c comm.Comm) error {
					got := comm.Agree(c, errs[c.Rank()])
					switch {
					case lowest < 0 && got != nil:
						return fmt.Errorf("no rank failed, Agree returned %q", got)
					case lowest < 0:
						return nil
					case got == nil:
						return fmt.Errorf("rank %d failed, Agree returned nil", lowest)
					case got.Error() != errs[lowest].Error():
						return fmt.Errorf("rank %d failed, Agree returned %q", lowest, got)
					case lowest == c.Rank() && got != errs[lowest]:
						return errors.New("the rank's own error lost its type")
					}
					return nil
				}
				name := fmt.Sprintf("%d ranks, failing %b, silent %v", ranks, failing, silent)
				require.NoError(t, local.Run(ranks, body), name)
				res, err := sim.Run(sim.Config{Ranks: ranks, Alpha: 1e-5, Rendezvous: sim.AlwaysRendezvous},
					func(c *sim.Comm) error { return body(c) })
				require.NoError(t, err, name)
				require.Empty(t, res.Leaks, name)
			}
		}
	}
}
