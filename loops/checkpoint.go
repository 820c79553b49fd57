package loops

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"shiftwork/checkpoint"
	"shiftwork/comm"
	"shiftwork/dist"
	"shiftwork/hooks"
)

// Checkpoint lets a loop stop before its end, and a later run go on from there: on any number of ranks, to the same bits. The zero
// value does neither. All fields are the same on every rank, but for what the functions do. README.md has the protocol.
//
// A loop stops or writes between two sweeps (repetitions) that are the same for all ranks. It is agreed on without
// draining the pipeline, about every 50 ms or every sweep, whichever is longer; only writing itself makes ranks wait.
type Checkpoint struct {
	// Stop, if set, is asked now and then on every rank. As soon as it returns a reason on one of them, all stop after the same
	// sweep, write a checkpoint if there is a Dir, and return with Report.Stopped. It must be quick, and not wait. If that checkpoint cannot be
	// written Run returns its *WriteError besides the report: all else is there.
	Stop func() string
	// Limit is how long the loop may take, from the call of Run on; 0: for ever. The time that sweeps and a checkpoint take, as far as
	// it is known, is kept free before the end of it. The reason is then StoppedByTime.
	Limit time.Duration

	// Dir is the folder for checkpoints, which all ranks see; "": none are written. Where it has some, it must be Restart too: a run does not replace those of another.
	Dir   string
	Every time.Duration // from the end of one to the beginning of the next; 0: only where the loop stops
	// Failed, if set, is called on rank 0 when a checkpoint could not be written and the loop goes on: the one before is
	// there still (WriteError.Good). Without it the loop ends with the error.
	Failed func(err error)

	// Restart is the folder to go on from; "": the loop begins at the beginning. It does so, too, if this is Dir and there is no
	// checkpoint yet: one command serves for the first run and those that follow.
	Restart string
	// Resumed, if set, is called on rank 0 when the loop goes on from a checkpoint: after which step, and why newer ones were passed over, nil if there are none.
	Resumed func(step int, passed error)
	// Program says, in words, what else a restart must have in common with the run that wrote the checkpoint: sizes, parameters,
	// what the fixed rows hold.
	Program string
	// Save and Restore are for state of the program besides the rows. Save is called on all ranks when a checkpoint is written
	// and may use collectives; what it returns on rank 0 is what Restore gets on every rank. Not per rank: the restart may have more.
	Save    func() ([]byte, error)
	Restore func(state []byte) error
}

// StoppedByTime is Report.Stopped of a loop whose Limit came.
const StoppedByTime = "time-limit"

// pausing reports whether the loop may have to stop or write at all.
func (k *Checkpoint) pausing() bool {
	return k.Stop != nil || k.Limit > 0 || k.Dir != "" && k.Every > 0
}

func (k *Checkpoint) used() bool { return k.pausing() || k.Dir != "" || k.Restart != "" }

func (k *Checkpoint) validate() error {
	var faults []error
	if k.Every < 0 {
		faults = append(faults, fmt.Errorf("a checkpoint every %v: at least 0", k.Every))
	}
	if k.Every > 0 && k.Dir == "" {
		faults = append(faults, fmt.Errorf("a checkpoint every %v: the folder is missing", k.Every))
	}
	if k.Limit < 0 {
		faults = append(faults, fmt.Errorf("a time limit of %v: above 0, or 0 for none", k.Limit))
	}
	return errors.Join(faults...)
}

// WriteError is why a checkpoint could not be written. It is the same on every rank.
type WriteError struct {
	Step int // after which
	Good int // after which the latest checkpoint in the folder was written; 0: there is none of this run or of the one that it goes on from
	Err  error
}

func (e *WriteError) Error() string {
	return fmt.Sprintf("checkpoint after step %d: %v", e.Step, e.Err)
}
func (e *WriteError) Unwrap() error { return e.Err }

// FolderError is why a loop cannot go on from the checkpoints in a folder, or write some there. It is the same on every rank.
type FolderError struct {
	Use string // "restart from" or "checkpoints in"
	Dir string
	Err error
}

func (e *FolderError) Error() string { return fmt.Sprintf("%s %s: %v", e.Use, e.Dir, e.Err) }
func (e *FolderError) Unwrap() error { return e.Err }

// share gives all ranks the bytes of rank 0.
func share(c comm.Comm, b []byte) ([]byte, error) {
	size := make([]byte, 8)
	binary.LittleEndian.PutUint64(size, uint64(len(b)))
	if err := comm.Bcast(c, 0, size); err != nil {
		return nil, err
	}
	if c.Rank() != 0 {
		b = make([]byte, binary.LittleEndian.Uint64(size))
	}
	return b, comm.Bcast(c, 0, b)
}

// find returns the newest good generation to restart from, nil if there is none at all, and on rank 0 what is wrong with newer ones. Ranks share the checking of its parts. The
// error is every rank's.
func find(c comm.Comm, dir string) (m *checkpoint.Manifest, passed, err error) {
	var generations []int
	if c.Rank() == 0 {
		generations, err = checkpoint.Generations(dir)
	}
	if err := comm.Agree(c, err); err != nil {
		return nil, nil, err
	}
	var faults []error
	for {
		var text []byte
		for text == nil && len(generations) > 0 {
			m, err := checkpoint.Read(dir, generations[0])
			if err == nil {
				text, err = m.Encode()
			}
			if err != nil {
				faults = append(faults, err)
			}
			generations = generations[1:]
		}
		if text, err = share(c, text); err != nil {
			return nil, nil, err
		}
		if len(text) == 0 {
			var e comm.Encoder
			e.Bool(len(faults) > 0)
			some, err := share(c, e.Message())
			if err != nil || !comm.NewDecoder(some).Bool() {
				return nil, nil, err
			}
			return nil, nil, comm.Agree(c, checkpoint.None(dir, faults))
		}
		m, err := checkpoint.Decode(dir, text)
		if err == nil {
			for i := c.Rank(); i < len(m.Parts); i += c.Size() {
				err = errors.Join(err, m.CheckPart(i))
			}
		}
		if err = comm.Agree(c, err); err == nil {
			return m, errors.Join(faults...), nil
		}
		faults = append(faults, err)
	}
}

// readRows fills the rows that this rank has with those of a checkpoint, in all arrays.
func readRows(m *checkpoint.Manifest, arrays []hooks.Array, own Range) error {
	missing := make([]int, len(arrays)) // rows
	for k := range missing {
		missing[k] = own.Len()
	}
	for i, part := range m.Parts {
		var f *checkpoint.PartReader
		for _, b := range part.Blocks {
			rows := own.Intersect(b.Rows())
			if rows.Empty() {
				continue
			}
			if f == nil {
				var err error
				if f, err = m.OpenPart(i); err != nil {
					return err
				}
				defer f.Close() // read only
			}
			if err := readBlock(f, b, arrays[b.Array], rows); err != nil {
				return fmt.Errorf("array %d, rows %v: %w", b.Array, rows, err)
			}
			missing[b.Array] -= rows.Len()
		}
	}
	for k, n := range missing {
		if n != 0 {
			return fmt.Errorf("array %d: %d rows are missing or there twice", k, n)
		}
	}
	return nil
}

// readBlock reads some rows of a block.
func readBlock(f io.ReaderAt, b checkpoint.Block, a hooks.Array, rows Range) error {
	if p, ok := a.(hooks.InPlace); ok {
		if n := len(p.Bytes(b.Rows())); int64(n) != b.Bytes {
			return fmt.Errorf("rows %v take %d bytes, the checkpoint has %d", b.Rows(), n, b.Bytes)
		}
		before := len(p.Bytes(Span(b.Lo, rows.Lo)))
		_, err := f.ReadAt(p.Bytes(rows), b.At+int64(before))
		return err
	}
	in := bufio.NewReader(io.NewSectionReader(f, b.At, b.Bytes))
	size := make([]byte, 8)
	var row []byte
	for i := b.Lo; i < rows.Hi; i++ {
		if _, err := io.ReadFull(in, size); err != nil {
			return err
		}
		n := binary.LittleEndian.Uint64(size)
		if n > uint64(b.Bytes) {
			return fmt.Errorf("row %d of %d bytes", i, n)
		}
		if uint64(cap(row)) < n {
			row = make([]byte, n)
		}
		row = row[:n]
		if _, err := io.ReadFull(in, row); err != nil {
			return err
		}
		if i < rows.Lo {
			continue
		}
		if err := a.Unpack(Span(i, i+1), row); err != nil {
			return err
		}
	}
	return nil
}

// writeRows writes this rank's part of a generation.
func writeRows(dir string, generation, rank int, arrays []hooks.Array, own []Range) (part checkpoint.Part, err error) {
	w, err := checkpoint.CreatePart(dir, generation, rank)
	if err != nil {
		return part, err
	}
	for k, a := range arrays {
		for _, r := range own {
			w.Begin(k, r)
			if err = writeBlock(w, a, r); err != nil {
				_, _ = w.Close() // the first error is the one that matters
				return part, err
			}
		}
	}
	return w.Close()
}

func writeBlock(w io.Writer, a hooks.Array, r Range) error {
	if p, ok := a.(hooks.InPlace); ok {
		_, err := w.Write(p.Bytes(r))
		return err
	}
	// Rows that are packed are packed one by one, with their lengths, for ranks that will want some of them. Who packs a row may
	// believe that it is leaving, so it is given back.
	size := make([]byte, 8)
	var row []byte
	for i := r.Lo; i < r.Hi; i++ {
		one := Span(i, i+1)
		row = a.Pack(one, row[:0])
		if err := a.Unpack(one, row); err != nil {
			return err
		}
		binary.LittleEndian.PutUint64(size, uint64(len(row)))
		if _, err := w.Write(size); err != nil {
			return err
		}
		if _, err := w.Write(row); err != nil {
			return err
		}
	}
	return nil
}

func encodePart(p checkpoint.Part) []byte {
	var e comm.Encoder
	e.Text(p.File)
	e.Int(int(p.Bytes))
	e.Text(p.Sum)
	e.Int(len(p.Blocks))
	for _, b := range p.Blocks {
		for _, v := range []int{b.Array, b.Lo, b.Hi, int(b.At), int(b.Bytes)} {
			e.Int(v)
		}
	}
	return e.Message()
}

func decodePart(message []byte) (p checkpoint.Part, err error) {
	d := comm.NewDecoder(message)
	p.File, p.Bytes, p.Sum = d.Text(), int64(d.Int()), d.Text()
	for range d.Count(40) {
		b := checkpoint.Block{Array: d.Int(), Lo: d.Int(), Hi: d.Int()}
		b.At, b.Bytes = int64(d.Int()), int64(d.Int())
		p.Blocks = append(p.Blocks, b)
	}
	return p, d.Finish()
}

// leader is the rank that decides where ranks pause: the first that has rows, of which no other is ahead in a pipeline.
func leader(c comm.Comm, rows Range, dedicated bool) int {
	first := 0
	if dedicated && c.Size() > 1 {
		first = 1
	}
	start := dist.Even(rows, c.Size(), first)
	for r := range c.Size() {
		if !start.Range(r).Empty() {
			return r
		}
	}
	return 0
}
