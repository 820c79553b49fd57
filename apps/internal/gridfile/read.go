package gridfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/sbinet/npyio/npy"
)

// accepted ends the messages about files that are not what is needed.
const accepted = "accepted is a .npy file of float64 ('<f8'), C order, two dimensions"

// headerLimit bounds what is read to find the header: two numbers and three keywords need some 100 bytes.
const headerLimit = 64 << 10

// chunk is how many bytes are converted at a time.
const chunk = 64 << 10

// File is a matrix on disk, opened for reading.
type File struct {
	f          *os.File
	path       string
	rows, cols int
	data       int64 // offset of row 0
}

// Open opens path for reading by rows. It checks everything about the file that can be known without its values,
// and that it has at least minRows rows and minCols columns.
func Open(path string, minRows, minCols int) (*File, error) {
	// Before it is opened: that may take for ever where it is a pipe.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: is not a regular file (%s); %s", path, info.Mode().Type(), accepted)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %s; %s", path, reason(err), accepted)
	}
	g := &File{f: f, path: path}
	if err := g.check(minRows, minCols); err != nil {
		_ = f.Close() // nothing was written; the first error says more
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return g, nil
}

// Rows returns the number of rows.
func (g *File) Rows() int { return g.rows }

// Cols returns the number of columns.
func (g *File) Cols() int { return g.cols }

// Close closes the file.
func (g *File) Close() error { return g.f.Close() }

// ReadRows reads rows [lo, hi) into dst, which holds hi-lo rows one after the other.
func (g *File) ReadRows(lo, hi int, dst []float64) error {
	if lo < 0 || hi < lo || hi > g.rows || len(dst) != (hi-lo)*g.cols {
		return fmt.Errorf("%s: rows [%d,%d) of %d into %d values, accepted are rows of the file into rows x %d values",
			g.path, lo, hi, g.rows, len(dst), g.cols)
	}
	buf := make([]byte, min(chunk, len(dst)*8))
	at := g.data + int64(lo)*int64(g.cols)*8
	for len(dst) > 0 {
		n := min(len(buf)/8, len(dst))
		if _, err := g.f.ReadAt(buf[:n*8], at); err != nil {
			return fmt.Errorf("%s: rows [%d,%d): %w", g.path, lo, hi, err)
		}
		for i := range n {
			dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(buf[i*8:]))
		}
		dst = dst[n:]
		at += int64(n) * 8
	}
	return nil
}

func (g *File) check(minRows, minCols int) error {
	info, err := g.f.Stat()
	if err != nil {
		return err
	}
	header, err := readHeader(g.f, info.Size())
	if err != nil {
		return fmt.Errorf("%w; %s", err, accepted)
	}
	d := header.Descr
	switch {
	case d.Type != "<f8":
		return fmt.Errorf("holds values of type %q; %s", d.Type, accepted)
	case len(d.Shape) != 2:
		return fmt.Errorf("has %d dimensions %s; %s", len(d.Shape), shape(d.Shape), accepted)
	case d.Fortran:
		return fmt.Errorf("is in Fortran order; %s (numpy.ascontiguousarray makes one)", accepted)
	case d.Shape[0] < minRows || d.Shape[1] < minCols:
		return fmt.Errorf("has shape %s, accepted are at least %d rows and %d columns", shape(d.Shape), minRows, minCols)
	}
	g.rows, g.cols = d.Shape[0], d.Shape[1]
	if g.rows < 0 || g.cols < 0 || (g.cols > 0 && g.rows > math.MaxInt64/16/g.cols) {
		return fmt.Errorf("has the impossible shape %s; %s", shape(d.Shape), accepted)
	}
	g.data = header.length
	if want := g.data + int64(g.rows)*int64(g.cols)*8; info.Size() != want {
		what := "truncated"
		if info.Size() > want {
			what = "too long"
		}
		return fmt.Errorf("is %s: %d bytes, but shape %s of float64 with its header takes %d", what, info.Size(), shape(d.Shape), want)
	}
	return nil
}

type parsedHeader struct {
	npy.Header
	length int64 // bytes from the start of the file to the first value
}

// readHeader has npyio parse the header. npyio trusts what it reads: it allocates whatever length is written there and
// panics on dictionaries of another form, so the length is checked before and a panic becomes an error.
func readHeader(r io.ReaderAt, size int64) (h parsedHeader, err error) {
	notNPY := errors.New("is not a .npy file")
	var start [12]byte
	n, err := r.ReadAt(start[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return h, err
	}
	if n < len(start) || !bytes.Equal(start[:6], npy.Magic[:]) {
		return h, notNPY
	}
	switch start[6] {
	case 1:
		h.length = 10 + int64(binary.LittleEndian.Uint16(start[8:]))
	case 2:
		h.length = 12 + int64(binary.LittleEndian.Uint32(start[8:]))
	default:
		return h, fmt.Errorf("is of .npy version %d.%d, which only structured types need", start[6], start[7])
	}
	if h.length > size {
		return h, fmt.Errorf("is truncated: %d bytes, but its header alone takes %d", size, h.length)
	}
	if h.length > headerLimit {
		return h, fmt.Errorf("has a header of %d bytes", h.length)
	}
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("has a .npy header that is not understood")
		}
	}()
	reader, err := npy.NewReader(io.NewSectionReader(r, 0, h.length))
	if err != nil {
		return h, fmt.Errorf("has a .npy header that is not understood: %s", strings.TrimPrefix(err.Error(), "npy: "))
	}
	h.Header = reader.Header
	return h, nil
}

// shape writes a shape as NumPy does.
func shape(s []int) string {
	parts := make([]string, len(s))
	for i, n := range s {
		parts[i] = strconv.Itoa(n)
	}
	if len(s) == 1 {
		return "(" + parts[0] + ",)"
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// reason is what the system says about a path, without the path and the name of the call.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
