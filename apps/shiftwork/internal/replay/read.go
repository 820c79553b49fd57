package replay

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"shiftwork/hooks"
)

// reader reads the events of a recording.
type reader struct {
	buffer    *bufio.Reader
	line      int  // number of the last line read, from 1
	truncated bool // the last line is not whole
}

// newReader reads the first line, which says that this is a recording.
func newReader(from io.Reader) (*reader, error) {
	const longest = 4096 // bytes of the first line: what is no recording need not be read to its end
	r := &reader{buffer: bufio.NewReaderSize(from, longest), line: 1}
	first, err := r.buffer.ReadSlice('\n')
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return nil, err
	}
	if len(first) == 0 {
		return nil, errors.New("the file is empty")
	}
	var header struct {
		Schema  string `json:"schema"`
		Version int    `json:"version"`
	}
	if json.Unmarshal(first, &header) != nil || header.Schema != "shiftwork" {
		return nil, fmt.Errorf(`no recording: it does not begin with {"schema":"shiftwork","version":%d}`, hooks.RecordVersion)
	}
	if header.Version != hooks.RecordVersion {
		return nil, fmt.Errorf("a recording of version %d, not %d", header.Version, hooks.RecordVersion)
	}
	return r, nil
}

// next returns the next event, or io.EOF after the last.
func (r *reader) next() (hooks.Event, error) {
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
	return e, nil
}
