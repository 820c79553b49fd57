// Package frame is what the SPMD programs have in common around their loops: the balancer's configuration from the
// flags, memory and files that are checked before the run, files that appear whole after it, progress on standard error, verification of
// the rows of all ranks against a serial run, and the result line.
//
//	func main() { frame.Main("sor", "what it does", &flags, run) }
//
// It knows nothing of the loops themselves. Nothing is printed but by rank 0.
package frame
