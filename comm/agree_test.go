package comm_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

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

// Ranks that differ are told what differs, with its name, and not all that they have in common; bytes that are no text are not shown.
func TestSame(t *testing.T) {
	for _, c := range []struct{ zero, one, want string }{
		{"sweeps 3, strip 4", "sweeps 3, strip 4", ""},
		{"sweeps 3, strip 4", "sweeps 5, strip 4", "sweeps 5 ...; rank 0 has sweeps 3 ..."},
		{"sweeps 3, strip 40", "sweeps 3, strip 4", "... strip 4; rank 0 has ... strip 40"},
		{"rows [0,100) of 100 units, halo true", "rows [0,90) of 90 units, halo true", "rows [0,90) of 90 ...; rank 0 has rows [0,100) of 100 ..."},
		{"a DOALL with halo true, stop false", "a DOACROSS, stop false", "a DOACROSS ...; rank 0 has a DOALL with halo true ..."},
		{"", "phases 3", "phases 3; rank 0 has "},
		{"aa", "aaa", "aaa; rank 0 has aa"},
		{"phases 3", "\x00\x01\x00", "called something else; rank 0 has phases 3"},
		{"phases 3", "\xff", "called something else; rank 0 has phases 3"},
	} {
		require.NoError(t, local.Run(3, func(m comm.Comm) error {
			said := c.zero
			if m.Rank() == 1 {
				said = c.one
			}
			err := comm.Same(m, said)
			if c.want == "" {
				return err
			}
			if want := "rank 1 has another configuration than rank 0: " + c.want; err == nil || err.Error() != want {
				return fmt.Errorf("want %s, got %w", want, err)
			}
			return nil
		}))
	}
}

// Whatever two texts are, what is told of them differs.
func TestSameTellsAnyDifference(t *testing.T) {
	text := rapid.StringMatching("[ab ,]{0,12}")
	rapid.Check(t, func(t *rapid.T) {
		zero, one := text.Draw(t, "zero"), text.Draw(t, "one")
		err := local.Run(2, func(m comm.Comm) error { return comm.Same(m, []string{zero, one}[m.Rank()]) })
		if zero == one {
			require.NoError(t, err)
			return
		}
		_, told, _ := strings.Cut(err.Error(), "than rank 0: ")
		here, there, _ := strings.Cut(told, "; rank 0 has ")
		require.NotEqual(t, here, there)
	})
}
