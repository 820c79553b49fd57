package loops

// SetTile lets several sweeps pass over so many bytes at a time, and returns how to take that back.
func SetTile(bytes int) (restore func()) {
	before := tileBytes
	tileBytes = bytes
	return func() { tileBytes = before }
}

// Letters is how many bytes each message has that takes so many rows' parts.
func Letters(arrays []Array, rows int, part Range) (bytes []int) {
	m := mail{arrays: arrays}
	var pieces []piece
	for row := range rows {
		pieces = append(pieces, piece{row: row, part: part})
	}
	for pieces = m.cut(pieces); len(pieces) > 0; {
		n, b := m.letter(pieces)
		bytes, pieces = append(bytes, b), pieces[n:]
	}
	return bytes
}
