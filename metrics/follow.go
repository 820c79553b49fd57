package metrics

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"shiftwork/hooks"
)

// Follow hands the events of a recording to r while it is being written, and returns when its loops have ended: when patience
// has passed since the end of the last one and nothing came behind it. It waits for the file to appear. A file that becomes
// shorter is a new recording; the values of the one before go on from where they were. tick is called after each look at
// the file, of which there is one a second, or one each patience if that is shorter.
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
	info, err := file.Stat()
	if err != nil {
		return false, err
	}
	if info.Size() < f.at {
		f.at, f.line, f.ended = 0, 0, false
	}
	b, err := io.ReadAll(io.NewSectionReader(file, f.at, info.Size()-f.at))
	if err != nil {
		return false, err
	}
	for {
		n := bytes.IndexByte(b, '\n')
		if n < 0 {
			return news, nil
		}
		news = true
		f.line++
		if err := f.take(b[:n]); err != nil {
			return news, fmt.Errorf("%s, line %d: %w", f.path, f.line, err)
		}
		b = b[n+1:]
		f.at += int64(n + 1)
	}
}

func (f *follower) take(line []byte) error {
	if f.line == 1 {
		var head struct {
			Schema  string
			Version int
		}
		if err := json.Unmarshal(line, &head); err != nil || head.Schema != "shiftwork" {
			return errors.New(`not a recording, which begins with {"schema":"shiftwork"}: make one with --record`)
		}
		if head.Version != hooks.RecordVersion {
			return fmt.Errorf("a recording of version %d, accepted is %d", head.Version, hooks.RecordVersion)
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
