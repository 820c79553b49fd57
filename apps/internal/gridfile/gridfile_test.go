package gridfile

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sbinet/npyio/npy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

func values(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(i)*1.25 - 7
	}
	return v
}

// writeWhole writes a matrix as one rank would.
func writeWhole(t *testing.T, path string, rows, cols int, v []float64) {
	t.Helper()
	temp, err := Create(path, rows, cols)
	require.NoError(t, err)
	o, err := OpenOutput(temp, rows, cols)
	require.NoError(t, err)
	require.NoError(t, o.WriteRows(0, v))
	require.NoError(t, o.Close())
	require.NoError(t, Commit(temp, path))
}

func folder(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestEachRankWritesAndReadsItsRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "g.npy")
	const rows, cols = 11, 9001 // a row is longer than one chunk
	v := values(rows * cols)
	v[5], v[6], v[7] = math.Inf(-1), math.Copysign(0, -1), math.Float64frombits(0x7ff8000000000123)
	temp, err := Create(path, rows, cols)
	require.NoError(t, err)
	var ranks sync.WaitGroup
	errs := make([]error, 4)
	for r, span := range [][2]int{{0, 3}, {3, 4}, {4, 4}, {4, 11}} {
		ranks.Go(func() {
			o, err := OpenOutput(temp, rows, cols)
			if err == nil {
				err = o.WriteRows(span[0], v[span[0]*cols:span[1]*cols])
			}
			if err == nil {
				err = o.Close()
			}
			errs[r] = err
		})
	}
	ranks.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	assert.NoFileExists(t, path, "the target appears with Commit")
	require.NoError(t, Commit(temp, path))
	assert.Equal(t, []string{"g.npy"}, folder(t, filepath.Dir(path)))

	f, err := Open(path, 1, 1)
	require.NoError(t, err)
	assert.Equal(t, [2]int{rows, cols}, [2]int{f.Rows(), f.Cols()})
	for _, span := range [][2]int{{0, rows}, {3, 4}, {10, 11}, {5, 5}} {
		got := make([]float64, (span[1]-span[0])*cols)
		require.NoError(t, f.ReadRows(span[0], span[1], got))
		for i, w := range v[span[0]*cols : span[1]*cols] {
			require.Equal(t, math.Float64bits(w), math.Float64bits(got[i]), "rows %v, value %d", span, i)
		}
	}
	require.Error(t, f.ReadRows(0, rows+1, make([]float64, (rows+1)*cols)))
	require.Error(t, f.ReadRows(0, 1, make([]float64, cols-1)))
	require.NoError(t, f.Close())
}

// The header is ours, so another implementation must be able to read it.
func TestNpyioReadsWhatWeWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "g.npy")
	writeWhole(t, path, 3, 4, values(12))
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	var m mat.Dense
	require.NoError(t, npy.Read(bytes.NewReader(raw), &m))
	assert.True(t, mat.Equal(mat.NewDense(3, 4, values(12)), &m))
	length := binary.LittleEndian.Uint16(raw[8:])
	assert.Zero(t, (length+10)%headerAlign, "NumPy aligns the values to 64 bytes")
	assert.Equal(t, byte('\n'), raw[length+9])
	assert.Len(t, raw, int(length)+10+12*8)
}

// And we read what npyio writes: version 2, with another padding.
func TestWeReadWhatNpyioWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "g.npy")
	var b bytes.Buffer
	require.NoError(t, npy.Write(&b, mat.NewDense(3, 4, values(12))))
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	f, err := Open(path, 3, 4)
	require.NoError(t, err)
	got := make([]float64, 8)
	require.NoError(t, f.ReadRows(1, 3, got))
	assert.Equal(t, values(12)[4:], got)
	require.NoError(t, f.Close())
}

// npyFile is a version 1.0 file with this dictionary and so many bytes of values.
func npyFile(dict string, data int) string {
	var b strings.Builder
	b.WriteString("\x93NUMPY\x01\x00")
	_ = binary.Write(&b, binary.LittleEndian, uint16(len(dict)+1))
	b.WriteString(dict + "\n" + strings.Repeat("\x00", data))
	return b.String()
}

func TestInputThatIsRefused(t *testing.T) {
	dir := t.TempDir()
	dict := func(descr, order, shape string) string {
		return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }"
	}
	for _, c := range []struct{ name, content, says string }{
		{"empty", "", "is not a .npy file"},
		{"text", "1 2 3\n4 5 6 and some more\n", "is not a .npy file"},
		{"truncated values", npyFile(dict("<f8", "False", "(4, 5)"), 4*5*8-1), "is truncated: "},
		{"truncated header", "\x93NUMPY\x01\x00\x76\x00{'descr': ", "header alone takes 128"},
		{"too long", npyFile(dict("<f8", "False", "(4, 5)"), 4*5*8+8), "is too long: "},
		{"float32", npyFile(dict("<f4", "False", "(4, 5)"), 80), `holds values of type "<f4"`},
		{"big endian", npyFile(dict(">f8", "False", "(4, 5)"), 160), `holds values of type ">f8"`},
		{"integers", npyFile(dict("<i8", "False", "(4, 5)"), 160), `holds values of type "<i8"`},
		{"scalar", npyFile(dict("<f8", "False", "()"), 8), "has 0 dimensions ()"},
		{"vector", npyFile(dict("<f8", "False", "(20,)"), 160), "has 1 dimensions (20,)"},
		{"three dimensions", npyFile(dict("<f8", "False", "(2, 2, 5)"), 160), "has 3 dimensions (2, 2, 5)"},
		{"Fortran order", npyFile(dict("<f8", "True", "(4, 5)"), 160), "is in Fortran order"},
		{"too few rows", npyFile(dict("<f8", "False", "(2, 5)"), 80), "has shape (2, 5), accepted are at least 3 rows and 4 columns"},
		{"too few columns", npyFile(dict("<f8", "False", "(5, 3)"), 120), "has shape (5, 3), accepted are at least 3 rows and 4 columns"},
		{"overflow", npyFile(dict("<f8", "False", "(4294967296, 4294967296)"), 8), "has the impossible shape"},
		{"number too large", npyFile(dict("<f8", "False", "(99999999999999999999, 4)"), 8), "header that is not understood"},
		{"other dictionary", npyFile("{'shape': (4, 5), 'descr': '<f8', 'fortran_order': False}", 160), "header that is not understood"},
		{"no dictionary", npyFile("nothing", 160), "header that is not understood"},
		{"structured", npyFile("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (4, 5), }", 160), "holds values of type"},
		{"huge header", "\x93NUMPY\x02\x00\xff\xff\xff\x7f" + strings.Repeat(" ", 100), "is truncated"},
		{"version 3", "\x93NUMPY\x03\x00\x10\x00\x00\x00" + strings.Repeat(" ", 100), "version 3.0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(dir, "in.npy")
			require.NoError(t, os.WriteFile(path, []byte(c.content), 0o600))
			_, err := Open(path, 3, 4)
			require.Error(t, err)
			assert.True(t, strings.HasPrefix(err.Error(), path+": "), "names the path: %s", err)
			assert.Contains(t, err.Error(), c.says)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
	_, err := Open(filepath.Join(dir, "none.npy"), 1, 1)
	require.Error(t, err)
	assert.Equal(t, filepath.Join(dir, "none.npy")+": no such file or directory; "+accepted, err.Error())
	_, err = Open(dir, 1, 1)
	assert.ErrorContains(t, err, "is not a regular file")
}

// Whatever bytes a file holds, Open must return; and what it accepts, it must be able to read.
func FuzzOpen(f *testing.F) {
	f.Add([]byte(npyFile("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", 48)))
	f.Add([]byte(npyFile("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", 16)))
	f.Add([]byte("\x93NUMPY\x01\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "in.npy")
		require.NoError(t, os.WriteFile(path, content, 0o600))
		g, err := Open(path, 0, 0)
		if err != nil {
			return
		}
		require.LessOrEqual(t, g.Rows()*g.Cols()*8, len(content))
		require.NoError(t, g.ReadRows(0, g.Rows(), make([]float64, g.Rows()*g.Cols())))
		require.NoError(t, g.Close())
	})
}

func TestOutputThatIsRefused(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "none", "out.npy")
	for _, path := range []string{missing, dir, filepath.Join(dir, "file", "out.npy")} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
		for what, err := range map[string]error{"CheckOutput": CheckOutput(path), "Create": second(Create(path, 3, 3))} {
			require.Error(t, err, "%s %s", what, path)
			assert.True(t, strings.HasPrefix(err.Error(), path+": "), err)
			assert.NotContains(t, err.Error(), "\n")
		}
	}
	assert.ErrorContains(t, CheckOutput(missing), "the folder "+filepath.Dir(missing)+" does not exist")
	assert.Equal(t, []string{"file"}, folder(t, dir))
	_, err := OpenOutput(filepath.Join(dir, "gone.part"), 3, 3)
	assert.ErrorContains(t, err, "all ranks must see the folder")
}

func second(_ string, err error) error { return err }

func TestCheckOutputLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, CheckOutput(filepath.Join(dir, "out.npy")))
	assert.Empty(t, folder(t, dir))
}

func TestAbortKeepsWhatWasThere(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.npy")
	require.NoError(t, os.WriteFile(path, []byte("before"), 0o600))
	temp, err := Create(path, 3, 3)
	require.NoError(t, err)
	require.NoError(t, Abort(temp))
	require.NoError(t, Abort(temp), "twice is no fault")
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "before", string(raw))
	assert.Equal(t, []string{"out.npy"}, folder(t, dir))
	writeWhole(t, path, 3, 3, values(9))
	f, err := Open(path, 3, 3)
	require.NoError(t, err, "Commit replaces it")
	require.NoError(t, f.Close())
}

func TestCommitOntoFolderLeavesNothingHalf(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.npy")
	temp, err := Create(path, 3, 3)
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(path, 0o700))
	require.Error(t, Commit(temp, path))
	assert.Equal(t, []string{"out.npy"}, folder(t, dir))
}

func TestRowsOutsideAreNotWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.npy")
	temp, err := Create(path, 3, 4)
	require.NoError(t, err)
	o, err := OpenOutput(temp, 3, 4)
	require.NoError(t, err)
	require.Error(t, o.WriteRows(2, values(8)))
	require.Error(t, o.WriteRows(0, values(5)))
	require.Error(t, o.WriteRows(-1, values(4)))
	require.NoError(t, o.Close())
	require.NoError(t, Abort(temp))
	_, err = Create(path, -1, 4)
	require.Error(t, err)
}

// Two runs that write the same file do not share a temporary one; the leftovers of killed runs do not stop a new one.
func TestTemporaryNamesDiffer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.npy")
	a, err := Create(path, 1, 1)
	require.NoError(t, err)
	b, err := Create(path, 1, 1)
	require.NoError(t, err)
	assert.NotEqual(t, a, b)
}
