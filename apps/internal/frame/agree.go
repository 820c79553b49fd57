package frame

import (
	"errors"
	"slices"
	"strings"

	"shiftwork/comm"
)

// Agree is comm.Agree for failures that are not bad usage: of the ranks that have one, the lowest returns its own, in one
// line, and ends the job under its number. The others wait for that end: whichever of them was first would be told as the
// one that has failed.
func Agree(c comm.Comm, err error) error {
	var own *failure
	if err != nil {
		own = &failure{err, once(err)}
		err = own
	}
	err = comm.Agree(c, err)
	var lost *comm.Error // with this rank alone, perhaps: then nobody ends the job
	if err == nil || own != nil && err == error(own) || errors.As(err, &lost) {
		return err
	}
	return errors.Join(err, comm.Barrier(c)) // which the failed rank does not come to
}

// failure is an error whose text is one line.
type failure struct {
	error
	line string
}

func (f *failure) Error() string { return f.line }
func (f *failure) Unwrap() error { return f.error }

// flagged says which flag an error is about; nil stays nil.
func flagged(flag string, err error) error {
	if err == nil {
		return nil
	}
	return &failure{err, "--" + flag + ": " + once(err)}
}

// once is an error's text in one line, without what it says again: a buffered writer tells of the same fault in each call that
// follows.
func once(err error) string {
	var lines []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}
