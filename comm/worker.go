package comm

// Worker is implemented by a Comm whose time is virtual: there computing costs nothing, so a program says how much it
// has computed. Code that runs on every transport asks for it:
//
//	if w, ok := c.(comm.Worker); ok {
//		w.Work(units)
//	}
type Worker interface {
	// Work advances this rank's clock by the time that it needs for this many work units.
	Work(units float64)
}

// IsVirtual reports whether c's time is virtual: what the machine is like, and how long something takes on it, says nothing there.
func IsVirtual(c Comm) bool {
	_, virtual := c.(Worker)
	return virtual
}
