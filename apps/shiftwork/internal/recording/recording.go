package recording

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"shiftwork/hooks"
)

// Reader reads the events of a recording.
type Reader struct {
	buffer    *bufio.Reader
	line      int
	truncated bool
}

// header is the first line.
type header struct {
	Schema  string `json:"schema"`
	Version int    `json:"version"`
}

// NewReader reads the first line, which says that this is a recording.
func NewReader(from io.Reader) (*Reader, error) {
	const longest = 4096 // bytes of the first line: what is no recording need not be read to its end
	r := &Reader{buffer: bufio.NewReaderSize(from, longest), line: 1}
	first, err := r.buffer.ReadSlice('\n')
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return nil, err
	}
	if len(first) == 0 {
		return nil, errors.New("the file is empty")
	}
	var header header
	if json.Unmarshal(first, &header) != nil || header.Schema != "shiftwork" {
		return nil, fmt.Errorf(`no recording: it does not begin with {"schema":"shiftwork","version":%d}`, hooks.RecordVersion)
	}
	if header.Version != hooks.RecordVersion {
		return nil, fmt.Errorf("a recording of version %d, not %d", header.Version, hooks.RecordVersion)
	}
	return r, nil
}

// Line is the number of the last line read, from 1.
func (r *Reader) Line() int { return r.line }

// Truncated reports whether the last line was cut off, and left out. It is known after io.EOF.
func (r *Reader) Truncated() bool { return r.truncated }

// Next returns the next event, or io.EOF after the last.
func (r *Reader) Next() (hooks.Event, error) {
	var e hooks.Event
	data, err := r.buffer.ReadBytes('\n')
	if err != nil && (!errors.Is(err, io.EOF) || len(data) == 0) {
		return e, err
	}
	r.line++
	if fault := json.Unmarshal(data, &e); fault != nil {
		if err != nil { // it has no end
			r.truncated = true
			return e, io.EOF
		}
		return e, fmt.Errorf("line %d: %w", r.line, fault)
	}
	var another header
	if e.Kind == "" && json.Unmarshal(data, &another) == nil && another.Schema != "" {
		return e, fmt.Errorf("line %d: another recording begins here", r.line)
	}
	return e, nil
}
