package comm_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/comm"
	"shiftwork/comm/local"
	"shiftwork/comm/sim"
)

// Notes that nobody can have written are refused, and so are sizes that make no shelf.
func TestAShelfRefuses(t *testing.T) {
	require.NoError(t, local.Run(2, func(c comm.Comm) error {
		for _, size := range [][3]int{{0, -1, 10}, {-1, 10, 10}, {2, 1, 10}, {1, 10, -1}, {1, 1<<16 + 1, 10}, {1, 1, math.MaxInt32}} {
			_, err := comm.NewShelf(c, size[0], size[1], size[2])
			assert.Error(t, err, "%v", size)
		}
		s, err := comm.NewShelf(c, 1, 2, 100)
		require.NoError(t, err)
		other := 1 - c.Rank()
		room, note := s.Take(other, 101)
		assert.Nil(t, room)
		assert.Nil(t, note, "more than a place has room for")
		for text, note := range map[string][]byte{
			"no note":                               {1, 0, 0},
			"a note from rank 1 about place 2 of 2": {2, 0},
			"no letter of rank 1 lies at place 1":   {1, 0},
		} {
			if c.Rank() == 0 {
				assert.ErrorContains(t, s.Clear(1, note), text)
				_, err := s.Find(1, note)
				assert.ErrorContains(t, err, text)
			}
		}
		_, err = s.Find(2, []byte{0, 0})
		assert.ErrorContains(t, err, "a note from rank 2, whose memory is out of reach")
		return s.Close()
	}))
}

// Where ranks have no memory in common, or there is no shelf at all, nobody finds a place.
func TestNoShelf(t *testing.T) {
	var none *comm.Shelf
	_, note := none.Take(0, 1)
	assert.Nil(t, note)
	assert.False(t, none.Reaches(0))
	assert.NoError(t, none.Close())
	_, err := sim.Run(sim.Config{Ranks: 2}, func(c *sim.Comm) error {
		s, err := comm.NewShelf(c, 1, 2, 100)
		require.NoError(t, err)
		assert.False(t, s.Reaches(1-c.Rank()))
		assert.False(t, s.ReachesAll())
		_, note := s.Take(1-c.Rank(), 1)
		assert.Nil(t, note)
		return s.Close()
	})
	require.NoError(t, err)
}
