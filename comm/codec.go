package comm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrCorrupt is wrapped by the error of a Decoder whose bytes are not what was asked for.
var ErrCorrupt = errors.New("message cannot be decoded")

const wordBytes = 8

// Encoder appends values to a message:
//
//	Uint64, Int, Float64   8 bytes, little endian (two's complement, IEEE 754)
//	Bool                   8 bytes, 1 or 0
//	Text, Bytes            length as Uint64, then the bytes
//
// There are no field names or types on the wire: the Decoder must ask for the same values in the same order. The zero
// Encoder is ready for use.
type Encoder struct {
	b []byte
}

// Message returns what has been encoded; it is valid until the next change.
func (e *Encoder) Message() []byte { return e.b }

func (e *Encoder) Uint64(v uint64) { e.b = binary.LittleEndian.AppendUint64(e.b, v) }

func (e *Encoder) Int(v int) { e.Uint64(uint64(int64(v))) }

func (e *Encoder) Bool(v bool) {
	i := 0
	if v {
		i = 1
	}
	e.Int(i)
}

func (e *Encoder) Float64(v float64) { e.Uint64(math.Float64bits(v)) }

func (e *Encoder) Text(v string) {
	e.Uint64(uint64(len(v)))
	e.b = append(e.b, v...)
}

func (e *Encoder) Bytes(v []byte) {
	e.Uint64(uint64(len(v)))
	e.b = append(e.b, v...)
}

// Decoder reads what an Encoder wrote. Its first error sticks: from there on every value is zero, so the caller
// decodes a whole message and asks once, with Finish.
type Decoder struct {
	b    []byte
	read int
	err  error
}

// NewDecoder reads from b, which must not change while the Decoder or what Bytes returned is in use.
func NewDecoder(b []byte) *Decoder { return &Decoder{b: b} }

// Err returns the first error.
func (d *Decoder) Err() error { return d.err }

// Finish returns the first error, or one if part of the message has not been read.
func (d *Decoder) Finish() error {
	if rest := len(d.b) - d.read; d.err == nil && rest > 0 {
		d.fail(fmt.Sprintf("%d bytes are left over", rest))
	}
	return d.err
}

func (d *Decoder) Uint64() uint64 {
	b := d.take(wordBytes)
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

func (d *Decoder) Int() int {
	v := int64(d.Uint64())
	if int64(int(v)) != v {
		d.fail(fmt.Sprintf("%d is no int on this machine", v))
		return 0
	}
	return int(v)
}

func (d *Decoder) Bool() bool { return d.Int() != 0 }

func (d *Decoder) Float64() float64 { return math.Float64frombits(d.Uint64()) }

func (d *Decoder) Text() string { return string(d.Bytes()) }

// Bytes returns a view into the message; copy it to keep it longer than that.
func (d *Decoder) Bytes() []byte { return d.take(d.Count(1)) }

// Count reads a number of elements that follow. It fails unless the rest of the message can hold that many of at least
// `each` bytes (1 or more), so the result is safe to allocate for.
func (d *Decoder) Count(each int) int {
	n, rest := d.Uint64(), len(d.b)-d.read
	if d.err == nil && n > uint64(rest/max(1, each)) {
		d.fail(fmt.Sprintf("%d elements of %d bytes cannot follow in %d bytes", n, each, rest))
	}
	if d.err != nil {
		return 0
	}
	return int(n)
}

// take returns the next n bytes, or nil once there is an error.
func (d *Decoder) take(n int) []byte {
	if d.err != nil {
		return nil
	}
	if rest := len(d.b) - d.read; n > rest {
		d.fail(fmt.Sprintf("%d bytes wanted, %d left", n, rest))
		return nil
	}
	from := d.read
	d.read += n
	return d.b[from:d.read:d.read]
}

func (d *Decoder) fail(what string) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: at byte %d of %d: %s", ErrCorrupt, d.read, len(d.b), what)
	}
}
