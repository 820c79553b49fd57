package comm

// Crowded is implemented by a Comm that can tell whether ranks share processors.
type Crowded interface {
	// Crowded reports whether, on some machine, there are more ranks than processors that they may use. A rank with a CPU quota
	// counts as the part of a processor that it gets. The answer is the same on all ranks.
	Crowded() bool
}

// IsCrowded asks c; a Comm that cannot tell is not crowded.
func IsCrowded(c Comm) bool {
	k, ok := c.(Crowded)
	return ok && k.Crowded()
}
