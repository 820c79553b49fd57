package comm_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"shiftwork/comm"
)

func TestEncoderWritesWhatItsDocumentationSays(t *testing.T) {
	var e comm.Encoder
	e.Uint64(0x0102030405060708)
	e.Int(-2)
	e.Float64(1)
	e.Text("ab")
	e.Bytes([]byte{9})
	require.Equal(t, []byte{
		8, 7, 6, 5, 4, 3, 2, 1,
		0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0, 0, 0, 0, 0, 0, 0xf0, 0x3f,
		2, 0, 0, 0, 0, 0, 0, 0, 'a', 'b',
		1, 0, 0, 0, 0, 0, 0, 0, 9,
	}, e.Message())
	e = comm.Encoder{}
	e.Bool(true)
	e.Bool(false)
	d := comm.NewDecoder(e.Message())
	require.True(t, d.Bool())
	require.False(t, d.Bool())
	require.NoError(t, d.Finish())
}

// value is one of the things that a message is made of: uint64, int, float64, string or []byte.
func value() *rapid.Generator[any] {
	return rapid.OneOf(
		rapid.Uint64().AsAny(), rapid.Int().AsAny(), rapid.Float64().AsAny(),
		rapid.SampledFrom([]float64{math.NaN(), math.Inf(-1), math.Copysign(0, -1), math.SmallestNonzeroFloat64}).AsAny(),
		rapid.String().AsAny(), rapid.SliceOf(rapid.Byte()).AsAny(),
	)
}

func encode(values []any) []byte {
	var e comm.Encoder
	for _, v := range values {
		switch v := v.(type) {
		case uint64:
			e.Uint64(v)
		case int:
			e.Int(v)
		case float64:
			e.Float64(v)
		case string:
			e.Text(v)
		case []byte:
			e.Bytes(v)
		}
	}
	return e.Message()
}

// decode reads values of the same kinds.
func decode(d *comm.Decoder, kinds []any) []any {
	var values []any
	for _, k := range kinds {
		var v any
		switch k.(type) {
		case uint64:
			v = d.Uint64()
		case int:
			v = d.Int()
		case float64:
			v = d.Float64()
		case string:
			v = d.Text()
		case []byte:
			v = d.Bytes()
		}
		values = append(values, v)
	}
	return values
}

func TestDecoderReturnsWhatWasEncoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOf(value()).Draw(t, "values")
		message := encode(values)
		d := comm.NewDecoder(message)
		got := decode(d, values)
		require.NoError(t, d.Finish())
		require.Empty(t, cmp.Diff(values, got, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()))
		require.Equal(t, message, encode(got), "bit for bit")

		// Any shorter message is an error, whatever is cut off.
		if len(message) > 0 {
			d = comm.NewDecoder(message[:rapid.IntRange(0, len(message)-1).Draw(t, "cut")])
			decode(d, values)
			require.ErrorIs(t, d.Finish(), comm.ErrCorrupt)
		}
	})
}

func TestDecoderErrorSticks(t *testing.T) {
	var e comm.Encoder
	e.Int(5)
	e.Int(6)
	d := comm.NewDecoder(e.Message()[:12])
	assert.Equal(t, 5, d.Int())
	assert.NoError(t, d.Err())
	assert.Zero(t, d.Int())
	first := d.Err()
	assert.ErrorIs(t, first, comm.ErrCorrupt)
	assert.Zero(t, d.Uint64())
	assert.Zero(t, d.Float64())
	assert.Zero(t, d.Count(1))
	assert.Empty(t, d.Text())
	assert.Nil(t, d.Bytes())
	assert.Equal(t, first, d.Finish(), "the first error is the one reported")
}

func TestDecoderRefusesWhatIsLeftOver(t *testing.T) {
	d := comm.NewDecoder(make([]byte, 9))
	d.Uint64()
	require.NoError(t, d.Err())
	require.ErrorIs(t, d.Finish(), comm.ErrCorrupt)
}

func TestCountIsSafeToAllocateFor(t *testing.T) {
	for _, k := range []struct {
		count      uint64
		each, rest int
		ok         bool
	}{
		{0, 8, 0, true}, {2, 8, 16, true}, {3, 8, 23, false}, {17, 1, 16, false}, {16, 0, 16, true},
		{math.MaxUint64, 8, 16, false}, {math.MaxInt64, 1, 16, false}, {1 << 61, 8, 16, false},
	} {
		var e comm.Encoder
		e.Uint64(k.count)
		d := comm.NewDecoder(append(e.Message(), make([]byte, k.rest)...))
		n := d.Count(k.each)
		if k.ok {
			assert.NoError(t, d.Err(), "%+v", k)
			assert.Equal(t, int(k.count), n, "%+v", k)
		} else {
			assert.ErrorIs(t, d.Err(), comm.ErrCorrupt, "%+v", k)
			assert.Zero(t, n, "%+v", k)
		}
	}
}

func TestBytesIsAViewThatCannotGrowIntoTheRest(t *testing.T) {
	message := encode([]any{[]byte{1, 2}, 7})
	d := comm.NewDecoder(message)
	b := d.Bytes()
	_ = append(b, 99)
	require.Equal(t, 7, d.Int())
	b[0] = 5
	require.Equal(t, byte(5), message[8], "a view, not a copy")
}

// FuzzDecoder reads any bytes as any sequence of kinds: it must not panic, and what it could read must encode to the
// bytes that it read.
func FuzzDecoder(f *testing.F) {
	f.Add([]byte("uifsb"), encode([]any{uint64(1), -1, 2.5, "text", []byte{1, 2, 3}}))
	f.Add([]byte("b"), bytes.Repeat([]byte{0xff}, 16))
	f.Add([]byte("cs"), []byte{1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 'x', 'y', 'z'})
	f.Add([]byte("uu"), make([]byte, 12))
	f.Fuzz(func(t *testing.T, script, message []byte) {
		d := comm.NewDecoder(message)
		var e comm.Encoder
		for _, kind := range script {
			switch kind {
			case 'u':
				if v := d.Uint64(); d.Err() == nil {
					e.Uint64(v)
				}
			case 'i':
				if v := d.Int(); d.Err() == nil {
					e.Int(v)
				}
			case 'f':
				if v := d.Float64(); d.Err() == nil {
					e.Float64(v)
				}
			case 's':
				if v := d.Text(); d.Err() == nil {
					e.Text(v)
				}
			case 'b':
				if v := d.Bytes(); d.Err() == nil {
					e.Bytes(v)
				}
			case 'c':
				if v := d.Count(3); d.Err() == nil {
					e.Int(v)
					require.LessOrEqual(t, v, len(message)/3)
				}
			}
		}
		read := e.Message()
		require.LessOrEqual(t, len(read), len(message))
		require.True(t, bytes.Equal(message[:len(read)], read), "what was read is not what was there")
		if d.Err() == nil {
			if rest := len(message) - len(read); rest == 0 {
				require.NoError(t, d.Finish())
			} else {
				require.ErrorIs(t, d.Finish(), comm.ErrCorrupt)
			}
		} else {
			require.ErrorIs(t, d.Err(), comm.ErrCorrupt)
		}
	})
}
