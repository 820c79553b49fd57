package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"shiftwork/dist"
)

// Generations of the tests have this shape: rows of words, all of which are the step, in two arrays.
const (
	ranks    = 3
	rows     = 30
	rowBytes = 1 << 10
)

// write commits one generation of which every word is the step.
func write(s *Store, step int) error {
	row := make([]byte, rowBytes)
	for i := 0; i < rowBytes; i += 8 {
		binary.LittleEndian.PutUint64(row[i:], uint64(step))
	}
	m := &Manifest{What: "a test", Step: step, State: []byte(fmt.Sprint("state ", step)), Arrays: 2}
	for rank := range ranks {
		w, err := CreatePart(s.dir, s.Next(), rank)
		if err != nil {
			return err
		}
		for array := range m.Arrays {
			own := dist.Span(rank*rows/ranks, (rank+1)*rows/ranks)
			w.Begin(array, own)
			for range own.Len() {
				if _, err := w.Write(row); err != nil {
					return err
				}
			}
		}
		part, err := w.Close()
		if err != nil {
			return err
		}
		m.Parts = append(m.Parts, part)
	}
	return s.Commit(m)
}

// content returns an error unless each word of the generation is its step, in all rows of both arrays.
func content(m *Manifest) error {
	if want := fmt.Sprint("state ", m.Step); string(m.State) != want {
		return fmt.Errorf("state %q, should be %q", m.State, want)
	}
	var have [2]dist.Intervals
	for i, p := range m.Parts {
		f, err := m.OpenPart(i)
		if err != nil {
			return err
		}
		defer f.Close()
		for _, b := range p.Blocks {
			have[b.Array].Add(b.Rows())
			data := make([]byte, b.Bytes)
			if _, err := f.ReadAt(data, b.At); err != nil {
				return err
			}
			if len(data) != b.Rows().Len()*rowBytes {
				return fmt.Errorf("%v: %d bytes", b, len(data))
			}
			for ; len(data) > 0; data = data[8:] {
				if step := binary.LittleEndian.Uint64(data); step != uint64(m.Step) {
					return fmt.Errorf("a word of step %d in the generation of step %d", step, m.Step)
				}
			}
		}
	}
	for k := range have {
		if got := have[k].Ranges(); len(got) != 1 || got[0] != dist.Span(0, rows) {
			return fmt.Errorf("array %d has the rows %v", k, got)
		}
	}
	return nil
}

// written is a folder with this many generations, of steps 1, 2, ...
func written(t require.TestingT, dir string, generations int) string {
	s, err := Open(dir)
	require.NoError(t, err)
	for step := 1; step <= generations; step++ {
		require.NoError(t, write(s, step))
	}
	require.NoError(t, s.Close())
	return dir
}

func names(t require.TestingT, dir string) []string {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestTwoGenerationsAreKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	for step := 1; step <= 5; step++ {
		written(t, dir, 1) // each time by another run
		all, err := Generations(dir)
		require.NoError(t, err)
		assert.Equal(t, []int{step - 1, step - 2}[:min(2, step)], all)
		m, err := Newest(dir)
		require.NoError(t, err)
		assert.NoError(t, content(m))
	}
	assert.Equal(t, []string{"gen-00000003", "gen-00000004", "lock"}, names(t, dir))
}

// A run that ends at any operation on the disk leaves a good generation: the one before, or the new one.
func TestAnEndAtEachOperation(t *testing.T) {
	type end struct{}
	operations := map[string]int{}
	for ends := 0; ; ends++ {
		dir := written(t, filepath.Join(t.TempDir(), "c"), 2)
		s, err := Open(dir)
		require.NoError(t, err)
		left := ends
		s.step = func(what string) error {
			if left == 0 {
				operations[what]++
				panic(end{})
			}
			left--
			return nil
		}
		ended := func() (ended bool) {
			defer func() {
				if p := recover(); p != nil {
					require.Equal(t, end{}, p)
					ended = true
				}
			}()
			require.NoError(t, write(s, 3))
			return false
		}()
		require.NoError(t, s.Close())
		m, err := Newest(dir)
		require.NoError(t, err)
		require.NoError(t, content(m))
		assert.Contains(t, []int{2, 3}, m.Step)
		// Whoever comes next writes on, and leaves nothing else behind.
		require.NoError(t, write(reopened(t, dir), 4))
		m, err = Newest(dir)
		require.NoError(t, err)
		assert.Equal(t, 4, m.Step)
		assert.Len(t, names(t, dir), 3)
		if !ended {
			assert.Equal(t, map[string]int{"manifest": 1, "sync": 2, "rename": 1, "retire": 1, "remove": 1}, operations)
			return
		}
	}
}

func reopened(t *testing.T, dir string) *Store {
	s, err := Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Whatever happens to the files of the newest generation, it is noticed, said, and the one before is found.
func TestDamageIsFound(t *testing.T) {
	base := scratch(t)
	tries := 0
	rapid.Check(t, func(t *rapid.T) {
		tries++
		dir := written(t, filepath.Join(base, fmt.Sprint(tries)), 2)
		defer os.RemoveAll(dir)
		file := rapid.SampledFrom([]string{"manifest", "part-00000", "part-00001", "part-00002"}).Draw(t, "file")
		path := filepath.Join(dir, name(1), file)
		damage(t, path)
		m, err := Newest(dir)
		require.NotNil(t, m, "%v", err)
		assert.ErrorContains(t, err, path)
		assert.NotErrorIs(t, err, ErrNone)
		assert.Equal(t, 1, m.Step)
		assert.NoError(t, content(m))

		// A run that goes on from there does not count on the damaged one either.
		s, err := Open(dir)
		require.NoError(t, err)
		s.Trust(m.Generation)
		require.NoError(t, write(s, 3))
		require.NoError(t, s.Close())
		all, err := Generations(dir)
		require.NoError(t, err)
		assert.Equal(t, []int{2, 0}, all)

		damage(t, filepath.Join(dir, name(2), file))
		damage(t, filepath.Join(dir, name(0), file))
		_, err = Newest(dir)
		assert.ErrorIs(t, err, ErrNone)
		assert.ErrorContains(t, err, filepath.Join(name(0), file))
		assert.ErrorContains(t, err, filepath.Join(name(2), file))
	})
}

// damage changes, shortens, lengthens or removes a file.
func damage(t *rapid.T, path string) {
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	switch at := rapid.IntRange(0, len(b)-1).Draw(t, "at"); rapid.SampledFrom([]string{"bit", "cut", "more", "gone"}).Draw(t, "damage") {
	case "bit":
		b[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
	case "cut":
		b = b[:at]
	case "more":
		b = append(b, b[at])
	case "gone":
		require.NoError(t, os.Remove(path))
		return
	}
	require.NoError(t, os.WriteFile(path, b, 0o666))
}

func TestNothingThere(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Join(dir, "none")} {
		_, err := Newest(d)
		assert.ErrorIs(t, err, ErrNone)
		assert.ErrorContains(t, err, d)
	}
	_, err := Open(filepath.Join(dir, "no", "folder"))
	assert.ErrorContains(t, err, "accepted is a folder")
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o666))
	_, err = Open(file)
	assert.ErrorContains(t, err, file)
	_, err = Newest(file)
	assert.Error(t, err)
}

// What is not ours is left alone, whatever it is called.
func TestForeignFilesStay(t *testing.T) {
	dir := written(t, filepath.Join(t.TempDir(), "c"), 1)
	foreign := []string{"gen-7", "gen-00000001x", "gen-00000002.part.old.txt", "notes", "old.part"}
	for _, f := range foreign {
		require.NoError(t, os.Mkdir(filepath.Join(dir, f), 0o777))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "gen-00000009"), nil, 0o666)) // a file, no folder
	written(t, dir, 3)
	m, err := Newest(dir)
	require.NoError(t, err)
	require.NoError(t, content(m))
	for _, f := range append(foreign, "gen-00000009") {
		assert.Contains(t, names(t, dir), f)
	}
}

// Two runs in one folder would remove each other's generations.
func TestOneRunAtATime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	s, err := Open(dir)
	require.NoError(t, err)
	_, err = Open(dir)
	assert.ErrorContains(t, err, "another run is writing there")
	require.NoError(t, s.Close())
	written(t, dir, 1)
}

// A part that rank 0 does not see, or that is shorter than was said, makes no generation, and leaves nothing.
func TestPartsMustBeThere(t *testing.T) {
	dir := written(t, filepath.Join(t.TempDir(), "c"), 1)
	s := reopened(t, dir)
	w, err := CreatePart(dir, s.Next(), 0)
	require.NoError(t, err)
	w.Begin(0, dist.Span(0, 1))
	_, err = w.Write(bytes.Repeat([]byte{1}, 100))
	require.NoError(t, err)
	part, err := w.Close()
	require.NoError(t, err)
	for _, parts := range [][]Part{{part, {File: "part-00001"}}, {{File: part.File, Bytes: 101}}} {
		assert.ErrorContains(t, s.Commit(&Manifest{Arrays: 1, Parts: parts}), "on the same disk")
		assert.Equal(t, []string{"gen-00000000", "lock"}, names(t, dir))
		w, err := CreatePart(dir, s.Next(), 0)
		require.NoError(t, err)
		_, err = w.Close()
		require.NoError(t, err)
	}
}

func TestReadingBeyondTheEnd(t *testing.T) {
	m, err := Newest(written(t, filepath.Join(t.TempDir(), "c"), 1))
	require.NoError(t, err)
	f, err := m.OpenPart(0)
	require.NoError(t, err)
	defer f.Close()
	_, err = f.ReadAt(make([]byte, 10), m.Parts[0].Bytes-9)
	assert.True(t, errors.Is(err, io.ErrUnexpectedEOF), "%v", err)
	assert.ErrorContains(t, err, "part-00000")
}

// A manifest is a text that nobody can make us trust: what it says of blocks must lie in the parts.
func TestImpossibleManifests(t *testing.T) {
	for what, p := range map[string]Part{
		"not in the folder":            {File: "../lock"},
		"an impossible block {Array:1": {File: "p", Bytes: 9, Blocks: []Block{{Array: 1, Hi: 1}}},
		"an impossible block {Array:0": {File: "p", Bytes: 9, Blocks: []Block{{Hi: 1, At: 5, Bytes: 5}}},
	} {
		text, err := (&Manifest{Arrays: 1, Parts: []Part{p}}).Encode()
		require.NoError(t, err)
		_, err = Decode("", text)
		assert.ErrorContains(t, err, what)
	}
	for _, text := range []string{"", "\n", "crc64 0000000000000000\n", "{}\ncrc64 0000000000000000\n"} {
		_, err := Decode("", []byte(text))
		assert.Error(t, err, "%q", text)
	}
}

// scratch is a folder in memory, if there is such a thing here: the properties bring thousands of files to the disk.
func scratch(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "shiftwork-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// A run that begins anew in a folder whose newest generation is too short keeps the good one before it.
func TestAShortGenerationIsNotTheOneThatIsKept(t *testing.T) {
	dir := written(t, filepath.Join(t.TempDir(), "c"), 2)
	require.NoError(t, os.Truncate(filepath.Join(dir, name(1), "part-00001"), 100))
	written(t, dir, 1)
	all, err := Generations(dir)
	require.NoError(t, err)
	assert.Equal(t, []int{2, 0}, all)
}
