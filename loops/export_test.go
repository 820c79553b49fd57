package loops

// SetTile lets several sweeps pass over so many bytes at a time, and returns how to take that back.
func SetTile(bytes int) (restore func()) {
	before := tileBytes
	tileBytes = bytes
	return func() { tileBytes = before }
}
