package output

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhatFailsLeavesNothingAndDestroysNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "page.html")
	write := func(text string, err error) error {
		return Write(path, func(w io.Writer) error {
			_, fault := io.WriteString(w, text)
			return errors.Join(fault, err)
		})
	}
	require.NoError(t, write("first", nil))
	require.ErrorContains(t, write("sec", errors.New("no ink")), "no ink")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "first", string(content))
	require.NoError(t, write("second", nil))
	content, err = os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "second", string(content))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1)
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o644), info.Mode().Perm())
	assert.Error(t, Write(filepath.Join(dir, "nowhere", "page.html"), func(io.Writer) error { return nil }))
}
