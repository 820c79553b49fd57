package checkpoint

import (
	"bufio"
	"errors"
	"fmt"
	"hash"
	"hash/crc64"
	"io"
	"os"
	"path/filepath"

	"shiftwork/dist"
)

// Part is what one rank has written of a generation.
type Part struct {
	File   string  `json:"file"`  // name in the generation's folder
	Bytes  int64   `json:"bytes"` // its length
	Sum    string  `json:"crc64"` // of all of it
	Blocks []Block `json:"blocks"`
}

// Block is where the data of some iterations of one array lies in a part.
type Block struct {
	Array int   `json:"array"`
	Lo    int   `json:"lo"` // iterations [Lo, Hi)
	Hi    int   `json:"hi"`
	At    int64 `json:"at"` // offset in the part
	Bytes int64 `json:"bytes"`
}

// Rows are the iterations of a block.
func (b Block) Rows() dist.Range { return dist.Span(b.Lo, b.Hi) }

var sums = crc64.MakeTable(crc64.ECMA)

func sumText(h hash.Hash64) string { return fmt.Sprintf("%016x", h.Sum64()) }

// pieceBytes is how much is summed and written at a time: little enough to stay in the cache between the two.
const (
	pieceBytes  = 1 << 18
	bufferBytes = 1 << 16 // for short rows
)

// PartWriter writes the part of one rank.
type PartWriter struct {
	f    *os.File
	w    *bufio.Writer
	sum  hash.Hash64
	part Part
}

// CreatePart starts the part of a rank for a generation that is being written. End with Close.
func CreatePart(dir string, generation, rank int) (*PartWriter, error) {
	folder := filepath.Join(dir, name(generation)+partial)
	// Whichever rank comes first makes the folder.
	if err := os.Mkdir(folder, 0o777); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	file := fmt.Sprintf("part-%05d", rank)
	f, err := os.OpenFile(filepath.Join(folder, file), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return nil, err
	}
	return &PartWriter{f: f, w: bufio.NewWriterSize(f, bufferBytes), sum: crc64.New(sums), part: Part{File: file}}, nil
}

// Begin says that what is written from here on is the data of these iterations of an array.
func (w *PartWriter) Begin(array int, rows dist.Range) {
	w.part.Blocks = append(w.part.Blocks, Block{Array: array, Lo: rows.Lo, Hi: rows.Hi, At: w.part.Bytes})
}

// Write appends to the block that was begun last.
func (w *PartWriter) Write(b []byte) (int, error) {
	block := &w.part.Blocks[len(w.part.Blocks)-1]
	done := 0
	for len(b) > 0 {
		n := min(len(b), pieceBytes)
		_, _ = w.sum.Write(b[:n]) // a hash never fails
		k, err := w.w.Write(b[:n])
		done += k
		block.Bytes += int64(k)
		w.part.Bytes += int64(k)
		if err != nil {
			return done, err
		}
		b = b[n:]
	}
	return done, nil
}

// Close brings the part to the disk. It is good only if there is no error.
func (w *PartWriter) Close() (Part, error) {
	err := w.w.Flush()
	if err == nil {
		err = w.f.Sync()
	}
	w.part.Sum = sumText(w.sum)
	return w.part, errors.Join(err, w.f.Close())
}

// PartReader reads blocks of one part.
type PartReader struct{ f *os.File }

// OpenPart opens part i for reading.
func (m *Manifest) OpenPart(i int) (*PartReader, error) {
	f, err := os.Open(m.path(i))
	if err != nil {
		return nil, err
	}
	return &PartReader{f}, nil
}

// ReadAt fills b from an offset in the part (io.ReaderAt).
func (r *PartReader) ReadAt(b []byte, at int64) (int, error) {
	n, err := r.f.ReadAt(b, at)
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%s: ends before byte %d: %w", r.f.Name(), at+int64(len(b)), io.ErrUnexpectedEOF)
	}
	return n, err
}

// Close ends reading.
func (r *PartReader) Close() error { return r.f.Close() }

// CheckPart reads part i and holds it against its length and its checksum.
func (m *Manifest) CheckPart(i int) error {
	p := m.Parts[i]
	f, err := os.Open(m.path(i))
	if err != nil {
		return err
	}
	defer f.Close() // read only
	sum := crc64.New(sums)
	n, err := io.CopyBuffer(sum, struct{ io.Reader }{f}, make([]byte, pieceBytes))
	switch {
	case err != nil:
		return err
	case n != p.Bytes:
		return fmt.Errorf("%s: has %d bytes, %d were written", f.Name(), n, p.Bytes)
	case sumText(sum) != p.Sum:
		return fmt.Errorf("%s: is damaged: checksum %s, written was %s", f.Name(), sumText(sum), p.Sum)
	}
	return nil
}
