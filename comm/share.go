package comm

// Sharer is implemented by a Comm whose ranks on one machine can have memory in common.
type Sharer interface {
	// Share is what the function Share does.
	Share(bytes int) (Shared, error)
}

// Shared is memory that ranks on one machine have in common. What one writes another may read after a message has told it so, or an operation of sync/atomic.
type Shared struct {
	// Of is, by rank, the memory that lies with it: nil if this rank does not reach it, which then does not reach this rank's either. All ranks reach their own, or none does.
	Of [][]byte
	// Release ends this rank's use of the memory; nil if there is nothing to do. Other ranks may go on.
	Release func()
}

// Share gives every rank so many bytes, zero at first, that the ranks on its machine reach as well. Every rank calls it, with the same number. Nobody reaches anything where the transport has no such
// memory, or the user keeps it from that, or there is none left: no error, since messages will do.
func Share(c Comm, bytes int) (Shared, error) {
	if s, ok := c.(Sharer); ok {
		return s.Share(bytes)
	}
	return Shared{Of: make([][]byte, c.Size())}, nil
}
