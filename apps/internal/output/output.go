// Package output writes files that appear under their names when they are complete, and not at all if something fails.
// Who may read them is what 0644 allows.
package output

import (
	"io"
	"os"
	"path/filepath"
)

// Write writes a file beside path and renames it when it is complete. A file that is there is replaced.
func Write(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = f.Chmod(0o644)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error is the one that matters
	}
	return err
}
