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

// Letters go by way of the shelf while it has places, as messages from then on, and again by way of it when they have been read or forgotten; in whichever way, they arrive in order.
func TestLettersLieOnTheShelf(t *testing.T) {
	const places, rows, columns = 2, 9, 1000
	value := func(row, i int) float64 { return float64(row*columns + i) }
	require.NoError(t, local.Run(2, func(c comm.Comm) error {
		u := NewMatrix(rows, columns)
		m := mail{c: c, in: c, arrays: []Array{u}}
		var err error
		m.shelf, err = comm.NewShelf(c, places, places, longestLetter+maxHead)
		require.NoError(t, err)
		pieces := func(row int) []piece { return []piece{{row: row, part: Span(0, columns)}} }
		head := make([]byte, maxHead)
		if c.Rank() == 0 {
			for row := range rows {
				for i := range columns {
					u.Row(row)[i] = value(row, i)
				}
				head[0] = byte(row)
				require.NoError(t, m.send(1, tagDown, head, pieces(row)))
				if row == 3 {
					require.NoError(t, m.seam(1, tagDown))
				}
				if row == 5 {
					require.NoError(t, comm.Barrier(c)) // nothing has been read until here
					require.NoError(t, comm.Barrier(c)) // and all has been, or skipped, until here
					_, note := m.shelf.Take(1, 1)
					require.NotNil(t, note, "a place on which nothing lies any more")
					require.NoError(t, m.shelf.Clear(0, note))
				}
			}
			require.NoError(t, m.flush())
			require.NotEmpty(t, m.spare, "more than two letters at once lay on two places")
			return m.shelf.Close()
		}
		read := func(row int) {
			require.NoError(t, m.receive(0, tagDown, head, func() []piece { return pieces(row) }))
			require.Equal(t, byte(row), head[0])
			require.Equal(t, value(row, columns-1), u.Row(row)[columns-1])
		}
		require.NoError(t, comm.Barrier(c))
		read(0)
		require.NoError(t, m.skip(0, tagDown, pieces(1)[0])) // up to 3
		read(4)
		read(5)
		require.NoError(t, comm.Barrier(c))
		for row := 6; row < rows; row++ {
			read(row)
		}
		require.Zero(t, u.Row(2)[0], "it was to be forgotten")
		return m.shelf.Close()
	}))
}

// bytesArray is rows of bytes.
type bytesArray [][]byte

func (a bytesArray) Bytes(r Range) []byte               { return a[r.Lo] }
func (a bytesArray) Part(row int, columns Range) []byte { return a[row][columns.Lo:columns.Hi] }
func (a bytesArray) Pack(r Range, buf []byte) []byte    { return append(buf, a[r.Lo]...) }
func (a bytesArray) Unpack(r Range, data []byte) error  { copy(a[r.Lo], data); return nil }

// A letter that is as long as a note is taken for none; one of any other length than expected is refused.
func TestShortLettersAreNoNotes(t *testing.T) {
	require.NoError(t, local.Run(2, func(c comm.Comm) error {
		u := bytesArray{make([]byte, 10)}
		m := mail{c: c, in: c, arrays: []Array{u}}
		pieces := func(n int) func() []piece { return func() []piece { return []piece{{row: 0, part: Span(0, n)}} } }
		if c.Rank() == 0 {
			copy(u[0], "0123456789")
			for n := 1; n < 6; n++ {
				require.NoError(t, m.send(1, tagDown, nil, pieces(n)()))
			}
			require.NoError(t, m.seam(1, tagDown))
			require.NoError(t, m.send(1, tagDown, nil, pieces(4)()))
			return m.flush()
		}
		for n := 1; n < 4; n++ {
			clear(u[0])
			require.NoError(t, m.receive(0, tagDown, nil, pieces(n)))
			require.Equal(t, "0123456789"[:n]+string(make([]byte, 10-n)), string(u[0]))
		}
		require.NoError(t, m.skip(0, tagDown, pieces(4)()[0]))
		require.ErrorContains(t, m.receive(0, tagDown, nil, pieces(5)), "got 4 bytes of a boundary row from rank 0, expected 5")
		return nil
	}))
}

// A letter on the shelf of another length than expected is refused as one in a message is.
func TestALetterOfAnotherLength(t *testing.T) {
	require.NoError(t, local.Run(2, func(c comm.Comm) error {
		u := NewMatrix(1, 1000)
		m := mail{c: c, in: c, arrays: []Array{u}}
		var err error
		m.shelf, err = comm.NewShelf(c, 1, 1, longestLetter+maxHead)
		require.NoError(t, err)
		pieces := func(n int) func() []piece { return func() []piece { return []piece{{row: 0, part: Span(0, n)}} } }
		if c.Rank() == 0 {
			require.NoError(t, m.send(1, tagDown, nil, pieces(500)()))
			return m.flush()
		}
		require.ErrorContains(t, m.receive(0, tagDown, nil, pieces(600)), "got 4000 bytes of a boundary row from rank 0, expected 4800")
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
