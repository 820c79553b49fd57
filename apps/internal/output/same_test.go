package output

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSame(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("dir", 0o755))
	for _, name := range []string{"a", "b", "dir/a"} {
		require.NoError(t, os.WriteFile(name, nil, 0o600))
	}
	require.NoError(t, os.Link("a", "hard"))
	require.NoError(t, os.Symlink("a", "soft"))
	require.NoError(t, os.Symlink("dir", "other"))
	whole, err := filepath.Abs("a")
	require.NoError(t, err)
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"a", "a", true}, {"a", whole, true}, {"a", "./dir/../a", true}, {"a", "hard", true}, {"a", "soft", true},
		{"dir/a", "other/a", true}, {"a", "b", false}, {"a", "dir/a", false},
		{"new", "./new", true}, {"dir/new", "other/new", true}, {"new", "dir/new", false}, {"new", "a", false}, {"new", "newer", false},
		{"nowhere/x", "nowhere/x", false}, // where nothing can be written
		{os.DevNull, os.DevNull, false}, {"dir", "dir", false},
	} {
		assert.Equal(t, c.same, Same(c.a, c.b), "%s %s", c.a, c.b)
		assert.Equal(t, c.same, Same(c.b, c.a), "%s %s", c.b, c.a)
	}
}
