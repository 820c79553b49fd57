package comm

// Crowded is implemented by a Comm that can tell how many ranks share a processor.
type Crowded interface {
	// Crowding is how many ranks there are for each processor that they may use, on the machine where that is most; 1 or less: each rank has
	// its own; 0: not known. A rank with a CPU quota counts as the part of a processor that it gets. The answer is the same on all ranks.
	Crowding() float64
}

// Crowding asks c, and returns 1 where each rank has its own processor or c cannot tell.
func Crowding(c Comm) float64 {
	if k, ok := c.(Crowded); ok {
		return max(1, k.Crowding())
	}
	return 1
}

// IsCrowded reports whether ranks share processors.
func IsCrowded(c Comm) bool { return Crowding(c) > 1 }
