package metrics

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"time"

	"shiftwork/hooks"
)

// ErrNoRecording is wrapped by what Follow says of a file that something else has written.
var ErrNoRecording = errors.New(`not a recording, which begins with {"schema":"shiftwork"}: make one with --record`)

// Follow hands the events of a recording to r while it is being written, and returns when its loops have ended: when patience
// has passed since the end of the last one and nothing came behind it. It waits for the file to appear. A file that becomes
// shorter, or has another first event, is a new recording; the values of the one before go on from where they were. tick is
// called after each look at the file, of which there is one a second, or one each patience if that is shorter.
func Follow(ctx context.Context, path string, patience time.Duration, r hooks.Recorder, tick func() error) error {
	f := follower{path: path, to: r}
	for {
		news, err := f.read()
		if err != nil {
			return err
		}
		if err := tick(); err != nil {
			return err
		}
		if news {
			f.quiet = time.Now()
		} else if f.ended && time.Since(f.quiet) >= patience {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(min(every, patience)):
		}
	}
}

// follower is where in a recording we are.
type follower struct {
	path  string
	to    hooks.Recorder
	at    int64
	line  int
	first []byte // the lines as far as the first event, whose time and measurements no other recording has
	ended bool
	quiet time.Time // since when there is nothing new
}

// read takes in whole lines only: the last one may be half written.
func (f *follower) read() (news bool, err error) {
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	b, err := f.rest(file)
	if err != nil {
		return false, err
	}
	// Only now, so that what was read is of the same recording, too.
	if same, err := f.same(file); err != nil {
		return false, err
	} else if !same {
		f.at, f.line, f.first, f.ended = 0, 0, nil, false
		if b, err = f.rest(file); err != nil {
			return false, err
		}
	}
	for {
		n := bytes.IndexByte(b, '\n')
		if n < 0 {
			return news, nil
		}
		news = true
		if f.line++; f.line <= 2 {
			f.first = append(f.first, b[:n+1]...)
		}
		if err := f.take(b[:n]); err != nil {
			return news, fmt.Errorf("%s, line %d: %w", f.path, f.line, err)
		}
		b = b[n+1:]
		f.at += int64(n + 1)
	}
}

// rest is what the file has behind the lines that were taken in.
func (f *follower) rest(file io.ReaderAt) ([]byte, error) {
	return io.ReadAll(io.NewSectionReader(file, f.at, math.MaxInt64-f.at))
}

// same tells whether the file still is the recording of which lines were taken in.
func (f *follower) same(file *os.File) (bool, error) {
	info, err := file.Stat()
	if err != nil || info.Size() < f.at {
		return false, err
	}
	first, err := io.ReadAll(io.NewSectionReader(file, 0, int64(len(f.first))))
	return bytes.Equal(first, f.first), err
}

func (f *follower) take(line []byte) error {
	if f.line == 1 {
		var head struct {
			Schema  string
			Version int
		}
		if err := json.Unmarshal(line, &head); err != nil || head.Schema != "shiftwork" {
			return ErrNoRecording
		}
		if head.Version != hooks.RecordVersion {
			return fmt.Errorf("%w: this one has version %d, accepted is %d", ErrNoRecording, head.Version, hooks.RecordVersion)
		}
		return nil
	}
	var e hooks.Event
	if err := json.Unmarshal(line, &e); err != nil {
		return err
	}
	f.ended = e.Kind == "end"
	f.to.Record(e)
	return nil
}
