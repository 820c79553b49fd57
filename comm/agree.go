package comm

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Agree gives every rank the same verdict: nil if err is nil on all of them, otherwise the error of the lowest rank that
// has one (with only its text elsewhere than there). It is for what each rank finds out for itself, such as whether it can
// read its file: ranks that went on while another gave up would wait for it for ever.
func Agree(c Comm, err error) error {
	var e Encoder
	if err == nil {
		e.Int(0)
	} else {
		e.Int(1) // a flag of its own: an error may have no text
		e.Text(err.Error())
	}
	all, failed := AllGather(c, e.Message())
	if failed != nil {
		return failed
	}
	for rank, b := range all {
		d := NewDecoder(b)
		bad, text := d.Bool(), ""
		if bad {
			text = d.Text()
		}
		if failed := d.Finish(); failed != nil {
			return failed
		}
		switch {
		case !bad:
		case rank == c.Rank():
			return err
		default:
			return errors.New(text)
		}
	}
	return nil
}

// Same holds what each rank says of its arguments against what rank 0 says, and gives every rank the error if they differ: ranks
// whose arguments differ would hang.
func Same(c Comm, said string) error {
	all, err := AllGather(c, []byte(said))
	if err != nil {
		return err
	}
	for r, b := range all {
		if string(b) != string(all[0]) {
			here, there := difference(legible(b), legible(all[0]))
			return fmt.Errorf("rank %d has another configuration than rank 0: %s; rank 0 has %s", r, here, there)
		}
	}
	return nil
}

// legible is the text that a rank said, if it is in the same function as this one.
func legible(b []byte) string {
	if s := string(b); utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return s
	}
	return "called something else"
}

// difference returns of two texts what differs, in whole words and with the one before, which is mostly its name.
func difference(a, b string) (string, string) {
	begin := 0
	for begin < min(len(a), len(b)) && a[begin] == b[begin] {
		begin++
	}
	behind := 0
	for behind < min(len(a), len(b))-begin && a[len(a)-1-behind] == b[len(b)-1-behind] {
		behind++
	}
	if begin = 1 + strings.LastIndexByte(a[:begin], ' '); begin > 0 {
		begin = 1 + strings.LastIndexByte(a[:begin-1], ' ')
	}
	if space := strings.IndexByte(a[len(a)-behind:], ' '); space >= 0 {
		behind -= space
	} else {
		behind = 0
	}
	here, there := a[begin:len(a)-behind], b[begin:len(b)-behind]
	if behind > 0 {
		if x, y := strings.TrimSuffix(here, ","), strings.TrimSuffix(there, ","); x != y {
			here, there = x, y
		}
		here, there = here+" ...", there+" ..."
	}
	if begin > 0 {
		here, there = "... "+here, "... "+there
	}
	return here, there
}
