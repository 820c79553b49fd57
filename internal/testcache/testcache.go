// Package testcache is for tests that build the module's programs and run them. What the go command keeps of such a test's result depends on what the test itself is built from and
// on the files that it looks at, and not on what another go command builds for it: a program that no longer works would pass.
package testcache

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Depend makes the result of this test depend on all source files below the folder.
func Depend(root string) error {
	sources := []string{".go", ".s", ".c", ".h", ".mod", ".sum"}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (d.Name()[0] == '.' || d.Name() == "build"):
			return filepath.SkipDir
		case d.IsDir() || !slices.Contains(sources, filepath.Ext(path)):
			return nil
		}
		_, err = os.Stat(path)
		return err
	})
}
