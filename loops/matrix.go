package loops

import (
	"errors"
	"fmt"
	"math"

	"shiftwork/comm"
	"shiftwork/dist"
	"shiftwork/hooks"
	"shiftwork/internal/machine"
)

// Range is a half-open range of indices [Lo, Hi).
type Range = dist.Range

// Span is the range [lo, hi).
func Span(lo, hi int) Range { return dist.Span(lo, hi) }

// Array is distributed data with one row for each iteration of a loop. Rows keep their global index and their address
// wherever they are, so nothing but the rows that change owner is copied when work moves.
type Array interface {
	hooks.InPlace
	// Part is the memory of the given columns of one row: what neighbours send each other.
	Part(row int, columns Range) []byte
}

// fits is an error for each array that has not all of the rows, or not all of the columns of a row.
func fits(arrays []Array, rows, columns Range) error {
	if rows.Empty() {
		return nil
	}
	var faults []error
	for i, a := range arrays {
		if err := has(a, rows, columns); err != nil {
			faults = append(faults, fmt.Errorf("array %d: %w", i, err))
		}
	}
	return errors.Join(faults...)
}

func has(a Array, rows, columns Range) (err error) {
	if a == nil {
		return errors.New("it is nil")
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("it must have rows %v, and columns %v of each: %v", rows, columns, v)
		}
	}()
	for _, row := range []int{rows.Lo, rows.Hi - 1} {
		a.Bytes(Span(row, row+1))
		if !columns.Empty() {
			a.Part(row, columns)
		}
	}
	return nil
}

// Matrix is an Array of float64, row-major. Every rank has the whole index space, but only the rows that it owns, and
// the neighbours' rows next to them, hold data, and where work can move there is memory for a few that may come: the rest is address space that is
// never touched, which Linux and macOS do not back with memory.
type Matrix struct {
	rows, cols int
	data       []float64
}

// NewMatrix returns a zero matrix of rows x cols. It panics if that is not a size, and if there is no address space for it.
func NewMatrix(rows, cols int) *Matrix { return NewMatrixAt(rows, cols, 0) }

// NewMatrixAt is NewMatrix where, in row 0, the given column begins a cache line: the first that a loop computes, such as 1 where column 0 is fixed. If rows are
// whole vectors long, those that are read and written from there on seldom lie across the ends of lines, which costs a loop bound by its vectors up to 4%.
func NewMatrixAt(rows, cols, column int) *Matrix {
	if rows < 0 || cols < 0 || cols > 0 && rows > math.MaxInt/8/cols {
		panic(fmt.Sprintf("loops.NewMatrix: %d x %d", rows, cols))
	}
	const line = machine.CacheLine / 8 // elements
	data := make([]float64, rows*cols+line-1)
	before := machine.Padding(comm.BytesOf(data[column%line:]), machine.CacheLine) / 8
	m := &Matrix{rows: rows, cols: cols, data: data[before : before+rows*cols : before+rows*cols]}
	// A strip touches a little of every row, which lie pages apart: with pages of 4 KiB each row costs an entry of the TLB, and large matrices
	// have more rows than it has entries.
	machine.HugePages(comm.BytesOf(m.data))
	return m
}

// Dims returns the numbers of rows and columns.
func (m *Matrix) Dims() (rows, cols int) { return m.rows, m.cols }

// Data is the whole matrix: element (i, j) is Data()[i*cols+j].
func (m *Matrix) Data() []float64 { return m.data }

// Row is row i.
func (m *Matrix) Row(i int) []float64 { return m.Rows(Span(i, i+1)) }

// Rows are rows r, one behind the other.
func (m *Matrix) Rows(r Range) []float64 { return m.data[r.Lo*m.cols : r.Hi*m.cols : r.Hi*m.cols] }

// Bytes is the memory of rows r (hooks.InPlace).
func (m *Matrix) Bytes(r Range) []byte { return comm.BytesOf(m.Rows(r)) }

// Part is the memory of some columns of one row (Array).
func (m *Matrix) Part(row int, columns Range) []byte {
	if columns.Lo < 0 || columns.Hi > m.cols {
		panic(fmt.Sprintf("columns %v of a matrix of %d", columns, m.cols))
	}
	return comm.BytesOf(m.data[row*m.cols+columns.Lo : row*m.cols+columns.Hi])
}

// Pack appends the bytes of rows r to buf (hooks.Array).
func (m *Matrix) Pack(r Range, buf []byte) []byte { return append(buf, m.Bytes(r)...) }

// Unpack stores the bytes of rows r (hooks.Array).
func (m *Matrix) Unpack(r Range, data []byte) error {
	own := m.Bytes(r)
	if len(own) != len(data) {
		return fmt.Errorf("rows %v take %d bytes, got %d", r, len(own), len(data))
	}
	copy(own, data)
	return nil
}
