package loops

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/comm"
	"shiftwork/comm/local"
)

// What is sent takes the buffers that were made beforehand and gives them back; a longer letter makes one as long as itself, and an empty one none.
func TestLettersTakeSpareBuffers(t *testing.T) {
	const columns = 3 * longestLetter / 8
	require.NoError(t, local.Run(2, func(c comm.Comm) error {
		m := mail{c: c, in: c, arrays: []Array{NewMatrix(4, columns)}}
		m.stock(letters(2*longestLetter - 1))
		stocked := len(m.spare)
		assert.Equal(t, 2, stocked)
		pieces := func() []piece { return []piece{{row: 1, part: Span(0, columns)}} }
		if c.Rank() == 0 {
			for range 3 {
				require.NoError(t, m.send(1, tagDown, make([]byte, maxHead), pieces()))
				require.NoError(t, m.seam(1, tagDown))
				require.NoError(t, m.flush())
			}
			assert.GreaterOrEqual(t, len(m.spare), stocked)
			assert.LessOrEqual(t, len(m.spare), 3, "as many as were on their way")
			for _, b := range m.spare {
				assert.GreaterOrEqual(t, cap(b), longestLetter)
				assert.Less(t, cap(b), longestLetter+(8<<10), "not twice as much")
			}
			return nil
		}
		for range 3 {
			require.NoError(t, m.receive(0, tagDown, make([]byte, maxHead), pieces))
			require.NoError(t, m.skip(0, tagDown, pieces()[0]))
		}
		return nil
	}))
}

// Letters that are exchanged beforehand are all received: the loop finds none of them.
func TestABurstLeavesNothing(t *testing.T) {
	require.NoError(t, local.Run(3, func(c comm.Comm) error {
		_, err := burstRound(c, make([]byte, longestLetter), letters(100*longestLetter))
		require.NoError(t, err)
		require.NoError(t, comm.Barrier(c))
		for _, tag := range []int{tagBurst, tagMark} {
			_, found, err := c.Iprobe(comm.Any, tag)
			require.NoError(t, err)
			assert.False(t, found)
		}
		return nil
	}))
}
