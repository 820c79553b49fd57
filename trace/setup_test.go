package trace_test

import (
	"runtime"

	"shiftwork/dist"
)

func collect() { runtime.GC() }

// rows is an Array of 100 bytes for each iteration.
type rows struct{ data []byte }

func newRows(n int) *rows { return &rows{make([]byte, 100*n)} }

func (u *rows) Bytes(r dist.Range) []byte { return u.data[100*r.Lo : 100*r.Hi] }

func (u *rows) Pack(dist.Range, []byte) []byte { panic("it lies in place") }

func (u *rows) Unpack(dist.Range, []byte) error { panic("it lies in place") }
