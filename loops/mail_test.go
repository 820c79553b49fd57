package loops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"shiftwork/loops"
)

// Messages are filled, wherever that cuts rows: a message costs as much as some tens of KiB in it.
func TestMessagesAreFilled(t *testing.T) {
	const full = 62 << 10 // bytes
	wide := []loops.Array{loops.NewMatrix(8, 20000)}
	for _, c := range []struct {
		name    string
		arrays  []loops.Array
		rows    int
		columns int
		want    []int
	}{
		{"one that is short", wide, 1, 10, []int{80}},
		{"several that fit into one", wide, 4, 1000, []int{32000}},
		{"longer than half of one", wide, 3, 4001, []int{full, 3*4001*8 - full}},
		{"longer than one", wide, 1, 20000, []int{full, full, 160000 - 2*full}},
		{"of two arrays", append(wide, loops.NewMatrix(8, 20000)), 1, 5000, []int{full, 80000 - full}},
		{"columns that divide none", []loops.Array{loops.NewMatrix(8, 20000), loops.NewMatrix(8, 20000), loops.NewMatrix(8, 20000)}, 1, 4000, []int{63480, 96000 - 63480}},
	} {
		assert.Equal(t, c.want, loops.Letters(c.arrays, c.rows, loops.Span(0, c.columns)), c.name)
	}
}
