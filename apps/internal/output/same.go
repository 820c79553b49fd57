package output

import (
	"os"
	"path/filepath"
)

// Same reports whether two paths name one file, which is there or would be made. What is no regular file is never the same.
func Same(a, b string) bool {
	x, noX := os.Stat(a)
	y, noY := os.Stat(b)
	switch {
	case noX == nil && noY == nil:
		return x.Mode().IsRegular() && os.SameFile(x, y)
	case noX == nil || noY == nil || filepath.Base(a) != filepath.Base(b):
		return false
	}
	x, noX = os.Stat(filepath.Dir(a))
	y, noY = os.Stat(filepath.Dir(b))
	return noX == nil && noY == nil && os.SameFile(x, y)
}
