package comm

import (
	"errors"
	"fmt"
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
			return fmt.Errorf("rank %d has another configuration than rank 0: %s; rank 0 has %s", r, b, all[0])
		}
	}
	return nil
}
