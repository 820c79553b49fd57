package gridfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
)

// headerAlign is what NumPy pads headers to, so that values lie at aligned addresses when the file is mapped.
const headerAlign = 64

// CheckOutput reports whether a file can be created at path, without leaving anything there: it is for the start of a
// run that will write its result hours later.
func CheckOutput(path string) error {
	f, err := createBeside(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// Create makes a temporary file beside path, with the header and the full size of a rows x cols matrix of zeros, and
// returns its name. One rank calls it; then all may OpenOutput the name. End with Commit or Abort.
func Create(path string, rows, cols int) (temp string, err error) {
	if rows < 0 || cols < 0 {
		return "", fmt.Errorf("%s: %d x %d values cannot be written", path, rows, cols)
	}
	f, err := createBeside(path)
	if err != nil {
		return "", err
	}
	head := header(rows, cols)
	_, err = f.Write(head)
	if err == nil {
		err = f.Truncate(int64(len(head)) + int64(rows)*int64(cols)*8)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("%s: %s", path, reason(err)), os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// Output is the temporary file, opened for writing by one rank.
type Output struct {
	f          *os.File
	rows, cols int
	data       int64
}

// OpenOutput opens the temporary file that Create made for a rows x cols matrix.
func OpenOutput(temp string, rows, cols int) (*Output, error) {
	f, err := os.OpenFile(temp, os.O_WRONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %s (all ranks must see the folder of the output)", temp, reason(err))
	}
	return &Output{f: f, rows: rows, cols: cols, data: int64(len(header(rows, cols)))}, nil
}

// WriteRows writes whole rows, the first of them row lo.
func (o *Output) WriteRows(lo int, rows []float64) error {
	if o.cols == 0 {
		return nil
	}
	if count := len(rows) / o.cols; lo < 0 || len(rows)%o.cols != 0 || lo+count > o.rows {
		return fmt.Errorf("%s: %d values from row %d on, accepted are whole rows of %d within %d rows",
			o.f.Name(), len(rows), lo, o.cols, o.rows)
	}
	buf := make([]byte, min(chunk, len(rows)*8))
	at := o.data + int64(lo)*int64(o.cols)*8
	for len(rows) > 0 {
		n := min(len(buf)/8, len(rows))
		for i, v := range rows[:n] {
			binary.LittleEndian.PutUint64(buf[i*8:], math.Float64bits(v))
		}
		if _, err := o.f.WriteAt(buf[:n*8], at); err != nil {
			return fmt.Errorf("%s: from row %d on: %s", o.f.Name(), lo, reason(err))
		}
		rows = rows[n:]
		at += int64(n) * 8
	}
	return nil
}

// Close brings this rank's rows to the disk and closes the file; the rows are safe only if it returns nil.
func (o *Output) Close() error {
	return errors.Join(o.f.Sync(), o.f.Close())
}

// Commit gives the finished temporary file its name, replacing what was there. Call it once, when every rank has closed.
func Commit(temp, path string) error {
	if err := os.Rename(temp, path); err != nil {
		var link *os.LinkError
		if errors.As(err, &link) {
			err = link.Err
		}
		return errors.Join(fmt.Errorf("%s: %w", path, err), os.Remove(temp))
	}
	// The new name itself survives a crash only when the folder is on disk. Not every system can sync a folder, and the
	// file is complete either way, so a refusal is no fault.
	if d, err := os.Open(filepath.Dir(path)); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
	return nil
}

// Abort removes the temporary file; it is no fault when it is gone already.
func Abort(temp string) error {
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// createBeside creates a hidden file in the folder of path, so that renaming stays within one file system.
func createBeside(path string) (*os.File, error) {
	dir, base := filepath.Dir(path), filepath.Base(path)
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: is there already and is not a regular file (%s); accepted is the name of a new file or one to replace",
			path, info.Mode().Type())
	}
	for try := 0; ; try++ {
		// Not os.CreateTemp: it makes files that only the owner may read, and the result stays as it was created.
		name := filepath.Join(dir, fmt.Sprintf(".%s.%d.%d.part", base, os.Getpid(), try))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		switch {
		case err == nil:
			return f, nil
		case errors.Is(err, fs.ErrExist) && try < 1000: // left by a run that was killed
			continue
		case errors.Is(err, fs.ErrNotExist) && !exists(dir): // /proc exists, and says this too
			return nil, fmt.Errorf("%s: the folder %s does not exist; accepted is a file in an existing folder", path, dir)
		default:
			return nil, fmt.Errorf("%s: cannot create a file in the folder %s: %s; accepted is a folder that can be written to",
				path, dir, reason(err))
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// header is the NPY 1.0 header of a rows x cols matrix.
func header(rows, cols int) []byte {
	dict := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }", rows, cols)
	const before = 10 // magic, version, length
	total := (before + len(dict) + 1 + headerAlign - 1) / headerAlign * headerAlign
	h := make([]byte, total)
	copy(h, "\x93NUMPY\x01\x00")
	binary.LittleEndian.PutUint16(h[8:], uint16(total-before))
	for i := before + copy(h[before:], dict); i < total-1; i++ {
		h[i] = ' '
	}
	h[total-1] = '\n'
	return h
}
